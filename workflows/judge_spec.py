"""Which judge a workflow runs: a name with its models and settings, or a judge that is already built."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..data.readers import file_digest
from ..engines.batch import read_verdicts
from ..engines.models import Roles
from ..errors import DeclarationError, ModelError
from ..judging import Judge, LearningJudge, Panel, build
from ..judging.composite import Composite
from ..judging.judge_file import fingerprint
from ..judging.judge_file_upgrade import present_settings
from ..judging.judge_record import JudgeRecord, default_record, to_record
from ..judging.registry import JUDGE_SUFFIX, PROGRAMS, is_judge_file, judge_title
from .person_labels import PersonLabels, check_learns_people


@dataclass(frozen=True)
class JudgeSpec:
    """A judge by name.

    Attributes:
        name: a program of `dicast list`, a .yaml file, or a .judge.json file.
        lm: `provider/model` of all stages, or `role=provider/model,...`; None keeps those of a judge file, else takes
            DSPy's configured LM, else the default local model.
        settings: structural parameters by name, and how answers are written; of one member of a panel as in
            {"members[1].temperature": 0.9}.
        learn: a labelled run that the judge learns from before it judges; or a file of labelled cases of people, to
            whom the run fits weights (`PersonLabels`).
        panel: the LM of each member of a panel of this judge; () for no panel.
        samples: how often each case is judged.
        pool: how verdicts of members and samples are combined.
    """

    name: str = "direct"
    lm: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    learn: Path | None = None
    panel: tuple[str, ...] = ()
    samples: int = 1
    pool: str = "majority"

    @property
    def title(self) -> str:
        """The judge's name; the stem of a YAML or judge file."""
        return judge_title(self.name)

    @property
    def is_panel(self) -> bool:
        return bool(self.panel) or self.samples > 1

    def models(self) -> str:
        """The models that answer its stages, each once; empty for a judge that asks none.

        Raises:
            DeclarationError: as of `build`.
        """
        judge = self.build()
        return _models(judge) if judge.seats() else ""

    def build(self) -> Judge:
        """The judge with its LMs.

        Raises:
            DeclarationError: an unknown judge or parameter, a judge that cannot learn, or LMs given twice.
        """
        if self.is_panel and self.people is not None:
            raise DeclarationError("judge: --learn with labels of people teaches one judge, and this is a panel of it.")
        if self.panel and self.lm:
            raise DeclarationError("judge: --lm and --panel both name models. Give each member's with --panel.")
        if not self.is_panel:
            return self._member(self.lm, self.settings)
        of_panel = self._of_members()
        of_each = {name: value for name, value in self.settings.items() if name not in of_panel}
        members = [self._member(lm, of_each) for lm in self.panel or (self.lm,)]
        return Panel(members, samples=self.samples, pool=self.pool).set(**of_panel)

    def _of_members(self) -> dict[str, Any]:
        """The settings of single members; none where each member is a panel or a cascade, whose members they mean."""
        named = {name: value for name, value in self.settings.items() if name.startswith("members[")}
        return {} if named and isinstance(build(self.name), Composite) else named

    def _member(self, lm: str | None, settings: Mapping[str, Any]) -> Judge:
        judge = build(self.name, **settings)
        if self.learn is not None and self.learn.is_file():
            check_learns_people(judge, self.learn)
        elif self.learn is not None:
            if not isinstance(judge, LearningJudge):
                able = ", ".join(program.name for program in PROGRAMS if isinstance(program.build(), LearningJudge))
                raise DeclarationError(f"judge {self.name!r} cannot learn from a run. These can: {able}.")
            judge.learn(read_verdicts(self.learn))
        return bind_models(judge, lm)

    def identity(self, judge: Judge) -> dict[str, Any]:
        """What a run's manifest records of the judge, so that verdicts of different judges are never mixed."""
        name = _with_digest(self.name)
        identity = {
            "judge": f"panel of {name}" if self.is_panel else name,
            "settings": {name: _with_digest(value) for name, value in judge.settings().items()},
            "lm": (" + ".join(self.panel) or self.lm or _models(judge)) if judge.seats() else "none",
            "models": judge.resolved_models(),
        }
        if self.people is not None:
            return identity | {"learned": {"people": self.people.digest}}
        return identity | ({"learned": _learned(judge)} if self.learn else {})

    @property
    def people(self) -> PersonLabels | None:
        """The labelled cases of people; None where `learn` names no file."""
        return PersonLabels(self.learn) if self.learn is not None and self.learn.is_file() else None


@dataclass(frozen=True)
class BuiltJudge:
    """A judge object, as `dicast.judge` returns it, or a compiled one."""

    judge: Judge
    lm: str | None = None

    @property
    def name(self) -> str:
        return self.judge.name

    @property
    def title(self) -> str:
        return self.judge.name

    def build(self) -> Judge:
        """The judge with its LMs; a copy where LMs are bound to it here."""
        if not self.lm and has_models(self.judge):
            return self.judge
        return bind_models(self.judge.deepcopy(), self.lm)

    def identity(self, judge: Judge) -> dict[str, Any]:
        """As of a JudgeSpec that builds this judge; what was learned counts by its digest."""
        return {
            "judge": _name(judge),
            "settings": {name: _with_digest(value) for name, value in judge.settings().items()},
            "lm": _models(judge) if judge.seats() else "none",
            "models": judge.resolved_models(),
        }


def judge_spec(judge: "str | Path | Judge | JudgeSpec", lm: str | None = None) -> JudgeSpec | BuiltJudge:
    """The spec of what a user gives as a judge.

    Args:
        lm: model strings as in `JudgeSpec`.

    Raises:
        DeclarationError: none of these, or `lm` beside a JudgeSpec that names models.
    """
    match judge:
        case JudgeSpec():
            if lm and (judge.lm or judge.panel):
                raise DeclarationError("judge: lm is given twice, in the JudgeSpec and beside it. Give it once.")
            return JudgeSpec(**{**judge.__dict__, "lm": lm}) if lm else judge
        case str() | Path():
            return JudgeSpec(str(judge), lm)
        case Judge():
            return BuiltJudge(judge, lm)
    raise DeclarationError(
        f"judge: a {type(judge).__name__} is no judge. Give a name of dicast list, a file, or a dicast.Judge."
    )


def bind_models(judge: Judge, lm: str | None) -> Judge:
    """The judge, bound to these LMs; without any it keeps its own, or takes DSPy's configured LM, or the default."""
    import dspy

    if lm:
        return judge.bind(Roles.parse(lm))
    if not has_models(judge) and dspy.settings.lm is None and not any(stage.ask.lm for stage in judge.stages()):
        return judge.bind(Roles({}))
    return judge


def has_models(judge: Judge) -> bool:
    """Whether a role is bound to an LM, as those of a judge file are."""
    return any(seat.model for seat in judge.seats() if not seat.is_fixed)


def same_judge(before: Mapping[str, Any], now: Mapping[str, Any], judge: Judge) -> dict[str, Any]:
    """The identity `now`, with the values of `before` where they mean the same in other words.

    Args:
        before: the identity in a manifest.
        now: the identity of this run.
        judge: the judge of this run.
    """
    same = dict(now)
    digests = [str(identity.get("judge")).partition("@")[2] for identity in (before, now)]
    if digests[0] and digests[0] == digests[1]:
        same["judge"] = before["judge"]
    answered_by_the_same = "models" in before and before["models"] == now.get("models")
    if "lm" in before and (answered_by_the_same or _means(str(before["lm"]), judge)):
        same["lm"] = before["lm"]
    settings = before.get("settings")
    if isinstance(settings, dict) and present_settings(settings) == now.get("settings"):
        same["settings"] = settings  # `direct` had another name for a parameter
    learned = before.get("learned")
    tables = {name: {"shares": state["shares"]} for name, state in _learned(judge).items() if "shares" in state}
    if learned and learned in (tables, *(table["shares"] for table in tables.values())):
        same["learned"] = learned  # runs of version 0.1 recorded the table of a judge's only learned part
    return same


def _means(lm: str, judge: Judge) -> bool:
    """Whether a manifest's models are the judge's, whoever wrote them: a run of a name, or of a built judge."""
    seats = [seat for seat in judge.seats() if not seat.is_fixed]
    if lm == _models(judge):
        return True
    if isinstance(judge, Panel):
        texts = lm.split(" + ")
        return len(texts) == len(judge.members) and all(map(_means, texts, judge.members))
    try:
        roles = Roles.parse(lm)
    except ModelError:
        return False
    return bool(seats) and all(roles[seat.role] == seat.model for seat in seats)


def _models(judge: Judge) -> str:
    """The models of a judge, each once."""
    return " + ".join(dict.fromkeys(seat.model or _lm_name(seat) for seat in judge.seats()))


def _lm_name(seat: Any) -> str:
    lm = getattr(seat, "lm", None)
    return str(getattr(lm, "model", type(lm).__name__)) if lm is not None else "none"


def _learned(judge: Judge) -> dict[str, Any]:
    """What the judge, or the first member of a panel, has learned, as a judge file records it."""
    return dict(to_record(judge.members[0] if isinstance(judge, Panel) else judge).learned)


def _name(judge: Judge) -> str:
    """The judge's name, with a digest of all that differs from the registered judge of that name."""
    if isinstance(judge, Panel) and judge.head is None and judge.threshold is None:
        return "panel of " + " + ".join(dict.fromkeys(map(_name, judge.members)))
    record = to_record(judge)
    if _is_default(record):
        return judge.name
    text = json.dumps(record.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)
    return f"{judge.name}@{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _is_default(record: JudgeRecord) -> bool:
    """Whether nothing but parameters and models differs from the registered judge."""
    if record.declaration is not None or record.members:
        return False
    try:
        default = default_record(record)
    except DeclarationError:  # a class that no package registers
        return False
    return default.model_copy(update={name: getattr(record, name) for name in ("settings", "files", "lm")}) == record


def _with_digest(value: Any) -> Any:
    """The stem of a YAML or judge file with the digest of its content; any other value as it is."""
    if not isinstance(value, str) or not is_judge_file(value):
        return value
    digest = fingerprint(value) if value.endswith(JUDGE_SUFFIX) else file_digest(Path(value))
    return f"{judge_title(value)}@{digest[:12]}"
