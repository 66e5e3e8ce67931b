"""Judge files of format 1, in which a question with two readouts was two stages, are read as format 2.

Their training records get today's names, so that `dicast show` prints old and new files in the same words.

The stage that the file's readout used gives instructions and demos; the other one does where it alone was tuned.
In files of either format `direct` may have a setting `evidence`, whose present name is `grading`.
"""

from collections.abc import Mapping
from typing import Any

from ..errors import DeclarationError
from .answer_types import Levels
from .judge_record import JudgeRecord, StageRecord, default_judge, own_stages, with_inputs_of
from .question import Question
from .stage import Stage

TRAINING_NAMES = {
    "told": "summary",
    "figures": "measures",
    "what": "description",
    "neutral": "null_value",
    "sittings": "sessions",
}  # of records, in format 1: in format 2
GRADINGS = ("pairwise", "single", "both")
OLD_NAMES = {"question": ("write", "read")}  # of judges of a signature; elsewhere NAME and NAME_probability


def upgraded(record: JudgeRecord) -> JudgeRecord:
    """A record of format 1 as a record of format 2; unchanged where its program is not installed."""
    if record.members:
        return record.model_copy(update={"members": tuple(map(upgraded, record.members))})
    try:
        judge = default_judge(record)
    except DeclarationError:  # reported when the judge is built
        return record
    own = own_stages(judge)
    merged = _merged_stages(own, record.stages, str(record.settings.get("readout", "")))
    stages = {name: with_inputs_of(own[name], stage) if name in own else stage for name, stage in merged.items()}
    return record.model_copy(update={"stages": stages})


def with_present_settings(record: JudgeRecord) -> JudgeRecord:
    """The record with the present names of its settings, and of those of its members."""
    members = tuple(map(with_present_settings, record.members))
    settings = present_settings(record.settings) if record.program == "direct" else record.settings
    return record.model_copy(update={"members": members, "settings": settings})


def present_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with `grading` for what was called `evidence` in `direct`.

    Example:
        >>> present_settings({"members[0].evidence": "both", "order": "one"})
        {'members[0].grading': 'both', 'order': 'one'}
    """
    return {
        name[: -len("evidence")] + "grading" if name.endswith("evidence") and value in GRADINGS else name: value
        for name, value in settings.items()
    }


def _merged_stages(
    stages: Mapping[str, Stage], records: Mapping[str, StageRecord], readout: str
) -> dict[str, StageRecord]:
    """The stages of a format 1 file under the names of the judge's present stages.

    Args:
        stages: of the judge as it is built now.
        records: of the file; names that the judge does not know are left as they are.
        readout: of the file.
    """
    merged = dict(records)
    for name, stage in stages.items():
        written_name, read_name = OLD_NAMES.get(name, (name, f"{name}_probability"))
        if not isinstance(stage, Question) or (read_name not in records and written_name == name):
            continue
        written, read = merged.pop(written_name, None), merged.pop(read_name, None)
        if read is not None:
            read = read.model_copy(update={"demos": tuple(_with_words(stage, demo) for demo in read.demos)})
        used, other = (read, written) if readout == "probability" and read else (written or read, read)
        if used is None:
            continue
        default = stage.ask.signature.instructions
        tuned = other if other and _is_tuned(other, default) and not _is_tuned(used, default) else used
        fields = {field.name: field for record in (other, used) if record for field in record.fields}
        names = [field.name for field in (written or used).fields]
        merged[name] = tuned.model_copy(
            update={
                "fields": tuple(fields[field] for field in names),
                "decisions": {} if "generate" in stage.readouts else used.decisions,
            }
        )
    return merged


def renamed_training(training: Mapping[str, Any]) -> dict[str, Any]:
    """The training record of a format 1 file with the names of format 2.

    Example:
        >>> renamed_training({"told": "better", "test": {"compiled": {"figures": {}}}})
        {'summary': 'better', 'test': {'compiled': {'measures': {}}}}
    """
    return {TRAINING_NAMES.get(name, name): _renamed(value) for name, value in training.items()}


def _renamed(value: Any) -> Any:
    if isinstance(value, Mapping):
        renamed = renamed_training(value)
        return renamed | {"kind": "proportion"} if renamed.get("kind") == "share" else renamed
    return [_renamed(item) for item in value] if isinstance(value, list | tuple) else value


def _is_tuned(record: StageRecord, default: str) -> bool:
    return bool(record.demos) or record.instructions != default


def _with_words(question: Question, demo: Mapping[str, Any]) -> dict[str, Any]:
    """A demo with the answers as an LM writes them, in place of the tokens that are read."""
    if "generate" not in question.readouts:
        return dict(demo)
    return {name: _word(question, name, value) for name, value in demo.items()}


def _word(question: Question, name: str, value: Any) -> Any:
    kind = question.outputs.get(name)
    if kind is None:
        return value
    return _score(kind, value) if isinstance(kind, Levels) else kind.written(value)


def _score(levels: Levels, token: Any) -> Any:
    """The score that a token means: the digits of format 1 counted ten levels from 0, fewer from 1."""
    if levels.is_yes_no or levels.decision is None:
        return levels.written(token)
    count = len(levels.decision.criteria())
    tokens = [str(level) for level in (range(count) if count == 10 else range(1, count + 1))]
    return levels.at(tokens.index(token)) if token in tokens else levels.written(token)
