"""A judge file, `NAME.judge.json`: everything that a judge learned, as versioned JSON without keys.

The arrays of a head with blocks are in `NAME.judge.safetensors` beside it, of which the file holds the digest (see
`arrays_file`); models whose weights are in its folder are named relative to it (see `models_beside`). The record is
built again and compared before it is written, so that the file is the judge. `training` and `certificate` say how the
judge was compiled. `training` may hold anything; its "before" and "after" are the accuracies on the untouched test
part, {"hits": ..., "n": ...}, that `dicast show` and `dicast check` read; of all verdicts, before the threshold
abstains from any.
"""

import hashlib
import json
import platform
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, ValidationError

from .._version import __version__
from ..data.case import Record
from ..data.verdict import Digest
from ..engines.jsonl import write_whole
from ..errors import DeclarationError
from ..evaluation.drift import RecordedAccuracy, read_accuracy
from ..parsing import explain, parse_json, read_text, shown
from .arrays import ARRAYS, Array
from .arrays_file import digest_of, packed, read_arrays, settle, write_next
from .judge import Judge
from .judge_file_upgrade import renamed_training, upgraded, with_present_settings
from .judge_record import JudgeRecord, as_json, from_record, same_structure, to_record
from .models_beside import digests_beside, relative_models, whole_models
from .registry import JUDGE_SUFFIX

FORMAT = 2  # 1: a question with two readouts was two stages


class JudgeFile(Record):
    """The content of a judge file."""

    format: Literal[2] = 2
    judge: JudgeRecord = Field(description="the judge itself")
    certificate: dict[str, JsonValue] | None = Field(default=None, description="of its threshold, when it has one")
    training: dict[str, JsonValue] = Field(
        default={}, description="the compilation: data, parts, values before and after"
    )
    arrays: Digest = Field(default="", description="SHA-256 of the file of arrays beside it; empty: there is none")
    weights: dict[str, Digest] = Field(default={}, description="digests of the models whose weights are beside it")
    versions: Annotated[dict[str, str], Field(min_length=1, description="package -> version that wrote the file")]

    def accuracy(self, when: Literal["before", "after"]) -> RecordedAccuracy | None:
        """The accuracy of the training record; None where it holds none."""
        return read_accuracy(self.training.get(when))


def save(
    judge: Judge,
    path: Path | str,
    *,
    training: Mapping[str, Any] | None = None,
    certificate: Mapping[str, Any] | None = None,
    lm: str | None = None,
) -> None:
    """Write a judge file, whole or not at all.

    Args:
        path: ends in `.judge.json`.
        training: how the judge came to be, as JSON; see the module.
        certificate: what is guaranteed of it, as JSON.
        lm: `provider/model` or `role=provider/model,...`; None takes the LMs that the judge is bound to.

    Raises:
        DeclarationError: another ending, a judge that the registry cannot build again, something that is not JSON, or
            a model string with a key.
    """
    path = Path(path)
    if not path.name.endswith(JUDGE_SUFFIX):
        raise DeclarationError(f"judge file {path}: a judge is saved as JSON. Give a name that ends in {JUDGE_SUFFIX}.")
    if not isinstance(judge, Judge):
        raise DeclarationError(f"judge file {path}: a {type(judge).__name__} is not a judge. Give a dicast.Judge.")
    who = f"judge {judge.name!r}"
    try:
        file = JudgeFile(
            judge=to_record(judge, lm),
            training=as_json(training or {}),
            certificate=None if certificate is None else as_json(certificate),
            versions=versions(),
        )
        arrays: dict[str, Array] = {}
        content = file.model_dump(mode="json", context={ARRAYS: arrays})
        tensors = packed(arrays)
        content["arrays"] = digest_of(tensors)
        if not tensors:
            del content["arrays"]
        beside = relative_models(file.judge, path.parent)
        content["weights"] = digests_beside(beside, path.parent)
        if not content["weights"]:
            del content["weights"]
        text = _text(content)
    except ValidationError as error:
        raise DeclarationError(f"{who} cannot be saved: {explain(error)}") from None
    except (TypeError, ValueError) as error:
        raise DeclarationError(f"{who} cannot be saved: {error}. Keep to JSON values: texts, numbers, lists.") from None
    again = from_record(_parsed(text, who, lambda _: arrays).judge, f"{who} cannot be saved")
    if not same_structure(judge, again) or to_record(again, lm) != file.judge:
        raise DeclarationError(
            f"{who} cannot be saved: the registry's {file.judge.program!r} is another judge. Register yours under its "
            "own name by an entry point (docs/your-own-judge.md), or declare it in YAML."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_file() and (digest := _digest_in(path)):
        settle(path, digest)
    if "weights" in content:
        content["judge"] = beside.model_dump(mode="json", context={ARRAYS: {}})
        text = _text(content)
    write_next(path, tensors)
    write_whole(path, text)
    settle(path, digest_of(tensors))


def read(path: Path | str) -> JudgeFile:
    """What a judge file says.

    Raises:
        DeclarationError: no such file, a truncated or wrongly edited file, an unknown format, a file of arrays that
            is missing or has other bytes, or other weights beside it.
    """
    file = _as_written(Path(path))
    judge = whole_models(file.judge, Path(path).parent, file.weights, f"judge file {path}")
    return file.model_copy(update={"judge": judge})


def _as_written(path: Path) -> JudgeFile:
    """What a judge file says, with places that are relative to it."""
    who = f"judge file {path}"
    advice = f"Give a file that ends in {JUDGE_SUFFIX}."
    text = read_text(path, who, error=DeclarationError, advice=advice)
    return _parsed(text, who, lambda digest: read_arrays(path, digest, who))


def _text(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _digest_in(path: Path) -> str:
    """The digest of the arrays that a judge file names; empty where it names none, or is no judge file."""
    try:
        content = parse_json(read_text(path, error=DeclarationError), str(path), error=DeclarationError)
    except DeclarationError:
        return ""
    return str(content.get("arrays", "")) if isinstance(content, dict) else ""


def load(path: Path | str, *, lm: str | None = None) -> Judge:
    """The judge of a file, bound to the LMs that it was saved with, or to `lm` in their place.

    Raises:
        DeclarationError: see `read`; or the program is not installed, or another version of it.
    """
    judge = from_record(read(path).judge, f"judge file {path}")
    for seat in judge.seats():
        seat.named_by = "" if seat.trusted else str(path)
    return judge.bind(lm) if lm else judge


def fingerprint(path: Path | str) -> str:
    """SHA-256, in hex, of all that verdicts depend on; training record, certificate and versions do not count."""
    file = _as_written(Path(path))
    depends = file.judge.model_dump(mode="json") | ({"weights": file.weights} if file.weights else {})
    text = json.dumps(depends, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def versions() -> dict[str, str]:
    return {"dicast": __version__, "dspy": version("dspy"), "python": platform.python_version()}


def _parsed(text: str, who: str, arrays_of: Callable[[str], dict[str, Array]]) -> JudgeFile:
    """The content of a judge file.

    Args:
        arrays_of: the arrays by name, of the digest of their file.
    """
    advice = "Was it truncated, or edited? Save the judge again."
    content = parse_json(text, who, error=DeclarationError, advice=advice)
    if not isinstance(content, dict) or "format" not in content:
        raise DeclarationError(f"{who}: field 'format' is missing, so it is no judge file. dicast compile writes one.")
    if content["format"] not in (1, FORMAT) or isinstance(content["format"], bool | float):
        writers = content.get("versions")
        version = writers.get("dicast") if isinstance(writers, dict) else None
        writer = f"dicast {version}" if version else "another version of dicast"
        raise DeclarationError(
            f"{who}: format {shown(content['format'])} was written by {writer}, and dicast {__version__} reads "
            f"formats 1 and {FORMAT}. Use the dicast that wrote it, or compile anew."
        )
    is_old = content["format"] != FORMAT
    try:
        digest = content.get("arrays", "")
        arrays = arrays_of(digest) if isinstance(digest, str) and digest else {}
        file = JudgeFile.model_validate(content | {"format": FORMAT}, context={ARRAYS: arrays})
        judge = with_present_settings(file.judge)
        if not is_old:
            return file.model_copy(update={"judge": judge})
        return file.model_copy(update={"judge": upgraded(judge), "training": renamed_training(file.training)})
    except ValidationError as error:
        raise DeclarationError(f"{who}: {explain(error)} Fix the field, or save the judge again.") from None
