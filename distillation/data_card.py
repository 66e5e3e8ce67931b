"""The data card of a training set: what is in it, where it comes from, what was dropped and why."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from pydantic import Field

from ..data.case import Record
from .row import TrainingRow
from .row_texts import texts_of

FORMAT = 1


class PartCounts(Record):
    """What one part of a set holds."""

    rows: int = Field(description="how many rows")
    groups: int = Field(description="how many groups: no group is in both parts")
    cases: int = Field(description="how many cases")
    tasks: dict[str, int] = Field(description="rows by task")
    sources: dict[str, int] = Field(description="rows by source")
    orders: dict[str, int] = Field(description="rows by the order of the pair; none: no pair was shown")
    one_token: int = Field(description="rows that teach the probabilities of one token; the others teach words")
    answers: dict[str, dict[str, int]] = Field(description="of these, by task: rows by their most probable token")
    words: float = Field(description="mean words of a row, prompt and answer")
    longest: int = Field(description="most words of a row")
    file: str = Field(description="the file's name")
    sha256: str = Field(description="the file's SHA-256")


class DataCard(Record):
    """What a training set holds; it is written last, so that a folder without it is not whole."""

    format: int = Field(default=FORMAT, description="of this file")
    train: PartCounts = Field(description="the rows that are learnt")
    validation: PartCounts = Field(description="the rows that are only measured")
    recurring: int = Field(default=0, description="validation rows with a text that is also in a training row")
    dropped: dict[str, int] = Field(default_factory=dict, description="rows that were left out, by the reason")
    before: dict[str, int] = Field(default_factory=dict, description="what became of the traces before, by what it was")
    against: dict[str, int] = Field(default_factory=dict, description="the evaluation sets compared with: their cases")
    mix: dict[str, float] = Field(default_factory=dict, description="the weights of tasks; tasks not named stay whole")
    seed: int = Field(description="of mixing and split")

    def markdown(self) -> str:
        """The card as a page."""
        lines = [
            "# Training set",
            "",
            *markdown_table(("", "train", "validation"), _overview(self.train, self.validation)),
            "",
            f"Seed {self.seed}. No group is in both parts"
            + (f"; {self.recurring:,} validation rows share a text with a training row." if self.recurring else "."),
        ]
        sections = {
            "Tasks": _beside(self.train.tasks, self.validation.tasks),
            "Sources": _beside(self.train.sources, self.validation.sources),
            "Orders of pairs": _beside(self.train.orders, self.validation.orders),
        }
        for title, rows in sections.items():
            lines += ["", f"## {title}", "", *markdown_table(("", "train", "validation"), rows)]
        for title, counts in {
            "Answers of one token": {
                f"{task}: {token}": n for task, tokens in self.train.answers.items() for token, n in tokens.items()
            },
            "Dropped": self.dropped,
            "Traces and rows before": self.before,
            "Compared with": self.against,
        }.items():
            if counts:
                lines += [
                    "",
                    f"## {title}",
                    "",
                    *markdown_table(("", "count"), [(k, f"{n:,}") for k, n in counts.items()]),
                ]
        return "\n".join(lines) + "\n"


def part_counts(rows: Sequence[TrainingRow], file: str, sha256: str) -> PartCounts:
    """What these rows are, by their counts."""
    words = [sum(len(message.content.split()) for message in row.messages) for row in rows]
    answers: dict[str, Counter[str]] = {}
    for row in rows:
        if row.targets:
            answers.setdefault(row.task, Counter())[row.answer] += 1
    return PartCounts(
        rows=len(rows),
        groups=len({row.group for row in rows}),
        cases=len({row.case_id for row in rows}),
        tasks=_counts(row.task for row in rows),
        sources=_counts(row.source for row in rows),
        orders=_counts(row.order or "none" for row in rows),
        one_token=sum(bool(row.targets) for row in rows),
        answers={task: dict(sorted(tokens.items())) for task, tokens in sorted(answers.items())},
        words=round(sum(words) / max(1, len(words)), 1),
        longest=max(words, default=0),
        file=file,
        sha256=sha256,
    )


def recurring_rows(train: Iterable[TrainingRow], validation: Iterable[TrainingRow]) -> int:
    """How many validation rows have a text that is also in a training row."""
    known = {text for row in train for text in texts_of(row)}
    return sum(not known.isdisjoint(texts_of(row)) for row in validation)


def _counts(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _overview(train: PartCounts, validation: PartCounts) -> list[tuple[str, ...]]:
    named = {
        "rows": "rows", "groups": "groups", "cases": "cases", "one_token": "rows of one token", "words": "mean words",
        "longest": "most words",
    }  # fmt: skip
    return [(title, *(f"{getattr(part, name):,}" for part in (train, validation))) for name, title in named.items()]


def _beside(train: Mapping[str, int], validation: Mapping[str, int]) -> list[tuple[str, str, str]]:
    names = sorted({*train, *validation})
    return [(name, f"{train.get(name, 0):,}", f"{validation.get(name, 0):,}") for name in names]


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return [f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines]
