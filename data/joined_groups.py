"""Groups of cases that share texts: what a split and folds must keep together.

The user's groups (see `Case.split_key`) are joined, by union-find, where cases of different groups have the same texts:
the same query and candidates at any length, the same query, the same candidate text, a near duplicate of a query or of
a candidate text. Digests are of normalised texts, see `text_digest`; short texts join nothing.

Two kinds of equal texts are no reason to join groups:

- A candidate text with more than `MOST_QUERIES` different queries is a fixed option, a greeting or a refusal.
- Where all persons answer the same queries, these would join all persons. A kind of equality that would put more than
  `LARGEST` of the cases into one group is left out, and `JoinedGroups.summary` says so.

Groups without equal texts keep their names, so that a split of such cases is the same as by the user's groups.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .case import Case
from .counting import cases_text
from .near_duplicates import near_duplicates
from .text_digest import MIN_BYTES, conversation, normalised

MOST_QUERIES = 5  # different queries of a candidate text that joins groups
LARGEST = 0.25  # of the cases: the most that equal texts may put into one group, so that parts can be filled
FEWEST = 5  # groups that must remain: four parts, or five folds

Rows = Mapping[str, Sequence[int]]  # text -> the indices of the cases that hold it


@dataclass(frozen=True)
class Recurrence:
    """A kind of equal texts that joins no groups, because it would join too many.

    Attributes:
        kind: "queries", "candidate texts", ...
        cases: the cases that have such a text in common with another group.
        largest: the cases that would be in the largest group.
    """

    kind: str
    cases: int
    largest: int

    def __str__(self) -> str:
        return (
            f"{self.kind} of {cases_text(self.cases)} recur in other groups; joining them would put "
            f"{cases_text(self.largest)} into one group, so groups stay as they are: parts differ in groups, not in "
            f"{self.kind}"
        )


@dataclass(frozen=True)
class JoinedGroups:
    """The groups of some cases after joining.

    Attributes:
        keys: the group of each case, in order; cases with equal `split_key` have equal keys.
        equal: the cases that have a text in common with another group, to which they were joined.
        near: the cases that were joined by a near duplicate only.
        recurring: the kinds of equal texts that join nothing, as they would join too many cases.
    """

    keys: tuple[str, ...]
    equal: int = 0
    near: int = 0
    recurring: tuple[Recurrence, ...] = ()

    @property
    def counts(self) -> str:
        """For people, as in "44 of 300 cases joined by equal texts"; empty if none were joined."""
        counts = [(self.equal, "by equal texts"), (self.near, "by near duplicates")]
        joined = ", ".join(f"{count:,} {how}" for count, how in counts if count)
        return joined.replace(" by", f" of {cases_text(len(self.keys))} joined by", 1) if joined else ""

    @property
    def summary(self) -> str:
        """The counts, and the kinds of texts that a split does not separate; empty if no text is in several groups."""
        return "; ".join(filter(None, [self.counts, *map(str, self.recurring)]))

    def apply(self, cases: Sequence[Case]) -> list[Case]:
        """The same cases, each with its joined group where that is another."""
        return [
            case if key == case.split_key else case.model_copy(update={"group": key})
            for case, key in zip(cases, self.keys, strict=True)
        ]


def join_groups(cases: Sequence[Case]) -> JoinedGroups:
    """The groups of the cases, joined where they share texts; the same for any order of the cases."""
    forest, texts = _Forest([case.split_key for case in cases]), _Texts(cases)
    equal, near = set[int](), set[int]()
    recurring: dict[str, Recurrence] = {}

    def join(kind: str, rows: Rows, joined: set[int]) -> None:
        shared = {number for numbers in rows.values() if forest.differ(numbers) for number in numbers}
        if not shared:
            return
        wider = forest.joined(rows.values())
        if wider.largest > max(LARGEST * len(cases), forest.largest) or wider.count < min(FEWEST, forest.count):
            recurring[kind] = Recurrence(kind, len(shared), wider.largest)
        else:
            forest.parents = wider.parents
            joined |= shared

    join("cases", texts.by_case(), equal)
    join("queries", texts.queries, equal)
    join("candidate texts", texts.of_few_queries(texts.candidates), equal)
    if not recurring.keys() & {"cases", "queries"}:
        join("near-duplicate queries", _clusters(texts.queries), near)
    if not recurring.keys() & {"cases", "candidate texts"}:
        join("near-duplicate candidate texts", texts.of_few_queries(_clusters(texts.candidates)), near)
    if "queries" in recurring:
        recurring.pop("cases", None)  # they have the same queries
    return JoinedGroups(forest.names(), len(equal), len(near - equal), tuple(recurring.values()))


class _Texts:
    """The normalised texts of cases and where they are: long queries and long candidate texts."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self.conversations = [normalised(conversation(case)) for case in cases]
        self.texts = [[normalised(candidate.text) for candidate in case.candidates] for case in cases]
        self.queries = _rows([[text] for text in self.conversations])
        self.candidates = _rows(self.texts)

    def by_case(self) -> Rows:
        """The cases with the same query and candidates at any length, by both."""
        rows: dict[str, list[int]] = defaultdict(list)
        for number, (query, texts) in enumerate(zip(self.conversations, self.texts, strict=True)):
            if query or any(texts):
                rows[repr((query, sorted(texts)))].append(number)
        return rows

    def of_few_queries(self, rows: Rows) -> Rows:
        """The texts that occur with at most `MOST_QUERIES` different queries."""
        return {
            text: numbers
            for text, numbers in rows.items()
            if len({self.conversations[number] for number in numbers}) <= MOST_QUERIES
        }


class _Forest:
    """Union-find over the groups of cases."""

    def __init__(self, keys: Sequence[str]) -> None:
        self.keys = keys
        self.parents = {key: key for key in keys}

    def joined(self, clusters: Iterable[Sequence[int]]) -> "_Forest":
        """A copy where the groups of each cluster of cases are one."""
        forest = _Forest(self.keys)
        forest.parents = dict(self.parents)
        for numbers in clusters:
            roots = {forest.root(self.keys[number]) for number in numbers}
            forest.parents |= dict.fromkeys(roots, min(roots))
        return forest

    def root(self, key: str) -> str:
        """The first, by name, of the groups that are joined with this one."""
        while (parent := self.parents[key]) != key:
            self.parents[key] = self.parents[parent]
            key = parent
        return key

    def differ(self, numbers: Sequence[int]) -> bool:
        """Whether these cases are in several groups."""
        return len({self.root(self.keys[number]) for number in numbers}) > 1

    def names(self) -> tuple[str, ...]:
        """The joined group of each case."""
        return tuple(map(self.root, self.keys))

    @property
    def largest(self) -> int:
        return max(Counter(self.names()).values(), default=0)

    @property
    def count(self) -> int:
        return len(set(self.names()))


def _rows(texts: Sequence[Sequence[str]]) -> Rows:
    """The cases of every text that is long enough to join groups."""
    rows: dict[str, list[int]] = defaultdict(list)
    for number, candidates in enumerate(texts):
        for text in set(candidates):
            if len(text.encode()) >= MIN_BYTES:
                rows[text].append(number)
    return rows


def representatives(texts: Iterable[str]) -> dict[str, str]:
    """For each text the first, by name, of the near duplicates among which it is; see `near_duplicates`.

    Args:
        texts: normalised, see `text_digest.normalised`.
    """
    names = sorted(set(texts))
    return dict(zip(names, _Forest(names).joined(near_duplicates(names)).names(), strict=True))


def _clusters(rows: Rows) -> Rows:
    """The cases of texts that are near duplicates of each other, by the first of the texts."""
    clusters: dict[str, list[int]] = defaultdict(list)
    for text, root in representatives(rows).items():
        clusters[root] += rows[text]
    return clusters
