"""Bridging fills in criterion and guideline, and drops what the forward judgment contradicts."""

import json
from pathlib import Path

import dspy
import pytest

from dicast.data import Case
from dicast.distillation.bridging.bridge import Bridging, bridge
from dicast.distillation.bridging.bridged_rows import levels_of
from dicast.distillation.bridging.judgment import ReadCounts, SetJudgment
from dicast.distillation.bridging.reverse_rows import reverse_rows
from dicast.distillation.bridging.statistics import HEADS, SetStatistics, markdown
from dicast.distillation.trace import traced
from dicast.programs.fennec import Fennec
from dicast.programs.reverse import Reverse
from dicast.testing import ScriptedLM, answer_fields

LEVELS = {f"score_{level}": f"level {level}" for level in range(1, 6)} | {"comparison": "how much is right"}
GUIDELINE = "1: level 1\n2: level 2\n3: level 3\n4: level 4\n5: level 5\nLook at: how much is right"
PAIR = SetJudgment(
    id="j/1", source="judgelm", request="Name a fruit.", responses=("An apple.", "A shoe."), scores=(9, 2),
    judgment="Response A names a fruit.",
)  # fmt: skip
TEXT = SetJudgment(
    id="f/1", source="feedback-collection", request="Name a fruit.", responses=("An apple.",), scores=(4,),
    scale=(1, 5),
    criterion="Is it a fruit?", guideline=GUIDELINE.rpartition("\n")[0],
)  # fmt: skip


def model(score_a=5, score_b=1, score=4):
    """Answers every stage of both programs by its fields."""
    said = {"explanation_a": "It names a fruit.", "explanation_b": "It names a shoe.", "comparison": "A is better."}

    def answer(request):
        fields = set(answer_fields(request))
        if fields == {"criterion"}:
            return {"criterion": "- relevance: it is a fruit"}
        if fields == set(LEVELS):
            return LEVELS
        return (
            {"explanation": "A fruit.", "score": score}
            if "score" in fields
            else {**said, "score_a": score_a, "score_b": score_b}
        )

    return ScriptedLM(answer)


def bridged(*judgments, **scores):
    with dspy.context(lm=model(**scores)):
        return bridge(judgments, Reverse(), Fennec(), counts={"judgelm": ReadCounts(3, 2)})


def test_criterion_and_guideline_are_filled_in_and_known_ones_are_not_asked():
    lm = model()
    with dspy.context(lm=lm):
        pair = Bridging()(PAIR)
        asked = len(lm.requests)
        text = Bridging()(TEXT)
    assert (pair.judgment.criterion, pair.judgment.guideline) == ("relevance: it is a fruit", GUIDELINE)
    assert (asked, len(lm.requests)) == (3, 4)
    assert text.judgment == TEXT
    assert pair.agrees
    assert text.agrees


def test_the_reverse_questions_show_the_judgment_and_both_texts():
    lm = model()
    with dspy.context(lm=lm):
        Reverse()(PAIR.request, PAIR.responses, PAIR.judgment)
    criterion, guideline = (request.messages[-1].text for request in lm.requests)
    for text in ("Response A:\n<<<\nAn apple.\n>>>", "Response B:\n<<<\nA shoe.\n>>>", "Response A names a fruit."):
        assert text in criterion
        assert text in guideline
    assert "relevance: it is a fruit" in guideline
    assert "relevance: it is a fruit" not in criterion


@pytest.mark.parametrize(
    ("judgment", "scores", "agrees"),
    [
        (PAIR, {"score_a": 2, "score_b": 4}, False),
        (PAIR, {"score_a": 3, "score_b": 3}, False),
        (PAIR.model_copy(update={"scores": None, "winner": "tie"}), {"score_a": 3, "score_b": 3}, True),
        (TEXT, {"score": 5}, True),
        (TEXT, {"score": 2}, False),
        (TEXT.model_copy(update={"scores": (7,), "scale": (1, 10)}), {"score": 3}, True),  # 7 of 1..10 is 3.67 of 1..5
        (TEXT.model_copy(update={"scores": (7,), "scale": (1, 10)}), {"score": 2}, False),
    ],
)
def test_the_forward_judgment_agrees_by_winner_or_score(judgment, scores, agrees):
    with dspy.context(lm=model(**scores)):
        assert Bridging()(judgment).agrees == agrees


def test_rows_are_those_that_fennec_is_asked_later():
    result = bridged(PAIR)
    tasks = [row.task for row in result.rows]
    assert tasks == ["fennec.criteria", "fennec.guideline", "fennec.pairwise", "fennec.pairwise"]
    case = Case(id="x", query=PAIR.request, candidates=[{"text": text} for text in PAIR.responses])

    def answer(request):
        fields = set(answer_fields(request))
        return (
            {"criteria": ["relevance: it is a fruit"]}
            if fields == {"criteria"}
            else LEVELS
            if "score_1" in fields
            else None
        )

    with dspy.context(lm=ScriptedLM(answer)):
        asked = {trace.messages for trace in traced(Fennec(branches=1), case)[1]}
    assert {row.prompt for row in result.rows} == asked
    assert {row.source for row in result.rows} == {"bridged:judgelm"}
    assert len({row.group for row in result.rows}) == 1
    assert json.loads(result.rows[0].answer) == {"criteria": ["relevance: it is a fruit"]}
    assert json.loads(result.rows[1].answer) == LEVELS
    first, second = (json.loads(row.answer) for row in result.rows[2:])
    assert (first["score_a"], second["score_a"]) == (5, 1)


def test_the_table_of_a_bridging_that_was_stopped_says_how_many_judgments_were_bridged():
    counted = SetStatistics(source="s", rows=9, judgments=8, failed={"refusal": 1}, disagreed=2, confirmed=3)
    assert markdown([counted]).splitlines()[2].startswith("| s | 9 | 8 | 6 | 1 | 2 | 3 |")
    page = (Path(__file__).parents[2] / "docs" / "results" / "distil-sets-2026-11-23.md").read_text()
    assert f"| {' | '.join(HEADS)} |" in page


def test_statistics_count_what_was_kept_and_what_was_not():
    contradicted = PAIR.model_copy(update={"id": "j/2", "scores": (1.0, 9.0)})
    (statistics,) = bridged(PAIR, contradicted).statistics
    assert (statistics.rows, statistics.judgments, statistics.disagreed, statistics.confirmed) == (3, 2, 1, 1)
    assert (statistics.criteria, statistics.guidelines, statistics.pairwise, statistics.single) == (1, 1, 2, 0)
    assert (statistics.criterion_words, statistics.judgment_words) == (5.0, 5.0)
    assert "| judgelm | 3 | 2 | 2 | 0 | 1 | 1 | 1 | 1 | 2 | 0 | 5.0 |" in markdown([statistics])


def test_a_judgment_that_no_model_can_answer_is_counted():
    with dspy.context(lm=ScriptedLM("no JSON")):
        result = bridge([PAIR], Reverse(), Fennec())
    assert result.rows == ()
    assert result.statistics[0].failed == {"parse_failure": 1}
    assert "judgelm: 1 failed (parse_failure)." in markdown(result.statistics)


def test_a_rubric_without_a_comparison_has_no_guideline_row():
    assert [row.task for row in bridged(TEXT).rows] == ["fennec.criteria", "fennec.single"]
    assert levels_of("1: a\n2: b\n3: c\n4: d") is None
    assert levels_of(GUIDELINE) == LEVELS


def test_a_reverse_student_learns_criterion_and_guideline_of_a_chain():
    case = Case(id="7", query="Name a fruit.", candidates=[{"text": "An apple."}, {"text": "A shoe."}])
    lm = model()

    def answer(request):
        return (
            {"criteria": ["relevance: a fruit"]} if "criteria" in answer_fields(request) else lm._script.answer(request)
        )

    with dspy.context(lm=ScriptedLM(answer)):
        traces = traced(Fennec(branches=1, order="one"), case)[1]
    criterion, guideline = reverse_rows(traces, Reverse())
    assert json.loads(criterion.answer) == {"criterion": "relevance: a fruit"}
    assert json.loads(guideline.answer) == LEVELS
    assert "Scores: A 5, B 1." in criterion.messages[-2].content
    assert "relevance: a fruit" not in criterion.messages[-2].content
    assert "relevance: a fruit" in guideline.messages[-2].content
    assert (criterion.task, guideline.task, criterion.order) == ("reverse.criterion", "reverse.guideline", "ab")
