"""What labels can show at all: for each claim its method, the smallest number of labels, and what given labels show.

Numbers are of independent labels. Labels of one group (a prompt, a person) count for less: for as many as the design
effect leaves at an intraclass correlation of `CORRELATION`. Two judges recorded on PandaLM's prompts have .18 and .24
of being right. Certificates count groups.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from ..data import Case
from ..evaluation.drift import Drift
from ..optimizers.certificates.averaged_binomial_test import binomial_cdf
from ..optimizers.certificates.fixed_sequence_test import accepted_needed
from ..optimizers.certificates.wording import percent
from ..stats.power import design_effect, labels_for_difference
from ..stats.resampling import Estimate, quantile, wilson

CORRELATION = 0.25
POWER = 0.8
MOST = 20_000  # labels to plan for


@dataclass(frozen=True)
class LabelClaim:
    """A claim and the labels that it takes.

    Attributes:
        claim: what is to be shown, with what is assumed of the judge.
        short: the same in a few words.
        method: the test.
        unit: "labels", independent ones, or "groups".
        least: with fewer the claim cannot be shown whatever the judge does; None: no such number is known.
        needed: for an 80 % chance under the assumption; None: over 20,000.
    """

    claim: str
    method: str
    unit: str
    least: int | None
    needed: int | None
    short: str = ""


@dataclass(frozen=True)
class LabelSupply:
    """Labels at hand.

    Attributes:
        labels: labelled cases.
        groups: their independent groups.
        effective: independent labels that they count for at an intraclass correlation of `CORRELATION`.
    """

    labels: int
    groups: int
    effective: int

    def shows(self, claim: LabelClaim) -> str:
        """Whether these labels are enough for a claim, in words."""
        count = self.groups if claim.unit == "groups" else self.effective
        if claim.least is not None and count < claim.least:
            return "cannot be shown"
        return (
            "an 80 % chance or more" if claim.needed is not None and count >= claim.needed else "may fail to be shown"
        )


@cache
def label_claims() -> tuple[LabelClaim, ...]:
    """The table "claim -> method -> smallest number of labels"."""
    return (*map(_certificate, (0.05, 0.1, 0.2)), *map(_difference, (0.05, 0.1)), _drift(), *map(_gate, (0.7, 0.8)))


def label_supply(cases: Sequence[Case]) -> LabelSupply | None:
    """The labels of these cases whose label names a winner; None without one."""
    labelled = [case for case in cases if case.label is not None and case.label.answer is not None]
    if not labelled:
        return None
    sizes = list(Counter(case.split_key for case in labelled).values())
    return LabelSupply(len(labelled), len(sizes), int(len(labelled) / design_effect(sizes, CORRELATION)))


def _certificate(risk: float) -> LabelClaim:
    return LabelClaim(
        f"accepted verdicts disagree in at most {percent(risk)}, if they disagree in {percent(risk / 2)}",
        "certificate at 95 %, groups with accepted verdicts",
        "groups",
        accepted_needed(0.0, risk=risk),
        accepted_needed(risk / 2, risk=risk),
        f"sure verdicts are wrong in at most {percent(risk)} (certificate)",
    )


def _difference(difference: float) -> LabelClaim:
    return LabelClaim(
        f"accuracies differ by {difference:g}, if 20 % of the cases are right by one judge only",
        "McNemar's exact test at 5 %",
        "labels",
        6,  # 2 * 0.5^6 is .03, 2 * 0.5^5 is .06
        labels_for_difference(0.2, difference, power=POWER),
        f"a gain in accuracy of {100 * difference:g} points",
    )


def _drift() -> LabelClaim:
    recorded = Estimate(0.8, *wilson(0.8, 1000, quantile(0.95)), 1000, 1000, 1000.0)
    return LabelClaim(
        "a saved judge of accuracy .8 (1,000 labels) has not lost .05, if it is the same",
        "dicast check, Newcombe's interval at 5 %",
        "labels",
        None,
        Drift(recorded, recorded, 0.05).labels_needed(),
        "a saved judge is as good as it was, but for 5 points",
    )


def _gate(threshold: float) -> LabelClaim:
    """The gate `--require accuracy>=threshold`, of a judge whose accuracy is .05 above."""
    n = np.arange(1, MOST + 1)
    z = quantile(0.95)
    # Wilson's lower limit is the threshold or more where the proportion is at least threshold + z sqrt(t (1 - t) / n).
    hits = np.ceil(n * (threshold + z * np.sqrt(threshold * (1 - threshold) / n)) - 1e-9)
    power = 1 - binomial_cdf(hits - 1, n, threshold + 0.05)
    enough = (power >= POWER) & (hits <= n)
    least = int(n[(hits <= n).argmax()])
    return LabelClaim(
        f"accuracy is {threshold:g} or more, if it is {threshold + 0.05:g}",
        f"--require accuracy>={threshold:g}, Wilson's interval",
        "labels",
        least,
        int(n[enough.argmax()]) if enough.any() else None,
        f"--require accuracy>={threshold:g}, of a judge that has {threshold + 0.05:g}",
    )


def claim_cells(claim: LabelClaim, supply: LabelSupply) -> tuple[str, str, str]:
    """The claim in a few words, the labels that it takes for an 80 % chance, and whether there are as many.

    Example:
        >>> claim_cells(LabelClaim("a claim", "a test", "groups", 29, 179, "a claim"), LabelSupply(60, 20, 40))
        ('a claim', '179 groups', 'no: 20')
    """
    needed = f"over {MOST:,}" if claim.needed is None else f"{claim.needed:,}"
    count = supply.groups if claim.unit == "groups" else supply.effective
    words = {"cannot be shown": "no", "may fail to be shown": "perhaps"}.get(supply.shows(claim), "yes")
    return claim.short, f"{needed} {claim.unit}", f"{words}: {count:,}"


def claim_text(claim: LabelClaim, supply: LabelSupply) -> str:
    """A line of the table for the labels at hand.

    Example:
        >>> claim_text(LabelClaim("a claim", "a test", "groups", 29, 179), LabelSupply(60, 20, 40))
        'a claim (a test): at least 29 groups, 179 for an 80 % chance; here 20: cannot be shown'
    """
    least = "" if claim.least is None else f"at least {claim.least:,} {claim.unit}, "
    needed = f"over {MOST:,}" if claim.needed is None else f"{claim.needed:,}"
    unit = "" if claim.least is not None else f" {claim.unit}"
    count = supply.groups if claim.unit == "groups" else supply.effective
    takes = f"{least}{needed}{unit} for an 80 % chance"
    return f"{claim.claim} ({claim.method}): {takes}; here {count:,}: {supply.shows(claim)}"
