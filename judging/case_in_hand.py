"""The case that is being judged, for what a stage chooses by it; see `demo_pool`."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..data import Case
from ..errors import DeclarationError
from ..evidence.source_spec import SourceSpec
from .block_base import Vectors

if TYPE_CHECKING:
    from ..evidence.source import EvidenceSource


@dataclass(frozen=True)
class CaseInHand:
    """A case, and the sources of evidence of the judge that is judging it."""

    case: Case
    sources: Callable[[], "Sequence[EvidenceSource]"]

    def read(self, name: str, spec: SourceSpec) -> Vectors:
        """(candidates, width): what the source of this name reads of the case; a second reading is a stored one.

        Raises:
            DeclarationError: the judge has no such source, or reads another model.
            ExecutionError: see `EvidenceSource.read`.
        """
        source = next((source for source in self.sources() if source.name == name), None)
        if source is None:
            raise DeclarationError(
                f"demos by nearness: the judge does not read {name!r}, by which they are chosen. Judge with --set "
                f"evidence={name}."
            )
        if difference := spec.difference(source.spec):
            raise DeclarationError(
                f"demos by nearness: read by {difference}. Use the model of the judge file, or compile anew."
            )
        return source.read(self.case)


_in_hand: ContextVar[CaseInHand | None] = ContextVar("dicast_case_in_hand", default=None)


@contextmanager
def judging(case: Case, sources: Callable[[], "Sequence[EvidenceSource]"]) -> Iterator[None]:
    """Within this context the case is in hand."""
    token = _in_hand.set(CaseInHand(case, sources))
    try:
        yield
    finally:
        _in_hand.reset(token)


def case_in_hand() -> CaseInHand | None:
    """The case of the innermost judge that is judging; None outside of judges."""
    return _in_hand.get()
