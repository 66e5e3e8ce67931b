"""`zero-shot` and `reminder`: the model chooses the answer itself, without a guideline (the baselines of PREF).

The options are shown in an order drawn from their texts and the seed, so the caller's order cannot matter: permuting
the options permutes the choice, exactly. A small model still prefers letters. `rotations` asks again with the options
moved on by one letter each time, and averages log-probabilities: after all rotations every option has had every letter
once, and what letters are worth falls out. `until-sure` stops sooner, with a stated error (`stats.rotations`).
"""

import math
import random
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Self

import dspy

from ..data import Case, Finding, Verdict
from ..data.case import Letter
from ..engines.parallel import concurrently
from ..errors import DeclarationError
from ..judging.aggregate import FLOOR, best
from ..judging.delimiters import labelled
from ..judging.hparam import HParam
from ..judging.judge import FittedJudge, present
from ..judging.question import READOUTS, Question
from ..judging.reading_floor import min_mass_parameter
from ..judging.registry import register
from ..judging.rotation_calibration import RotationCalibration
from ..signatures import pref as signatures
from ..stats.rotations import FEWEST_CASES, RotationModel, unknown

SOURCE = "PREF, arXiv 2508.10028"
ROTATIONS = ("one", "all", "until-sure")
MOST_OPTIONS = 20  # a server lists at most 20 alternatives of a token


@register(
    "zero-shot",
    summary="baseline: the model chooses the answer itself",
    source=SOURCE,
    inputs="choices, pairs; a profile",
    calls="1; up to one an option with rotations",
)
class Choose(FittedJudge):
    """Chooses the best of several answers. One call, or several of one token each.

    Args:
        remind: one sentence asks to take into account what the person said earlier.
        readout: "generate" or "probability"; more than one rotation is always read from probabilities.
        rotations: "one"; "all", as many as there are options; or "until-sure", one after the other until it is
            improbable that the rest would change the winner. Without the cases of a run all are read.
        stop_error: the proportion of a run's winners that stopping may change, in expectation.
        calibration: cases of a run that are read in full, without labels, for the prior of the letters and the noise
            that `until-sure` needs.
        seed: draws the order in which options are shown.
    """

    name = "zero-shot"

    def __init__(
        self,
        *,
        remind: bool = False,
        readout: str = "generate",
        rotations: str = "one",
        stop_error: float = 0.02,
        calibration: int = 40,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.name = "reminder" if remind else "zero-shot"
        self.remind = remind
        self.readout = HParam(readout, READOUTS)
        self.rotations = HParam(rotations, ROTATIONS, implied=True)
        self.stop_error = HParam(stop_error, least=0.0, most=0.5, search=(), implied=True)
        self.calibration = HParam(calibration, range(FEWEST_CASES, 1001), search=(), implied=True)
        self.min_mass = min_mass_parameter()
        self.seed = HParam(seed)
        self.choose = Question(signatures.Reminder if remind else signatures.ZeroShot, "choice", max_tokens=16)
        self._calibration: RotationCalibration | None = None

    @property
    def is_fitted_to_cases(self) -> bool:
        return bool(self.rotations.value == "until-sure")

    def fit(self, cases: Iterable[Case]) -> Self:
        """Calibrate by these cases, without their labels; they are read when the first verdict needs it."""
        choices = (case for case in cases if 2 <= len(case.candidates) <= MOST_OPTIONS)
        self._calibration = RotationCalibration(choices, self.calibration.value, self.stop_error.value)
        return self

    def assess(self, case: Case) -> Verdict:
        count = len(case.candidates)
        if not 2 <= count <= MOST_OPTIONS:
            raise DeclarationError(
                f"judge {self.name!r}: case {case.id!r} has {count} candidates. Give 2 to {MOST_OPTIONS} options."
            )
        readings = self._readings(case)
        if len(readings) == 1 and self.rotations.value == "one":
            shares = list(readings[0].shares)
        else:
            shares = softmax(self._model(case).outlook([reading.logarithms for reading in readings]).means)
        mass_read = min((read.mass_read for read in readings if read.mass_read is not None), default=None)
        names: Sequence[Letter | int] = ("a", "b") if count == 2 else range(count)
        by_text: dict[str, list[float]] = {}
        for index, share in zip(self._order(case), shares, strict=True):
            by_text.setdefault(case.candidates[index].text, []).append(share)
        # Equal texts share what was given to either, so that none is preferred to its like.
        by_candidate = {
            str(name): math.fsum(probabilities := by_text[candidate.text]) / len(probabilities)
            for name, candidate in zip(names, case.candidates, strict=True)
        }
        finding = Finding(criterion="the model's own choice", distribution=by_candidate, mass_read=mass_read)
        return Verdict(
            case_id=case.id,
            winner=best(list(by_candidate.values())),
            distribution=by_candidate,
            certainty=max(by_candidate.values()),
            scores=tuple(by_candidate.values()) if mass_read is not None else None,
            findings=(finding,),
        )

    def _readings(self, case: Case) -> "list[LetterReading]":
        """The readings of the rotations that the setting asks for, in their order."""
        count = len(case.candidates)
        if self.rotations.value == "one":
            return [self._read(case, 0, self.readout.value)]
        if self.rotations.value == "all":
            return self._all(case)
        model, readings = self._model(case), []
        for turn in range(count):
            readings.append(self._read(case, turn))
            if model.stop([reading.logarithms for reading in readings]):
                break
        return readings

    def _model(self, case: Case) -> RotationModel:
        """What is known of the letters; without the cases of a run nothing, so that all rotations are read."""
        count, model = len(case.candidates), None
        if self._calibration is not None and self.rotations.value == "until-sure":
            model = self._calibration.model(count, lambda other: [reading.logarithms for reading in self._all(other)])
        return model or unknown(count)

    def _all(self, case: Case) -> "list[LetterReading]":
        return concurrently(lambda turn: self._read(case, turn), range(len(case.candidates)))

    def _order(self, case: Case) -> list[int]:
        return drawn_order([candidate.text for candidate in case.candidates], f"{self.seed.value}\0{case.query}")

    def _read(self, case: Case, turn: int, readout: str = "probability") -> "LetterReading":
        """One reading, of the options moved on by `turn` letters."""
        order, shown = self._order(case), present(case)
        letters, order = string.ascii_uppercase[: len(order)], order[turn:] + order[:turn]
        answer = self.choose(
            readout=readout,
            signature=with_options(self.choose.ask.signature, letters),
            earlier=shown.profile,
            question=shown.request,
            options=labelled((f"{a}. ", shown.responses[index]) for a, index in zip(letters, order, strict=True)),
        )
        return LetterReading(tuple(answer.shares("chosen").values()), answer.mass_read)


@dataclass(frozen=True)
class LetterReading:
    """The probability of each letter, in their order, and the probability mass on them where it was read."""

    shares: tuple[float, ...]
    mass_read: float | None

    @property
    def logarithms(self) -> list[float]:
        return [math.log(max(share, FLOOR)) for share in self.shares]


def softmax(logarithms: Iterable[float]) -> list[float]:
    """Probabilities in proportion to the exponentials."""
    values = [float(value) for value in logarithms]
    weights = [math.exp(value - max(values)) for value in values]
    return [weight / math.fsum(weights) for weight in weights]


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
    calls="1; up to one an option with rotations",
    settings={"remind": True},
)(Choose)
