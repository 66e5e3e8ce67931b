"""The checks of a judge on this machine: which labels each had, and which verdicts were right, so that they add up.

Cases and groups are noted by digests. A check with the same labels and the same verdicts is the same check. Labels
that are checked again count once, with their latest verdict.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ..data import Case, Judged
from ..data.case import digest
from ..data.text_digest import case_text_digest
from ..engines.history_file import Entry, add_to_history, read_history
from ..stats.repeated_checks import levels_of_checks
from ..stats.resampling import Estimate, proportion

FILE = "checks.jsonl"


class CheckedCase(NamedTuple):
    """A labelled case of a check."""

    group: str  # its digest
    right: bool
    accepted: bool  # by the certified threshold; of judges without a certificate every verdict is


Rows = Mapping[str, CheckedCase]  # by the digest of the case


@dataclass(frozen=True)
class CheckHistory:
    """The checks of one judge, the latest last.

    Attributes:
        checks: the cases of each check.
        problem: why the latest could not be noted; empty if it was.
    """

    checks: tuple[Rows, ...]
    problem: str = ""

    def latest(self, labels: int) -> tuple[Estimate, int]:
        """The accuracy on the fewest latest checks that together have so many labels, and how many checks these are."""
        rows, checks = self.latest_rows(labels)
        return _accuracy(rows), checks

    def latest_rows(self, labels: int) -> tuple[Rows, int]:
        """The cases of these checks, each with its latest verdict, and how many checks these are."""
        start = self._start(len(self.checks) - 1, labels)
        merged: dict[str, CheckedCase] = {}
        for rows in self.checks[start:]:
            merged |= rows
        return merged, len(self.checks) - start

    def level(self, record: Estimate) -> float:
        """The one-sided level of the latest check; see `stats.repeated_checks`.

        Args:
            record: the accuracy that the checks are compared with.
        """
        sizes = [_accuracy(rows).effective_n or 1.0 for rows in self.checks]
        starts = [self._start(position, record.n) for position in range(len(self.checks))]
        return levels_of_checks(record.effective_n or 1.0, sizes, starts)[-1]

    def _start(self, end: int, labels: int) -> int:
        seen: set[str] = set()
        for start in range(end, -1, -1):
            seen |= self.checks[start].keys()
            if len(seen) >= labels:
                return start
        return 0


def note_check(
    judge: str,
    name: str,
    cases: Sequence[Case],
    verdicts: Sequence[Judged],
    *,
    accepts: Callable[[Judged], bool] = lambda _: True,
) -> CheckHistory:
    """The checks of a judge with this one, which is noted on this machine.

    Args:
        judge: digest of the judge and its models.
        name: of the judge's file, for people.
        cases: that were judged.
        verdicts: of these cases, in the same order; those without a label or a verdict do not count.
        accepts: whether a certified threshold accepts a verdict.
    """
    rows = {
        case_text_digest(case): CheckedCase(
            digest(case.split_key), judged.answer == judged.human_answer, accepts(judged)
        )
        for case, judged in zip(cases, verdicts, strict=True)
        if judged.status != "unscored" and judged.human_answer is not None
    }
    line = " ".join(f"{case}:{row.group}:{row.right:d}{row.accepted:d}" for case, row in sorted(rows.items()))
    entry = {"judge": judge, "name": name, "date": datetime.now(UTC).date().isoformat(), "cases": line}
    if not rows:
        return CheckHistory((rows,))
    added = add_to_history(FILE, entry, is_same=lambda other: (other.get("judge"), other.get("cases")) == (judge, line))
    earlier = [_rows(other) for other in added.before if other.get("judge") == judge]
    return CheckHistory((*filter(None, earlier), rows), added.problem)


def noted_checks() -> list[dict[str, Any]]:
    """All checks that this machine has noted, the oldest first: date, name, labels and right verdicts."""
    return [
        {
            "date": str(entry.get("date")),
            "judge": str(entry.get("name")),
            "labels": len(rows),
            "right": sum(row.right for row in rows.values()),
        }
        for entry in read_history(FILE)
        if (rows := _rows(entry))
    ]


def _rows(entry: Entry) -> Rows:
    """The cases of a noted check; none of a damaged one."""
    rows = {}
    for word in str(entry.get("cases", "")).split():
        case, _, rest = word.partition(":")
        group, _, marks = rest.partition(":")
        if marks not in ("00", "01", "10", "11"):
            return {}
        rows[case] = CheckedCase(group, marks[0] == "1", marks[1] == "1")
    return rows


def _accuracy(rows: Rows) -> Estimate:
    ordered = [row for _, row in sorted(rows.items())]
    return proportion([row.right for row in ordered], [row.group for row in ordered])
