"""The texts in a row's prompt, and which rows hold a text of an evaluation set.

Every text of a case is fenced in the prompt (see `judging.delimiters`), so a row is compared by what a student
reads, wherever the row comes from. Texts are compared as those of cases are where groups are joined
(`data.joined_groups`): normalised, long enough to show that they have one source, equal or near duplicates by MinHash.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..data import Case
from ..data.joined_groups import MOST_QUERIES, representatives
from ..data.text_digest import MIN_BYTES, conversation, normalised
from ..judging.delimiters import defuse
from .history_texts import HistoryTexts, history_texts
from .row import TrainingRow

OPENING = re.compile(r"(?<!<)(<{3,33})\n")
EQUAL, NEAR, WHOLE = "an equal text", "a near duplicate", "the same short texts"
EARLIER, NEAR_EARLIER = "an equal text in a history", "a near duplicate in a history"


@dataclass(frozen=True)
class Overlap:
    """What rows have in common with evaluation sets.

    Attributes:
        rows: the numbers of the rows that hold a text of an evaluation set.
        counts: how many, by set and kind of equality.
    """

    rows: frozenset[int]
    counts: Mapping[str, int]


def texts_of(row: TrainingRow) -> list[str]:
    """The fenced texts of a row's prompt, normalised, in order.

    Example:
        >>> from .row import ChatMessage
        >>> user = ChatMessage(role="user", content="Request:\\n<<<\\nName a  Fruit.\\n>>>")
        >>> answer = ChatMessage(role="assistant", content="...")
        >>> texts_of(TrainingRow(task="t", messages=(user, answer), case_id="1", group="1", source="traces"))
        ['name a fruit.']
    """
    prompt = (message.content for message in row.prompt if message.role == "user")
    return [normalised(text) for content in prompt for text in _fenced(content)]


def overlap(rows: Sequence[TrainingRow], against: Mapping[str, Iterable[Case]]) -> Overlap:
    """The rows that hold the request or a candidate of an evaluation case, or nearly so; the same for any order.

    A candidate text that answers more than `MOST_QUERIES` requests of its set, such as "yes" or a fixed option, shows
    nothing; nor does a text under `MIN_BYTES`, unless all of a case's texts are in the row, without others where the
    case has no request. In a history each earlier text is compared by itself (`history_texts`).

    Args:
        against: the evaluation sets by name.
    """
    read = [_RowTexts.of(row) for row in rows]
    leaking, counts = set[int](), Counter[str]()
    for name, evaluation in against.items():
        cases = list(evaluation)
        by_case = [_texts_of_case(case) for case in cases]
        marked = _source_texts(by_case)
        short = {
            (frozenset(texts), bool(case.query.strip()))
            for case, texts in zip(cases, by_case, strict=True)
            if texts and not any(map(_is_long, texts))
        }
        compared = _Compared(marked, (text for row in read for text in (*row.long, *row.earlier)), short)
        for number, row in enumerate(read):
            if kind := compared.kind(row):
                leaking.add(number)
                counts[f"{name}: {kind}"] += 1
    return Overlap(frozenset(leaking), dict(counts))


@dataclass(frozen=True)
class _RowTexts:
    """The texts of a row's prompt: all, the long ones, and the long ones in its histories."""

    texts: frozenset[str]
    long: frozenset[str]
    earlier: frozenset[str]
    history: HistoryTexts

    @classmethod
    def of(cls, row: TrainingRow) -> "_RowTexts":
        shown = [text for message in row.prompt if message.role == "user" for text in _fenced(message.content)]
        texts, history = frozenset(map(normalised, shown)), history_texts(shown)
        return cls(texts, frozenset(filter(_is_long, texts)), frozenset(filter(_is_long, history.texts)), history)


class _Compared:
    """The texts of an evaluation set, with which rows are compared.

    Args:
        marked: its long texts that show where a row comes from.
        others: the long texts of rows, among which near duplicates are looked for.
        short: the texts of each case that has no long one, and whether a request is among them.
    """

    def __init__(self, marked: set[str], others: Iterable[str], short: set[tuple[frozenset[str], bool]]) -> None:
        self.marked, self._sorted = marked, sorted(marked)
        self._short: dict[str, list[tuple[frozenset[str], bool]]] = {}
        for texts, has_request in short:
            self._short.setdefault(min(texts), []).append((texts, has_request))
        self._near = representatives({*marked, *others})
        self._near_marked = {self._near[text] for text in marked}

    def kind(self, row: _RowTexts) -> str:
        """What the row has in common with the set; empty: nothing."""
        if row.long & self.marked:
            return EQUAL
        if (row.earlier | row.history.longer) & self.marked or any(map(self._begins_one, row.history.beginnings)):
            return EARLIER
        if self._is_near(row.long):
            return NEAR
        if self._is_near(row.earlier):
            return NEAR_EARLIER
        cases = (case for text in row.texts for case in self._short.get(text, ()))
        return WHOLE if any(case[0] == row.texts or _is_within(*case, row) for case in cases) else ""

    def _is_near(self, texts: Iterable[str]) -> bool:
        return any(self._near[text] in self._near_marked for text in texts)

    def _begins_one(self, beginning: str) -> bool:
        """Whether a text of the set begins so."""
        place = bisect_left(self._sorted, beginning)
        return _is_long(beginning) and place < len(self._sorted) and self._sorted[place].startswith(beginning)


def _fenced(content: str) -> Iterator[str]:
    """The texts in fences, each of which ends with as many marks as it begins."""
    place = 0
    while opening := OPENING.search(content, place):
        closing = content.find("\n" + ">" * len(opening[1]), opening.end() - 1)
        if closing < 0:
            return
        yield content[opening.end() : max(closing, opening.end())]
        place = closing + 1 + len(opening[1])


def _texts_of_case(case: Case) -> list[str]:
    """The conversation, its last turn, and the candidates, as they would be read from a prompt."""
    texts = [case.query, conversation(case), *(candidate.text for candidate in case.candidates)]
    return list(dict.fromkeys(filter(None, (normalised(defuse(text)) for text in texts))))


def _source_texts(by_case: Sequence[Sequence[str]]) -> set[str]:
    """The long texts of cases that show where a row comes from."""
    requests: dict[str, set[str]] = {}
    for texts in by_case:
        for text in texts[1:]:
            requests.setdefault(text, set()).add(texts[0])
    first = {texts[0] for texts in by_case if texts}
    return {
        text
        for text in {*first, *requests}
        if _is_long(text) and (text in first or len(requests[text]) <= MOST_QUERIES)
    }


def _is_within(texts: frozenset[str], has_request: bool, row: _RowTexts) -> bool:
    """Whether a row shows a request and what answers it, beside other texts."""
    return has_request and len(texts) > 1 and texts <= row.texts


def _is_long(text: str) -> bool:
    return len(text.encode()) >= MIN_BYTES
