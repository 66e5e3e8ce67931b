"""The verdicts that compiling changed, as the page of a compilation browses them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..data import Case, Judged
from ..optimizers.changed_verdicts import Change, ChangedVerdict, Changes
from .case_browser import CaseRow, menus
from .case_browser import _row as case_row
from .run_report import Disagreement

WORDS: dict[Change, str] = {
    "became right": "became right",
    "became wrong": "became wrong",
    "changed, still wrong": "changed, still wrong",
    "nearer": "nearer to people",
    "farther": "farther from people",
}
TONES: dict[Change, str] = {"became right": "good", "nearer": "good", "became wrong": "bad", "farther": "bad"}


@dataclass(frozen=True)
class ChangedRow:
    """A case with both verdicts; texts are those of `after`.

    Attributes:
        change: what became of it, in words.
        tone: good, bad or none.
        before_right, after_right: whether the verdict is the human label.
    """

    change: str
    tone: str
    before: CaseRow
    after: CaseRow
    before_right: bool
    after_right: bool

    @property
    def same_evidence(self) -> bool:
        """Whether both judges read the same: a head weighs it in another way."""
        return self.before.judged.findings == self.after.judged.findings


@dataclass(frozen=True)
class Share:
    """A part of all verdicts: what became of them, and how many."""

    key: str
    words: str
    n: int
    is_listed: bool = False


def changed_rows(changed: Sequence[ChangedVerdict], texts: Mapping[str, Case] | None, most: int) -> list[ChangedRow]:
    """At most `most` rows, the surest compiled verdicts first.

    Args:
        texts: cases by id; None: nothing that a person or a model wrote is shown.
    """
    ordered = sorted(changed, key=lambda row: -(row.after.certainty if row.after.certainty is not None else -1.0))
    return [_row(number, row, texts) for number, row in enumerate(ordered[:most], start=1)]


def change_menus(rows: Sequence[ChangedRow]) -> dict[str, list[str]]:
    """The options of the filters: only values that occur."""
    present = {row.change for row in rows}
    of_after = menus([row.after for row in rows])
    return {**of_after, "change": [words for words in WORDS.values() if words in present]}


def pieces_of(changes: Changes) -> tuple[Share, ...]:
    """All verdicts by what became of them, in the order of a bar: right, became right, still wrong, became wrong."""
    counts = changes.counts
    if counts.keys() & {"nearer", "farther"}:
        rest = Share("same", "place about the same", changes.n - changes.changed)
        nearer, farther = (Share(key, WORDS[key], counts.get(key, 0), True) for key in ("nearer", "farther"))
        return tuple(piece for piece in (nearer, rest, farther) if piece.n)
    wrong = changes.n - changes.right - changes.changed
    listed = {key: Share(key.replace(", ", " "), WORDS[key], n, True) for key, n in counts.items()}
    pieces = (
        Share("stayed right", "right before and after", changes.right),
        listed.get("became right"),
        listed.get("became wrong"),
        listed.get("changed, still wrong"),
        Share("stayed wrong", "the same wrong verdict", wrong),
    )
    return tuple(piece for piece in pieces if piece is not None and piece.n)


def changes_sentence(changes: Changes | None) -> str:
    """How many verdicts changed, in a sentence; empty where it is not known."""
    if changes is None or not changes.n:
        return ""
    parts = [f"{piece.n:,} {piece.words}" for piece in pieces_of(changes) if piece.is_listed]
    if not parts:
        return f"None of the {changes.n:,} verdicts changed."
    listed = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    moved = "texts moved by more than a tenth of all places" if "nearer" in changes.counts else "verdicts changed"
    return f"{changes.changed:,} of {changes.n:,} {moved}: {listed}."


def without_texts(judged: Judged) -> Judged:
    """The verdict without anything that people or a model wrote of the case; criteria may be written for one case."""
    hidden = {"rationale": "", "detail": "", "findings": (), "corrections": (), "notes": (), "group": None}
    return judged.model_copy(update=hidden)


def _row(number: int, row: ChangedVerdict, texts: Mapping[str, Case] | None) -> ChangedRow:
    before, after = row.before, row.after
    if texts is None:
        before, after = without_texts(before), without_texts(after)
    case = (texts or {}).get(after.case_id)
    if case is not None and before.case_digest not in ("", case.digest):
        case = None
    old, new = (case_row(number, "", Disagreement(judged, case)) for judged in (before, after))
    return ChangedRow(WORDS[row.change], TONES.get(row.change, ""), old, new, _is_right(before), _is_right(after))


def _is_right(judged: Judged) -> bool:
    return judged.answer is not None and judged.answer == judged.human_answer
