"""Labelled cases of people whom a judge is to know (`--learn LABELS`): some ten of each are enough.

The evidence of these cases is read as that of any case, and each person gets a deviation from the weights that all
share; nothing else of the judge changes. It holds for the run: `dicast.Judge` objects that are saved keep it.
"""

from functools import cached_property
from pathlib import Path

from ..data import Case, read_cases
from ..data.person import person_of
from ..data.readers import file_digest
from ..data.text_digest import case_text_digest
from ..errors import DataError, DeclarationError
from ..judging import Judge
from ..judging.person_block import PersonBlock, learned_blocks


class PersonLabels:
    """A file of labelled cases with profiles.

    Args:
        path: of the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """Those with a label and a profile.

        Raises:
            DataError: there are none, or the file cannot be read.
        """
        cases = tuple(case for case in read_cases(str(self.path)) if case.label and person_of(case))
        if not cases:
            raise DataError(f"--learn {self.path}: no case has a label and a profile. Give labelled cases of persons.")
        return cases

    @cached_property
    def digest(self) -> str:
        return file_digest(self.path)

    @cached_property
    def _texts(self) -> frozenset[str]:
        return frozenset(map(case_text_digest, self.cases))

    def has_seen(self, case: Case) -> bool:
        """Whether the judge learns from this case."""
        return case_text_digest(case) in self._texts

    def teach(self, judge: Judge) -> Judge:
        """A copy of the judge that knows these people, after their evidence was read.

        Raises:
            DeclarationError: a judge without weights of people.
            ExecutionError: the evidence could not be read.
        """
        check_learns_people(judge, self.path)
        assert judge.head is not None
        blocks = learned_blocks(judge.head.blocks, self.cases, [judge.read_vectors(case) for case in self.cases])
        copy: Judge = judge.deepcopy()
        copy.head = judge.head.model_copy(update={"blocks": blocks})
        return copy


def check_learns_people(judge: Judge, path: Path) -> None:
    """Raises DeclarationError for a judge without weights of people."""
    if judge.head is None or not any(isinstance(block, PersonBlock) for block in judge.head.blocks.values()):
        raise DeclarationError(
            f"--learn {path}: judge {judge.name!r} has no weights of people. They are fitted to labels of several "
            "people, where they pay (docs/persons.md); a folder of a run teaches other things."
        )
