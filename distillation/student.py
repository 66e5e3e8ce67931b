"""The student as a judge: a program whose stages the trained model answers.

verdict    `direct`: the label token decides, and its probability is the certainty; no rationale is written
chain      the teacher's program, with everything that it learnt but its head, read from token probabilities
probe      `probe`: a head on the hidden states of the base, which is not trained
"""

from collections.abc import Mapping
from typing import Any

from ..data import Case
from ..engines.models import Roles
from ..errors import DeclarationError
from ..judging import Judge, build
from ..judging.answer_types import MOST_OPTIONS
from ..judging.reading_ways import read_by_student
from ..optimizers.evidence import without_head
from .distil_recipe import Mode


def student_of(teacher: Judge, case: Case, mode: Mode, model: str, settings: Mapping[str, Any]) -> Judge:
    """The student that this model answers.

    Args:
        case: one of those that it will judge.
        model: `provider/model` of the trained model, or of its base before.
        settings: parameters of its program.

    Raises:
        DeclarationError: a parameter that the program does not have, or what the mode cannot judge or teach: choices,
            too many categories, a scale in both directions.
        ModelError: what is no model string.
    """
    if mode == "probe":
        judge = build("probe", **{"evidence": f"state={model}", **settings})
    elif mode == "chain":
        judge = without_head(teacher)
        if "evidence" in judge.hparams():
            judge.set(evidence="")
        judge.set(**{**read_by_student(judge.settings(), model), **settings})
    else:
        judge = build("direct", **{"readout": "probability", "grading": _grading(case), **settings})
        _check_scale(judge)
    return judge.bind(Roles.parse(model)) if mode != "probe" else judge


def base_of(teacher: Judge, case: Case, mode: Mode, model: str, settings: Mapping[str, Any]) -> Judge | None:
    """The student's base as a judge, as it is before training; of a probe, as mode verdict asks it.

    None where the student is a probe and mode verdict does not judge such cases. Arguments and errors as `student_of`.
    """
    if mode != "probe":
        return student_of(teacher, case, mode, model, settings)
    return None if _too_many(case) else student_of(teacher, case, "verdict", model, {})


def _grading(case: Case) -> str:
    if problem := _too_many(case):
        raise DeclarationError(f"distil: {problem}")
    return "pairwise" if case.is_pair else "single"


def _too_many(case: Case) -> str:
    """Why mode verdict does not judge the case; "" if it does."""
    if len(case.candidates) > 2:
        return (
            f"case {case.id!r} has {len(case.candidates)} candidates, and mode verdict judges pairs and single "
            "texts. Use --mode chain or --mode probe."
        )
    if len(case.categories) > MOST_OPTIONS:
        return (
            f"case {case.id!r} has {len(case.categories)} categories, and mode verdict teaches one question of "
            f"at most {MOST_OPTIONS}. Use --mode chain, or give fewer categories."
        )
    return ""


def _check_scale(judge: Judge) -> None:
    if judge.hparams()["scale"].value == "both":
        raise DeclarationError(
            "distil: scale=both asks two questions about each text, and in mode verdict one question has to give the "
            "score. Use --set scale=up, or --mode chain."
        )
