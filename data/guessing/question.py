"""A question that a file leaves open, with what to state for each answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..layout import Columns


@dataclass(frozen=True)
class PossibleReading:
    """One answer.

    Attributes:
        text: what it says.
        fields: our field -> theirs, to be stated for it.
        values: their word of a label -> ours, to be stated for it.
    """

    text: str
    fields: Mapping[str, Columns] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def options(self) -> str:
        """The options of the command line that state it.

        Example:
            >>> PossibleReading("", {"votes": ("anna", "ben")}, {"1": "a", "both good": "tie"}).options
            "--fields votes=anna+ben --values '1=a,both good=tie'"
        """
        fields = ",".join(
            f"{ours}={theirs if isinstance(theirs, str) else '+'.join(theirs)}" for ours, theirs in self.fields.items()
        )
        values = ",".join(f"{theirs}={ours}" for theirs, ours in self.values.items())
        return " ".join(
            f"{name} {_quoted(text)}" for name, text in (("--fields", fields), ("--values", values)) if text
        )


def _quoted(text: str) -> str:
    """The text as one word of a shell."""
    import shlex

    return shlex.quote(text)


@dataclass(frozen=True)
class OpenQuestion:
    """What is not decided, and the answers, equally good, the more usual one first."""

    text: str
    answers: tuple[PossibleReading, ...]


class Undecided(Exception):
    """A guess ends in a question."""

    def __init__(self, question: OpenQuestion) -> None:
        super().__init__(question.text)
        self.question = question
