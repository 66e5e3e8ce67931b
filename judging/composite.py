"""A judge made of judges: what panels and cascades have in common."""

from collections.abc import Iterable, Sequence

from ..data import Finding, Verdict
from ..errors import DeclarationError
from .judge import Judge


class Composite(Judge):
    """Base of judges that ask others; a subclass says in `assess` who is asked and how their verdicts become one.

    Args:
        members: judges; each has its own LMs.

    Raises:
        DeclarationError: no member.
    """

    def __init__(self, members: Sequence[Judge]) -> None:
        super().__init__()
        if not members:
            raise DeclarationError(f"{self.name}: no member. Give at least one judge.")
        self.members = list(members)
        scales = {member.score_scale for member in self.members}
        self.score_scale = scales.pop() if len(scales) == 1 else None

    @property
    def pairs_only(self) -> bool:
        return any(member.pairs_only for member in self.members)

    def _names(self) -> list[str]:
        """One name a member: its LMs where they tell all members apart, else its program, else that with its number."""
        models = [",".join(sorted({stage.model for stage in member.stages()} - {""})) for member in self.members]
        names = models if all(models) and len(set(models)) == len(models) else [member.name for member in self.members]
        if len(set(names)) < len(names):
            return [f"{name} {number}" for number, name in enumerate(names, start=1)]
        return names


def findings_of(told: Iterable[tuple[str, Verdict]]) -> tuple[Finding, ...]:
    """All that the verdicts found, each finding with the name of the member that found it."""
    return tuple(finding.model_copy(update={"member": name}) for name, verdict in told for finding in verdict.findings)
