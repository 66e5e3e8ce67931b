"""The folder of a compilation: its files by name, and all of them read as one record.

compile.json       judge, models, cases and recipe: the identity of the compilation
groups.json        the groups that were joined because their cases share texts
split.json         the ids of the labelled cases of each part; of one part, `all`, where the estimate is cross-fitted
head-*.json        a head that was fitted, one file for each judge that got one; head-final-*.json is of all labels
prompts.json       the prompt search
structure.json     the structure search
finetune.json      the student that was trained, and whether it was taken; finetune/ holds set and training
certifiable.json   what the labels can certify at all
certificate.json   the certified threshold
looks.json         earlier tests of the cases of the test part, and this one
changed.jsonl      the verdicts that compiling changed, before and after
test.json          the judges on the test part; the last file: the compilation is complete
spent.json         the cost of the whole compilation
evidence/          verdicts, one run folder for each judge and part
*.judge.json       the compiled judge
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field, RootModel, TypeAdapter

from ..data.case import Record
from ..errors import RunError
from ..judging.heads import Head
from ..judging.judge_file import JudgeFile, read
from ..judging.registry import JUDGE_SUFFIX
from ..parsing import parse_record, read_object
from .certificates.certificate import Certificate
from .certify_step import Certifiable
from .changed_verdicts import ChangedVerdict, read_changed
from .checkpoints import FORMAT, GROUPS, IDENTITY, SPENT, other_format
from .cost_account import TotalCost
from .finetune import STEP, FineTuning
from .head.head_labels import HeadLabels
from .head.worth import EvidenceWorth
from .prompts.candidate_selection import PromptTrial
from .prompts.prompt_state import Wording
from .result import Result
from .split_step import GroupsFile
from .structure.search import StructureSearch

RESUME = "Give the same dicast compile to continue it."
LOOKS = "looks"  # the name of a step
DELETE = f"Delete the file. {RESUME}"
HEAD: TypeAdapter[Head] = TypeAdapter(Head)

Search = Literal["prompts", "structure", "fine-tuning"]
Model = TypeVar("Model", bound=BaseModel)


class PromptSearch(Record):
    """The prompt search of a compilation."""

    chosen: int = Field(description="number of the chosen trial; 0: the original prompts")
    before: float = Field(description="objective of the original prompts on the select part")
    after: float = Field(description="objective of the chosen prompts; optimistic, as the same cases chose them")
    stopped: str = Field(description="why the search ended early; empty if it did not")
    wordings: dict[str, Wording] = Field(description="the chosen prompts by the path of their stage")
    trials: tuple[PromptTrial, ...] = Field(description="every prompt that was tried; the original ones are number 0")


class RecipeOfCompilation(BaseModel):
    """What a page says of the recipe; other fields are not read."""

    head: bool = Field(description="whether a head was to be fitted")
    prompts: str = Field(description="the prompt optimizer")
    prompt_lm: str | None = Field(description="the LM that writes prompts")
    trials: int | None = Field(default=None, description="of the structure search")
    prefer: str = Field(description="which structure to take")
    seed: int = Field(description="of splits and searches")


class IdentityFile(BaseModel):
    """What a page says of the identity of a compilation; other fields are not read."""

    judge: str = Field(description="the program")
    lm: str = Field(description="its models")
    settings: dict[str, Any] = Field(description="its parameters")
    cases: str = Field(description="the digest of the cases")
    recipe: RecipeOfCompilation = Field(description="the recipe")


class SplitFile(RootModel[dict[str, list[str]]]):
    """The ids of the labelled cases of each part."""


class HeadFile(BaseModel):
    """A head that was fitted; the candidates beside it are not read."""

    head: Head = Field(description="the head")
    labels: HeadLabels | None = Field(default=None, description="what it was fitted to; None in earlier versions")
    worth: tuple[EvidenceWorth, ...] = Field(default=(), description="of each source of evidence")


@dataclass(frozen=True)
class Compilation:
    """A complete compilation, as its folder holds it.

    Attributes:
        parts: labelled cases of each part.
        spent: None if no account was kept.
        head: of the compiled judge; None if it has none.
        head_labels: what the head was fitted to; None without a head, and in folders of earlier versions.
        worth: of each source of evidence beside the judge's answers; empty where none was read.
        joined: how many cases were joined before the split because they share texts, in words; "" if none.
        prompts, structure, finetuning: None if the search was not requested, or had no budget.
        no_budget: the searches that were requested and not begun, because the test needed the rest of the budget.
        judge_path: of the judge file; None if the folder holds none.
        changed: the verdicts that compiling changed; empty in folders of earlier versions.
    """

    identity: Mapping[str, Any]
    result: Result
    parts: Mapping[str, int]
    spent: TotalCost | None = None
    head: Head | None = None
    head_labels: HeadLabels | None = None
    worth: tuple[EvidenceWorth, ...] = ()
    joined: str = ""
    prompts: PromptSearch | None = None
    structure: StructureSearch | None = None
    finetuning: FineTuning | None = None
    no_budget: tuple[Search, ...] = ()
    certificate: Certificate | None = None
    certifiable: Certifiable | None = None
    judge_path: Path | None = None
    judge_file: JudgeFile | None = None
    changed: tuple[ChangedVerdict, ...] = ()

    @property
    def judge_name(self) -> str:
        return str(self.identity["judge"])


def is_compilation(path: Path) -> bool:
    """Whether the path is the folder of a compilation."""
    return (path / IDENTITY).is_file()


def read_compilation(folder: Path) -> Compilation:
    """The record of a compilation that was tested.

    Raises:
        RunError: the compilation was not tested yet, or a file of it cannot be read.
    """
    described = read_json(folder / IDENTITY)
    if (version := described.get("format")) != FORMAT:
        raise RunError(f"{folder}: {other_format(version)} Compile again for a page.")
    identity = described.get("identity")
    result = _record(folder / "test.json", Result)
    if not isinstance(identity, dict) or result is None:
        raise RunError(f"{folder}: this compilation has not reached its test. {RESUME}")
    _parsed(folder / IDENTITY, IdentityFile, identity)
    judge_path = min(folder.glob(f"*{JUDGE_SUFFIX}"), default=None)
    judge_file = read(judge_path) if judge_path else None
    searches: dict[Search, dict[str, Any]] = {
        "prompts": read_json(folder / "prompts.json"),
        "structure": read_json(folder / "structure.json"),
        "fine-tuning": read_json(folder / f"{STEP}.json"),
    }
    split = folder / "split.json"
    begun = {name for name, content in searches.items() if content.get("trials") or content.get("trained")}
    tuned = folder / f"{STEP}.json"
    # The file of the structure search repeats two properties of the record for those who read the JSON.
    written = searches["structure"]
    structure = {name: written[name] for name in StructureSearch.model_fields if name in written}
    return Compilation(
        identity=identity,
        result=result,
        parts={name: len(ids) for name, ids in _parsed(split, SplitFile, read_json(split)).root.items()},
        spent=_record(folder / SPENT, TotalCost),
        head=(head := _head(folder, judge_file)),
        head_labels=fitted.labels if (fitted := _head_file(folder, head)) else None,
        worth=fitted.worth if fitted else (),
        joined=groups.summary if (groups := _record(folder / f"{GROUPS}.json", GroupsFile)) else "",
        prompts=_parsed(folder / "prompts.json", PromptSearch, searches["prompts"]) if "prompts" in begun else None,
        structure=_parsed(folder / "structure.json", StructureSearch, structure) if "structure" in begun else None,
        finetuning=_parsed(tuned, FineTuning, searches["fine-tuning"]) if "fine-tuning" in begun else None,
        no_budget=tuple(name for name, content in searches.items() if content and name not in begun),
        certificate=_record(folder / "certificate.json", Certificate),
        certifiable=_record(folder / "certifiable.json", Certifiable),
        judge_path=judge_path,
        judge_file=judge_file,
        changed=read_changed(folder),
    )


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object that a step wrote; empty if the step did not write one.

    Raises:
        RunError: the file is not JSON, or no object.
    """
    return read_object(path, error=RunError, advice=DELETE, nan=True) if path.is_file() else {}


def _head(folder: Path, judge_file: JudgeFile | None) -> Head | None:
    """The head of the judge file; without a judge file the only head that was fitted."""
    if judge_file is not None:
        return judge_file.judge.head
    paths = sorted(folder.glob("head-final-*.json")) or list(folder.glob("head-*.json"))
    return _parsed(paths[0], HeadFile, read_json(paths[0])).head if len(paths) == 1 else None


def _head_file(folder: Path, head: Head | None) -> HeadFile | None:
    """The file of this head."""
    files = (_parsed(path, HeadFile, read_json(path)) for path in sorted(folder.glob("head-*.json")))
    return next((file for file in files if head is not None and file.head == head), None)


def _record(path: Path, kind: type[Model]) -> Model | None:
    content = read_json(path)
    return _parsed(path, kind, content) if content else None


def _parsed(path: Path, kind: type[Model], content: Mapping[str, Any]) -> Model:
    return parse_record(kind, content, f"{path}: is damaged", error=RunError, advice=DELETE)
