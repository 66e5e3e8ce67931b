"""The base class of judges that ask other judges: panels and cascades."""

from collections.abc import Iterable, Sequence

from ..data import Case, Finding, Verdict
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

    def lacks(self, case: Case) -> str:
        return next(filter(None, (member.lacks(case) for member in self.members)), "")

    def _names(self) -> list[str]:
        """A name for each member: its LMs where all members differ in them, else its program, numbered if needed."""
        models = [",".join(sorted({seat.model for seat in member.seats()} - {""})) for member in self.members]
        names = models if all(models) and len(set(models)) == len(models) else [member.name for member in self.members]
        if len(set(names)) < len(names):
            return [f"{name} {number}" for number, name in enumerate(names, start=1)]
        return names


def findings_of(verdicts: Iterable[tuple[str, Verdict]]) -> tuple[Finding, ...]:
    """The findings of all verdicts, each with the name of its member."""
    return tuple(
        finding.model_copy(update={"member": name}) for name, verdict in verdicts for finding in verdict.findings
    )
