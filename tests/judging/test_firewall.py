"""Whatever fails in a case is that case's unscored verdict, and whatever a verdict holds can be written and read."""

import json
import math
import threading
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.utils.exceptions import LMAuthError
from judges import PAIR, ask, run, schema_of

from dicast.data import Case, Finding, Judged, Verdict
from dicast.engines.batch import RunFolder, read_verdicts, run_cases
from dicast.engines.ledger import Budget, Ledger, charge_to
from dicast.errors import BudgetSpent, DeclarationError, ModelError
from dicast.judging import Cascade, Judge, Panel, SignatureJudge, build
from dicast.programs.direct import Direct
from dicast.testing import ScriptedLM

CASES = [PAIR.model_copy(update={"id": str(number)}) for number in range(6)]
HALF = "\ud83d"


class Odd(Judge):
    """Fails on the cases named, in a way of its own."""

    name = "odd"

    def __init__(self, failing: dict[str, Any] | None = None) -> None:
        super().__init__()
        self.failing = failing or {}

    def assess(self, case: Case) -> Verdict:
        found = self.failing.get(case.id)
        if isinstance(found, BaseException):
            raise found
        return found or Verdict(case_id=case.id, winner="a", distribution={"a": 0.9, "b": 0.1}, certainty=0.9)


class OwnForward(Odd):
    """A judge whose author wrote `forward` and not `assess`."""

    def forward(self, case: Case) -> Verdict:
        return Verdict(case_id=case.id, winner="a", scores=(1 / (len(case.query) - len("Name a prime.")),))


def judged(judge: Judge, folder: Path) -> dict[str, Judged]:
    """The verdicts that a run of the six cases leaves in its folder, by case."""
    run_folder = RunFolder(folder)
    with run_folder.locked():
        run_folder.open({"identity": {"judge": judge.name, "settings": {}, "lm": "none", "data": "d"}})
        run_cases(judge, CASES, run_folder, workers=2, on_verdict=lambda judged: None, stop=threading.Event())
    return {verdict.case_id: verdict for verdict in read_verdicts(folder)}


@pytest.mark.parametrize(
    "error",
    [
        ZeroDivisionError("division"),
        KeyError("x"),
        RecursionError(),
        MemoryError(),
        UnicodeEncodeError("u", HALF, 0, 1, "half"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_exception_in_a_case_is_its_verdict_and_the_run_goes_on(error, tmp_path):
    verdicts = judged(Odd({"2": error}), tmp_path)
    assert len(verdicts) == len(CASES)
    failed = verdicts.pop("2")
    assert (failed.status, failed.reason) == ("unscored", "internal")
    assert failed.detail.startswith(f"judge 'odd': {type(error).__name__}")
    assert {verdict.status for verdict in verdicts.values()} == {"scored"}


def test_the_next_run_asks_what_failed_unexpectedly_again(tmp_path):
    assert judged(Odd({"2": KeyError("x")}), tmp_path)["2"].reason == "internal"
    assert judged(Odd(), tmp_path)["2"].status == "scored"


def test_a_judge_with_a_forward_of_its_own_is_guarded_too():
    verdict = OwnForward()(PAIR)
    assert verdict.reason == "internal"
    assert "ZeroDivisionError: " in verdict.detail


def test_the_detail_names_the_line_without_the_machine():
    in_the_judge = OwnForward()(PAIR).detail
    line = OwnForward.forward.__code__.co_firstlineno + 1
    assert in_the_judge.endswith(f"test_firewall.py:{line}).")
    in_dicast = Odd({"p": "not a verdict"})(PAIR).detail
    assert in_dicast.startswith("judge 'odd': AttributeError: 'str' object has no attribute")
    assert "(judging/judge.py:" in in_dicast
    assert str(Path(__file__).parent) not in in_the_judge + in_dicast


def test_the_traceback_is_in_the_log_without_keys(caplog, monkeypatch):
    monkeypatch.setenv("OTHER_API_KEY", "sk-of-somebody-1234567890")
    with caplog.at_level("DEBUG", logger="dicast.judging.firewall"):
        verdict = Odd({"p": ValueError("refused sk-of-somebody-1234567890\x1b[2J")})(PAIR)
    assert verdict.detail.startswith("judge 'odd': ValueError: refused [key removed]␛[2J (")
    assert "Traceback" in caplog.text
    assert "in assess" in caplog.text
    assert "sk-of-somebody" not in caplog.text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (Verdict(case_id="other", winner="a"), "case 'other' for case 'p'"),
        (Verdict(case_id="p", winner="a").model_copy(update={"certainty": 1.5}), "certainty"),
        (Verdict(case_id="p", winner="a").model_copy(update={"scores": (math.nan, 1.0)}), "scores"),
        (
            Verdict(
                case_id="p", findings=[Finding(criterion="x").model_copy(update={"distribution": {"a": math.inf}})]
            ),
            "distribution",
        ),
    ],
)
def test_a_verdict_that_no_file_could_hold_is_unscored(given, said):
    verdict = Odd({"p": given})(PAIR)
    assert verdict.reason == "internal"
    assert said in verdict.detail


def test_what_makes_every_case_impossible_ends_the_run():
    with pytest.raises(BudgetSpent), charge_to(Ledger(budget=Budget(calls=1))):
        ask(build("direct", grading="pairwise"), PAIR, lambda request: {"token_probabilities": {"A": 0.5, "B": 0.5}})
    with pytest.raises(DeclarationError, match="not a case"):
        Odd()("a text")
    with pytest.raises(DeclarationError, match="nothing was learned"):
        ask(build("fennec", priority="learned", keep=1), PAIR, lambda request: {"criteria": ["x", "y"]})
    with pytest.raises(KeyboardInterrupt):
        Odd({"p": KeyboardInterrupt()})(PAIR)


def test_a_key_that_is_refused_ends_the_run_unless_the_model_has_answered_before():
    answers = iter([{"better": "A"}, LMAuthError("no such key"), {"better": "A"}])
    lm = ScriptedLM(lambda request: next(answers))
    judge = build("direct", grading="pairwise", order="one", readout="generate")
    with dspy.context(lm=lm):
        statuses = [judge(PAIR).reason for _ in range(3)]
    assert statuses == [None, "infrastructure", None]
    with dspy.context(lm=ScriptedLM(LMAuthError("no such key"))), pytest.raises(ModelError, match="no such key"):
        judge(PAIR)


def test_members_that_fail_leave_the_rules_of_panels_and_cascades_as_they_are():
    broken, whole = Odd({"p": KeyError("x")}), Odd()
    verdict = Panel([broken, whole])(PAIR)
    assert (verdict.winner, verdict.notes) == ("a", ("odd 1: internal",))
    assert Panel([broken, broken])(PAIR).reason == "internal"
    verdict = Cascade([broken, whole])(PAIR)
    assert (verdict.winner, verdict.notes[0]) == ("a", "odd 1: internal")


# half of an emoji, as a model's JSON escapes leave it


@pytest.mark.parametrize("schema", [True, False])
def test_half_an_emoji_in_an_explanation_is_replaced(schema):
    text = json.dumps({"score": 4, "explanation": f"fine {HALF}, {chr(0x1F600)}"})
    if not schema:
        text = f"[[ ## explanation ## ]]\nfine {HALF}\n[[ ## score ## ]]\n4\n[[ ## completed ## ]]"
    judge = dspy.Signature("request, response -> explanation: str, score: Literal[1, 2, 3, 4, 5]")
    with dspy.context(lm=ScriptedLM(text if schema else text.replace(HALF, "\\ud83d"), schema=schema)):
        verdict = SignatureJudge(judge)(PAIR)
    assert verdict.status == "scored"
    again = Judged.model_validate_json(Judged.of(PAIR, verdict).model_dump_json())
    assert again.rationale == verdict.rationale


def test_half_an_emoji_in_a_criterion_is_replaced():
    def answer(request: Any) -> Any:
        fields = schema_of(request)["properties"]
        if "criteria" in fields:
            return '{"criteria": ["accuracy \\ud83d: right"]}'
        return {name: 4 if name.startswith("score") else "why" for name in fields} | (
            {f"score_{level}": "text" for level in range(1, 6)} if "score_1" in fields else {}
        )

    verdict, _ = run("fennec", PAIR, answer, branches=1)
    assert {finding.criterion for finding in verdict.findings} == {"accuracy \ufffd: right"}
    assert json.loads(verdict.model_dump_json())["findings"]


def test_a_record_with_half_an_emoji_is_written_and_read_again():
    finding = Finding(criterion=f"c{HALF}").model_copy(update={"explanation": f"e{HALF}"})
    verdict = Verdict(case_id="p", winner="a", findings=[finding], notes=[HALF]).model_copy(update={"rationale": HALF})
    again = Judged.model_validate_json(Judged.of(PAIR, verdict).model_dump_json())
    assert (again.findings[0].criterion, again.findings[0].explanation) == ("c\ufffd", "e\ufffd")
    assert (again.notes, again.rationale) == (("\ufffd",), "\ufffd")


@pytest.mark.parametrize(
    "text", ['{"better": ' + "[" * 100_000, '{"better": ' + "9" * 5_000 + "}"], ids=["deep", "long"]
)
def test_an_answer_that_a_parser_chokes_on_is_a_parse_failure(text):
    verdict, _ = run(
        "direct", PAIR, lambda request: '{"better": ' + text, grading="pairwise", order="one", readout="generate"
    )
    assert verdict.reason == "parse_failure"


# what is asked again


def asked_twice(first: Any, then: Any, judge: Judge) -> tuple[list[Verdict], list[int]]:
    """The verdicts of two judgments whose model answers by `first` and then by `then`, and how often it was asked."""
    model = {"answer": first}
    lm = ScriptedLM(lambda request: model["answer"](request), cache=True)
    verdicts, requests = [], []
    for model["answer"] in (first, then):
        before = len(lm.requests)
        with dspy.context(lm=lm):
            verdicts.append(judge(PAIR))
        requests.append(len(lm.requests) - before)
    return verdicts, requests


def chain(scores: Any) -> Any:
    """A model that gives Fennec one criterion, a guideline, and these scores."""

    def answer(request: Any) -> Any:
        fields = set(schema_of(request)["properties"])
        if "criteria" in fields:
            return {"criteria": ["accuracy"]}
        return scores if "score_a" in fields else dict.fromkeys(fields, "text")

    return answer


def test_an_answer_that_could_not_be_used_is_asked_again_and_the_others_are_not():
    whole = {"explanation_a": "x", "explanation_b": "y", "comparison": "z", "score_a": 4, "score_b": 2}
    verdicts, requests = asked_twice(chain("no scores"), chain(whole), build("fennec", order="one"))
    assert [verdict.reason for verdict in verdicts] == ["parse_failure", None]
    assert requests == [2 + 3, 1]  # the criterion and its guideline stay, of the judgment there were three tries


def test_an_answer_that_could_not_be_read_is_asked_again():
    thought, letters = ({"token_probabilities": tokens} for tokens in ({"<think>": 1.0}, {"A": 0.6, "B": 0.3}))
    judge = build("direct", grading="pairwise", order="one")
    verdicts, requests = asked_twice(lambda request: thought, lambda request: letters, judge)
    assert [verdict.reason for verdict in verdicts] == ["unreadable", None]
    assert requests == [3, 1]  # twice more to switch thinking off


def test_after_an_unexpected_error_everything_is_asked_again():
    class Broken(Direct):
        """Fails once, after its model has answered."""

        failures = 1

        def decide(self, case: Case, verdict: Verdict, *rest: Any) -> Verdict:
            self.failures -= 1
            if self.failures >= 0:
                raise KeyError("x")
            return verdict

    letters = {"token_probabilities": {"A": 0.6, "B": 0.3}}
    judge = Broken(grading="pairwise", order="both")
    verdicts, requests = asked_twice(lambda request: letters, lambda request: letters, judge)
    assert [verdict.reason for verdict in verdicts] == ["internal", None]
    assert requests == [2, 2]
