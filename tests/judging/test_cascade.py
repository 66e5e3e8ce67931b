"""Cascades: who is asked, who decides, what is abstained, and what it costs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dspy.lm15 import Request

from dicast.data import Case, Finding, Verdict
from dicast.engines.ledger import Budget, Ledger, charge_to
from dicast.errors import BudgetSpent, DataError, DeclarationError
from dicast.judging import build
from dicast.judging.cascade import Cascade
from dicast.judging.heads import PairHead
from dicast.judging.judge import Judge
from dicast.judging.judge_file import save
from dicast.optimizers.cascade import certify_judges
from dicast.optimizers.certificates.certify import certify_cascade
from dicast.optimizers.cost_account import CostAccount
from dicast.optimizers.evidence import Evidence, ProgressCallbacks
from dicast.optimizers.fingerprints import case_fingerprints
from dicast.testing import Answer, ScriptedLM, prompt_text

PAIR = Case(id="p", query="Which?", candidates=[{"text": "One."}, {"text": "Two."}])
SINGLE = Case(id="s", query="How good?", candidates=[{"text": "One."}])
DIRECT: dict[str, Any] = {"grading": "pairwise", "readout": "probability"}


class Says(Judge):
    """A member that says what it was made to say, and counts how often it is asked."""

    def __init__(self, name: str = "says", **verdict: Any) -> None:
        super().__init__()
        self.name, self.said, self.asked = name, verdict, 0

    def assess(self, case: Case) -> Verdict:
        self.asked += 1
        return Verdict(case_id=case.id, **self.said)


def reads(answer: Any, **settings: Any) -> Judge:
    """A direct judge with an LM of its own."""
    lm = script = ScriptedLM(answer if callable(answer) else lambda request: answer)
    member = build("direct", **(DIRECT | settings))
    member.set_lm(lm)
    member.script = script
    return member


def prefers(word: str, share: float) -> Any:
    """An LM that gives this probability to the response that begins with the word, in either order."""

    def answer(request: Request) -> Answer:
        first = f"Response A:\n<<<\n{word}" in prompt_text(request)
        return {"token_probabilities": {"A": share if first else 1 - share, "B": 1 - share if first else share}}

    return answer


# who is asked


def test_the_second_judge_is_not_asked_when_the_first_is_sure() -> None:
    cheap, dear = reads(prefers("One", 0.9)), reads(prefers("Two", 0.99))
    verdict = Cascade([cheap, dear], thresholds=[0.8, 0.8])(PAIR)
    assert (verdict.status, verdict.winner, verdict.certainty) == ("scored", "a", pytest.approx(0.9))
    assert (len(cheap.script.requests), len(dear.script.requests), verdict.usage.calls) == (2, 0, 2)


def test_the_second_judge_decides_when_the_first_is_unsure() -> None:
    cheap, dear = reads(prefers("One", 0.6)), reads(prefers("Two", 0.99))
    verdict = Cascade([cheap, dear], thresholds=[0.8, 0.8])(PAIR)
    assert (verdict.status, verdict.winner, verdict.certainty) == ("scored", "b", pytest.approx(0.99))
    assert (len(cheap.script.requests), len(dear.script.requests)) == (2, 2)
    assert (verdict.usage.calls, verdict.usage.prompt_tokens, verdict.usage.completion_tokens) == (4, 40, 8)


def test_what_nobody_is_sure_of_is_abstained_and_can_be_read() -> None:
    verdict = Cascade([reads(prefers("One", 0.6)), reads(prefers("Two", 0.7))], thresholds=[0.8, 0.8])(PAIR)
    assert (verdict.status, verdict.winner, verdict.certainty) == ("abstained", "b", pytest.approx(0.7))


def test_the_dear_judge_is_asked_as_often_as_the_cheap_one_is_unsure() -> None:
    cheap = reads(
        lambda request: prefers("Sure", 0.95)(request) if "Sure" in prompt_text(request) else prefers("x", 0.5)(request)
    )
    dear = reads(prefers("One", 0.99))
    cascade = Cascade([cheap, dear], thresholds=[0.8, 0.0])
    texts = ["Sure.", "One.", "Sure!", "One!", "One?"]
    cases = [Case(id=text, query="?", candidates=[{"text": text}, {"text": "Other."}]) for text in texts]
    assert [cascade(case).winner for case in cases] == ["a"] * 5
    assert (len(cheap.script.requests), len(dear.script.requests)) == (10, 6)


@pytest.mark.parametrize(
    ("certainty", "asked"), [(0.8, [1, 0, 0]), (0.8 - 1e-12, [1, 1, 0]), (None, [1, 1, 0]), (1.0, [1, 0, 0])]
)
def test_a_certainty_at_the_threshold_is_kept(certainty: float | None, asked: list[int]) -> None:
    members = [Says("one", winner="a", certainty=certainty), Says("two", winner="b", certainty=0.9), Says("three")]
    Cascade(members, thresholds=[0.8] * 3)(PAIR)
    assert [member.asked for member in members] == asked


def test_a_verdict_without_certainty_is_never_kept() -> None:
    verdict = Cascade([Says("one", winner="a"), Says("two", winner="b")], thresholds=[0.0, 0.0])(PAIR)
    assert (verdict.status, verdict.winner) == ("abstained", "b")
    assert verdict.notes == ("one: unsure, no certainty", "two: unsure, no certainty")


# failures


@pytest.mark.parametrize(("answer", "reason"), [("I'm sorry, I can't judge that.", "refusal"), ("no", "parse_failure")])
def test_an_unscored_member_is_passed_over(answer: str, reason: str) -> None:
    cheap, dear = reads(answer, readout="generate", order="one"), reads(prefers("Two", 0.9))
    verdict = Cascade([cheap, dear], thresholds=[0.5, 0.5])(PAIR)
    assert (verdict.status, verdict.winner) == ("scored", "b")
    assert verdict.notes[0] == f"direct 1: {reason}"
    assert verdict.usage.calls == len(cheap.script.requests) + 2


def test_a_cascade_whose_last_member_fails_is_unscored_and_not_abstained() -> None:
    cheap, dear = reads(prefers("One", 0.6)), reads("no form", readout="generate")
    verdict = Cascade([cheap, dear], thresholds=[0.8, 0.8])(PAIR)
    assert (verdict.status, verdict.reason) == ("unscored", "parse_failure")
    assert verdict.usage.calls == 2 + len(dear.script.requests)
    assert [finding.member for finding in verdict.findings] == ["direct 1"] * 2


def test_a_spent_budget_stops_the_cascade_between_its_members() -> None:
    cheap, dear = reads(prefers("One", 0.6)), reads(prefers("Two", 0.9))
    with charge_to(Ledger(budget=Budget(calls=2))) as ledger, pytest.raises(BudgetSpent, match="2 of 2 calls are used"):
        Cascade([cheap, dear], thresholds=[0.8, 0.8])(PAIR)
    assert (ledger.total.calls, len(dear.script.requests)) == (2, 0)


def test_a_budget_that_lasts_for_the_cheap_judge_is_enough_when_it_is_sure() -> None:
    cascade = Cascade([reads(prefers("One", 0.9)), reads(prefers("Two", 0.9))], thresholds=[0.8, 0.8])
    with charge_to(Ledger(budget=Budget(calls=2))):
        assert cascade(PAIR).winner == "a"


def test_a_declaration_error_of_a_member_is_the_cascade_s() -> None:
    with pytest.raises(DeclarationError, match="case 's' has 1 candidates, not two"):
        Cascade([build("longer"), build("persona")], thresholds=[0.0, 0.0])(SINGLE)


# what is reported


def test_findings_say_who_found_them_and_notes_who_decided() -> None:
    factor = Finding(criterion="taste", weight=3)
    members = [
        Says("one", winner="a", certainty=0.625, findings=(factor,), notes=("cut",), rationale="Hm."),
        Says("two", winner="b", certainty=0.9, findings=(factor,), notes=("cut",), rationale="Yes."),
        Says("three", winner="a", certainty=1.0, findings=(factor,)),
    ]
    verdict = Cascade(members, thresholds=[0.8, 0.75, 0.0])(PAIR)
    assert [finding.member for finding in verdict.findings] == ["one", "two"]
    assert verdict.notes == ("cut", "one: unsure, certainty 0.625 below 0.8", "two: decided, certainty 0.9")
    assert (verdict.rationale, verdict.winner) == ("Yes.", "b")


def test_members_are_named_by_their_models_where_these_differ() -> None:
    members = [reads(prefers("One", 0.6)), reads(prefers("Two", 0.9))]
    for member, model in zip(members, ("small", "large"), strict=True):
        for stage in member.stages():
            stage.model = f"openai/{model}@http://127.0.0.1:9/v1"
    names = [note.partition(": ")[0] for note in Cascade(members, thresholds=[0.8, 0.8])(PAIR).notes]
    assert names == ["openai/small@http://127.0.0.1:9/v1", "openai/large@http://127.0.0.1:9/v1"]


@pytest.mark.parametrize("shares", [(0.9, 0.6), (0.6, 0.9), (0.6, 0.7)])
def test_the_verdict_turns_over_when_the_pair_does(shares: tuple[float, float]) -> None:
    cascade = Cascade([reads(prefers("One", shares[0])), reads(prefers("Two", shares[1]))], thresholds=[0.8, 0.8])
    straight, turned = cascade(PAIR), cascade(PAIR.swapped())
    back = turned.swapped()
    expected = ("status", "winner", "scores", "distribution", "certainty", "order_winners", "consistent", "notes")
    assert all(getattr(straight, name) == getattr(back, name) for name in expected)


# thresholds and making


def test_members_keep_thresholds_of_their_own_when_none_are_given() -> None:
    members = [Says("one", winner="a", certainty=0.7), Says("two", winner="b", certainty=0.7)]
    members[0].threshold = 0.8
    cascade = Cascade(members)
    assert cascade.settings() == {"thresholds[0]": 0.8, "thresholds[1]": 0.0}
    assert cascade(PAIR).winner == "b"


def test_a_member_that_abstains_is_passed_over() -> None:
    verdict = Cascade([Says("one", status="abstained", certainty=0.9), Says("two", winner="b", certainty=0.1)])(PAIR)
    assert (verdict.status, verdict.winner) == ("scored", "b")
    assert verdict.notes[0] == "one: abstained"


def test_thresholds_are_parameters_and_come_back_with_the_state() -> None:
    cascade = Cascade([Says(), Says()], thresholds=[0.8, 0.6])
    cascade.set(**{"thresholds[0]": 0.9})
    other = Cascade([Says(), Says()])
    other.load_state(cascade.dump_state())
    assert [threshold.value for threshold in other.thresholds] == [0.9, 0.6]


def test_members_can_be_set_and_bound() -> None:
    cascade = Cascade([build("direct"), build("fennec")], thresholds=[0.8, 0.8])
    cascade.set(**{"members[1].branches": 2})
    cascade.bind("judge=openai/j@http://127.0.0.1:9/v1,criteria=openai/c@http://127.0.0.1:9/v1")
    assert cascade.members[1].branches.value == 2
    assert cascade.members[1].find_criteria.model == "openai/c@http://127.0.0.1:9/v1"
    assert cascade.members[0].prefer.model == "openai/j@http://127.0.0.1:9/v1"


def test_a_cascade_cannot_judge_what_one_member_cannot() -> None:
    assert Cascade([build("direct"), build("persona")]).pairs_only
    assert not Cascade([build("direct")]).pairs_only


@pytest.mark.parametrize(
    ("members", "thresholds", "message"),
    [
        ([], None, "cascade: no member. Give at least one judge."),
        ([Says()], [0.5, 0.5], "1 members, 2 thresholds"),
        ([Says()], [-0.1], "a threshold must be at least 0, got -0.1"),
    ],
)
def test_members_and_thresholds_must_fit(members: list[Judge], thresholds: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        Cascade(members, thresholds=thresholds)


def test_a_cascade_decides_as_its_certificate_counts() -> None:
    rng = np.random.default_rng(1)
    certainty = np.round(0.5 + np.stack([rng.beta(1, 1, 400), rng.beta(5, 1, 400)]) / 2, 3)
    right = rng.random((2, 400)) < certainty
    certificate = certify_cascade(list(zip(certainty, right, strict=True)))
    thresholds = [threshold for threshold in certificate.thresholds if threshold is not None]
    assert len(thresholds) == 2
    kept, errors = 0, 0
    for case in range(400):
        members = [
            Says(name, winner="a" if right[judge, case] else "b", certainty=float(certainty[judge, case]))
            for judge, name in enumerate(("cheap", "dear"))
        ]
        verdict = Cascade(members, thresholds=thresholds)(PAIR)
        kept += verdict.status == "scored"
        errors += verdict.status == "scored" and verdict.winner == "b"
    assert (kept, errors) == (certificate.accepted, certificate.errors)


# the cases that it is certified on


def labelled(number: int) -> Case:
    texts = [{"text": f"{number} and more"}, {"text": "less"}]
    return Case(id=str(number), query=f"q{number}", candidates=texts, label={"value": "a"})


def renamed(case: Case) -> Case:
    return case.swapped().model_copy(update={"id": f"other {case.id}"})


@pytest.mark.parametrize(
    ("changed", "seen"),
    [
        (lambda cases: cases, "40 of these 40"),
        (lambda cases: cases[::-1], "40 of these 40"),
        (lambda cases: [*cases, labelled(99)], "40 of these 41"),
        (lambda cases: cases[1:], "39 of these 39"),
        (lambda cases: [renamed(cases[0]), *map(labelled, range(50, 60))], "1 of these 11"),
    ],
)
def test_no_case_that_a_member_was_compiled_on_certifies_it(
    tmp_path: Path, changed: Callable[[list[Case]], list[Case]], seen: str
) -> None:
    cases, judge, path = [*map(labelled, range(40))], build("longer"), tmp_path / "longer.judge.json"
    judge.head = PairHead(weights={"merged": 3.0})
    save(judge, path, training={"cases": case_fingerprints(cases)})
    evidence = Evidence(tmp_path, CostAccount(tmp_path / "spent.json", None), ProgressCallbacks(), 1)
    with pytest.raises(DataError, match=f"longer.judge.json was compiled on {seen} cases"):
        certify_judges([(str(path), judge)], changed(cases), evidence)
    found = certify_judges([(str(path), judge)], [*map(labelled, range(40, 80))], evidence)
    assert found.certificate.thresholds
    assert len(found.training()["cases"]) == len("texts") + 80 * 17  # and those of the member
