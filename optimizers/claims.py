"""What a compilation improved: verdicts, certainty, selective use and cost, each with one test, adjusted together.

    verdicts        the objective, where it is of verdicts; else accuracy, or Spearman's correlation of scores
    certainty       the log-loss of the probabilities under people's votes or label; of scores their squared error
    selective use   AURC, the mean proportion of errors among the surest verdicts over all coverages
    cost            calls of a verdict

What cannot have changed is not tested: where a head leaves every verdict as it was, accuracy is not at stake, and where
it also leaves their order by certainty, neither is selective use. The p-value of such a test would be 1 whatever the
labels are, so that it can err in no direction, and the other tests are adjusted without it (Tarone 1990, Biometrics 46,
leaves out tests whose least possible p-value is above the level). Holm's adjustment is over the tests that are left,
and the adjustment for earlier tests of the same cases is applied to the result.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ..data import Judged
from ..data.case import Record
from ..evaluation.join import join
from ..evaluation.results import PairedTest, RunComparison
from ..evaluation.run_arrays import Floats, RunArrays, run_arrays
from ..evaluation.score_tests import mean_test, statistic_test
from ..evaluation.subgroup_comparison import adjusted
from ..stats.repeated_looks import ALPHA, adjusted_p
from ..stats.selective import aurc
from .objective import DEFAULTS, OBJECTIVES, TEXTS, Objective, paired_tests

Of = Literal["verdicts", "certainty", "selective use", "cost"]
State = Literal["improved", "worse", "undecided", "unchanged"]
MOST_APART = 1e-9  # of probabilities that are equal but for rounding
ROUNDING, APART = 1e-6, 1e-3  # numbers nearer than the first may be equal, those farther than the second are not


class Claim(Record):
    """One respect in which a compiled judge may be better, and whether it is."""

    of: Of = Field(description="what may have improved")
    state: State = Field(
        description="significant at 5 % by the adjusted p-value, undecided, or unchanged and not tested"
    )
    greater_is_better: bool = Field(description="the direction of the measure")
    before: float | None = Field(default=None, description="the measure of the uncompiled judge, on the same cases")
    after: float | None = Field(default=None, description="that of the compiled judge")
    test: PairedTest | None = Field(
        default=None, description="compiled less uncompiled; p_holm is over all claims, p_looks over earlier tests too"
    )
    reason: str = Field(default="", description="why it was not tested; empty if it was")

    @property
    def gain(self) -> float:
        """The improvement that was seen, above 0 where the compiled judge is better; 0 without a test."""
        value = (self.test.difference.value if self.test else None) or 0.0
        return value if self.greater_is_better else -value


def claims_of(
    compiled: Sequence[Judged],
    uncompiled: Sequence[Judged],
    objective: Objective,
    comparison: RunComparison,
    *,
    final: Sequence[Judged] | None = None,
    order: Mapping[str, float] | None = None,
    seed: int = 0,
    look: int = 1,
) -> tuple[Claim, ...]:
    """The claims of a compilation, those that do not apply to such cases left out.

    Args:
        compiled, uncompiled: verdicts of the same labelled cases that neither judge has learnt from.
        comparison: of both, with the tests of `evaluation.compare` and of the objective.
        final: the verdicts of the judge that is delivered, where these are by heads of folds: what it leaves as it was
            is not tested. None: `compiled`.
        order: by case id, what ranks the compiled verdicts in place of their certainty, higher the surer; heads of
            folds mean different things by a certainty, see `certificates.out_of_fold`.
        seed: of permutations and resamples.
        look: the number of this test among those that share cases with it.
    """
    arrays = [run_arrays(verdicts) for verdicts in (compiled, uncompiled, final or compiled)]
    first, second, last = join([("compiled", arrays[0]), ("uncompiled", arrays[1]), ("final", arrays[2])]).runs
    of_texts = objective.kinds == TEXTS
    claims = [_of_verdicts(comparison, objective, first, second, last)]
    certainty = OBJECTIVES.find("mse" if of_texts else "log-loss")
    if certainty.name != objective.name or not of_texts:
        claims.append(_of_certainty(certainty, first, second, last, seed))
    if not of_texts:
        claims.append(_of_selection(first, second, last, order or {}, seed))
    claims.append(_of_cost(compiled, uncompiled, seed))
    known = [claim for claim in claims if claim is not None]
    tests = list(adjusted([claim.test for claim in known if claim.test is not None]))
    return tuple(_decided(claim, tests.pop(0), look) if claim.test else claim for claim in known)


def _decided(claim: Claim, test: PairedTest, look: int) -> Claim:
    """The claim with its adjusted test and what that shows."""
    if test.p_holm is None:
        return claim.model_copy(update={"test": test})
    p = adjusted_p(test.p_holm, look)
    state: State = "undecided"
    if p <= ALPHA and claim.gain:
        state = "improved" if claim.gain > 0 else "worse"
    return claim.model_copy(update={"test": test.model_copy(update={"p_looks": p}), "state": state})


def _of_verdicts(
    comparison: RunComparison, objective: Objective, first: RunArrays, second: RunArrays, last: RunArrays
) -> Claim | None:
    if objective.uses_probabilities or objective.name == "mse":
        objective = OBJECTIVES.find(DEFAULTS["texts" if objective.kinds == TEXTS else "pairs"])
    test = next((test for test in comparison.tests if test.name == objective.title), None)
    test = test or next((test for test in comparison.tests if test.name == objective.name), None)
    values = {"before": _known(objective.value(second)), "after": _known(objective.value(first))}
    if same_verdicts(last, second, first.n):
        return Claim(
            of="verdicts", state="unchanged", greater_is_better=objective.greater_is_better, **values,
            reason=f"the {'order of the scores' if objective.kinds == TEXTS else 'verdict'} is the same in every case",
        )  # fmt: skip
    if test is None:
        return None
    return Claim(of="verdicts", state="undecided", greater_is_better=objective.greater_is_better, test=test, **values)


def same_verdicts(first: RunArrays, second: RunArrays, n: int) -> bool:
    """Whether two runs of the same n cases name the same winners; of scores, order each aspect's texts equally."""
    winners = (first.judge >= 0) | (second.judge >= 0)
    if winners.any():
        names = [np.array([*run.labels, ""], dtype=object)[run.judge] for run in (first, second)]
        return bool((names[0] == names[1]).all())
    scored = ~(np.isnan(first.score) | np.isnan(second.score))
    if not n or not scored.any():
        return False
    return all(
        same_order(first.score[rows & scored], second.score[rows & scored])
        for rows in (first.aspect == code for code in np.unique(first.aspect))
    )


def _of_certainty(measure: Objective, first: RunArrays, second: RunArrays, last: RunArrays, seed: int) -> Claim | None:
    assert measure.case_values is not None
    ours, theirs, of_last = (measure.case_values(run) for run in (first, second, last))
    known = ~(np.isnan(ours) | np.isnan(theirs) | np.isnan(of_last))
    if not known.any():
        return None
    if np.allclose(of_last[known], theirs[known], atol=MOST_APART):
        value = float(theirs[known].mean())
        return Claim(
            of="certainty", state="unchanged", greater_is_better=False, before=value, after=value,
            reason="no probability or score changed",
        )  # fmt: skip
    test = next(paired_tests(measure)(first, second, seed))
    return Claim(
        of="certainty", state="undecided", greater_is_better=False, test=test,
        before=_known(measure.value(second.rows(known))), after=_known(measure.value(first.rows(known))),
    )  # fmt: skip


def _of_selection(
    first: RunArrays, second: RunArrays, last: RunArrays, order: Mapping[str, float], seed: int
) -> Claim | None:
    known = (first.human >= 0) & (first.judge >= 0) & (second.judge >= 0)
    known &= ~(np.isnan(first.certainty) | np.isnan(second.certainty) | np.isnan(last.certainty))
    if not known.any():
        return None
    first, second, last = (run.rows(known) for run in (first, second, last))
    ranked = np.array([order.get(name, sure) for name, sure in zip(first.ids, first.certainty.tolist(), strict=True)])
    sides = _signed(first, ranked), _signed(second, second.certainty)
    values = {"before": _aurc(sides[1]), "after": _aurc(sides[0])}
    if same_verdicts(last, second, second.n) and same_order(last.certainty, second.certainty):
        return Claim(
            of="selective use", state="unchanged", greater_is_better=False, before=values["before"],
            after=values["before"], reason="the verdicts and their order by certainty are the same",
        )  # fmt: skip
    test = statistic_test(
        "AURC", lambda side, _: _aurc(side), sides, first.human, first.group, seed,
        "AURC of the first less that of the second; lower is better",
    )  # fmt: skip
    return Claim(of="selective use", state="undecided", greater_is_better=False, test=test, **values)


def _signed(run: RunArrays, certainty: Floats) -> Floats:
    """(n,) each verdict as one number: the rank of its certainty, in (0, 1], below 0 where it is wrong.

    Ranks put two judges on one scale, so that verdicts can be exchanged.
    """
    from scipy.stats import rankdata

    signed: Floats = rankdata(np.round(certainty, 9)) / run.n * np.where(run.judge == run.human, 1.0, -1.0)
    return signed


def _aurc(signed: NDArray[np.float64]) -> float:
    return aurc(np.abs(signed), signed > 0)


def same_order(first: Floats, second: Floats) -> bool:
    """Whether two sets of numbers have the same order of the cases, ties too, but for rounding near 0 and 1."""
    order = np.lexsort((second, first))
    steps, others = np.diff(first[order]), np.diff(second[order])
    tied = ((steps <= ROUNDING) & (others > APART)) | ((others <= ROUNDING) & (steps > APART))
    return not bool((others < -ROUNDING).any() or tied.any())


def _of_cost(compiled: Sequence[Judged], uncompiled: Sequence[Judged], seed: int) -> Claim | None:
    theirs = {judged.case_id: judged for judged in uncompiled}
    pairs = [(judged, theirs[judged.case_id]) for judged in compiled if judged.case_id in theirs]
    calls = np.array(
        [[judged.usage.calls + judged.usage.cached for judged in pair] for pair in pairs], dtype=np.float64
    )
    if not calls.any():
        return None
    after, before = (float(side.mean()) for side in calls.T)
    values = {"before": before, "after": after}
    if (calls[:, 0] == calls[:, 1]).all():
        reason = "a verdict takes the same calls in every case"
        return Claim(of="cost", state="unchanged", greater_is_better=False, **values, reason=reason)
    groups = np.unique([judged.group for judged, _ in pairs], return_inverse=True)[1]
    test = mean_test("calls", calls[:, 0], calls[:, 1], groups, seed, "calls of the first less those of the second")
    return Claim(of="cost", state="undecided", greater_is_better=False, test=test, **values)


def measured(claim: Claim) -> str:
    """The name of the claim's measure."""
    names = {"certainty": "log-loss", "selective use": "AURC", "cost": "calls", "verdicts": "accuracy"}
    return names[claim.of] if claim.test is None else claim.test.name.removesuffix(" of votes")


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value
