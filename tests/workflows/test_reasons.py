"""Reasons after the verdicts: they leave these as they are, hold to them, never see a label, and are asked once."""

import json
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request

import dicast
from dicast.data.reason import Reason
from dicast.errors import DeclarationError, RunError
from dicast.testing import Answer, ScriptedLM, answer_fields, prompt_text
from dicast.workflows.reasons import WhyRun, read_reasons

DETAIL = "that number fits"
SECRET = "people-chose"  # every label and other column of the cases says so
PAIRS = [
    {"id": "p", "query": "Name a prime.", "response_a": "nine", "response_b": "seven", "label": "b"},
    {"id": "q", "query": "Name an even number.", "response_a": "seven", "response_b": "four", "label": "b"},
    {"id": "r", "query": "Name a colour.", "response_a": "red", "response_b": "seven", "label": "a"},
]
TEXTS = [
    {"id": "t", "query": "Name a prime.", "response": "seven", "label": "good", "categories": ["bad", "good"]},
    {"id": "u", "query": "Name a prime.", "response": "nine", "label": "bad", "categories": ["bad", "good"]},
]


def prefers_seven(request: Request) -> Answer:
    """A judge that likes seven, and argues for whatever verdict it is shown."""
    text = prompt_text(request)
    if answer_fields(request) == {"reason"}:
        return {"reason": f"because {shown_verdict(text)}: {DETAIL}"}
    if asks_what_it_speaks_for(text):
        return letter_of(text, re.findall(rf"because ([^\n]*): {DETAIL}", text)[0])
    if "Question:" in text:
        return {"token_probabilities": {"A": 0.9, "B": 0.1} if "<<<\nseven" in text else {"A": 0.1, "B": 0.9}}
    return {"token_probabilities": {"A": 0.9, "B": 0.1} if "Response A:\n<<<\nseven" in text else {"A": 0.2, "B": 0.8}}


def stubborn(request: Request) -> Answer:
    """Argues for response A whatever the verdict is."""
    return (
        {"reason": f"Response A is better: {DETAIL}."}
        if answer_fields(request) == {"reason"}
        else prefers_seven(request)
    )


def corrected(request: Request) -> Answer:
    """Argues for response A until it is corrected."""
    is_first = answer_fields(request) == {"reason"} and "Correction:" not in prompt_text(request)
    return stubborn(request) if is_first else prefers_seven(request)


def shown_verdict(text: str) -> str:
    return re.findall(r"^Verdict:\n(.*)$", text, re.MULTILINE)[0]


def asks_what_it_speaks_for(text: str) -> bool:
    return "Which verdict does the reason speak for?" in text


def letter_of(text: str, verdict: str) -> Answer:
    """One token: the letter of this verdict, which the prompt shows as JSON."""
    lines = dict(re.findall(r"^([A-Z])\. (.*)$", text, re.MULTILINE))
    bare = str.maketrans("", "", '\\"')
    said = verdict.translate(bare)
    return {
        "token_probabilities": {name: 0.9 if line.translate(bare) == said else 0.05 for name, line in lines.items()}
    }


def write(path: str, rows: Sequence[dict[str, Any]], note: str = SECRET) -> str:
    Path(path).write_text("".join(json.dumps({**row, "note": note}) + "\n" for row in rows))
    return path


@pytest.fixture
def lm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedLM:
    """A scripted model; the working folder holds pairs.jsonl and texts.jsonl."""
    monkeypatch.chdir(tmp_path)
    write("pairs.jsonl", PAIRS)
    write("texts.jsonl", TEXTS)
    return ScriptedLM(prefers_seven)


def judged(lm: ScriptedLM, cases: str = "pairs.jsonl", out: str = "run", judge: str = "direct") -> dicast.Run:
    built = dicast.judge(judge, grading="pairwise") if judge == "direct" else dicast.judge(judge)
    with dspy.context(lm=lm):
        return dicast.run(built, cases, out=out)


def why(lm: ScriptedLM, run: dicast.Run, which: Any = "all", **options: Any) -> WhyRun:
    with dspy.context(lm=lm):
        return dicast.why(run, which, **options)


def asked(lm: ScriptedLM) -> list[str]:
    """The prompts that ask for a reason."""
    return [prompt_text(request) for request in lm.requests if answer_fields(request) == {"reason"}]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(("reasons", "."))}


def test_every_verdict_gets_its_reason_and_stays_as_it_is_byte_for_byte(lm: ScriptedLM) -> None:
    run = judged(lm)
    before = contents(run.path)
    result = why(lm, run)
    assert contents(run.path) == before
    assert (result.status, result.chosen, result.written, result.reasons) == ("complete", 3, 3, 3)
    assert (result.disagreeing, result.unchecked, result.failed, result.lost) == (0, 0, 0, 0)
    reasons = read_reasons(run)
    assert {name: reason.text for name, reason in reasons.items()} == {
        name: f"because response {winner} is better: {DETAIL}" for name, winner in (("p", "B"), ("q", "A"), ("r", "B"))
    }  # fmt: skip
    assert all(reason.agrees and reason.tries == 1 and not reason.note for reason in reasons.values())
    assert sum(usage.calls for usage in result.usage.values()) == sum(r.usage.calls for r in reasons.values()) == 3
    assert set(result.usage) == {"reason"}  # a reason that says which response is better needs no check


def test_a_swapped_pair_is_asked_about_with_the_other_letter(lm: ScriptedLM) -> None:
    turned = {"a": "b", "b": "a"}
    rows = [row | {"response_a": row["response_b"], "response_b": row["response_a"], "label": turned[row["label"]]}
            for row in PAIRS]  # fmt: skip
    why(lm, judged(lm))
    straight = {re.findall(r"Request:\n<<<\n(.*)", text)[0]: shown_verdict(text) for text in asked(lm)}
    other = ScriptedLM(prefers_seven)
    why(other, judged(other, write("turned.jsonl", rows), "turned"))
    swapped = {re.findall(r"Request:\n<<<\n(.*)", text)[0]: shown_verdict(text) for text in asked(other)}
    words = {"response A is better": "response B is better", "response B is better": "response A is better"}
    assert swapped == {query: words[verdict] for query, verdict in straight.items()}
    assert len(swapped) == 3


def test_no_prompt_depends_on_labels_votes_or_other_columns(lm: ScriptedLM) -> None:
    why(lm, judged(lm))
    other = ScriptedLM(prefers_seven)
    turned = {"a": "b", "b": "a"}
    rows = [row | {"label": turned[row["label"]], "votes": ["tie", "tie", row["label"]]} for row in PAIRS]
    why(other, judged(other, write("others.jsonl", rows, "another note"), "others"))
    assert sorted(asked(lm)) == sorted(asked(other))
    assert len(asked(lm)) == 3
    assert not any(SECRET in prompt_text(request) for request in lm.requests)


def test_a_reason_is_asked_once_and_missing_ones_are_written_by_the_next_call(lm: ScriptedLM) -> None:
    run = judged(lm)
    assert why(lm, run, "wrong").written == 2
    assert why(lm, run, "all").written == 1
    count, lines = len(lm.requests), Path("run/reasons.jsonl").read_bytes()
    again = why(lm, run, "all")
    assert (again.status, again.written, again.reasons, len(lm.requests)) == ("complete", 0, 3, count)
    path = Path("run/reasons.jsonl")
    assert path.read_bytes() == lines
    path.write_bytes(lines[:-9])  # as a kill in the middle of a line leaves it
    assert why(lm, run, "all").written == 1
    assert len(asked(lm)) == 4
    assert len(read_reasons(run)) == 3


def test_a_budget_ends_the_pass_and_the_same_call_continues(lm: ScriptedLM) -> None:
    run = judged(lm)
    first = why(lm, run, budget="calls=1", workers=1)
    assert (first.status, first.written) == ("budget", 1)
    assert "1 of 1 calls are used" in first.message
    assert why(lm, run).written == 2
    assert len(asked(lm)) == 3


def test_a_stop_keeps_what_is_written(lm: ScriptedLM) -> None:
    class Stopping(dicast.Progress):
        def prepared(self, failures: int) -> None:
            stop.set()

    stop = threading.Event()
    first = why(lm, judged(lm), workers=1, progress=Stopping(), stop=stop)
    assert first.status == "stopped"
    assert 1 <= first.written < 3
    assert why(lm, dicast.Run(Path("run"))).written == 3 - first.written
    assert len(asked(lm)) == 3


def test_a_reason_for_the_other_response_is_asked_again_once_and_then_marked(lm: ScriptedLM) -> None:
    other = ScriptedLM(stubborn)
    run = judged(other)
    result = why(other, run)
    assert (result.reasons, result.disagreeing) == (3, 2)
    reasons = read_reasons(run)
    assert [(reasons[name].agrees, reasons[name].tries) for name in "pqr"] == [(False, 2), (True, 1), (False, 2)]
    assert reasons["p"].note == (
        "This reason speaks for another verdict (response A is better), also after a second try."
    )


def test_a_second_try_says_what_was_wrong_and_its_reason_counts(lm: ScriptedLM) -> None:
    other = ScriptedLM(corrected)
    run = judged(other)
    assert why(other, run).disagreeing == 0
    reasons = read_reasons(run)
    assert [(reasons[name].agrees, reasons[name].tries) for name in "pqr"] == [(True, 2), (True, 1), (True, 2)]
    retried = next(text for text in asked(other) if "Correction:" in text)
    assert "An earlier reason spoke for response A is better. Speak for: response B is better." in retried


def test_a_reason_of_a_verdict_that_was_judged_anew_is_written_anew(lm: ScriptedLM) -> None:
    run = judged(lm)
    why(lm, run)
    path = Path("run/verdicts.jsonl")
    path.write_text(path.read_text().replace('"winner":"a"', '"winner":"tie"'))
    run = dicast.Run(Path("run"))
    assert set(read_reasons(run)) == {"p", "r"}
    assert why(lm, run).written == 1
    assert read_reasons(run)["q"].verdict == "neither response is better than the other"
    assert len(asked(lm)) == 4


def test_a_category_is_explained_and_checked_by_one_token(lm: ScriptedLM) -> None:
    run = judged(lm, "texts.jsonl", judge="rubric")
    result = why(lm, run)
    assert (result.written, result.disagreeing) == (2, 0)
    assert {name: reason.text for name, reason in read_reasons(run).items()} == {
        "t": f'because the response is "good": {DETAIL}', "u": f'because the response is "bad": {DETAIL}',
    }  # fmt: skip
    assert result.usage["reason_check"].calls == 4  # the categories are listed in both orders


def test_a_judge_that_explains_itself_is_not_asked_again(lm: ScriptedLM) -> None:
    other = ScriptedLM(
        lambda request: {"explanation": "x", "score": 3} if answer_fields(request) else prefers_seven(request)
    )
    rows = [{"id": row["id"], "query": row["query"], "response": row["response"], "score": 3} for row in TEXTS]
    run = judged(other, write("scored.jsonl", rows), judge="mt-bench")
    result = why(other, run)
    assert (result.chosen, result.explained, result.reasons) == (2, 2, 0)
    assert asked(other) == []


def test_reasons_of_another_model_are_not_mixed_in(lm: ScriptedLM) -> None:
    run = judged(lm)
    why(lm, run)
    with pytest.raises(RunError, match=r"holds reasons with models\.reason.*delete the file"):
        why(ScriptedLM(prefers_seven), run)


def test_what_cannot_be_explained_is_said(lm: ScriptedLM) -> None:
    run = dicast.run("longer", "pairs.jsonl", out="longer")
    with pytest.raises(DeclarationError, match="judge longer asks no model. Name a model"):
        dicast.why(run)
    with pytest.raises(DeclarationError, match="why: 'some' is none of all, unsure, wrong"):
        why(lm, run, "some")
    assert not Path("longer/reasons.jsonl").exists()
    write("pairs.jsonl", [PAIRS[0], PAIRS[1] | {"response_a": "eight"}])
    result = why(lm, run)
    assert (result.chosen, result.reasons, result.lost) == (3, 1, 2)


def test_a_reason_goes_through_its_file_unchanged() -> None:
    reason = Reason(case_id="1", verdict_digest="ab", verdict="the score is 3", text="it is fair", agrees=True)
    assert Reason.model_validate_json(reason.model_dump_json()) == reason


def test_the_person_of_a_case_is_shown(lm: ScriptedLM) -> None:
    row = PAIRS[0] | {"preference": "I love round numbers."}
    why(lm, judged(lm, write("person.jsonl", [row]), "person"))
    (prompt,) = asked(lm)
    assert "I love round numbers." in prompt
