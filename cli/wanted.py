"""The judge that the options of a command ask for: its parameters, its LMs, what it learned, its seats on a panel."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import DeclarationError


@dataclass(frozen=True)
class Wanted:
    """The judge that the command line asks for."""

    name: str
    lm: str | None
    settings: dict[str, Any]
    learn: Path | None
    panel: tuple[str, ...]
    samples: int
    pool: str

    @property
    def title(self) -> str:
        """The judge's name; of a YAML or a judge file its stem."""
        from ..judging.registry import judge_title

        return judge_title(self.name)

    @property
    def is_panel(self) -> bool:
        return bool(self.panel) or self.samples > 1

    def built(self) -> Any:
        """The judge with its LMs.

        Raises:
            DeclarationError: an unknown program or parameter, a judge that cannot learn, or LMs given twice.
        """
        from ..judging import Panel

        if self.panel and self.lm:
            raise DeclarationError("judge: --lm and --panel both name models. Give each member's with --panel.")
        if not self.is_panel:
            return self._one(self.lm)
        members = [self._one(lm) for lm in self.panel or (self.lm,)]
        return Panel(members, samples=self.samples, pool=self.pool)

    def _one(self, lm: str | None) -> Any:
        from ..judging import build

        judge = build(self.name, **self.settings)
        self._taught(judge)
        return answered_by(judge, lm)

    def _taught(self, judge: Any) -> None:
        from ..engines.batch import read_verdicts

        if self.learn is None:
            return
        if not hasattr(judge, "learn"):
            raise DeclarationError(f"judge {self.name!r} cannot learn from a run; fennec and its forms can.")
        judge.learn(read_verdicts(self.learn))

    def identity(self, judge: Any) -> dict[str, Any]:
        """What a run's manifest must know of the judge, so that another judge's verdicts are never mixed in."""
        name = _with_digest(self.name)
        models = dict.fromkeys(stage.model for stage in judge.stages())
        roles = " + ".join(self.panel) if self.panel else self.lm or " + ".join(models)
        told = {
            "judge": f"panel of {name}" if self.is_panel else name,
            "settings": {name: _with_digest(value) for name, value in judge.settings().items()},
            "lm": roles if judge.stages() else "none",
        }
        learner = getattr(judge, "members", [judge])[0]
        return told | ({"learned": learner.priorities.shares} if self.learn else {})


def answered_by(judge: Any, lm: str | None) -> Any:
    """The judge, bound to these LMs; without any it keeps those that it has, or takes the usual one."""
    from ..engines.models import Roles

    if lm or not has_models(judge):
        judge.bind(Roles.parse(lm) if lm else Roles({}))
    return judge


def has_models(judge: Any) -> bool:
    """Whether a stage is bound to an LM, as those of a judge file are."""
    return any(stage.model for stage in judge.stages())


def _with_digest(value: Any) -> Any:
    """The stem of a YAML or a judge file with the digest of what it holds; any other value as it is."""
    from ..data.readers import file_digest
    from ..judging.judge_file import fingerprint
    from ..judging.registry import JUDGE_SUFFIX, is_judge_file, judge_title

    if not isinstance(value, str) or not is_judge_file(value):
        return value
    digest = fingerprint(value) if value.endswith(JUDGE_SUFFIX) else file_digest(Path(value))
    return f"{judge_title(value)}@{digest[:12]}"
