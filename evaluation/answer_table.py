"""The answers of several judges on the same cases, as one table, and how far every two of them agree."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, DeclarationError
from ..stats import agreement
from .aspects import Rows, Strata, strata_of
from .attribute_arrays import AttributeArrays
from .join import NamedRun, join
from .people_arrays import joint_labels, recoded_run
from .run_arrays import Codes, Flags, Floats


@dataclass(frozen=True, eq=False)
class AnswerTable:
    """The answers of r judges on the n cases that all of them scored, in the order of ids.

    Attributes:
        answers: (r, n) codes of labels, or scores.
        labels: of the codes; empty for scores.
        certainty: (n,) the mean certainty of the judges that state one; NaN where none does.
        unshared: of each judge, how many cases it scored that another did not.
        system: (n,) code of the system that wrote each single text; -1 where it is not known.
        ranges: of scores: each judge's lowest and highest possible score, else lowest and highest score.
    """

    judges: tuple[str, ...]
    answers: Floats
    labels: tuple[str, ...]
    ids: tuple[str, ...]
    group_names: tuple[str | None, ...]
    group: Codes
    strata: Strata
    certainty: Floats
    attributes: tuple[AttributeArrays, ...]  # of each run, whose other fields may be of the judge
    unshared: tuple[int, ...]
    system: Codes
    systems: tuple[str, ...]
    ranges: tuple[tuple[float, float], ...] = ()
    of_categories: bool = False  # whether the labels are categories

    @property
    def of_scores(self) -> bool:
        return not self.labels

    @cached_property
    def ranks(self) -> Floats:
        """(r, n) mid-ranks of each judge's scores within the aspect, in (0, 1)."""
        from scipy.stats import rankdata

        ranks = np.empty_like(self.answers)
        for name in self.strata.names:
            rows = self.strata.rows(name)
            ranks[:, rows] = (rankdata(self.answers[:, rows], axis=1) - 0.5) / len(rows)
        return ranks

    @cached_property
    def disagreement(self) -> Floats:
        """(n,) the proportion of the pairs of judges whose verdicts differ; of scores the deviation of their ranks."""
        if self.of_scores:
            return np.asarray(self.ranks.std(axis=0))
        count = len(self.judges)
        differing = sum((self.answers[i] != self.answers[:i]).sum(axis=0) for i in range(1, count))
        return np.asarray(differing / math.comb(count, 2), dtype=np.float64)

    def answer(self, judge: int, row: int) -> str | float:
        """A judge's label or score of a case."""
        value = float(self.answers[judge, row])
        return value if self.of_scores else self.labels[int(value)]

    def values_of(self, field: str) -> list[str | None]:
        """Each case's value of a field: the aspect, or an attribute that is the same in every run.

        Raises:
            DeclarationError: no run has the field, it has more than 100 values, or a case has several of them.
        """
        values: list[str | None] = [None] * len(self.ids)
        having = [run for run in self.attributes if field in run.names]
        if not having:
            known = ", ".join(sorted({name for run in self.attributes for name in run.names})) or "none"
            many = any(field in run.too_many for run in self.attributes)
            why = "has more than 100 values" if many else "is no field of the cases"
            raise DeclarationError(f"--by {field}: {field!r} {why}. The fields: {known}.")
        for run in having:
            column = run.names.index(field)
            for row, code in enumerate(run.codes[:, column].tolist()):
                value = run.values[column][code] if code >= 0 else None
                if value is not None and values[row] not in (None, value):
                    raise DeclarationError(
                        f"--by {field}: case {self.ids[row]!r} has {values[row]!r} in a run and {value!r} in another, "
                        "so it is a field of the judges. Give a field of the cases."
                    )
                values[row] = value if value is not None else values[row]
        return values


def answer_table(runs: Sequence[NamedRun]) -> AnswerTable:
    """The answers of the runs on the cases that all of them scored.

    Raises:
        DataError: an id is not the same case in two runs, no case is shared, or the cases are of several kinds.
    """
    joined = join(runs)
    labels = joint_labels(joined.runs)
    shared = [recoded_run(run, labels) for run in joined.runs]
    codes, scores = np.array([run.judge for run in shared]), np.array([run.score for run in shared])
    verdicts: Flags = np.asarray((codes >= 0).all(axis=0))
    scored: Flags = np.asarray(~np.isnan(scores).any(axis=0))
    if verdicts.any() and scored.any():
        raise DataError("agreement: some cases have verdicts, others scores. Give runs of cases of one kind.")
    rows = verdicts if verdicts.any() else scored
    if not rows.any():
        names = ", ".join(name for name, _ in runs)
        raise DataError(
            f"agreement: no case has a verdict, or a score, in each of {names}. Give runs of the same cases."
        )
    first = shared[0].rows(rows)
    certainties = np.array([run.certainty for run in shared])[:, rows]
    stated = ~np.isnan(certainties)
    return AnswerTable(
        judges=tuple(name for name, _ in runs),
        answers=(codes if verdicts.any() else scores)[:, rows].astype(np.float64),
        labels=labels if verdicts.any() else (),
        ids=first.ids,
        group_names=tuple(
            next((named for run in shared if (named := run.case_table.by_id[name].group)), None) for name in first.ids
        ),
        group=first.group,
        strata=strata_of(first),
        certainty=agreement.ratio(np.where(stated, certainties, 0.0).sum(axis=0), stated.sum(axis=0)),
        attributes=tuple(run.rows(rows).attributes for run in shared),
        unshared=tuple(map(len, joined.unshared)),
        system=first.system[:, 0] if first.system.shape[1] == 1 else np.full(first.n, -1),
        systems=first.systems if first.system.shape[1] == 1 else (),
        of_categories=first.of_categories,
        ranges=() if verdicts.any() else tuple(run.score_scale or _range(run.score[rows]) for run in shared),
    )


class PairFigures:
    """How far every two judges agree on some cases: Cohen's kappa of verdicts, Spearman's rho of scores.

    Args:
        table: the answers.
    """

    def __init__(self, table: AnswerTable) -> None:
        self._table = table
        self._seen: dict[bytes, Floats] = {}  # resamples come again for every pair of judges

    def __call__(self, rows: Rows) -> Floats:
        """(r, r) the figure of every two judges on these cases; NaN where it is not defined."""
        name = rows.tobytes()
        if name not in self._seen:
            answers = self._table.answers[:, rows]
            self._seen[name] = _rank_correlations(answers) if self._table.of_scores else self._kappas(answers)
        return self._seen[name]

    def _kappas(self, answers: Floats) -> Floats:
        r, k = len(answers), len(self._table.labels)
        members = (answers[:, None, :] == np.arange(k)[:, None]).astype(np.float64).reshape(r * k, -1)
        tables = (members @ members.T).reshape(r, k, r, k).transpose(0, 2, 1, 3)
        return np.asarray(agreement.kappa(tables))


def _rank_correlations(scores: Floats) -> Floats:
    from scipy.stats import rankdata

    ranks = rankdata(scores, axis=1) if scores.shape[1] else scores
    centred = ranks - ranks.mean(axis=1, keepdims=True) if scores.shape[1] else scores
    products = centred @ centred.T
    squares = np.diagonal(products)
    return np.clip(agreement.ratio(products, np.sqrt(np.outer(squares, squares))), -1.0, 1.0)


def _range(scores: NDArray[np.float64]) -> tuple[float, float]:
    return float(scores.min()), float(scores.max())
