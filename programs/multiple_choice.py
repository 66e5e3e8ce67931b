"""`zero-shot` and `reminder`: the model chooses the answer itself, without a guideline (the baselines of PREF).

The options are shown in an order drawn from their texts and the seed, so the caller's order cannot matter: permuting
the options permutes the choice, exactly.
"""

import math
import random
import string
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import dspy

from ..data import Case, Finding, Verdict
from ..data.case import Letter
from ..errors import DeclarationError
from ..judging.aggregate import best
from ..judging.delimiters import labelled
from ..judging.hparam import HParam
from ..judging.judge import Judge, present
from ..judging.question import READOUTS, Question
from ..judging.reading_floor import min_mass_parameter
from ..judging.registry import register
from ..signatures import pref as signatures

SOURCE = "PREF, arXiv 2508.10028"
MOST_OPTIONS = 20  # a server lists at most 20 alternatives of a token


@register(
    "zero-shot",
    summary="baseline: the model chooses the answer itself",
    source=SOURCE,
    inputs="choices, pairs; a profile",
    calls="1",
)
class Choose(Judge):
    """Chooses the best of several answers. One call.

    Args:
        remind: one sentence asks to take into account what the person said earlier.
        readout: "generate" or "probability".
        seed: draws the order in which options are shown.
    """

    name = "zero-shot"

    def __init__(self, *, remind: bool = False, readout: str = "generate", seed: int = 0) -> None:
        super().__init__()
        self.name = "reminder" if remind else "zero-shot"
        self.remind = remind
        self.readout = HParam(readout, READOUTS)
        self.min_mass = min_mass_parameter()
        self.seed = HParam(seed)
        self.choose = Question(signatures.Reminder if remind else signatures.ZeroShot, "choice", max_tokens=16)

    def assess(self, case: Case) -> Verdict:
        count = len(case.candidates)
        if not 2 <= count <= MOST_OPTIONS:
            raise DeclarationError(
                f"judge {self.name!r}: case {case.id!r} has {count} candidates. Give 2 to {MOST_OPTIONS} options."
            )
        shown, letters = present(case), string.ascii_uppercase[:count]
        order = drawn_order([candidate.text for candidate in case.candidates], f"{self.seed.value}\0{case.query}")
        answer = self.choose(
            readout=self.readout.value,
            signature=with_options(self.choose.ask.signature, letters),
            earlier=shown.profile,
            question=shown.request,
            options=labelled((f"{a}. ", shown.responses[index]) for a, index in zip(letters, order, strict=True)),
        )
        names: Sequence[Letter | int] = ("a", "b") if count == 2 else range(count)
        shares, coverage = answer.shares("chosen").values(), answer.coverage
        by_text: dict[str, list[float]] = {}
        for index, share in zip(order, shares, strict=True):
            by_text.setdefault(case.candidates[index].text, []).append(share)
        # Equal texts share what was given to either, so that none is preferred to its like.
        by_candidate = {
            str(name): math.fsum(probabilities := by_text[candidate.text]) / len(probabilities)
            for name, candidate in zip(names, case.candidates, strict=True)
        }
        finding = Finding(criterion="the model's own choice", distribution=by_candidate, coverage=coverage)
        return Verdict(
            case_id=case.id,
            winner=best(list(by_candidate.values())),
            distribution=by_candidate,
            certainty=max(by_candidate.values()),
            scores=tuple(by_candidate.values()) if coverage is not None else None,
            findings=(finding,),
        )


def drawn_order(texts: Sequence[str], seed: str) -> list[int]:
    """The indices of the texts in an order that depends on the texts and the seed alone, not on their order."""
    order = sorted(range(len(texts)), key=lambda index: texts[index])
    random.Random("\0".join([seed, *sorted(texts)])).shuffle(order)
    return order


@lru_cache(maxsize=256)
def with_options(signature: type[dspy.Signature], letters: str) -> type[dspy.Signature]:
    """The signature with these letters as options."""
    changed: type[dspy.Signature] = signature.with_updated_fields("chosen", type_=Literal[tuple(letters)])
    return changed


register(
    "reminder",
    summary="baseline: the same, reminded of what the person said",
    source=SOURCE,
    inputs="choices, pairs; a profile",
    calls="1",
    settings={"remind": True},
)(Choose)
