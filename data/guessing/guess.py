"""What the columns of a file are: texts, labels and groups, each with the evidence for it.

Nothing is taken for a label that neither its name nor its values make one. Where two readings are equally good, the
guess is a question, whose answers are fields and values to be stated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...errors import DataError
from ..layout import Columns, columns_of
from .columns import Column
from .label_columns import LabelGuess, guess_label
from .names import is_bookkeeping, side_pair, strength
from .question import OpenQuestion, PossibleReading, Undecided

TEXT_ROLES = ("query", "reference", "context")
FIELDS_OF_PAIRS = ("response_a", "response_b")
CHOSEN = ("chosen", "rejected")

__all__ = ["Guess", "OpenQuestion", "PossibleReading", "guess"]


@dataclass
class Guess:
    """How a file is read.

    Attributes:
        kind: pairs, categories or scores.
        fields: our field -> their columns; () for no column.
        values: their word of a label -> ours.
        scale: of scores.
        evidence: our field -> what speaks for its columns.
        unused: columns that no field takes.
        notes: what else should be known.
    """

    kind: str
    fields: dict[str, Columns]
    values: dict[str, str] = field(default_factory=dict)
    scale: tuple[float, float] = (1, 5)
    evidence: dict[str, str] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def guess(
    columns: Mapping[str, Column],
    *,
    fields: Mapping[str, Columns] | None = None,
    values: Mapping[str, str] | None = None,
) -> Guess | OpenQuestion:
    """How the columns are read, or a question where that is not decided.

    Args:
        fields: what is stated already: our field -> theirs.
        values: as stated: their word of a label -> ours.

    Raises:
        DataError: no texts, no label, or labels that fit nothing (which, how often, what to state).
    """
    filled = {name: column for name, column in columns.items() if column.filled}
    if len(filled) < 2:
        named = ", ".join(columns) or "none"
        raise DataError(
            f"columns: {len(filled)} with values ({named[:200]}). A text and its label are two columns; is the file "
            "complete, and are its cells parted by a comma, a semicolon or a tab?"
        )
    work = _Work(filled, dict(fields or {}), dict(values or {}))
    try:
        return work.guess()
    except Undecided as undecided:
        return undecided.question


class _Work:
    """The columns that are left, and the fields so far."""

    def __init__(self, columns: dict[str, Column], stated: dict[str, Columns], values: dict[str, str]) -> None:
        self.columns, self.values = columns, values
        self.fields = dict(stated)
        self.evidence = dict.fromkeys(stated, "as stated")
        self.taken = {name for theirs in stated.values() for name in columns_of(theirs, columns)}

    def guess(self) -> Guess:
        is_pair = self._take_pair()
        if not is_pair:
            self._take_response()
        for role in TEXT_ROLES:
            self._take(role, [name for name in self._free() if self.columns[name].is_text or strength(name, role) > 1])
        if "query" not in self.fields and not is_pair and "response" in self.fields:
            self._take_only_text()
        self.fields.setdefault("query", ())
        label = LabelGuess("pairs") if CHOSEN[0] in self.fields else self._take_label(is_pair)
        self._take_others()
        unused = [name for name in self._free() if name not in label.machines]
        notes = [*label.notes, *self._notes()]
        return Guess(label.kind, self.fields, dict(label.values), label.scale, self.evidence, unused, notes)

    def _free(self) -> list[str]:
        return [name for name in self.columns if name not in self.taken]

    def _set(self, ours: str, theirs: Columns, evidence: str) -> None:
        self.fields[ours] = theirs
        self.evidence[ours] = evidence
        self.taken |= set(columns_of(theirs, self.columns))

    def _take(self, role: str, names: Sequence[str]) -> None:
        """The column whose name says the role most surely; the first of equals."""
        if role in self.fields:
            return
        best = max(names, key=lambda name: strength(name, role), default=None)
        if best is not None and strength(best, role):
            self._set(role, best, self._described(best))

    def _described(self, name: str) -> str:
        column = self.columns[name]
        missing = f", {column.rows - column.filled:,} empty" if column.filled < column.rows else ""
        if column.is_conversation:
            return f"conversations, {column.distinct:,} different{missing}"
        return f"text of {column.mean:,.0f} characters on average, {column.distinct:,} different{missing}"

    def _take_pair(self) -> bool:
        if set(FIELDS_OF_PAIRS) <= self.fields.keys() or set(CHOSEN) <= self.fields.keys():
            return True
        if "response" in self.fields or "options" in self.fields:
            return False
        names = [name for name in self._free() if self.columns[name].is_text]
        pairs = [(a, b) for a in names for b in names if side_pair(a, b)]
        ranked = sorted(pairs, key=lambda pair: (side_pair(*pair) == ("0", "1"), -_is_response(pair[0])))
        if not ranked:
            return False
        first, second = ranked[0]
        sides = CHOSEN if side_pair(first, second) == CHOSEN else FIELDS_OF_PAIRS
        for ours, theirs in zip(sides, (first, second), strict=True):
            self._set(ours, theirs, self._described(theirs))
        return True

    def _take_response(self) -> None:
        if "response" in self.fields:
            return
        texts = [name for name in self._free() if self.columns[name].is_text]
        sure = [name for name in self._free() if strength(name, "response") > 1 and strength(name, "reference") < 2]
        sure = [name for name in sure if not is_bookkeeping(name) and (name in texts or not self._is_label_like(name))]
        if len(sure) > 1 and len({name.rpartition(".")[0] for name in sure}) == 1:
            answers = tuple(
                PossibleReading(f"{name} is the text that is judged", {"response": name}) for name in sure[:4]
            )
            if len(sure) == 2:
                both = {"response_a": sure[0], "response_b": sure[1]}
                answers += (PossibleReading(f"{sure[0]} and {sure[1]} are compared", both),)
            raise Undecided(OpenQuestion(f"the columns {' and '.join(sure)} may all be judged texts.", answers))
        weak = [name for name in texts if strength(name, "response") and not strength(name, "query") > 1]
        chosen = sure[:1] or sorted(weak, key=lambda name: -strength(name, "response"))[:1]
        if not chosen:
            other = [name for name in texts if not strength(name, "reason") and not strength(name, "reference")]
            unnamed = [name for name in other if not strength(name, "query")]
            chosen = unnamed if len(unnamed) == 1 else other if len(other) == 1 else []
        if not chosen:
            listed = ", ".join(texts) or "none"
            raise DataError(
                f"columns: none was recognised as the text that is judged (texts: {listed[:200]}; all: "
                f"{', '.join(self.columns)[:200]}). Name it, as in --fields response=COLUMN, or of a pair "
                "--fields response_a=COLUMN,response_b=COLUMN."
            )
        self._set("response", chosen[0], self._described(chosen[0]))

    def _is_label_like(self, name: str) -> bool:
        return self.columns[name].is_words and strength(name, "label") > 0

    def _take_only_text(self) -> None:
        """What was asked, where it is the one text that is left and its name says nothing else."""
        texts = [name for name in self._free() if self.columns[name].is_text and self.columns[name].mean >= 10]
        others = [
            name for name in texts if not any(strength(name, role) for role in ("reason", "label", "system", "id"))
        ]
        if len(others) == 1 and not is_bookkeeping(others[0]):
            self._set("query", others[0], self._described(others[0]) + "; the one text that is left")

    def _take_label(self, is_pair: bool) -> LabelGuess:
        label = guess_label(
            {name: self.columns[name] for name in self._free()},
            pair=_names(self.fields) if is_pair else None,
            stated={name: self.fields[name] for name in ("label", "score", "votes") if name in self.fields},
            all_columns=self.columns,
            values=self.values,
        )
        for ours in ("label", "score", "votes"):
            self.fields.pop(ours, None)
        for ours, (theirs, evidence) in label.fields.items():
            self._set(ours, theirs, evidence)
        return label

    def _take_others(self) -> None:
        identity = self._unique("id")
        if identity and "id" not in self.fields:
            self._set("id", identity, f"{self.columns[identity].distinct:,} different")
        for name in self._free():
            column = self.columns[name]
            is_group = strength(name, "group") > 1 and 10 <= column.distinct < column.filled == column.rows
            if is_group and "group" not in self.fields and column.distinct >= column.rows / 20:
                self._set(
                    "group", name, f"{column.distinct:,} different in {column.rows:,} rows; none is divided by a split"
                )
        if "reason" not in self.fields:
            self._take("reason", [name for name in self._free() if self.columns[name].is_text])
        aspects = [name for name in self._free() if self.columns[name].is_words and self.columns[name].distinct > 1]
        if "aspect" not in self.fields:
            self._take_named("aspect", [name for name in aspects if strength(name, "aspect") > 1])
        systems = [name for name in self._free() if strength(name, "system") and self.columns[name].is_words]
        if "response" in self.fields:
            self._take_named("system", [name for name in systems if strength(name, "system") > 1])
        elif pair := next(((a, b) for a in systems for b in systems if side_pair(a, b)), None):
            for ours, theirs in zip(("system_a", "system_b"), pair, strict=True):
                self._take_named(ours, [theirs])

    def _take_named(self, ours: str, names: Sequence[str]) -> None:
        if names and ours not in self.fields:
            words = ", ".join(list(self.columns[names[0]].counts)[:4])
            self._set(ours, names[0], f"{self.columns[names[0]].distinct} different: {words}")

    def _unique(self, role: str) -> str | None:
        """The column of this role that has another value in every row."""
        names = [name for name in self._free() if strength(name, role)]
        names = [name for name in names if self.columns[name].distinct == self.columns[name].rows]
        return max(names, key=lambda name: strength(name, role), default=None)

    def _notes(self) -> list[str]:
        if CHOSEN[0] in self.fields:
            return [f"{self.fields['chosen']} is the better one; it becomes a or b by a digest of the texts, in halves"]
        return []


def _is_response(name: str) -> int:
    return max(strength(name, "response"), int(name.casefold() in ("chosen", "rejected")) * 2)


def _names(fields: Mapping[str, Columns]) -> tuple[str, str]:
    return str(fields["response_a"]), str(fields["response_b"])
