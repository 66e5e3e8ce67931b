"""Panels: each pool by hand, members that fail, samples, names, and what a panel costs."""

import itertools
import re
from typing import Any

import pytest
from dspy.lm15 import Request

from dicast.data import Case, Finding, Usage, Verdict
from dicast.errors import DeclarationError
from dicast.judging import Panel, build, build_panel
from dicast.judging.judge import Judge
from dicast.judging.panel import POOLS, pool
from dicast.testing import Answer, ScriptedLM, answer_fields, prompt_text

PAIR = Case(id="p", query="Which?", candidates=[{"text": "One."}, {"text": "Two."}])
SINGLE = Case(id="s", query="How good?", candidates=[{"text": "One."}])
CHOICE = Case(id="c", query="Which?", candidates=[{"text": f"option {n}"} for n in range(4)])


class Says(Judge):
    """A member that says what it was made to say."""

    def __init__(self, name: str = "says", **verdict: Any) -> None:
        super().__init__()
        self.name, self.said = name, verdict

    def assess(self, case: Case) -> Verdict:
        return Verdict(case_id=case.id, **self.said)


def verdicts(*said: dict[str, Any]) -> list[Verdict]:
    return [Verdict(case_id="c", **one) for one in said]


def seated(name: str, answer: Any, **settings: Any) -> Judge:
    """A member with an LM of its own."""
    lm = script = ScriptedLM(answer if callable(answer) else lambda request: answer, cache=True)
    member = build(name, **settings)
    member.set_lm(lm)
    member.script = script
    return member


def likes(word: str) -> Any:
    def answer(request: Request) -> Answer:
        letter = "A" if f"Response A:\n<<<\n{word}" in prompt_text(request) else "B"
        return {"better": letter, "preferred": letter, "score": 5}

    return answer


DIRECT: dict[str, Any] = {"grading": "pairwise", "readout": "generate"}

# pools, by hand


def test_the_mean_pool_is_the_mean_score_of_each_candidate() -> None:
    pooled = pool(verdicts({"scores": (1, 5)}, {"scores": (3, 4)}, {"scores": (5, 0)}), "mean", 2)
    assert (pooled["scores"], pooled["winner"]) == ((3.0, 3.0), "tie")


def test_the_median_pool_is_the_median_score_of_each_candidate() -> None:
    pooled = pool(verdicts({"scores": (1, 5)}, {"scores": (2, 4)}, {"scores": (9, 0)}), "median", 2)
    assert (pooled["scores"], pooled["winner"]) == ((2, 4), "b")


@pytest.mark.parametrize("how", ["mean", "median"])
def test_a_pool_of_scores_is_as_certain_as_many_members_name_its_winner(how: str) -> None:
    said = [((1, 5), "b"), ((2, 4), "b"), ((9, 4), "a"), ((0, 3), "b")]
    pooled = pool(verdicts(*({"scores": scores, "winner": winner} for scores, winner in said)), how, 2)
    assert (pooled["winner"], pooled["certainty"]) == ("b", 0.75)


def test_the_median_of_two_members_is_their_mean() -> None:
    assert pool(verdicts({"scores": (1,)}, {"scores": (4,)}), "median", 1) == {"scores": (2.5,)}


@pytest.mark.parametrize(
    ("winners", "winner", "certainty"),
    [
        ("aab", "a", 2 / 3),
        ("abb", "b", 2 / 3),
        ("ab", "tie", 0),
        (("a", "b", "tie"), "tie", 1 / 3),
        (("tie", "tie", "a"), "tie", 2 / 3),
        ("aabb", "tie", 0),
        ("a", "a", 1),
        ((2, 2, 0), 2, 2 / 3),
        ((3, 0), "tie", 0),
        ((0, 0, 1, 1, 0), 0, 3 / 5),
    ],
)
def test_the_majority_pool_names_the_winner_of_most_members(winners: Any, winner: Any, certainty: float) -> None:
    pooled = pool(verdicts(*({"winner": one} for one in winners)), "majority", 4 if 0 in list(winners) else 2)
    assert pooled["winner"] == winner
    assert pooled["certainty"] == pytest.approx(certainty)
    shares = {str(one): list(winners).count(one) / len(winners) for one in winners}
    assert pooled["distribution"] == pytest.approx(shares)


def test_the_probability_pool_is_the_mean_distribution() -> None:
    distributions = [{"a": 0.9, "b": 0.1, "tie": 0.0}, {"a": 0.2, "b": 0.6, "tie": 0.2}, {"a": 0.3, "b": 0.7}]
    pooled = pool(verdicts(*({"distribution": one} for one in distributions)), "probability", 2)
    assert pooled["distribution"] == pytest.approx({"a": 1.4 / 3, "b": 1.4 / 3, "tie": 0.2 / 3})
    sure = pool(verdicts(*({"distribution": one} for one in distributions[:2])), "probability", 2)
    assert (sure["winner"], sure["certainty"]) == ("a", pytest.approx(0.55))


def test_the_probability_pool_of_a_choice_names_an_index() -> None:
    distributions = [{"0": 0.2, "1": 0.5, "2": 0.3}, {"0": 0.1, "1": 0.2, "2": 0.7}]
    pooled = pool(verdicts(*({"distribution": one} for one in distributions)), "probability", 3)
    assert (pooled["winner"], pooled["certainty"]) == (2, pytest.approx(0.5))


def test_the_probability_pool_of_a_single_text_is_over_its_levels() -> None:
    distributions = [{"1": 0.2, "2": 0.8}, {"1": 0.6, "2": 0.4}]
    pooled = pool(verdicts(*({"distribution": one, "scores": (1.5,)} for one in distributions)), "probability", 1)
    assert pooled["distribution"] == pytest.approx({"1": 0.4, "2": 0.6})
    assert pooled["certainty"] == pytest.approx(0.6)
    assert "winner" not in pooled


@pytest.mark.parametrize("how", ["majority", "probability"])
def test_other_pools_tell_the_mean_scores_when_every_member_has_some(how: str) -> None:
    fields: dict[str, Any] = {"winner": "a", "distribution": {"a": 1.0, "b": 0.0}}
    assert pool(verdicts(fields | {"scores": (1, 2)}, fields | {"scores": (2, 4)}), how, 2)["scores"] == (1.5, 3.0)
    assert pool(verdicts(fields | {"scores": (1, 2)}, fields), how, 2)["scores"] is None


@pytest.mark.parametrize("how", POOLS)
def test_the_order_of_the_members_does_not_matter(how: str) -> None:
    said = [
        {"winner": winner, "scores": scores, "distribution": {"a": p, "b": 1 - p}}
        for winner, scores, p in (("a", (0.1, 0.7), 0.1), ("b", (0.2, 0.3), 0.7), ("a", (0.6, 0.1), 0.3))
    ]
    pooled = [pool(verdicts(*order), how, 2) for order in itertools.permutations(said)]
    assert all(one == pooled[0] for one in pooled)


@pytest.mark.parametrize("how", POOLS)
def test_a_panel_of_one_says_what_its_member_says(how: str) -> None:
    (member,) = verdicts({"winner": "b", "scores": (1, 2), "distribution": {"a": 0.2, "b": 0.8}})
    pooled = pool([member], how, 2)
    assert (pooled["winner"], pooled["scores"]) == ("b", (1, 2))


@pytest.mark.parametrize(
    ("how", "said", "message"),
    [
        ("mean", {"winner": "a"}, "pool=mean needs scores, and a member gives none. Use majority"),
        ("median", {"winner": "a"}, "pool=median needs scores, and a member gives none. Use majority"),
        ("majority", {"scores": (1,)}, "pool=majority needs winners, and single texts have none. Use mean"),
        ("probability", {"winner": "a"}, "pool=probability needs distributions, and a member gives none"),
    ],
)
def test_a_pool_that_does_not_fit_the_members_is_refused(how: str, said: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        Panel([Says(**said)], pool=how)(PAIR)


def test_an_unknown_pool_and_an_empty_panel_are_refused() -> None:
    with pytest.raises(DeclarationError, match="panel: no member"):
        Panel([])
    with pytest.raises(DeclarationError, match="pool: must be one of mean, median, majority, probability"):
        Panel([Says()]).set(pool="best")


# members


def test_a_panel_names_the_winner_of_most_of_its_members() -> None:
    members = [seated("direct", likes(word), **DIRECT) for word in ("Two", "Two", "One")]
    verdict = Panel(members)(PAIR)
    assert (verdict.winner, verdict.certainty, verdict.case_id) == ("b", pytest.approx(2 / 3), "p")


def test_a_majority_of_three_indices_is_an_index() -> None:
    assert Panel([Says(winner=2), Says(winner=2), Says(winner=1)])(CHOICE).winner == 2


def test_findings_say_which_member_found_them() -> None:
    verdict = Panel([seated("direct", likes("One"), **DIRECT), seated("persona", likes("Two"))])(PAIR)
    assert {finding.member for finding in verdict.findings} == {"direct", "persona"}
    assert sum(finding.member == "direct" for finding in verdict.findings) == 2


def test_members_of_one_program_and_no_named_model_are_numbered() -> None:
    verdict = Panel([seated("direct", likes(word), **DIRECT) for word in ("One", "Two")])(PAIR)
    assert {finding.member for finding in verdict.findings} == {"direct 1", "direct 2"}


def test_members_of_one_program_are_named_by_their_models() -> None:
    panel = build_panel("direct", ["openai/x@http://127.0.0.1:9/v1", "openai/y@http://127.0.0.1:9/v1"], **DIRECT)
    for member, word in zip(panel.members, ("One", "Two"), strict=True):
        member.set_lm(ScriptedLM(likes(word)))
    assert {finding.member for finding in panel(PAIR).findings} == {
        "openai/x@http://127.0.0.1:9/v1",
        "openai/y@http://127.0.0.1:9/v1",
    }


@pytest.mark.parametrize("samples", [1, 2])
def test_no_member_is_without_a_name(samples: int) -> None:
    panel = Panel([seated("explicit", {"reason": "It wanders.", "score": 3}, form="V5", samples=1)], samples=samples)
    verdict = panel(PAIR)
    assert all(finding.member.startswith("explicit") for finding in verdict.findings)
    assert all(line.startswith("explicit") for line in verdict.rationale.splitlines())


def test_one_named_and_one_unnamed_model_leave_no_member_without_a_name() -> None:
    members = [seated("direct", likes("One"), **DIRECT), seated("persona", likes("Two"))]
    for stage in members[0].stages():
        stage.model = "openai/x@http://127.0.0.1:9/v1"
    assert all(finding.member for finding in Panel(members)(PAIR).findings)


def test_the_rationale_tells_each_member_s_own() -> None:
    members = [seated("explicit", {"reason": reason, "score": 3}, form="V5", samples=1) for reason in ("dull", "fine")]
    first, second = Panel(members, pool="mean")(SINGLE).rationale.splitlines()
    assert (first.startswith("explicit 1: "), first.endswith("dull")) == (True, True)
    assert (second.startswith("explicit 2: "), second.endswith("fine")) == (True, True)


def test_a_member_without_a_verdict_is_left_out_and_noted() -> None:
    members = [
        seated("direct", likes("One"), **DIRECT),
        seated("direct", "I'm sorry, I can't judge that.", **DIRECT),
        seated("direct", "no form", **DIRECT),
    ]
    verdict = Panel(members)(PAIR)
    assert (verdict.status, verdict.winner, verdict.certainty) == ("scored", "a", 1.0)
    assert verdict.notes == ("direct 2: refusal", "direct 3: parse_failure")
    assert {finding.member for finding in verdict.findings} == {"direct 1"}


@pytest.mark.parametrize("reason", ["infrastructure", "budget"])
def test_a_panel_is_unscored_where_the_server_of_a_member_failed(reason: Any) -> None:
    failed = Says("two", status="unscored", reason=reason, detail="nothing came")
    verdict = Panel([Says("one", winner="a"), failed, Says("three", winner="a")])(PAIR)
    assert (verdict.status, verdict.reason, verdict.detail) == ("unscored", reason, "nothing came")


def test_an_abstaining_member_is_left_out_and_noted() -> None:
    verdict = Panel([Says("one", status="abstained"), Says("two", winner="b")])(PAIR)
    assert (verdict.winner, verdict.notes) == ("b", ("one: abstained",))


def test_a_panel_whose_members_all_fail_is_unscored_with_a_reason() -> None:
    members = [seated("direct", said, **DIRECT) for said in ("I'm sorry, I can't.", "no form")]
    verdict = Panel(members)(PAIR)
    assert (verdict.status, verdict.reason, verdict.winner) == ("unscored", "refusal", None)
    assert verdict.usage.calls == sum(len(member.script.requests) for member in members)


def test_the_notes_of_members_are_kept() -> None:
    verdict = Panel([Says("one", winner="a", notes=("cut",)), Says("two", winner="a", notes=("cut", "more"))])(PAIR)
    assert verdict.notes == ("cut", "more")


def test_a_panel_cannot_judge_what_one_member_cannot() -> None:
    panel = Panel([build("explicit"), build("persona")])
    assert panel.pairs_only
    with pytest.raises(DeclarationError, match="judge 'panel': case 's' has 1 candidates, not two"):
        panel(SINGLE)
    assert not Panel([build("explicit")]).pairs_only


@pytest.mark.parametrize(
    ("consistent", "expected"),
    [((True, True), True), ((True, False), False), ((True, None), None), ((None, None), None)],
)
def test_a_panel_is_consistent_when_every_member_is(consistent: tuple[Any, Any], expected: Any) -> None:
    panel = Panel([Says(f"{n}", winner="a", consistent=one) for n, one in enumerate(consistent)])
    assert panel(PAIR).consistent is expected


def test_a_declaration_error_of_a_member_is_the_panel_s() -> None:
    with pytest.raises(DeclarationError, match="form V4 writes its reason first"):
        Panel([seated("pairwise", {"better": "A"}, form="V4", readout="probability")])(PAIR)


# samples


@pytest.mark.parametrize("samples", [2, 5])
def test_samples_are_drawn_each_for_itself(samples: int) -> None:
    member = seated("direct", likes("One"), **DIRECT, order="one")
    verdict = Panel([member], samples=samples)(PAIR)
    assert [(r.config.temperature, r.config.top_p) for r in member.script.requests] == [(0.7, 0.95)] * samples
    assert len({finding.member for finding in verdict.findings}) == samples


def test_one_sample_is_greedy() -> None:
    member = seated("direct", likes("One"), **DIRECT, order="one")
    Panel([member])(PAIR)
    assert [request.config.temperature for request in member.script.requests] == [0.0]


def test_samples_are_voted() -> None:
    letters = iter("AABBB")
    member = seated("direct", lambda request: {"better": next(letters)}, **DIRECT, order="one")
    verdict = Panel([member], samples=5)(PAIR)
    assert (verdict.winner, verdict.certainty) == ("b", pytest.approx(0.6))


def test_a_failed_sample_is_noted_by_its_number() -> None:
    tries = itertools.count()

    def tires(request: Request) -> Answer:  # of eight tries the last six fail: two samples of four
        return {"better": "A"} if next(tries) < 2 else "I'm sorry, I can't."

    verdict = Panel([seated("direct", tires, **DIRECT, order="one")], samples=4)(PAIR)
    assert verdict.winner == "a"
    assert len(verdict.notes) == 2
    assert all(re.fullmatch(r"direct sample [1-4]: refusal", note) for note in verdict.notes)


@pytest.mark.parametrize("samples", [0, 101, 1.5])
def test_there_are_1_to_100_samples(samples: Any) -> None:
    with pytest.raises(DeclarationError, match="samples: must be one of 1 to 100"):
        Panel([Says()]).set(samples=samples)


# usage and making


def test_a_panel_says_nothing_on_the_log(caplog: pytest.LogCaptureFixture) -> None:
    Panel([seated("direct", likes("One"), **DIRECT)], samples=2)(PAIR)
    assert caplog.text == ""


def test_usage_is_the_sum_of_the_members() -> None:
    panel = Panel([seated("direct", likes("One"), **DIRECT), seated("explicit", {"score": 4}), Says(winner="a")])
    verdict = panel(PAIR)
    assert (verdict.usage.calls, verdict.usage.prompt_tokens, verdict.usage.completion_tokens) == (4, 40, 8)
    again = panel(PAIR)
    assert (again.usage.calls, again.usage.cached) == (0, 4)


def test_a_panel_of_nobody_s_calls_costs_nothing() -> None:
    assert Panel([Says(winner="a")])(PAIR).usage == Usage()


def test_build_panel_makes_a_member_for_each_model() -> None:
    models = [f"openai/{name}@http://127.0.0.1:9/v1" for name in "xyz"]
    panel = build_panel("fennec", models, pool="mean", samples=2, branches=3)
    assert [member.stages()[0].model for member in panel.members] == models
    assert {member.settings()["branches"] for member in panel.members} == {3}
    assert (panel.pool.value, panel.samples.value) == ("mean", 2)
    assert len(build_panel("fennec").members) == 1


def test_a_panel_s_members_can_be_set_and_bound() -> None:
    panel = Panel([build("direct"), build("fennec")])
    panel.set(**{"members[1].branches": 2, "pool": "mean"})
    assert panel.members[1].branches.value == 2
    panel.bind("judge=openai/j@http://127.0.0.1:9/v1,criteria=openai/c@http://127.0.0.1:9/v1")
    assert panel.members[1].find_criteria.model == "openai/c@http://127.0.0.1:9/v1"
    assert panel.members[0].prefer.model == "openai/j@http://127.0.0.1:9/v1"


def test_a_panel_may_sit_on_a_panel() -> None:
    inner = Panel([Says(winner="a"), Says(winner="a"), Says(winner="b")])
    outer = Panel([inner, Says("one", winner="b"), Says("two", winner="a")])
    assert outer(PAIR).winner == "a"


def test_factors_of_members_are_kept_and_do_not_vote() -> None:
    factor = Finding(criterion="taste", weight=3)
    verdict = Panel([Says(winner="a", findings=(factor,)), Says("other", winner="a")])(PAIR)
    assert [finding.is_factor for finding in verdict.findings] == [True]
    assert verdict.winner == "a"


def test_unused_stages_ask_nothing() -> None:
    member = seated("direct", likes("One"), **DIRECT)
    Panel([member])(PAIR)
    assert {frozenset(answer_fields(request)) for request in member.script.requests} == {frozenset({"better"})}
