"""A judge of categories is distilled as others are: its student learns the letters of both orders, and is accepted."""

import re
from pathlib import Path
from typing import Any

import pytest

from dicast.data import Case
from dicast.distillation.distil import Distiller
from dicast.distillation.distil_recipe import DistilRecipe
from dicast.distillation.trained_model import TrainedModel
from dicast.distillation.training_set import read_set
from dicast.judging import build
from dicast.optimizers.evidence import ProgressCallbacks
from dicast.optimizers.recipe import Parts
from dicast.testing import MockServer

RECIPE = DistilRecipe(parts=Parts(train=0.3, select=0.25, certify=0, test=0.45), seed=3)


def shown(text: str) -> tuple[int, dict[str, str]]:
    """The quality of a prompt's text, and the letter of each category."""
    letters = {name: letter for letter, name in re.findall(r"^([AB])\. (\w+)$", text, re.MULTILINE)}
    return int(re.findall(r"quality (\d)", text)[-1]), letters


def preferred(body: dict[str, Any]) -> dict[str, float]:
    """The category by the quality; the base always says pass."""
    quality, letters = shown("\n".join(str(message["content"]) for message in body["messages"]))
    is_pass = quality >= 5 or body["model"] == "base"
    return {letters["pass" if is_pass else "fail"]: 0.85, letters["fail" if is_pass else "pass"]: 0.15}


def texts(n: int, *, start: int = 0, labelled: bool = True) -> list[Case]:
    qualities = {number: 1 + number * 7 % 9 for number in range(start, start + n)}
    cases = [
        Case(
            id=f"t{number}",
            query=f"Write about topic {number}.",
            candidates=[{"text": f"{number}, quality {quality}"}],
            categories=("fail", "pass"),
            label={"category": "pass" if quality >= 5 else "fail"} if labelled else None,
        )
        for number, quality in qualities.items()
    ]
    return cases


@pytest.mark.slow
def test_a_student_of_a_judge_of_categories_learns_both_orders_and_is_accepted(tmp_path: Path) -> None:
    with MockServer(token_probabilities=preferred) as server:

        def trainer(set_folder: Path, folder: Path, progress: ProgressCallbacks) -> TrainedModel:
            rows = list(read_set(set_folder).rows())
            for row in rows:
                quality, letters = shown(row.prompt[-1].content)
                people = row.source == "labels"  # half of the label, and half of the teacher's .85
                assert round(row.targets[letters["pass" if quality >= 5 else "fail"]], 3) == (0.925 if people else 0.85)
            assert {row.source for row in rows} == {"labels", "traces"}
            assert {shown(row.prompt[-1].content)[1]["pass"] for row in rows} == {"A", "B"}
            return TrainedModel(model=server.model_string("student"))

        teacher = build("direct").bind(server.model_string("teacher"))
        base, unlabelled = server.model_string("base"), texts(10, start=500, labelled=False)
        made = Distiller(teacher, texts(60), tmp_path, RECIPE, base=base, trainer=trainer, unlabelled=unlabelled)
        acceptance = made.run().acceptance
    assert acceptance.outcome in ("accepted", "undecided")
    accuracy = acceptance.student.evaluation.measure("accuracy")
    assert accuracy is not None
    assert accuracy.value == 1
