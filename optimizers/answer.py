"""The answer of a compilation: what improved in a headline, faults first, and the next step with a number.

Faults come before any gain: a judge that gives one answer for every case, or agrees with people less than a
baseline, by the interval of their difference. The outcome follows: worse where a baseline or the uncompiled judge is
better; improved where verdicts, certainty or selective use improved, and neither verdicts nor certainty got worse; else
inconclusive. A selective use that got worse decides nothing, as ranks of several folds are a little worse than those of
one head. Cost is reported and decides nothing: fewer calls are no gain where agreement is unknown.
"""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from ..data import Judged
from ..data.counting import groups_text
from ..evaluation.minimum_detectable_effect import groups_needed
from ..evaluation.results import Evaluation, PairedTest
from ..evaluation.run_arrays import run_arrays
from ..stats.repeated_looks import ALPHA
from .claims import Claim, measured

Outcome = Literal["improved", "worse", "inconclusive"]
TRUSTED = 0.05  # of mean certainty less accuracy, whose interval must hold 0
WORSE, CONSTANT = "It is worse than ", "It gives one answer"  # the beginnings of faults
DECISIVE = ("verdicts", "certainty")  # claims that make a judge worse
LEAST = 10  # verdicts that are called the same answer for every case
MOST_TIMES = 20  # as many groups as there are; more are no plan


def constant_answer(verdicts: Sequence[Judged]) -> str:
    """The one answer of a judge that gives no other, as a phrase, where people give several; else empty."""
    run = run_arrays(verdicts)
    labelled, rated = run.labelled, run.rated
    if labelled.n >= LEAST and len(set(labelled.judge.tolist())) == 1 < len(set(labelled.human.tolist())):
        return f"{labelled.labels[labelled.judge[0]]!r} in all {labelled.n:,} cases"
    if rated.n >= LEAST and np.ptp(rated.score) == 0 < np.ptp(rated.human_score):
        return f"{rated.score[0]:g} for all {rated.n:,} texts"
    return ""


def faults_of(
    compiled: Sequence[Judged], uncompiled: Sequence[Judged], baselines: Sequence[tuple[str, PairedTest, float]]
) -> tuple[str, ...]:
    """What is wrong with the compiled judge, each in a sentence; empty if nothing is.

    Args:
        baselines: name, test of the compiled judge against it, and its p-value adjusted for all baselines; the
            difference is positive where the judge is better.
    """
    faults = []
    if constant := constant_answer(compiled):
        faults.append(f"{CONSTANT}, {constant}, so it says nothing about any of them.")
    elif constant := constant_answer(uncompiled):
        faults.append(f"The uncompiled judge gives one answer, {constant}.")
    worse = [(name, test) for name, test, p in baselines if p <= ALPHA and (test.difference.high or 0) < 0]
    for name, test in worse:
        value, low, high = test.difference.value, test.difference.low, test.difference.high
        faults.append(f"{WORSE}{name}: {test.name} {value:+.3f} [{low:+.3f}, {high:+.3f}].")
    return tuple(faults)


def outcome_of(claims: Sequence[Claim], faults: Sequence[str]) -> Outcome:
    """The outcome; see the module."""
    states = {claim.state for claim in claims if claim.of != "cost"}
    if any(claim.state == "worse" for claim in claims if claim.of in DECISIVE) or any(
        fault.startswith(WORSE) for fault in faults
    ):
        return "worse"
    if "improved" in states and not any(fault.startswith(CONSTANT) for fault in faults):
        return "improved"
    return "inconclusive"


def headline_of(claims: Sequence[Claim], after: Evaluation) -> str:
    """What improved, what did not and what cannot have, in a sentence.

    As in "same verdicts; its certainty can now be trusted: log-loss 5.02 -> 0.50, p = 0.0002".

    Args:
        after: of the compiled judge.
    """
    parts = [_clause(claim, after) for claim in claims]
    tested = [claim for claim in claims if claim.test is not None and claim.test.p is not None]
    sentence = "; ".join(filter(None, parts))
    if len(tested) > 1:
        sentence += f" (p adjusted for {len(tested)} tests, Holm)"
    return sentence


def _clause(claim: Claim, after: Evaluation) -> str:
    if claim.state == "unchanged":
        return {"verdicts": "same verdicts", "cost": ""}.get(claim.of, "")
    if claim.test is None or claim.test.p_looks is None:
        return ""
    p = claim.test.p_looks
    figures = f"{measured(claim)} {_number(claim.before)} -> {_number(claim.after)}, p = {p:.2g}"
    if claim.of == "verdicts":
        words = {"improved": "better verdicts", "worse": "worse verdicts"}.get(
            claim.state, "verdicts not shown to differ"
        )
    elif claim.of == "certainty":
        of_scores = claim.test.name == "mse"
        fits = "scores nearer to people's" if of_scores else "its certainty fits better"
        if not of_scores and claim.state == "improved" and is_trusted(after):
            fits = "its certainty can now be trusted"
        misfits = "scores farther from people's" if of_scores else "its certainty fits worse"
        words = {"improved": fits, "worse": misfits}.get(claim.state, "certainty not shown to differ")
    elif claim.of == "selective use":
        words = {"improved": "fewer errors among the verdicts it is surest of", "worse": "more errors among these"}.get(
            claim.state, "selective use not shown to differ"
        )
    else:
        words = {"improved": "cheaper", "worse": "costlier"}.get(claim.state, "cost not shown to differ")
    return f"{words}: {figures}"


def is_trusted(after: Evaluation) -> bool:
    """Whether the mean certainty is near the accuracy, as far as these labels show: the interval of their difference
    holds 0, and the difference is at most .05."""
    measure = after.measure("overconfidence")
    if measure is None or measure.value is None or measure.low is None or measure.high is None:
        return False
    return measure.low <= 0 <= measure.high and abs(measure.value) <= TRUSTED


def next_steps(
    claims: Sequence[Claim],
    faults: Sequence[str],
    chance: PairedTest | None,
    *,
    silent: Sequence[str] = (),
) -> tuple[str, ...]:
    """What to do next, in sentences; the first matters most.

    Args:
        chance: the compiled judge against the best constant answer; None: it is not comparable.
        silent: criteria or aspects that say nothing of people's labels, each with its figures.
    """
    steps = []
    verdicts = next((claim for claim in claims if claim.of == "verdicts"), None)
    useless = any(fault.startswith("It ") for fault in faults)
    worse = [claim.of for claim in claims if claim.state == "worse" and claim.of in DECISIVE]
    if worse:
        steps.append(
            f"Use the uncompiled judge: what was learnt from these labels makes its {' and '.join(worse)} worse."
        )
    better = [fault.removeprefix(WORSE).partition(":")[0] for fault in faults if fault.startswith(WORSE)]
    if useless:
        instead = f"Use {better[0]}, or try" if better else "Try"
        steps.append(f"{instead} a stronger model (--lm) or another program; more labels do not make this one better.")
    elif chance is not None and not _is_above(chance):
        step = "It is not shown to agree with people more than the most frequent answer does"
        needed = groups_needed(chance) if (chance.difference.value or 0) > 0 else None
        more = _more(needed.seen - needed.have) if needed and _is_plan(needed.have, needed.seen) else ""
        steps.append(f"{step}: try a stronger model (--lm)" + (f", or {more} to show it" if more else "") + ".")
    if verdicts is not None and verdicts.state == "unchanged" and not useless:
        steps.append(
            "A head of this evidence changes no verdict: for better ones change the judge (a stronger model with --lm, "
            "--trials 8, --set evidence=state, --prompts gepa)."
        )
    if verdicts is not None and verdicts.state == "undecided" and not useless:
        steps.append(_labels(verdicts))
    steps += [f"Drop {name}." for name in silent]
    return tuple(filter(None, steps))


def _labels(claim: Claim) -> str:
    """How many more groups would show the gain of verdicts; that the judge must change, where no gain was seen."""
    needed = groups_needed(claim.test) if claim.test else None
    if claim.test is None or needed is None or claim.gain <= 0:
        return "No gain in verdicts was seen, so more labels will show none: try a stronger model (--lm) or --trials 8."
    name, gain = claim.test.name, abs(claim.gain)
    low, high = claim.test.difference.low or 0.0, claim.test.difference.high or 0.0
    best = max(abs(low), abs(high))
    if not _is_plan(needed.have, needed.seen):
        return (
            f"The gain in {name} of {gain:.3f} that was seen would take {needed.seen:,} groups in all: not worth "
            f"labelling for. Try a stronger model (--lm)."
        )
    fewer = max(0, needed.best - needed.have)
    least = f"; if it is {best:.3f}, the most that these labels allow, {f'{fewer:,} more' if fewer else 'no more'}"
    return (
        f"{_more(max(1, needed.seen - needed.have)).capitalize()} to show the gain in {name} of {gain:.3f} that was "
        f"seen with 80 % power{least}."
    )


def _more(count: int) -> str:
    rounded = count if count < 20 else round(count, -1 if count < 500 else -2)
    return f"label about {groups_text(rounded).replace(' group', ' more group')}"


def _is_plan(have: int, total: int) -> bool:
    return total <= MOST_TIMES * have


def _is_above(test: PairedTest) -> bool:
    return (test.difference.low or 0.0) > 0


def _number(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.3g}" if abs(value) >= 10 else f"{value:.2f}"
