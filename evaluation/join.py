"""Where runs meet: by case id, after checking that an id is the same case in each of them.

A label, group, aspect, length or system that a run does not have is no difference: that of the other run counts. Labels
of scores are equal to six digits, as tools round them. Groups may have other names in another run, if they hold the
same cases.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import DataError
from ..parsing import shown
from .case_table import CaseRecord, LabelValue
from .people_arrays import share_labels
from .run_arrays import RunArrays

NamedRun = tuple[str, RunArrays]
MOST_MIRRORED = 0.9  # of the differing cases: from here on the pairs of a run are exchanged
ADVICE = {
    "label": "Which label is right cannot be known: give both runs the same labels",
    "group": "Other cases are in one group with it: give both runs the same groups",
    "aspect": "Give the cases of each aspect different ids",
    "texts": "Compare runs that judged the same texts",
}


@dataclass(frozen=True, eq=False)
class JoinedRuns:
    """Two runs or more, row by row on the cases that all have scored.

    Attributes:
        runs: the rows of the shared cases, in the order of ids; labels and groups are the same in each run.
        unshared: of each run, the ids of the cases that it scored and another run did not.
    """

    runs: tuple[RunArrays, ...]
    unshared: tuple[tuple[str, ...], ...]


def join(runs: Sequence[NamedRun]) -> JoinedRuns:
    """The runs on the cases that all of them scored.

    Args:
        runs: name and verdicts of each run, two or more.

    Raises:
        DataError: a case has another label, group, aspect, length, system or text in another run.
    """
    for number, second in enumerate(runs):
        for first in runs[:number]:
            check_same_cases(first, second)
    shared = set.intersection(*(set(run.ids) for _, run in runs))
    rows = [run.rows(np.array([name in shared for name in run.ids], dtype=np.bool_)) for _, run in runs]
    unshared = tuple(tuple(name for name in run.ids if name not in shared) for _, run in runs)
    return JoinedRuns(share_labels(rows), unshared)


def check_same_cases(first: NamedRun, second: NamedRun) -> None:
    """Do nothing, or raise DataError where an id is not the same case in both runs."""
    ours, theirs = first[1].case_table.by_id, second[1].case_table.by_id
    shared = [(case, theirs[name]) for name, case in ours.items() if name in theirs]
    regrouped = _regrouped(shared)
    differing = [
        (case, other, field)
        for case, other in shared
        if (field := different_field(case, other) or ("group" if case.id in regrouped else ""))
    ]
    if differing:
        raise DataError(_refusal(first, second, differing, len(shared)))


def different_field(case: CaseRecord, other: CaseRecord) -> str:
    """The first field but the group in which two runs differ on a case, or an empty text."""
    if not _same_label(case.label, other.label):
        return "label"
    for field in ("aspect", "lengths", "systems"):
        value, theirs = getattr(case, field), getattr(other, field)
        if value and theirs and value != theirs:
            return field
    both_labelled = (case.label is None) == (other.label is None) and case.has_votes == other.has_votes
    return "texts" if case.digest and other.digest and case.digest != other.digest and both_labelled else ""


def _regrouped(shared: Sequence[tuple[CaseRecord, CaseRecord]]) -> set[str]:
    """The ids of cases that share a group with other cases in one run than in the other, whatever its name."""
    forward, backward, ids = dict[str, str](), dict[str, str](), set[str]()
    for case, other in shared:
        if case.group and other.group and (not case.digest or case.digest != other.digest):
            ours, theirs = forward.setdefault(case.group, other.group), backward.setdefault(other.group, case.group)
            if (ours, theirs) != (other.group, case.group):
                ids.add(case.id)
    return ids


def _same_label(label: LabelValue, other: LabelValue) -> bool:
    if label is None or other is None:
        return True
    if isinstance(label, tuple) and isinstance(other, tuple):
        return len(label) == len(other) and all(
            math.isclose(value, theirs, rel_tol=1e-6, abs_tol=1e-9) for value, theirs in zip(label, other, strict=True)
        )
    return _letter(label) == _letter(other)


def _letter(label: LabelValue) -> LabelValue:
    """The winner of two scores; any other label as it is."""
    if not isinstance(label, tuple) or len(label) != 2:
        return label
    return "a" if label[0] > label[1] else "b" if label[1] > label[0] else "tie"


def _refusal(
    first: NamedRun, second: NamedRun, differing: Sequence[tuple[CaseRecord, CaseRecord, str]], shared: int
) -> str:
    (name, _), (other_name, _) = first, second
    case, other, field = differing[0]
    place, other_place = _place(first, case.id), _place(second, case.id)
    counts = Counter(field for *_, field in differing)
    message = (
        f"{name} and {other_name}: case {case.id!r} has {_words(field, case)} in {place} and "
        f"{_words(field, other, 'another')} in {other_place}; {len(differing):,} of {shared:,} shared cases differ ("
        f"{', '.join(f'{field} {count:,}' for field, count in counts.items())}). "
    )
    mirrored = sum(different_field(case, other.swapped()) in ("", "texts") for case, other, _ in differing)
    if mirrored >= MOST_MIRRORED * len(differing) and set(counts) <= {"label", "lengths", "systems"}:
        likely = "" if any(_shows_orientation(case, other) for case, other, _ in differing) else " likely"
        return (
            f"{message}They are mirror images:{likely} {other_name} has its pairs exchanged. "
            "Exchange a and b in its rows (prediction, prediction_swapped, label, votes, lengths, systems), or let "
            "both judges read one file of cases."
        )
    return f"{message}{ADVICE.get(field, ADVICE['texts'])}, or leave these cases out of one of them."


def _shows_orientation(case: CaseRecord, other: CaseRecord) -> bool:
    """Whether more than the label says which candidate is the first."""
    return bool((case.lengths and other.lengths) or (any(case.systems) and any(other.systems)))


def _words(field: str, case: CaseRecord, which: str = "one") -> str:
    return f"{which} text" if field == "texts" else f"{field} {shown(getattr(case, field))}"


def _place(run: NamedRun, case_id: str) -> str:
    name, arrays = run
    return arrays.case_table.place(case_id) if arrays.case_table.place else name
