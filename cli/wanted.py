"""The judge that the options of a command ask for: its parameters, its LMs, what it learned, its seats on a panel."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import DeclarationError

YAML = (".yaml", ".yml")


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
        """The judge's name; of a YAML file its stem."""
        return Path(self.name).stem if self.name.endswith(YAML) else self.name

    @property
    def is_panel(self) -> bool:
        return bool(self.panel) or self.samples > 1

    def built(self) -> Any:
        """The judge with its LMs.

        Raises:
            DeclarationError: an unknown program or parameter, a judge that cannot learn, or LMs given twice.
        """
        from ..engines.models import Roles
        from ..programs import build, build_panel

        if self.panel and self.lm:
            raise DeclarationError("judge: --lm and --panel both name models. Give each member's with --panel.")
        if not self.is_panel:
            judge = build(self.name, **self.settings)
            self._taught(judge)
            return judge.bind(Roles.parse(self.lm) if self.lm else Roles({}))
        members = self.panel or (str(Roles.parse(self.lm) if self.lm else Roles({})),)
        panel = build_panel(self.name, members, samples=self.samples, pool=self.pool, **self.settings)
        for member in panel.members:
            self._taught(member)
        return panel

    def _taught(self, judge: Any) -> None:
        from ..engines.runner import read_verdicts

        if self.learn is None:
            return
        if not hasattr(judge, "learn"):
            raise DeclarationError(f"judge {self.name!r} cannot learn from a run; fennec and its forms can.")
        judge.learn(read_verdicts(self.learn))

    def identity(self, judge: Any) -> dict[str, Any]:
        """What a run's manifest must know of the judge, so that another judge's verdicts are never mixed in."""
        name = self.name if self.title == self.name else _with_digest(self.name)
        models = dict.fromkeys(stage.model for stage in judge.stages())
        roles = " + ".join(self.panel) if self.panel else self.lm or " + ".join(models)
        told = {
            "judge": f"panel of {name}" if self.is_panel else name,
            "settings": {name: _with_digest(value) for name, value in judge.settings().items()},
            "lm": roles if judge.stages() else "none",
        }
        learner = getattr(judge, "members", [judge])[0]
        return told | ({"learned": learner.priorities.shares} if self.learn else {})


def _with_digest(value: Any) -> Any:
    """The stem of a YAML file with the digest of what it holds; any other value as it is."""
    from ..data.readers import file_digest

    if not isinstance(value, str) or not value.endswith(YAML):
        return value
    return f"{Path(value).stem}@{file_digest(Path(value))[:12]}"
