"""Cases that a judge has seen before it judges them: it was compiled on them, or learned from a run over them.

Those that it learned from are left out. A judge file judges what it was compiled on, and the run says so. Cases are
equal by their normalised texts; of runs of earlier versions by id.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ..data import Case
from ..errors import DataError
from ..judging import Judge
from ..judging.judge import learned_from
from ..judging.judge_file import read
from ..judging.registry import JUDGE_SUFFIX
from ..optimizers.fingerprints import seen_before
from .judge_spec import BuiltJudge, JudgeSpec

NAMED = 5  # ids in a notice


class SeenCases:
    """Counts the seen cases as they pass.

    Args:
        spec: the judge as the user named it.
        judge: the judge that it builds.
        before: the identity of the run that is continued, if any: where version 0.1 began it, its judge learned from
            cases that stay in.

    Attributes:
        rows: the cases so far.
        seen: those of them that the judge has seen and judges all the same.
        left_out: ids of those that it learned from.
    """

    def __init__(
        self, spec: JudgeSpec | BuiltJudge, judge: Judge | None = None, before: Mapping[str, Any] | None = None
    ) -> None:
        self.rows = self.seen = 0
        self.left_out: list[str] = []
        self.name, self.learned_from = spec.name, _learned_from(spec, judge or spec.build())
        self.leaves_out = before is None or _names_cases(before)
        self.compiled_on = seen_before(fingerprints_of(spec))

    def unseen(self, cases: Iterable[Case]) -> Iterator[Case]:
        """The cases that the judge did not learn from.

        Raises:
            DataError: there are cases, and none is left.
        """
        rest = 0
        for case in cases:
            if self.leaves_out and self.learned_from(case):
                self.left_out.append(case.id)
            else:
                rest += 1
                yield case
        if self.left_out and not rest:
            raise DataError(
                f"--cases: {self.name} learned from all of these {len(self.left_out):,} cases. Give cases that are "
                "new to it."
            )

    def counted(self, cases: Iterable[Case]) -> Iterator[Case]:
        """The same cases."""
        for case in cases:
            self.rows += 1
            self.seen += self.compiled_on(case) or self.learned_from(case)
            yield case

    def _measured(self) -> str:
        if self.seen < self.rows:
            return "so dicast evaluate and report leave them out"
        return "and there are no others to measure it on"

    def notice(self) -> str:
        """What to say of the seen cases; empty where all cases are new."""
        sentences = []
        if self.left_out:
            named = ", ".join(map(repr, self.left_out[:NAMED])) + (", ..." if len(self.left_out) > NAMED else "")
            sentences.append(
                f"{self.name} has learned from {len(self.left_out):,} of the cases: they are left out ({named})."
            )
        if self.seen:
            sentences.append(
                f"{self.name} has learned from {self.seen:,} of these {self.rows:,} cases: on them it agrees more with "
                f"people than on new ones, {self._measured()}."
            )
        return " ".join(sentences)


def fingerprints_of(spec: JudgeSpec | BuiltJudge) -> str | None:
    """Digests of the cases that a judge file was compiled on, as it stores them; None for any other judge."""
    if not (isinstance(spec, JudgeSpec) and spec.name.endswith(JUDGE_SUFFIX)):
        return None
    stored = read(spec.name).training.get("cases")
    return stored if isinstance(stored, str) else None


def _learned_from(spec: JudgeSpec | BuiltJudge, judge: Judge) -> Callable[[Case], bool]:
    """Whether the judge learns from a case, by a labelled run or by labels of people."""
    of_run, people = learned_from(judge), spec.people if isinstance(spec, JudgeSpec) else None
    return of_run if people is None else people.has_seen


def _names_cases(identity: Mapping[str, Any]) -> bool:
    """Whether a run's identity says which cases its judge learned from, or its judge learned from none."""
    learned = identity.get("learned")
    return (
        learned is None
        or set(learned) == {"people"}
        or any(isinstance(state, Mapping) and {"texts", "ids"} & set(state) for state in learned.values())
    )
