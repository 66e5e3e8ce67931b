"""Fennec with the same criteria for every case: its branches are questions, whose weights a head learns by name."""

import re
from typing import Any

import dspy
import numpy as np
import pytest
from dspy.lm15 import Request

from dicast.data import Case, Finding, Verdict
from dicast.errors import DeclarationError
from dicast.judging import build
from dicast.judging.heads import PairHead
from dicast.optimizers.head.fit import fit
from dicast.testing import Answer, ScriptedLM, answer_fields, prompt_text

NAMES = ["accuracy", "relevance", "completeness", "clarity", "depth", "instructions"]


def cases(n: int) -> list[Case]:
    """People go by accuracy, which the first digit of a text gives; the other digits are of clarity and depth."""
    draw, made = np.random.default_rng(3), []
    for number in range(n):
        levels = draw.integers(1, 6, size=(2, 3))
        sides = zip("xy", levels, strict=True)
        texts = [{"text": f"text {number}{side} levels {a} {c} {d}"} for side, (a, c, d) in sides]
        margin = 1.2 * (levels[0, 0] - levels[1, 0]) + draw.logistic()
        label = {"value": "a" if margin > 0 else "b"}
        made.append(Case(id=f"c{number}", query=f"Do {number}.", candidates=texts, label=label))
    return made


def reading(request: Request) -> Answer:
    """Reads the level of the criterion that is asked for; any other criterion has level 3."""
    text = prompt_text(request)
    named = ("accuracy", "clarity", "depth")
    shown = [dict(zip(named, map(int, levels), strict=True)) for levels in LEVELS.findall(text)]
    criterion = next(name for name in NAMES if f'"{name}: ' in text)
    which = 1 if "is response B?" in text[text.rfind(">>>") :] else 0
    level = shown[min(which, len(shown) - 1)].get(criterion, 3)
    others = {str(other): 0.05 for other in range(1, 6) if other != level}
    return {"token_probabilities": {str(level): 0.8, **others}}


LEVELS = re.compile(r"levels (\d) (\d) (\d)")


@pytest.mark.parametrize("name", ["fennec", "fennec-single"])
def test_a_head_learns_which_fixed_criterion_people_go_by(name: str) -> None:
    judge: Any = build(name, criteria="fennec", guideline=False, readout="probability")
    labelled, lm = cases(60), ScriptedLM(reading)
    with dspy.context(lm=lm):
        verdicts = [judge(case) for case in labelled]
    assert {verdict.status for verdict in verdicts} == {"scored"}
    assert not any(answer_fields(request) for request in lm.requests)  # no call finds criteria
    assert len(lm.requests) == 60 * 6 * 2 * (2 if name == "fennec" else 1)
    per_criterion = 2 if name == "fennec" else 1  # a finding an order
    heads = [finding.criterion.partition(":")[0] for finding in verdicts[0].findings]
    assert heads[::per_criterion] == NAMES
    head = fit(labelled, verdicts).head
    assert isinstance(head, PairHead)
    swapped = head(labelled[0].swapped(), verdicts[0].swapped())
    assert swapped.distribution == head(labelled[0], verdicts[0]).swapped().distribution
    weights = {name: weight for name, weight in head.weights.items() if name != "merged"}
    by_size = max(weights, key=lambda name: weights[name])
    assert by_size in ("question accuracy", "criterion 1")  # the same numbers; the first name stays
    pairs = list(zip(labelled, verdicts, strict=True))
    right = np.mean([head(case, verdict).winner == case.label.winner for case, verdict in pairs if case.label])
    plain = np.mean([verdict.winner == case.label.winner for case, verdict in pairs if case.label])
    assert right > plain + 0.1


def test_where_criteria_vary_the_heads_that_recur_have_weights() -> None:
    """ "Accuracy: ..." is written for most requests, each time in other words and at another place."""
    draw, labelled, verdicts = np.random.default_rng(5), cases(150), []
    for number, case in enumerate(labelled):
        first, second = (int(found[0]) for found in LEVELS.findall(" ".join(c.text for c in case.candidates)))
        findings = [
            Finding(criterion=f"rare {number} {place}: x", scores=tuple(draw.integers(1, 6, size=2).tolist()))
            for place in range(3)
        ]
        if draw.random() < 0.8:
            accuracy = Finding(criterion=f"Accuracy: the facts of {number}", scores=(first, second))
            findings.insert(int(draw.integers(0, 4)), accuracy)
        verdicts.append(Verdict(case_id=case.id, findings=tuple(findings), winner="a"))
    named = fit(labelled, verdicts)
    assert "question accuracy" in named.head.weights
    assert not any(name.startswith("question rare") for name in named.head.weights)
    unnamed = []
    for number, verdict in enumerate(verdicts):
        findings = [f.model_copy(update={"criterion": f"{number} {c}"}) for c, f in enumerate(verdict.findings)]
        unnamed.append(verdict.model_copy(update={"findings": tuple(findings)}))
    assert named.candidates[0].loss < fit(labelled, unnamed).candidates[0].loss - 0.02


def test_a_bank_without_a_question_that_speaks_for_a_text_is_refused() -> None:
    with pytest.raises(DeclarationError, match="no question that speaks for a text"):
        build("fennec", criteria="none")
    with pytest.raises(DeclarationError, match="there is no bank"):
        build("fennec-single", criteria="nonesuch")
    assert "criteria" not in build("fennec").settings()  # records of judges made before stay the same
