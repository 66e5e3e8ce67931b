"""Two runs on the cases that people labelled and both have answered: what each of them has right."""

from dataclasses import dataclass

import numpy as np

from .run_arrays import Codes, Flags, Floats, RunArrays


@dataclass(frozen=True, eq=False)
class PairedAnswers:
    """Two runs row by row.

    Attributes:
        first, second: the rows that both have answered; the human labels are those of the first.
        hits, other_hits: (n, m) which of the answers of each are the human label.
        differ: (n,) whether their verdicts differ.
    """

    first: RunArrays
    second: RunArrays
    hits: Flags
    other_hits: Flags
    differ: Flags

    @property
    def credits(self) -> tuple[Floats, Floats]:
        """(n,) of each run the part of its answers to a case that are right."""
        return credit(self.hits), credit(self.other_hits)


def paired_answers(first: RunArrays, second: RunArrays) -> PairedAnswers:
    """The rows of two joined runs that are labelled and answered by both; none where neither names winners."""
    other = recoded(second, first.labels)
    rows = (first.human >= 0) & (first.judge >= 0) & (other != -1)
    ours, theirs = first.rows(rows), second.rows(rows)
    human = ours.human[:, None]
    other_hits = recoded_answers(theirs, ours.labels) == human
    return PairedAnswers(ours, theirs, ours.answers == human, other_hits, (first.judge != other)[rows])


def credit(hits: Flags) -> Floats:
    """(n,) the part of the (n, m) answers of each case that are right."""
    return np.asarray(hits.mean(axis=1), dtype=np.float64)


def recoded(run: RunArrays, labels: tuple[str, ...]) -> Codes:
    """(n,) the verdicts as codes of another run's labels; a label that it lacks gets a code beyond them."""
    return np.asarray(_codes(run, labels)[run.judge], dtype=np.int64)


def recoded_answers(run: RunArrays, labels: tuple[str, ...]) -> Codes:
    """(n, m) the answers as codes of another run's labels, as `recoded`."""
    return np.asarray(_codes(run, labels)[run.answers], dtype=np.int64)


def _codes(run: RunArrays, labels: tuple[str, ...]) -> Codes:
    names = {label: code for code, label in enumerate(labels)}
    codes = [names.get(label, len(labels) + code) for code, label in enumerate(run.labels)]
    return np.array([*codes, -1], dtype=np.int64)
