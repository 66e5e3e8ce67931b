"""The certify step of a compilation: which labels are its evidence, what they can certify at all, and the certificate.

Evidence are verdicts of the final judge on cases that nothing before was fitted to, searched or chosen on: the certify
part, if the recipe sets one aside; else the test part, and with it the cases that the head was fitted to, out of fold,
where neither prompts nor structure were searched on them (`certificates.out_of_fold`). The test part is judged once,
and two questions are asked of it, each with its own error: is the compiled judge better, and from which certainty on
may it decide. Nothing that the first answer depends on is changed by the second: the tests are of all verdicts,
accepted or not.

Whether these labels can certify anything is known before any call: with n groups none of which has an error, the
p-value is (1 - risk)^n.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from ..data import Case, Judged
from ..data.case import Record
from .certificates.certificate import Certificate
from .certificates.certify import certify, certify_answer, judge_evidence
from .certificates.fixed_sequence_test import accepted_needed
from .certificates.out_of_fold import OutOfFold
from .certificates.wording import percent
from .checkpoints import CERTIFIABLE, CERTIFICATE, Checkpoints
from .evidence import ProgressCallbacks
from .recipe import Recipe
from .split_step import ALL


class Certifiable(Record):
    """What the labels of a compilation can certify at all, known before any call."""

    part: str = Field(default="", description="the part whose labels are the evidence; empty: none was requested")
    groups: int = Field(default=0, description="independent groups of labelled cases that are evidence")
    out_of_fold: bool = Field(
        default=False, description="whether the labels that the head is fitted to are evidence too, out of fold"
    )
    least: int | None = Field(
        default=None, description="groups with an accepted verdict, and without an error, that a certificate takes"
    )
    summary: str = Field(default="", description="the sentence that a user reads; empty: no certificate was requested")

    @property
    def possible(self) -> bool:
        return self.least is not None and self.groups >= self.least


def certifiable(
    recipe: Recipe, parts: Mapping[str, Sequence[Case]], *, has_verdicts: bool, searched: bool = True
) -> Certifiable:
    """What the labels of these parts can certify.

    Args:
        has_verdicts: whether verdicts are right or wrong: scores of single texts are not.
        searched: whether prompts or structure are searched, or demos shown, so that only the test part is evidence.

    Of a compilation without parts all labels are evidence, out of fold; not of heads of many numbers, of which that was
    never tried.
    """
    part = ALL if ALL in parts else "certify" if parts.get("certify") else "test"
    if not has_verdicts or (part == "test" and recipe.parts is not None):
        return Certifiable()
    if part == ALL and searched:
        return Certifiable(
            summary="a judge of hidden states, or of costs, is certified on a test part alone (estimate: split)"
        )
    out_of_fold = part == ALL or (part == "test" and recipe.head and not searched)
    evidence = [case for cases in parts.values() for case in cases] if out_of_fold else parts[part]
    groups = len({case.split_key for case in evidence})
    total = len({case.split_key for cases in parts.values() for case in cases})
    which = "train, select and test have" if out_of_fold else f"the {part} part has"
    which = "there are" if part == ALL else which
    search_costs = part == "test" and recipe.head and recipe.prompts == "none" and recipe.trials and not out_of_fold
    instead = f"; without a search (trials 0) all {total:,} would be evidence" if search_costs else ""
    least = accepted_needed(0.0, risk=recipe.risk, delta=recipe.delta)
    claim = f"{percent(recipe.risk)} at {percent(1 - recipe.delta)}"
    if least is not None and groups >= least:
        half = accepted_needed(recipe.risk / 2, risk=recipe.risk, delta=recipe.delta)
        more = f", {half:,} for an 80 % chance at a disagreement of {percent(recipe.risk / 2)}" if half else ""
        takes = f"takes {least:,} groups with accepted verdicts if none has an error{more}"
        summary = f"a certificate of {claim} {takes}; {which} {groups:,} groups"
    else:
        needed = f"at least {least:,} are needed, {math.ceil(least * total / groups):,} in all" if least else ""
        summary = (
            f"{total:,} groups of labels cannot certify {claim}: "
            f"{'' if part == ALL else f'{which} {groups:,} of them, and '}{needed or '5,000 are too few'}; "
            "no certificate is sought"
        )
    return Certifiable(part=part, groups=groups, out_of_fold=out_of_fold, least=least, summary=summary + instead)


@dataclass(frozen=True)
class CertifyStep:
    """The certify step of one compilation."""

    recipe: Recipe
    parts: Mapping[str, Sequence[Case]]
    has_verdicts: bool
    searched: bool
    checkpoints: Checkpoints
    progress: ProgressCallbacks

    def announce(self) -> Certifiable:
        """What the labels can certify at all, reported before any call."""
        limits = certifiable(self.recipe, self.parts, has_verdicts=self.has_verdicts, searched=self.searched)
        if limits.summary:
            self.checkpoints.once(CERTIFIABLE, lambda: limits.model_dump(mode="json"))
            self.progress.step("certify", limits.summary)
        return limits

    def certificate(
        self,
        part: str,
        verdicts: Sequence[Judged],
        out_of_fold: OutOfFold | None = None,
        looks: int = 1,
        *,
        untouched: bool = True,
    ) -> Certificate | None:
        """The certificate of the judge's verdicts on this part; None if none has a certainty.

        Args:
            out_of_fold: the evidence of the other parts with that of this one, if it counts.
            untouched: whether the head has learnt from none of the verdicts, as those of single answers must be.
            looks: tests that share cases with this one, this one included.
        """
        sides = judge_evidence(verdicts)
        if all(map(math.isnan, sides[0])):
            self.progress.step("certify", "left out: no verdict has a certainty")
            return None

        def certified() -> dict[str, Any]:
            levels = {"risk": self.recipe.risk, "delta": self.recipe.delta}
            groups = [case.split_key for case in self.parts[part]]
            result = out_of_fold.certificate(**levels) if out_of_fold else certify(*sides, **levels, groups=groups)
            categories = self.parts[part][0].categories
            names = categories if len(categories) == 2 and untouched else ()
            sought = (certify_answer(verdicts, name, **levels, groups=groups) for name in names)
            of_answers = [
                certificate.model_copy(update={"part": part, "looks": looks}) for certificate in sought if certificate
            ]
            update = {"part": part, "looks": looks, "of_answers": tuple(of_answers)}
            return result.model_copy(update=update).model_dump(mode="json")

        content = self.checkpoints.once(CERTIFICATE, certified)
        with self.checkpoints.reading(CERTIFICATE):
            certificate = Certificate.model_validate(content)
        self.progress.step("certify", _short(certificate))
        return certificate


def _short(certificate: Certificate) -> str:
    """The threshold; the sentences follow with the result."""
    if certificate.threshold is None:
        return "no threshold" + (" of all verdicts" if certificate.accepts_any else "")
    return f"verdicts of certainty {certificate.threshold:.3g} or more"
