"""Which columns hold people's labels, and what their words say.

Labels are in one column, in one for each annotator, or in a cell with all votes.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ...errors import DataError
from ...parsing import shown
from ..category_words import in_order
from ..layout import Columns, columns_of
from .columns import Column
from .names import ASPECTS, ROLES, is_bookkeeping, is_exactly, is_machine, strength, words_of
from .question import OpenQuestion, PossibleReading, Undecided
from .sides import SideReading, side_readings
from .single_labels import single_reading

MOST_NAMED = 5  # words in a message
NO_LABEL_NOTE = (
    "no column is a label: these cases can be judged, but not compiled or measured; --fields label=COLUMN names one"
)


@dataclass
class LabelGuess:
    """The columns of labels.

    Attributes:
        kind: pairs, categories or scores.
        fields: label, score or votes -> the columns, and what speaks for them.
        values: their word -> ours.
        scale: of scores.
        notes: what else should be known.
        machines: columns with labels of a model.
    """

    kind: str = ""
    fields: dict[str, tuple[Columns, str]] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    scale: tuple[float, float] = (1, 5)
    notes: list[str] = field(default_factory=list)
    machines: list[str] = field(default_factory=list)


def guess_label(
    columns: Mapping[str, Column],
    *,
    pair: tuple[str, str] | None,
    stated: Mapping[str, Columns],
    all_columns: Mapping[str, Column],
    values: Mapping[str, str],
) -> LabelGuess:
    """The columns of labels among those that no other field takes.

    Args:
        columns: those that are left.
        pair: the columns of the two responses; None for single texts.
        stated: label, score or votes -> columns, as stated.
        all_columns: every column, for those that are stated.
        values: their word -> ours, as stated.

    Raises:
        DataError: no label, or words that fit nothing.
        Undecided: two readings are equally good.
    """
    reader = _LabelReader(pair, values)
    guessed = LabelGuess()
    if stated:
        for ours, theirs in stated.items():
            names = columns_of(theirs, all_columns)
            missing = [name for name in names if name not in all_columns]
            if missing:
                raise DataError(
                    f"--fields {ours}: no column is called {missing[0]!r}. They are {', '.join(all_columns)[:300]}."
                )
            reader.add(guessed, ours, [all_columns[name] for name in names])
        return reader.finished(guessed)
    chosen = _choose(columns, reader, guessed)
    for ours, several in chosen.items():
        reader.add(guessed, ours, [columns[name] for name in several])
    return reader.finished(guessed)


class _LabelReader:
    """Reads the words of columns, all in the same way."""

    def __init__(self, pair: tuple[str, str] | None, values: Mapping[str, str]) -> None:
        self.pair, self.values = pair, dict(values)

    def fits(self, column: Column) -> bool:
        """Whether every word of a column is a label, in one way or another."""
        words = self._left(column)
        if not column.is_words or is_bookkeeping(column.name):
            return False
        if self.pair is None:
            return single_reading(self._restated(column)) is not None
        return not words or bool(side_readings(words, self.pair)[0])

    def are_scores_of_aspects(self, columns: list[Column]) -> bool:
        """Whether columns, each called as an aspect is, hold scores of texts."""
        if self.pair is not None or not all(words_of(column.name)[-1] in ASPECTS for column in columns):
            return False
        readings = [single_reading(self._restated(column)) for column in columns]
        return all(reading is not None and reading.kind == "scores" for reading in readings)

    def _left(self, column: Column) -> list[str]:
        stated = {theirs.casefold() for theirs in self.values}
        return [word for word in column.counts if word.casefold() not in stated]

    def _restated(self, column: Column) -> Column:
        """The column with our words in place of those that are stated; without the words that are no label."""
        if not self.values:
            return column
        stated = {theirs.casefold(): ours for theirs, ours in self.values.items()}
        counts = Counter[str]()
        for word, count in column.counts.items():
            if ours := stated.get(word.casefold(), word):
                counts[ours] += count
        return replace(column, counts=counts, filled=sum(counts.values()))

    def add(self, guessed: LabelGuess, ours: str, columns: list[Column]) -> None:
        """Read these columns as one field of ours."""
        parts = [self._parts(column) for column in columns]
        whole = Column("+".join(column.name for column in columns))
        for part in parts:
            whole.counts.update(part.counts)
            whole.filled += sum(part.counts.values())
        of_aspects = ours == "score" and len(columns) > 1
        is_votes = not of_aspects and (ours == "votes" or len(columns) > 1 or any(part.is_list for part in parts))
        names: Columns = columns[0].name if len(columns) == 1 else tuple(column.name for column in columns)
        if self.pair is not None:
            reading = self._sides(whole, names, is_votes)
            guessed.kind = "pairs"
            guessed.values |= {word: side for word, side in reading.items() if word.casefold() != side}
            field_name, shown_values = "votes" if is_votes else "label", reading
        else:
            single = single_reading(self._restated(whole))
            if single is None:
                raise self._odd(whole, list(whole.counts), "neither scores nor at most 20 categories that occur again")
            guessed.kind = single.kind
            guessed.values |= dict(single.values) | self.values
            guessed.scale = single.scale
            field_name = "votes" if is_votes else "score" if single.kind == "scores" else "label"
            shown_values = dict(single.values)
        evidence = _counts_text(whole.counts, {**shown_values, **self.values}, guessed)
        if of_aspects:
            evidence = f"{len(columns)} aspects, a case for each: {evidence}"
        elif len(columns) > 1:
            evidence = f"{len(columns)} annotators: {evidence}"
        elif is_votes:
            evidence = f"a list of votes: {evidence}"
        guessed.fields[field_name] = (names, evidence)

    def _parts(self, column: Column) -> Column:
        """The column, or the words between separators, where these are labels and the cells are not."""
        if self.fits(column) or not (parts := column.split()):
            return column
        return parts if self.fits(parts) else column

    def _sides(self, column: Column, names: Columns, is_votes: bool) -> dict[str, str]:
        assert self.pair is not None
        stated = {
            word: side
            for word in column.counts
            for theirs, side in self.values.items()
            if word.casefold() == theirs.casefold()
        }
        left = self._left(column)
        if not left:
            return stated
        readings, odd = side_readings(left, self.pair)
        if not readings:
            raise self._odd(column, odd, f"neither {self.pair[0]} nor {self.pair[1]} nor a tie")
        if len(readings) > 1:
            ours = "votes" if is_votes else "label"
            answers = tuple(
                PossibleReading(_reading_text(reading), {ours: names}, reading.values) for reading in readings
            )
            counts = ", ".join(f"{word} {count:,}" for word, count in column.counts.most_common(7))
            raise Undecided(OpenQuestion(f"{column.name} ({counts}) can be read in {len(readings)} ways.", answers))
        return stated | dict(readings[0].values)

    def _odd(self, column: Column, words: list[str], reason: str) -> DataError:
        listed = ", ".join(f"{shown(word)} ({column.counts[word]:,})" for word in words[:MOST_NAMED])
        more = f" and {len(words) - MOST_NAMED:,} more" if len(words) > MOST_NAMED else ""
        state = "a, b or tie" if self.pair is not None else "a category or number"
        example = shown(f"{words[0]}=")
        return DataError(
            f"column {column.name}: {listed}{more}: {reason}. State {state} for each, as in --values {example}, "
            "nothing behind = for no label; or name another column with --fields label=COLUMN."
        )

    def finished(self, guessed: LabelGuess) -> LabelGuess:
        """The guess, with the values that were stated."""
        if not guessed.fields:
            guessed.kind = guessed.kind or ("pairs" if self.pair is not None else "texts")
            guessed.notes.append(NO_LABEL_NOTE)
            return guessed
        guessed.values |= self.values
        if "votes" in guessed.fields and not {"label", "score"} & guessed.fields.keys():
            summed = "their mean" if guessed.kind == "scores" else "what most of them chose"
            guessed.notes.append(f"the label of a case is {summed}")
        return guessed


def _choose(columns: Mapping[str, Column], reader: _LabelReader, guessed: LabelGuess) -> dict[str, list[str]]:
    """Our field -> columns."""
    guessed.machines = [
        name for name, column in columns.items() if is_machine(name) and (column.is_words or strength(name, "label"))
    ]
    left = {name: column for name, column in columns.items() if name not in guessed.machines}
    fitting = [
        name
        for name, column in left.items()
        if reader.fits(column) or ((parts := column.split()) and reader.fits(parts))
    ]
    named = [
        name
        for name in fitting
        if strength(name, "label") > 1 and not (words_of(name)[-1] in ASPECTS and len(fitting) > 1)
    ]
    votes = [name for name in fitting if strength(name, "votes") > 1 or left[name].is_list]
    annotators = _annotators([name for name in fitting if name not in votes], left, named)
    if guessed.machines:
        guessed.notes.append(f"not people's labels, by their names: {', '.join(guessed.machines)}")
    if annotators:
        rest = [name for name in named if name not in annotators]
        return {"votes": annotators} | ({"label": rest} if len(rest) == 1 else {})
    lists = [name for name in votes if left[name].is_list or name not in named]
    if len(lists) == 1 and len([name for name in named if name not in lists]) <= 1:
        rest = [name for name in named if name not in lists]
        return {"votes": lists} | ({"label": rest} if rest else {})
    options = list(dict.fromkeys([*named, *lists]))
    if len(options) == 1:
        return {"label": options}
    if len(options) > 1:
        raise Undecided(_which(options, left))
    aspects = [name for name in fitting if strength(name, "label") > 1 or words_of(name)[-1] in ASPECTS]
    if len(aspects) == 1:
        return {"label": aspects}
    if len(aspects) > 1 and reader.are_scores_of_aspects([left[name] for name in aspects]):
        return {"score": aspects}
    if len(aspects) > 1:
        raise Undecided(_which(aspects, left))
    by_values = [name for name in fitting if _says_it(left[name], reader)]
    if len(by_values) == 1:
        return {"label": by_values}
    if len(by_values) > 1:
        raise Undecided(_which(by_values, left))
    if problem := _none(left, guessed, fitting, reader):
        raise problem
    return {}


def _annotators(fitting: list[str], columns: Mapping[str, Column], named: list[str]) -> list[str]:
    """Columns with the same words, two or more, that no role and no aspect names: one for each person."""
    groups: dict[frozenset[str], list[str]] = {}
    for name in fitting:
        words = words_of(name)
        has_stem = name in named and not is_exactly(name, "label")
        has_person = has_stem or any(strength(part, "annotator") > 1 for part in words)
        has_role = any(strength(name, role) for role in ROLES) and not has_person
        if not has_role and not ASPECTS & set(words):
            vocabulary = frozenset(word.casefold() for word in columns[name].counts)
            key = next((known for known in groups if known <= vocabulary or vocabulary <= known), None)
            if key is None:
                groups[vocabulary] = [name]
            else:
                groups[key | vocabulary] = [*groups.pop(key), name]
    several = [names for names in groups.values() if len(names) > 1]
    best = max(several, key=len, default=[])
    return [] if set(best) <= set(named) and not _have_one_stem(best) else best


def _have_one_stem(names: list[str]) -> bool:
    """Whether names are a common word and each another one, as label_anna and label_ben."""
    words = [words_of(name) for name in names]
    common = set(words[0]).intersection(*words[1:]) if words else set()
    return bool(common) and len({frozenset(set(parts) - common) for parts in words}) == len(names)


def _says_it(column: Column, reader: _LabelReader) -> bool:
    """Whether the values of a column are labels whatever its name is: sides of a pair in words, pass and fail."""
    from .single_labels import is_known

    words = list(column.counts)
    if reader.pair is not None:
        return not column.numbers
    return not column.numbers and len(words) == 2 and is_known(words)


def _which(names: list[str], columns: Mapping[str, Column]) -> OpenQuestion:
    listed = "; ".join(f"{name}: {_most(columns[name].counts)}" for name in names[:6])
    answers = tuple(
        PossibleReading(f"{name} is the label ({_most(columns[name].counts)})", {"label": name}) for name in names[:6]
    )
    if len(names) <= 6 and len({frozenset(columns[name].counts) for name in names}) == 1:
        answers += (PossibleReading("they are several people's labels of the same", {"votes": tuple(names)}),)
    return OpenQuestion(f"{len(names)} columns may be the label ({listed[:200]}).", answers)


def _none(
    columns: Mapping[str, Column], guessed: LabelGuess, fitting: list[str], reader: _LabelReader
) -> DataError | None:
    """What to say where no column is a label, but one may be; None where none may."""
    for name, column in columns.items():
        if strength(name, "label") > 1 and column.is_words and not reader.fits(column):
            words = side_readings(list(column.counts), reader.pair)[1] if reader.pair else list(column.counts)
            return reader._odd(column, words, "fits nothing" if reader.pair is None else "neither response, nor a tie")
    likely = [name for name in fitting if strength(name, "label")] or fitting
    if not likely and not guessed.machines:
        return None
    if likely:
        known = "; ".join(f"{name} ({_most(columns[name].counts)})" for name in likely[:3])
        hint = f" These may be one: {known}. If so: --fields label={likely[0]}."
    else:
        machines = guessed.machines
        hint = f" Only a model's: {', '.join(machines)}. If people gave them: --fields label={machines[0]}."
    return DataError(f"columns: no label was recognised among {', '.join(columns)[:200] or 'none'}.{hint}")


def _most(counts: Counter[str]) -> str:
    listed = ", ".join(f"{word} {count:,}" for word, count in counts.most_common(4))
    return listed + (", ..." if len(counts) > 4 else "")


def _counts_text(counts: Counter[str], values: Mapping[str, str], guessed: LabelGuess) -> str:
    """`answer_A 131 = a, both good 49 = tie`; of scores their range."""
    if guessed.kind == "scores" and len(counts) > 6:
        numbers = [float(values.get(word, word)) for word in counts if values.get(word, word)]
        return f"{len(counts)} scores from {min(numbers):g} to {max(numbers):g}"
    lowered = {theirs.casefold(): ours for theirs, ours in values.items()}
    parts = []
    common = counts.most_common(8)
    if guessed.kind == "scores":
        common.sort(key=lambda pair: float(values.get(pair[0], pair[0]) or 0))
    for word, count in common:
        ours = lowered.get(word.casefold(), word)
        same = ours.casefold() == word.casefold()
        parts.append(f"{word} {count:,}" + ("" if same else f" = {ours or 'no label'}"))
    if guessed.kind == "categories" and len(counts) == 2:
        positive = in_order(list(counts))[1]
        return f"{', '.join(parts)}; {positive} is the positive one"
    return ", ".join(parts) + (", ..." if len(counts) > 8 else "")


def _reading_text(reading: SideReading) -> str:
    pairs = ", ".join(f"{word} = {side}" for word, side in reading.values.items())
    return f"{pairs} ({reading.because})"
