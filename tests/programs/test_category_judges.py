"""Judges of categories: `direct` reads which of them, a rubric reads yes or no of each criterion."""

import json
import math
import re
from pathlib import Path
from typing import Any

import dspy
import pytest

from dicast.data import Case, Finding, Judged, Verdict
from dicast.errors import DeclarationError
from dicast.judging import Panel, build
from dicast.judging.category_verdict import combined
from dicast.judging.judge_file import load, save
from dicast.judging.rubric_judge import GOOD, RubricDeclaration, RubricJudge
from dicast.testing import ScriptedLM, prompt_text

WORDS = ("fail", "pass")
RUBRIC = """
judges: categories
instructions: You check answers of a support desk.
criteria:
  - name: correct
    ask: Does the response say what the reference says?
    weight: 3
  - name: evasive
    ask: Does the response avoid the question?
    passes: no
"""


def text(categories: tuple[str, ...] = WORDS, **more: Any) -> Case:
    return Case(id="1", query="Reset?", candidates=({"text": "Open Settings."},), categories=categories, **more)


def judged(judge: Any, case: Case, answer: Any) -> tuple[Verdict, list[str]]:
    lm = ScriptedLM(answer)
    with dspy.context(lm=lm):
        verdict = judge(case)
    return verdict, [prompt_text(request) for request in lm.requests]


def offered(request: Any) -> list[str]:
    """The categories that a request lists, in their order."""
    return re.findall(r"^[A-T]\. (.+)$", prompt_text(request), re.MULTILINE)


def liking(shares: dict[str, float], first: float = 0.0) -> Any:
    """A model that gives each category its share, and `first` more weight to whatever comes first."""

    def answer(request: Any) -> Any:
        names = offered(request)
        weights = [shares.get(name, 0.0) * math.exp(first * (place == 0)) for place, name in enumerate(names)]
        total = sum(weights)
        letters = "ABCDEFGHIJKLMNOPQRST"
        return {"token_probabilities": {a: w / total for a, w in zip(letters, weights, strict=False)}}

    return answer


def test_direct_reads_the_category_in_both_orders_so_that_a_liked_letter_cannot_matter() -> None:
    shares = {"fail": 0.2, "pass": 0.8}
    for first in (0.0, 1.5):
        verdict, prompts = judged(build("direct"), text(), liking(shares, first))
        assert (verdict.category, verdict.winner, len(prompts)) == ("pass", None, 2)
        assert verdict.distribution == pytest.approx(shares, abs=1e-6)
        assert verdict.certainty == pytest.approx(0.8, abs=1e-6)
    one, prompts = judged(build("direct", order="one"), text(), liking(shares, 1.5))
    assert (one.category, len(prompts)) == ("fail", 1)


def test_the_order_of_the_categories_does_not_change_the_verdict() -> None:
    answer = liking({"ham": 0.5, "spam": 0.3, "phish": 0.2}, 0.7)
    names = ("ham", "spam", "phish")
    verdict, _ = judged(build("direct"), text(names), answer)
    turned, _ = judged(build("direct"), text(names[::-1]), answer)
    assert verdict.distribution is not None
    assert turned.distribution == pytest.approx(verdict.distribution)
    assert list(turned.distribution or {}) == list(names[::-1])


def test_sixty_categories_are_read_in_parts_and_the_best_against_each_other() -> None:
    names = tuple(f"topic {number}" for number in range(60))
    shares = dict.fromkeys(names, 1.0) | {"topic 41": 50.0}
    verdict, prompts = judged(build("direct", order="one"), text(names), liking(shares))
    assert (verdict.category, len(prompts)) == ("topic 41", 4)
    assert sum((verdict.distribution or {}).values()) == pytest.approx(1)
    assert max(len(re.findall(r"^[A-T]\. ", prompt, re.MULTILINE)) for prompt in prompts) == 20


def test_categories_that_are_called_as_answers_are_read_like_any_other() -> None:
    for names in (("no", "yes"), ("b", "a"), ("tie", "a"), ("0", "1")):
        verdict, _ = judged(build("direct"), text(names), liking({names[0]: 0.3, names[1]: 0.7}))
        assert verdict.category == names[1]


def test_a_written_answer_names_the_category_by_its_letter() -> None:
    def answer(request: Any) -> Any:
        return {"category": "AB"[offered(request).index("pass")]}

    verdict, _ = judged(build("direct", readout="generate"), text(), answer)
    assert verdict.category == "pass"


def test_context_and_reference_are_shown_in_fences_only_where_a_case_has_them() -> None:
    more: dict[str, Any] = {"context": "Settings has Security.", "references": ("Use >>> Settings.",)}
    for judge in (build("direct", order="one"), build("rubric")):
        _, (bare,) = judged(judge, text(), {"token_probabilities": {"A": 0.5, "B": 0.5}})
        _, (whole,) = judged(judge, text(**more), {"token_probabilities": {"A": 0.5, "B": 0.5}})
        assert "Settings has Security." in whole
        assert "context" not in bare.casefold()
        assert "reference" not in bare.casefold()
        assert "<<<<\nUse >>> Settings.\n>>>>" in whole  # a text cannot close its fence


def rubric(folder: Path, content: str = RUBRIC) -> RubricJudge:
    path = folder / "support.yaml"
    path.write_text(content)
    judge = build(str(path))
    assert isinstance(judge, RubricJudge)
    return judge


def by_question(correct: float, evasive: float) -> Any:
    def answer(request: Any) -> Any:
        yes = evasive if "avoid the question" in prompt_text(request) else correct
        return {"token_probabilities": {"A": yes, "B": 1 - yes}}

    return answer


def test_a_rubric_of_ten_lines_weighs_the_log_odds_of_its_criteria(tmp_path: Path) -> None:
    verdict, prompts = judged(rubric(tmp_path), text(), by_question(0.8, 0.4))
    logit = (3 * math.log(0.8 / 0.2) + math.log(0.6 / 0.4)) / 4
    assert (verdict.category, len(prompts)) == ("pass", 2)
    assert (verdict.distribution or {})["pass"] == pytest.approx(1 / (1 + math.exp(-logit)))
    assert {finding.criterion: finding.distribution for finding in verdict.findings} == {
        "correct": pytest.approx({"fail": 0.2, "pass": 0.8}), "evasive": pytest.approx({"fail": 0.4, "pass": 0.6}),
    }  # fmt: skip
    assert all("You check answers of a support desk." in prompt for prompt in prompts)


def test_where_every_criterion_must_hold_the_least_decides(tmp_path: Path) -> None:
    verdict, _ = judged(rubric(tmp_path).set(combine="all"), text(), by_question(0.9, 0.7))
    assert verdict.category == "fail"
    assert verdict.distribution == pytest.approx({"fail": 0.7, "pass": 0.3})


def test_texts_that_name_no_category_have_those_of_the_rubric_or_a_score(tmp_path: Path) -> None:
    bare = text(())
    declared = rubric(tmp_path, RUBRIC + "categories: [bad, good]\n")
    assert judged(declared, bare, by_question(0.8, 0.4))[0].category == "good"
    score, _ = judged(rubric(tmp_path), bare, by_question(0.8, 0.4))
    assert score.category is None
    assert score.scores == pytest.approx(((3 * 0.8 + 0.6) / 4,))


def test_a_rubric_judges_a_pair_by_its_texts() -> None:
    pair = Case(id="1", query="q", candidates=({"text": "good one"}, {"text": "other"}))

    def answer(request: Any) -> Any:
        yes = 0.9 if "good one" in prompt_text(request) else 0.2
        return {"token_probabilities": {"A": yes, "B": 1 - yes}}

    assert judged(build("rubric"), pair, answer)[0].winner == "a"
    assert judged(build("rubric"), pair.swapped(), answer)[0].winner == "b"


def test_a_rubric_tells_two_categories_apart() -> None:
    with pytest.raises(DeclarationError, match="has 3 categories, and a rubric tells two apart. Use judge direct"):
        judged(build("rubric"), text(("a", "b", "c")), None)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("judges: categories\ncriteria: []\n", "criteria"),
        ("judges: categories\ncriteria: [Is it good?]\ncategories: [a, b, c]\n", "tells two categories apart"),
        ("judges: categories\ncriteria: [Is it good?, is it good?]\n", "is there twice"),
        ("judges: categories\ncriteria: [Is it good?]\nweight: 3\n", "weight"),
    ],
)
def test_a_wrong_rubric_says_what_is_wrong(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        rubric(tmp_path, content)


def test_a_rubric_is_saved_with_its_criteria(tmp_path: Path) -> None:
    judge = rubric(tmp_path, RUBRIC + "categories: [bad, good]\n").set(combine="all")
    save(judge, tmp_path / "support.judge.json")
    (tmp_path / "support.yaml").unlink()
    again = load(tmp_path / "support.judge.json")
    assert isinstance(again, RubricJudge)
    assert (again.declaration, again.combine.value) == (judge.declaration, "all")
    assert json.loads((tmp_path / "support.judge.json").read_text())["judge"]["declaration"]["judges"] == "categories"
    save(build("rubric"), tmp_path / "good.judge.json")
    assert load(tmp_path / "good.judge.json").name == "rubric"


def test_a_panel_of_categories_counts_votes_or_averages_probabilities() -> None:
    answer = by_question(0.8, 0.3)
    first, second = (
        build("rubric"),
        RubricJudge(RubricDeclaration(name="other", criteria=("Does it avoid the question?",))),
    )
    third = RubricJudge(GOOD)
    for pool, share in (("majority", 2 / 3), ("probability", (0.8 + 0.3 + 0.8) / 3)):
        verdict, _ = judged(Panel([first, second, third], pool=pool), text(), answer)
        assert verdict.category == "pass"
        assert (verdict.distribution or {})["pass"] == pytest.approx(share)


def test_combined_probabilities_do_not_depend_on_the_order_of_findings() -> None:
    said = [
        Finding(criterion=name, weight=weight, distribution={"fail": 1 - p, "pass": p})
        for name, weight, p in (("x", 1.0, 0.9), ("y", 2.0, 0.3), ("x", 1.0, 0.8))
    ]
    assert combined(said, WORDS) == combined(said[::-1], WORDS)
    sure = [Finding(criterion="x", distribution={"fail": 1.0, "pass": 0.0})]
    assert combined(sure, WORDS)["category"] == "fail"


def test_a_verdict_of_a_category_is_written_and_read_again() -> None:
    case = text(label={"category": "pass"})
    verdict, _ = judged(build("direct"), case, liking({"fail": 0.1, "pass": 0.9}))
    line = Judged.of(case, verdict)
    assert Judged.model_validate_json(line.model_dump_json()) == line
    assert (line.answer, line.human_answer, line.categories) == ("pass", "pass", WORDS)
