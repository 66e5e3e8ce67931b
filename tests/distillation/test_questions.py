"""A student's questions without a model, with the teacher's verdict; and cases that the teacher labelled."""

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dicast.data import Case, Finding, Judged, Verdict
from dicast.data.case import Winner
from dicast.distillation.distil_recipe import DistilRecipe
from dicast.distillation.estimate import estimate_distillation
from dicast.distillation.questions import question_rows, questions_of
from dicast.distillation.student import base_of, student_of
from dicast.distillation.teacher_cases import apportioned, is_of_teacher, teacher_cases
from dicast.distillation.teacher_scale import teacher_scale
from dicast.distillation.trace import traced
from dicast.errors import DeclarationError
from dicast.judging import Panel, build
from dicast.judging.heads import AspectModel, ScoreHead
from dicast.optimizers.finetune import answered_by
from dicast.programs.direct import Direct
from dicast.testing import ScriptedLM

PAIR = Case(id="7", query="Name a fruit.", candidates=[{"text": "An apple."}, {"text": "A shoe, I think."}], group="g")
SHARES = {"a": 0.7, "b": 0.2, "tie": 0.1}
VERDICT = Judged(case_id="7", winner="a", distribution=SHARES)


@pytest.mark.parametrize("judge", [Direct(), Direct(grading="pairwise", layout="shared")])
def test_prompts_are_those_that_the_student_is_asked_later(judge):
    with dspy.context(lm=ScriptedLM()):
        asked = [trace.messages for trace in traced(judge, PAIR)[1]]
    judge.bind("openai/never-called")
    assert [trace.messages for trace in questions_of(judge, PAIR)] == asked
    assert {stage.model for stage in judge.stages()} == {"openai/never-called"}  # the judge stays as it was


@pytest.mark.parametrize("readout", ["sampled", "stated"])
def test_sampled_and_stated_readouts_have_the_questions_of_token_probabilities(readout):
    read = questions_of(build("direct", grading="pairwise", readout="probability"), PAIR)
    judge = build("direct", grading="pairwise", readout=readout)
    assert [trace.messages for trace in questions_of(judge, PAIR)] == [trace.messages for trace in read]
    rows = question_rows(judge, [PAIR.model_copy(update={"label": Winner(value="b")})], targets="labels").rows
    assert [row.targets for row in rows] == [{"A": 0, "B": 1}, {"A": 1, "B": 0}]


@pytest.mark.parametrize(("model", "reading"), [("transformers/base", "tokens"), ("openai/base", "sampled")])
def test_a_student_in_this_process_is_read_from_token_probabilities(model, reading):
    teacher = build("direct", grading="pairwise", readout="sampled").bind("openai/teacher")
    for student in (answered_by(teacher, model), student_of(teacher, PAIR, "chain", model, {})):
        assert student.reading.value == reading
        assert student.readout.value == "probability"
    panel = Panel([teacher, build("direct", grading="pairwise").bind("openai/other")])
    assert [member.reading.value for member in answered_by(panel, model).members] == [reading, "tokens"]
    assert student_of(teacher, PAIR, "chain", model, {"readout": "stated"}).reading.value == "stated"
    assert teacher.reading.value == "sampled"


def test_texts_are_shown_without_the_special_tokens_of_the_student():
    case = PAIR.model_copy(update={"query": "Write <odd-token> here."})
    (first, _) = questions_of(Direct(grading="pairwise"), case, special_tokens=frozenset({"<odd-token>"}))
    assert "< odd-token>" in first.messages[-1].content


def test_rows_teach_the_verdict_of_the_teacher_and_people():
    labelled = PAIR.model_copy(update={"label": Winner(value="b")})
    rows = question_rows(Direct(), [PAIR], {"7": VERDICT}).rows
    assert [(row.order, row.task) for row in rows] == [("ab", "direct.pairwise"), ("ba", "direct.pairwise")]
    assert [row.targets["A"] for row in rows] == pytest.approx([0.75, 0.25])
    both = question_rows(Direct(), [labelled], {"7": VERDICT}, human_weight=0.5).rows
    assert [row.targets["A"] for row in both] == pytest.approx([0.375, 0.625])
    people = question_rows(Direct(), [labelled, PAIR.model_copy(update={"id": "8"})], {}, "labels").rows
    assert [row.targets["A"] for row in people] == [0, 1]
    assert question_rows(Direct(), [PAIR], {}).rows == ()


def test_scores_of_the_teacher_are_taught_where_their_scale_is_known():
    judged = VERDICT.model_copy(update={"scores": (4.5, 2.0)})
    rows = question_rows(Direct(grading="single"), [PAIR], {"7": judged}, scale=(1, 5)).rows
    assert rows[0].targets == pytest.approx({"1": 0, "2": 0, "3": 0, "4": 0.5, "5": 0.5})
    assert question_rows(Direct(grading="single"), [PAIR], {"7": judged}).rows == ()


def test_categories_are_taught_by_people_and_teacher_in_the_order_that_is_shown():
    case = Case(id="7", query="q", candidates=[{"text": "t"}], categories=("pass", "fail"), label={"category": "fail"})
    judged = Judged(case_id="7", category="pass", distribution={"pass": 0.7, "fail": 0.3})
    shown = [trace.meanings for trace in questions_of(Direct(), case)]
    assert sorted(map(str, shown)) == ["{'A': 'fail', 'B': 'pass'}", "{'A': 'pass', 'B': 'fail'}"]

    def taught(targets, label):
        rows = question_rows(Direct(), [case.model_copy(update={"label": label})], {"7": judged}, targets).rows
        by_category = [
            {means[token]: p for token, p in row.targets.items()} for row, means in zip(rows, shown, strict=True)
        ]
        assert by_category[0] == pytest.approx(by_category[1])
        return by_category[0]

    assert taught("labels", case.label) == {"pass": 0, "fail": 1}
    assert taught("teacher", None) == pytest.approx({"pass": 0.7, "fail": 0.3})
    assert taught("both", case.label) == pytest.approx({"pass": 0.35, "fail": 0.65})


def test_the_scale_of_a_teacher_is_that_of_its_head_or_of_what_it_read():
    with dspy.context(lm=ScriptedLM({"token_probabilities": {"4": 0.5, "2": 0.5}})):
        verdicts = [Direct(grading="single")(PAIR)]
    judge = Direct(grading="single")
    assert teacher_scale(judge, verdicts) == (1, 5)
    assert teacher_scale(judge, []) is None
    judge.head = ScoreHead(intercept=3, lo=1, hi=10)
    assert teacher_scale(judge, verdicts) == (1, 10)
    judge.head = judge.head.model_copy(update={"aspects": {"tone": AspectModel(intercept=0, lo=0, hi=1)}})
    assert teacher_scale(judge, verdicts) is None


def read_alone(score, levels, verdict_score=None):
    finding = Finding(criterion="overall", scores=(score,), levels=levels and (levels,))
    return Verdict(case_id="7", scores=(score if verdict_score is None else verdict_score,), findings=[finding])


SURE, HALF = (0, 0, 0, 0, 1.0), (0, 0.5, 0, 0.5, 0)


@pytest.mark.parametrize(
    "verdicts",
    [
        [read_alone(76, SURE), read_alone(37.5, HALF)],  # 0..100 of five levels: one sure reading
        [read_alone(5, SURE), read_alone(9, SURE)],
        [read_alone(5, SURE), read_alone(4, None)],
        [read_alone(5, SURE, 60)],  # people's 0..100
    ],
)
def test_a_scale_on_which_not_every_score_agrees_is_not_known(verdicts):
    assert teacher_scale(build("direct", grading="single"), verdicts) is None
    assert teacher_scale(build("direct", grading="single"), [read_alone(3, HALF), read_alone(5 + 1e-9, SURE)]) == (1, 5)


def test_the_scale_of_a_panel_is_not_known_where_a_member_has_a_head():
    panel = Panel([build("direct", grading="single")])
    assert teacher_scale(panel, [read_alone(3, HALF)]) == (1, 5)
    panel.members[0].head = ScoreHead(intercept=3, lo=0, hi=100)
    assert teacher_scale(panel, [read_alone(3, HALF)]) is None
    panel.score_scale = (1, 5)
    assert teacher_scale(panel, [read_alone(3, HALF)]) is None
    panel.head = ScoreHead(intercept=3, lo=0, hi=100)
    assert teacher_scale(panel, [read_alone(3, HALF)]) == (0, 100)


def test_a_scale_of_the_teacher_that_its_scores_are_not_on_is_not_known():
    teacher = build("direct", grading="single")
    teacher.score_scale = (0.0, 1.0)
    assert teacher_scale(teacher, [read_alone(0.5, None)]) == (0, 1)
    assert teacher_scale(teacher, [read_alone(5, SURE)]) is None


def test_a_score_that_rounding_put_outside_its_scale_is_taught():
    judged = VERDICT.model_copy(update={"scores": (5 + 1e-9, 1 - 1e-9)})
    rows = question_rows(Direct(grading="single"), [PAIR], {"7": judged}, scale=(1, 5)).rows
    assert [row.targets["5"] for row in rows] == [1, 0]


def test_mode_verdict_refuses_what_one_question_does_not_decide():
    teacher = build("direct")
    with pytest.raises(DeclarationError, match="scale=both asks two questions.*--mode chain"):
        student_of(teacher, PAIR, "verdict", "openai/base", {"scale": "both"})
    names = tuple(f"topic {number}" for number in range(21))
    case = Case(id="7", query="q", candidates=[{"text": "t"}], categories=names)
    with pytest.raises(DeclarationError, match="'7' has 21 categories.*at most 20"):
        student_of(teacher, case, "verdict", "openai/base", {})
    student_of(teacher, case.model_copy(update={"categories": names[:20]}), "verdict", "openai/base", {})
    student_of(teacher, case, "chain", "openai/base", {})


def test_a_probe_of_cases_that_mode_verdict_refuses_has_no_base_beside_it():
    teacher = build("direct")
    choice = Case(id="7", query="q", candidates=[{"text": letter} for letter in "xyz"])
    assert base_of(teacher, choice, "probe", "openai/base", {}) is None
    assert base_of(teacher, PAIR, "probe", "openai/base", {}).name == "direct"
    recipe = DistilRecipe(mode="probe", targets="labels")
    cases = [choice.model_copy(update={"id": str(n), "label": {"index": 0}}) for n in range(60)]
    estimate = estimate_distillation(teacher, cases, (), recipe, "openai/base")
    assert [row.name for row in estimate.judging] == ["teacher", "student"]


def test_the_questions_of_a_turned_scale_are_not_given_the_verdicts_score():
    judged = VERDICT.model_copy(update={"scores": (4.5, 2.0)})
    judge = Direct(grading="single", scale="both")
    assert len(questions_of(judge, PAIR)) == 4
    assert question_rows(judge, [PAIR], {"7": judged}, scale=(1, 5)).rows == ()


def test_the_teacher_votes_in_proportion_and_people_stay():
    labelled = PAIR.model_copy(update={"id": "8", "label": Winner(value="b")})
    unscored = PAIR.model_copy(update={"id": "9"})
    verdicts = [VERDICT, VERDICT.model_copy(update={"case_id": "8"})]
    (case,) = teacher_cases([PAIR, labelled, unscored], verdicts)
    assert case.soft_label() == pytest.approx(SHARES)
    assert is_of_teacher(case)
    assert not is_of_teacher(labelled)


@given(st.lists(st.floats(0.01, 1), min_size=3, max_size=3), st.integers(1, 40))
def test_seats_are_all_given_and_each_is_nearly_its_share(values, seats):
    shares = dict(zip("abc", values, strict=True))
    counts = apportioned(shares, seats)
    assert sum(counts.values()) == seats
    assert all(abs(counts[name] - share / sum(values) * seats) < 1 for name, share in shares.items())
