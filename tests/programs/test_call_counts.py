"""What each judge costs: requests that arrive at a counting server, against the count that theory gives."""

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dicast.data import Case, Persona, Preference, Reviewer, Usage, Verdict
from dicast.judging import Panel, build, build_panel
from dicast.judging.judge import Judge
from dicast.testing import MockServer
from dicast.testing.schema import DEFAULT_PROBABILITIES

N = 4  # criteria that the server names
unique = itertools.count()


def counting_server(answer: Callable[[dict[str, Any]], Any]) -> MockServer:
    """A server that finds Yes likely wherever probabilities are read."""
    return MockServer(answer=answer, token_probabilities=lambda body: {**DEFAULT_PROBABILITIES, " Yes": 0.08})


def reply(body: dict[str, Any]) -> dict[str, Any] | None:
    asked = fields(body)
    if asked == {"criteria"}:
        return {"criteria": [f"head {number}: what to check" for number in range(1, N + 1)]}
    if asked == {"order"}:
        return {"order": list(range(N, 0, -1))}
    if asked == {"corrected"}:
        return {"corrected": f"a better text {next(unique)}"}
    return None


def fields(body: dict[str, Any]) -> set[str]:
    """The names of the fields that a written answer must hold; none when a token is read."""
    return set(body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {}))


@pytest.fixture(scope="module")
def counting() -> Iterator[MockServer]:
    with counting_server(reply) as server:
        yield server


@pytest.fixture
def server(counting: MockServer) -> MockServer:
    counting.requests.clear()
    return counting


def bound(judge: Judge, server: MockServer, model: str = "m") -> Judge:
    return judge.bind(f"openai/{model}@{server.url}")


def texts(count: int) -> list[dict[str, str]]:
    return [{"text": f"text {next(unique)}"} for _ in range(count)]


def case(count: int = 2, **fields: Any) -> Case:
    """A case that no other test asks about: the answer store is one for the whole process."""
    return Case(**({"id": "c", "query": f"Question {next(unique)}?", "candidates": texts(count)} | fields))


def pair_of(profile: Any) -> Case:
    return case(profile=profile)


REVIEWER = Reviewer(
    id="r",
    reviews=[{"text": f"plot {n}", "comment": f"comment {n}", "score": n} for n in range(1, 7)],
    comparisons=[{"response_a": "rain", "response_b": "sun", "label": "b"}],
)
PERSONA = Persona(features={"education": "school", "religion": "none"})
PREFERENCE = Preference(text="no meat")


def paid(judge: Judge, judged: Case, server: MockServer) -> int:
    """How many requests arrived for one verdict, which counts them too."""
    before = len(server.requests)
    verdict: Verdict = judge(judged)
    assert verdict.status == "scored", verdict.detail
    assert verdict.usage.calls == len(server.requests) - before
    return len(server.requests) - before


def readings(server: MockServer) -> int:
    return sum(bool(body.get("logprobs")) for body in server.requests)


@pytest.mark.parametrize(
    ("settings", "calls", "of_one_token"),
    [
        ({}, 1 + N + 2 * N, 0),
        ({"order": "one"}, 1 + N + N, 0),
        ({"guideline": False}, 1 + 2 * N, 0),
        ({"guideline": False, "order": "one"}, 1 + N, 0),
        ({"readout": "probability"}, 1 + N + 4 * N, 4 * N),
        ({"readout": "probability", "order": "one"}, 1 + N + 2 * N, 2 * N),
        ({"branches": 2}, 1 + 2 + 2 * 2, 0),
        ({"branches": 1, "order": "one"}, 1 + 1 + 1, 0),
        ({"keep": 2}, 1 + 2 + 2 * 2, 0),
        ({"keep": 2, "priority": "asked"}, 1 + 1 + 2 + 2 * 2, 0),
        ({"keep": N, "priority": "asked"}, 1 + N + 2 * N, 0),  # all are judged: nothing to rank
        ({"priority": "asked"}, 1 + N + 2 * N, 0),
        ({"keep": 1, "readout": "probability", "order": "one"}, 1 + 1 + 2, 2),
        ({"single": True}, 1 + N + 2 * N, 0),
        ({"single": True, "readout": "probability"}, 1 + N + 2 * N, 2 * N),
        ({"single": True, "order": "one"}, 1 + N + 2 * N, 0),  # single scores have no order
    ],
)
def test_fennec_asks_as_often_as_theory_says(
    server: MockServer, settings: dict[str, Any], calls: int, of_one_token: int
) -> None:
    assert paid(bound(build("fennec", **settings), server), case(), server) == calls
    assert readings(server) == of_one_token


def test_fennec_with_a_learned_priority_pays_nothing_for_it(server: MockServer) -> None:
    judge = bound(build("fennec", keep=2, priority="learned"), server)
    judge.priorities.shares = {"head 4": 0.9, "head 3": 0.8}
    assert paid(judge, case(), server) == 1 + 2 + 2 * 2
    assert not any(fields(body) == {"order"} for body in server.requests)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_fennec_single_asks_once_a_text_and_criterion(server: MockServer, count: int) -> None:
    assert paid(bound(build("fennec-single"), server), case(count), server) == 1 + N + count * N


@pytest.mark.parametrize(
    ("settings", "calls"),
    [
        ({}, 1 + N + 2 * N + 2 * (1 + N + N)),  # each weak text: a correction, and N judgments before and after
        ({"rejudge": False}, 1 + N + 2 * N + 2),
        ({"single": True}, 1 + N + 2 * N + 2 * (1 + N)),  # judged alone already: only the new text is judged
        ({"guideline": False}, 1 + 2 * N + 2 * (1 + N + N)),
        ({"readout": "probability", "order": "one"}, None),
    ],
)
def test_a_weak_text_costs_a_correction_and_its_judgments(
    server: MockServer, settings: dict[str, Any], calls: int | None
) -> None:
    judge = bound(build("fennec-correct", **settings), server)
    if calls is None:  # the server's tokens say 3, which is not weak: nothing is corrected
        calls = 1 + N + 2 * N
    assert paid(judge, case(), server) == calls


def test_a_text_that_is_not_weak_is_not_paid_for_again(server: MockServer) -> None:
    good_first = {"explanation_a": "", "score_a": 4, "explanation_b": "", "score_b": 2, "comparison": ""}
    with counting_server(lambda body: good_first if "score_a" in fields(body) else reply(body)) as other:
        judge = bound(build("fennec-correct", order="one"), other)
        assert paid(judge, case(), other) == 1 + N + N + (1 + N + N)


def test_fennec_pays_criteria_and_guidelines_once_for_cases_of_one_request(server: MockServer) -> None:
    judge = bound(build("fennec"), server)
    first = case()
    second = first.model_copy(update={"candidates": case().candidates})
    assert [paid(judge, one, server) for one in (first, second)] == [1 + N + 2 * N, 2 * N]
    assert sum(fields(body) == {"criteria"} for body in server.requests) == 1
    assert sum("score_5" in fields(body) for body in server.requests) == N


def test_pairwise_and_single_fennec_share_criteria_and_guidelines(server: MockServer) -> None:
    judged = case()
    assert paid(bound(build("fennec"), server), judged, server) == 1 + N + 2 * N
    assert paid(bound(build("fennec-single"), server), judged, server) == 2 * N


def test_a_case_judged_twice_is_paid_once(server: MockServer) -> None:
    judged = case()
    assert [paid(bound(build("fennec"), server), judged, server) for _ in range(2)] == [1 + N + 2 * N, 0]
    assert bound(build("fennec"), server)(judged).usage.cached == 1 + N + 2 * N


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize(
    ("settings", "general", "per_answer"),
    [
        ({}, 2, 1),
        ({"weighting": "permutation"}, 2, 1),
        ({"personalise": False}, 1, 1),
        ({"readout": "probability"}, 2, 2),
        ({"factual_cap": "off"}, 2, 1),
        ({"explain": True}, 3, 1),
        ({"explain": True, "weighting": "permutation", "readout": "probability"}, 3, 2),
        ({"explain": True, "personalise": False}, 2, 1),
    ],
)
def test_pref_asks_as_often_as_theory_says(
    server: MockServer, count: int, settings: dict[str, Any], general: int, per_answer: int
) -> None:
    judged = case(count, profile=PREFERENCE, meta={"explanation": "it holds no meat"})
    assert paid(bound(build("pref", **settings), server), judged, server) == general + per_answer * count
    assert readings(server) == (per_answer * count if per_answer == 2 else 0)


def test_pref_without_a_profile_asks_for_no_weights(server: MockServer) -> None:
    assert paid(bound(build("pref"), server), case(3), server) == 1 + 3


def test_the_general_guideline_of_a_question_is_paid_once_for_all_its_users(server: MockServer) -> None:
    judge, question = bound(build("pref"), server), case(3)
    users = [Preference(text=f"preference {next(unique)}") for _ in range(5)]
    calls = [paid(judge, question.model_copy(update={"profile": user}), server) for user in users]
    assert calls == [1 + 1 + 3, *[1 + 3] * 4]
    assert sum(fields(body) == {"factors"} for body in server.requests) == 1
    assert sum(fields(body) == {"weights", "added"} for body in server.requests) == 5


def test_the_ablation_shares_the_general_guideline_with_pref(server: MockServer) -> None:
    judged = case(2, profile=PREFERENCE)
    assert paid(bound(build("pref"), server), judged, server) == 1 + 1 + 2
    assert paid(bound(build("pref", personalise=False), server), judged, server) == 2


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    ("settings", "per_text"),
    [
        ({}, 1),
        ({"comments": False}, 1),
        ({"comment_first": False}, 1),
        ({"readout": "probability"}, 2),
        ({"readout": "probability", "comment_first": False}, 1),
        ({"k": 0}, 1),
    ],
)
def test_perse_asks_once_a_text_and_by_probability_twice(
    server: MockServer, count: int, settings: dict[str, Any], per_text: int
) -> None:
    judged = case(count, profile=REVIEWER)
    assert paid(bound(build("perse", **settings), server), judged, server) == per_text * count
    assert readings(server) == (count if "readout" in settings else 0)


PAIRS = {
    "perse-pairwise": REVIEWER,
    "persona": PERSONA,
    "pairwise": None,
    "zero-shot": PREFERENCE,
    "reminder": PREFERENCE,
    "direct": None,
}


@pytest.mark.parametrize(
    ("name", "settings", "calls"),
    [
        ("perse-pairwise", {}, 2),
        ("perse-pairwise", {"order": "one"}, 1),
        ("perse-pairwise", {"readout": "probability"}, 2),
        ("persona", {}, 1),
        ("persona", {"order": "both"}, 2),
        ("persona", {"order": "one"}, 1),
        ("persona", {"setting": "certainty"}, 1),
        ("persona", {"setting": "tie", "order": "both"}, 2),
        ("persona", {"readout": "probability"}, 1),
        ("persona", {"features": "none", "temperature": 0.0}, 1),
        *((("pairwise"), {"form": form}, 2) for form in ("V1", "V2", "V3")),
        *((("pairwise"), {"form": form, "readout": "probability"}, 2) for form in ("V1", "V2", "V3")),
        ("pairwise", {"form": "V4"}, 2 * 5),
        ("pairwise", {"form": "V4", "order": "one"}, 5),
        ("pairwise", {"form": "V4", "samples": 1}, 2),
        ("pairwise", {"form": "V1", "samples": 3}, 2 * 3),
        ("zero-shot", {}, 1),
        ("zero-shot", {"readout": "probability"}, 1),
        ("reminder", {}, 1),
        ("reminder", {"readout": "probability"}, 1),
        ("direct", {}, 4),
        ("direct", {"grading": "pairwise"}, 2),
        ("direct", {"grading": "single"}, 2),
        ("direct", {"order": "one"}, 3),
        ("direct", {"readout": "generate"}, 4),
    ],
)
def test_a_judge_of_pairs_asks_as_often_as_theory_says(
    server: MockServer, name: str, settings: dict[str, Any], calls: int
) -> None:
    assert paid(bound(build(name, **settings), server), pair_of(PAIRS[name]), server) == calls


def test_persona_asks_both_orders_of_two_equal_texts(server: MockServer) -> None:
    same = case(candidates=[{"text": "equal"}, {"text": "equal"}])
    bound(build("persona"), server)(same)
    assert len(server.requests) == 1  # the two orders are one and the same question


@pytest.mark.parametrize("count", [2, 4, 20])
@pytest.mark.parametrize("name", ["zero-shot", "reminder"])
def test_choosing_costs_one_call_however_many_options(server: MockServer, name: str, count: int) -> None:
    assert paid(bound(build(name), server), case(count, profile=PREFERENCE), server) == 1


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    ("name", "settings", "per_text"),
    [
        *(("explicit", {"form": form}, 1) for form in ("V1", "V2", "V3", "V4")),
        ("explicit", {"form": "V5"}, 5),
        ("explicit", {"form": "V5", "samples": 1}, 1),
        ("explicit", {"form": "V1", "samples": 3}, 3),
        ("explicit", {"form": "V4", "readout": "probability"}, 1),
        ("implicit", {}, 1),
    ],
)
def test_scoring_asks_as_often_as_theory_says(
    server: MockServer, name: str, settings: dict[str, Any], per_text: int, count: int
) -> None:
    assert paid(bound(build(name, **settings), server), case(count), server) == per_text * count
    reads = name == "implicit" or "readout" in settings
    assert readings(server) == (count if reads else 0)


@pytest.mark.parametrize("name", ["longer", "reviewer-average", "third-person", "majority", "rouge-1", "bleu"])
def test_a_baseline_calls_nobody(server: MockServer, name: str) -> None:
    votes = case(votes=[{"value": "a"}]).votes
    judged = pair_of(REVIEWER).model_copy(update={"votes": votes, "references": ("a text",)})
    judge = build(name)
    if name == "majority":
        judge.fit([judged.model_copy(update={"label": judged.votes[0]})])
    assert paid(judge, judged, server) == 0
    assert judge(judged).usage == Usage()


def panel_of(server: MockServer, *members: Judge, **settings: Any) -> Panel:
    return Panel([bound(member, server, f"member-{n}") for n, member in enumerate(members)], **settings)


def test_a_panel_costs_the_sum_of_its_members(server: MockServer) -> None:
    panel = panel_of(server, build("persona", order="both"), build("pairwise", form="V4"), build("direct"))
    assert paid(panel, pair_of(PERSONA), server) == 2 + 10 + 4


def test_a_panel_of_one_program_costs_the_program_for_each_model(server: MockServer) -> None:
    models = [f"openai/{name}@{server.url}" for name in ("one", "two", "three")]
    assert paid(build_panel("fennec", models, branches=2), case(), server) == 3 * (1 + 2 + 4)


@pytest.mark.parametrize("samples", [1, 2, 7])
def test_a_panel_that_samples_pays_each_draw(server: MockServer, samples: int) -> None:
    panel = panel_of(server, build("persona"), build("explicit"), samples=samples)
    assert paid(panel, pair_of(PERSONA), server) == samples * (1 + 2)


def test_draws_within_draws_are_all_paid(server: MockServer) -> None:
    panel = panel_of(server, build("explicit", form="V5"), build("pairwise", form="V4", order="one"), samples=3)
    assert paid(panel, case(), server) == 3 * (2 * 5 + 5)


def test_probabilities_do_not_change_from_draw_to_draw_and_are_paid_once(server: MockServer) -> None:
    panel = panel_of(server, build("direct"), samples=3)
    assert paid(panel, case(), server) == 4


def test_members_of_a_panel_that_share_a_model_share_criteria_and_guidelines(server: MockServer) -> None:
    panel = Panel([bound(build("fennec"), server), bound(build("fennec-single"), server)])
    assert paid(panel, case(), server) == 1 + N + 2 * N + 2 * N


def test_equal_requests_are_never_sent_twice(server: MockServer) -> None:
    bound(build("fennec-correct"), server)(case())
    sent = [json.dumps(body, sort_keys=True) for body in server.requests]
    assert len(sent) == len(set(sent))
