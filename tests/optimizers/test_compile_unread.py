"""A compilation with a model that cannot be read: what is left out, what goes on, and what ends it."""

import random
import re
from pathlib import Path
from typing import Any

import dspy
import pytest

from dicast.data import Case
from dicast.errors import Unreadable
from dicast.judging import Judge, build
from dicast.optimizers.compile import Compiled, Compiler
from dicast.optimizers.evidence import ProgressCallbacks
from dicast.optimizers.recipe import Recipe
from dicast.testing import ScriptedLM, prompt_text

THOUGHT = {"token_probabilities": {"<think>": 0.97, "A": 0.02, "3": 0.01}}


def cases(n: int) -> list[Case]:
    return [
        Case(id=f"{number:03}", query=f"q{number}", candidates=[{"text": "x"}, {"text": "y"}], label={"value": "a"})
        for number in range(n)
    ]


def compiled(judge: Judge, answer: Any, folder: Path, *, trials: int = 0) -> tuple[Compiled, list[str]]:
    """The compilation of 120 pairs, and the lines of its steps."""
    lines: list[str] = []
    progress = ProgressCallbacks(step=lambda name, text: lines.append(f"{name}: {text}"))
    with dspy.context(lm=ScriptedLM(answer)):
        baseline = build("direct", grading="pairwise")
        result = Compiler(judge, cases(120), folder, Recipe(trials=trials), progress=progress, baseline=baseline).run()
    return result, lines


def written_or_unread(request: Any) -> Any:
    """A model that thinks before it answers, so that only what it writes can be used."""
    letter = random.Random(prompt_text(request)).choice("AB")
    return THOUGHT if request.config.logprobs is not None else {"better": letter}


def test_a_baseline_that_cannot_be_read_is_left_out(tmp_path):
    judge = build("direct", grading="pairwise", readout="generate", order="one")
    result, lines = compiled(judge, written_or_unread, tmp_path)
    assert "direct" not in [row.name for row in result.result.judges]
    (left_out,) = [line for line in lines if line.startswith("baseline")]
    assert left_out.startswith("baseline: direct left out: stage 'judgment'")
    assert "'<think>' 97%" in left_out


@pytest.mark.slow
def test_a_structure_that_cannot_be_read_is_unusable_and_the_search_goes_on(tmp_path):
    judge = build("direct", grading="pairwise", readout="generate", order="one")
    result, lines = compiled(judge, written_or_unread, tmp_path, trials=3)
    trials = [line for line in lines if re.match(r"structure: trial \d", line)]
    assert any("unusable" in line and "hold" in line for line in trials)
    assert result.judge.settings()["readout"] == "generate"


def test_a_judge_of_which_nothing_can_be_read_ends_it_with_the_reason(tmp_path):
    with pytest.raises(Unreadable, match="'<think>' 97%"):
        compiled(build("direct", grading="pairwise"), lambda request: THOUGHT, tmp_path)


def test_where_few_can_be_read_the_head_says_why_it_is_left_out(tmp_path):
    def answer(request: Any) -> Any:
        number = int(re.findall(r"q(\d+)", prompt_text(request))[0])
        return THOUGHT if number % 12 else {"token_probabilities": {"A": 0.6, "B": 0.3, "3": 0.1}}

    _, lines = compiled(build("direct", grading="pairwise"), answer, tmp_path)
    (head,) = [line for line in lines if line.startswith("head")]
    assert re.fullmatch(
        r"head: left out: fit: \d+ labelled verdicts of 120 cases \(\d+ more are unreadable\)\. Label 20 .*", head
    )
