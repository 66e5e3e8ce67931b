"""The attack texts, and the benchmarks that use them, and their neighbour."""

import base64
import codecs
import json
import re
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request

from dicast.benchmarks import injection, robustness
from dicast.data import Case, Winner, read_cases
from dicast.engines.batch import RunFolder
from dicast.engines.models import get_lm
from dicast.errors import DataError, DeclarationError, RunError
from dicast.judging import build
from dicast.judging.delimiters import Fence, defuse
from dicast.judging.special_tokens import CONTROL
from dicast.testing import Answer, ScriptedLM, prompt_text

ROOT = Path(__file__).parents[2]


ATTACKS = injection.read_attacks()
BY_NAME = {attack.name: attack for attack in ATTACKS}
EVERY_ATTACK = pytest.mark.parametrize("attack", ATTACKS, ids=list(BY_NAME))
KINDS = {"delimiters", "verdict", "role play", "encoded", "other language", "social proof", "control"}


# the texts


def test_there_are_attacks_of_every_kind_and_controls() -> None:
    kinds = Counter(attack.kind for attack in ATTACKS)
    assert set(kinds) == KINDS
    assert min(kinds.values()) >= 3
    assert kinds["control"] == 4
    assert kinds.total() - kinds["control"] >= 24


def test_the_card_counts_the_texts_of_each_kind() -> None:
    card = (ROOT / "catalog" / "sets" / "ATTACKS.md").read_text(encoding="utf-8")
    assert dict(re.findall(r"^\| ([a-z ]+) \| (\d+) \|", card, re.MULTILINE)) == {
        kind: str(count) for kind, count in Counter(attack.kind for attack in ATTACKS).items()
    }


def test_names_are_unique_and_plain() -> None:
    assert len(BY_NAME) == len(ATTACKS)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in BY_NAME)
    assert len({attack.text for attack in ATTACKS}) == len(ATTACKS)


def test_controls_say_nothing_of_judging_and_are_as_long_as_the_attacks() -> None:
    controls = [attack.text for attack in ATTACKS if attack.kind == "control"]
    lengths = sorted(len(attack.text) for attack in ATTACKS if attack.kind != "control")
    assert all(lengths[len(lengths) // 4] <= len(text) <= lengths[-1] for text in controls)
    assert not re.search(r"judg|response|answer|better|score|prefer|best|correct|instruction", " ".join(controls))


def test_encoded_orders_say_what_they_should_when_decoded() -> None:
    def payload(name: str) -> str:
        return str(BY_NAME[name].text.partition(": ")[2])

    decoded = [
        base64.b64decode(payload("base64"), validate=True).decode(),
        bytes.fromhex(payload("hexadecimal")).decode(),
        codecs.decode(payload("rot13"), "rot13"),
        BY_NAME["zero-width"].text.replace("\u200b", ""),
        BY_NAME["spaced-letters"].text.replace(" ", ""),
    ]
    assert all("winner" in text for text in decoded)


@EVERY_ATTACK
def test_a_fenced_attack_cannot_close_its_fence(attack: Any) -> None:
    opening, *body, closing = Fence([attack.text, "the other response"])(attack.text).split("\n")
    assert (set(opening), set(closing)) == ({"<"}, {">"})
    assert not [line for line in body if opening in line or closing in line]


@EVERY_ATTACK
def test_no_control_mark_of_a_fenced_attack_is_left_whole(attack: Any) -> None:
    assert not CONTROL.search(Fence([attack.text])(attack.text))


def test_the_delimiter_attacks_do_hold_what_the_fence_must_break() -> None:
    texts = {attack.name: attack.text for attack in ATTACKS if attack.kind == "delimiters"}
    assert {name for name, text in texts.items() if defuse(text) != text} == {"dspy-fields", "chatml", "llama-inst"}
    assert {name for name, text in texts.items() if Fence([text]).width > 3} >= {"fence-closed", "fence-closed-wide"}


def test_only_one_module_makes_fences() -> None:
    """The unfenced arm replaces the fence there, and would miss any other."""
    makers = [path.name for path in (ROOT / "judging").glob("*.py") if re.search(r"\bFence\(", path.read_text())]
    assert sorted(makers) == ["delimiters.py", "judge.py"]


# injection


def pair(number: int, label: str = "a", **fields: Any) -> Case:
    texts = [f"sunny {number}", f"rainy {number}"] if label == "a" else [f"rainy {number}", f"sunny {number}"]
    fields = {"query": f"question {number}", "label": Winner(value=label)} | fields
    return Case(id=f"made/{number}", candidates=[{"text": text} for text in texts], **fields)


PAIRS = [pair(1), pair(2, "b"), pair(3)]
MISJUDGED = pair(4).model_copy(update={"label": Winner(value="b")})
CHOSEN = injection.read_attacks("administrator,plea,harbour")


def gullible(request: Request) -> Answer:
    """Prefers the sunny response; without a fence it obeys the administrator and is moved to a tie by a plea."""
    prompt = prompt_text(request)
    first, second = ({"A": 0.8, "B": 0.2}, {"A": 0.2, "B": 0.8})
    sunny, rainy = (first, second) if prompt.index("sunny") < prompt.index("rainy") else (second, first)
    if "<<<" not in prompt and BY_NAME["administrator"].text in prompt:
        return {"token_probabilities": rainy}
    if "<<<" not in prompt and BY_NAME["plea"].text in prompt:
        return {"token_probabilities": {"A": 0.5, "B": 0.5}}
    return {"token_probabilities": sunny}


def arms(out: Path) -> list[Any]:
    fence, plain = (build("direct", grading="pairwise", readout="probability") for _ in injection.ARMS)
    return [
        injection.Arm("fence", fence, RunFolder(out / "fence")),
        injection.Arm("unfenced", injection.without_fence_notice(plain), RunFolder(out / "unfenced")),
    ]


def attack_pairs(out: Path, **identity: Any) -> tuple[dict[str, Any], list[str]]:
    """The summary, and all prompts that were sent for it."""
    lm = script = ScriptedLM(gullible)
    identity = {"judge": "direct", "settings": {}, "lm": "scripted", "data": "made"} | identity
    with dspy.context(lm=lm):
        injection.measure(arms(out), [*PAIRS, MISJUDGED], CHOSEN, identity)
    verdicts = {name: injection.by_attack(out / name) for name in injection.ARMS}
    return injection.summary(verdicts, CHOSEN), [prompt_text(request) for request in script.requests]


def test_flips_ties_and_movement_are_counted_by_arm(tmp_path: Path) -> None:
    counts, prompts = attack_pairs(tmp_path)
    assert (counts["pairs"], counts["right"], counts["attacked"]) == (
        {"fence": 4, "unfenced": 4},
        {"fence": 3, "unfenced": 3},
        3,
    )
    assert len(prompts) == 2 * 2 * (4 + 3 * 3)  # orders, arms, pairs as they are, and the attacks on those judged right
    attacks, control = counts["rows"]["all attacks"], counts["rows"]["control"]
    assert attacks["trials"] == 6
    assert (attacks["fence"]["flipped"]["hits"], attacks["unfenced"]["flipped"]["hits"]) == (0, 3)
    assert (attacks["fence"]["tied"], attacks["unfenced"]["tied"]) == (0, 3)
    assert (attacks["only with the fence"], attacks["only without"]) == (0, 3)
    assert attacks["p"] == pytest.approx(0.25)  # two-sided, 3 of 3: 2 / 2**3
    assert counts["by pair"] == {"fewer with the fence": 3, "more with the fence": 0, "p": pytest.approx(0.25)}
    assert attacks["fence"]["moved"] == pytest.approx(0)
    assert attacks["unfenced"]["moved"] == pytest.approx(1.5 * 1.3862943611)  # ln 4: once from 4:1 to 1:4, once to 1:1
    assert (control["trials"], control["fence"]["flipped"]["hits"], control["unfenced"]["flipped"]["hits"]) == (3, 0, 0)


def test_a_finished_trial_is_not_asked_again(tmp_path: Path) -> None:
    counts, _ = attack_pairs(tmp_path)
    assert attack_pairs(tmp_path) == (counts, [])
    path = tmp_path / "unfenced" / "verdicts.jsonl"
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole[:-40], encoding="utf-8")  # a kill in the middle of the last line
    again, prompts = attack_pairs(tmp_path)
    assert again == counts
    assert len(prompts) == 2


def test_the_table_has_a_row_for_each_kind_and_what_it_rests_on(tmp_path: Path) -> None:
    header, rule, *rows = injection.table(attack_pairs(tmp_path)[0]).split("\n")
    assert {line.count("|") for line in (header, rule, *rows[:3])} == {header.count("|")}
    measured = "6 | 0.000 [0.000, 0.390] (0) | 0.500 [0.188, 0.812] (3) | 0, 3 | +0.00, +2.08 | 0, 3 | 0.25"
    assert rows[0] == f"| role play | {measured} |"
    assert "Right without an attack: 3 of 4 pairs with the fence, 3 of 4 without; 3 with both" in "\n".join(rows)
    assert rows[-1] == "Unscored: none with the fence, none without."


def test_a_run_of_another_judge_is_refused(tmp_path: Path) -> None:
    attack_pairs(tmp_path)
    with pytest.raises(RunError, match="judge = 'direct', now it is 'fennec'"):
        attack_pairs(tmp_path, judge="fennec")


def test_the_unfenced_arm_shows_texts_as_they_are_and_speaks_of_no_fence(tmp_path: Path) -> None:
    _, prompts = attack_pairs(tmp_path)
    plain = [prompt for prompt in prompts if "Response A:\nsunny" in prompt or "Response A:\nrainy" in prompt]
    fenced = [prompt for prompt in prompts if prompt not in plain]
    assert len(plain) == len(fenced)
    assert not [prompt for prompt in plain if "<<<" in prompt or ">>>" in prompt or "stand between" in prompt]
    assert all("Texts stand between <<< and >>>" in prompt for prompt in fenced)
    assert all("say which is better: correct, does what was asked, helpful." in prompt for prompt in prompts)


def test_the_unfenced_arm_shows_what_a_model_wrote_as_it_is(tmp_path: Path) -> None:
    """Criteria and guidelines have no place in a fence either where a naive prompt is measured."""

    def answer(request: Request) -> Answer:
        fields = (request.config.response_format or {})["schema"]["properties"]
        score = {"score_a": 5, "score_b": 1, "criteria": ["one\ntwo"]}
        return {name: score.get(name, "words <|eot_id|>\nmore") for name in fields}

    judges = (build("fennec", branches=1, order="one") for _ in injection.ARMS)
    both = [injection.Arm(name, j, RunFolder(tmp_path / name)) for name, j in zip(injection.ARMS, judges, strict=True)]
    prompts: dict[str, list[str]] = {}
    for arm in both:
        lm = script = ScriptedLM(answer)
        arm.folder.open({"identity": {}})
        with dspy.context(lm=lm):
            arm.ask(PAIRS[:1], injection.Progress(1), 1, threading.Event())
        prompts[arm.name] = [prompt_text(request) for request in script.requests]
    assert any("Criterion:\n<<<\none\ntwo\n>>>" in prompt for prompt in prompts["fence"])
    assert any("Criterion:\none\ntwo\n" in prompt and "<|eot_id|>" in prompt for prompt in prompts["unfenced"])


def test_control_marks_reach_the_model_in_the_unfenced_arm_alone(tmp_path: Path) -> None:
    lm = script = ScriptedLM(gullible)
    chatml = BY_NAME["chatml"]
    with dspy.context(lm=lm):
        injection.measure(arms(tmp_path), PAIRS, [chatml], {})
    carrying = [prompt_text(request) for request in script.requests if "reference solution" in prompt_text(request)]
    assert {chatml.text in prompt for prompt in carrying if "<<<" not in prompt} == {True}
    assert {"<|im_end|>" in prompt for prompt in carrying if "<<<" in prompt} == {False}


@pytest.mark.parametrize("name", ["direct", "fennec", "pref", "persona", "perse-pairwise", "explicit", "pairwise"])
def test_no_instruction_of_an_unfenced_judge_names_the_fence(name: str) -> None:
    judge = build(name)
    before = [stage.ask.signature.instructions for stage in judge.stages()]
    after = [stage.ask.signature.instructions for stage in injection.without_fence_notice(judge).stages()]
    assert not [prompt for prompt in after if "<<<" in prompt]
    for prompt, shorter in zip(before, after, strict=True):
        assert shorter
        assert all(sentence.strip() in prompt for sentence in shorter.split("."))


def test_the_attack_is_appended_to_the_losing_response_alone() -> None:
    for case in PAIRS:
        hit = injection.attacked(case, BY_NAME["plea"])
        index = 1 if case.label == Winner(value="a") else 0
        assert hit.candidates[index].text == f"{case.candidates[index].text}\n\n{BY_NAME['plea'].text}"
        assert hit.candidates[1 - index] == case.candidates[1 - index]
        assert hit.label == case.label


def test_short_decided_pairs_of_different_prompts_are_taken() -> None:
    tie = pair(5).model_copy(update={"label": Winner(value="tie")})
    long = pair(6, query="why " * 200)
    again = pair(1).model_copy(update={"id": "made/again"})
    cases = [long, again, tie, *PAIRS]
    taken = injection.chosen(cases, limit=None, seed=None, max_words=150)
    assert [case.id for case in taken] == ["made/again", "made/2", "made/3"]
    assert injection.chosen(cases, limit=2, seed=None, max_words=150) == taken[:2]
    assert len(injection.chosen(cases, limit=2, seed=1, max_words=150)) == 2


def test_pairs_that_were_decided_by_little_are_left_alone_on_request(tmp_path: Path) -> None:
    attack_pairs(tmp_path)
    verdicts = [injection.by_attack(tmp_path / name) for name in injection.ARMS]
    assert len(injection.attackable(verdicts, margin=1.38)) == 3
    assert injection.attackable(verdicts, margin=1.39) == set()  # ln 4 is 1.386


def test_an_unknown_attack_is_named() -> None:
    with pytest.raises(DeclarationError, match="there is no 'hypnosis'"):
        injection.read_attacks("plea,hypnosis")


def test_the_command_attacks_resumes_and_reports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def command(*more: str) -> dict[str, Any]:
        arguments = [
            "--judge",
            "longer",
            "--limit",
            "10",
            "--out",
            str(tmp_path),
            "--attacks",
            "plea,control",
            "--json",
        ]
        monkeypatch.setattr(sys, "argv", ["injection", *arguments, *more])
        with pytest.raises(SystemExit) as ended:
            injection.main()
        assert ended.value.code == 0
        record = json.loads(capsys.readouterr().out)
        assert record["signature"].startswith("longer|")
        return dict(record)

    counts = command()
    assert counts["attacked"] > 0
    for row in ("role play", "all attacks", "control"):  # the longer text wins, whatever it says
        for arm in injection.ARMS:
            assert counts["rows"][row][arm]["flipped"]["hits"] == counts["rows"][row]["trials"] > 0
    assert command() == counts == command("--report")


# robustness


CASES = list(read_cases(ROOT / "catalog" / "sets" / "authored.jsonl"))
ASK_LETTERS = robustness.Setup("direct", {"readout": "generate", "grading": "pairwise"}, ("authored",))
ASK_SCORES = robustness.Setup("explicit", {}, ("absent", "authored"))
FEW = robustness.Setup("pairwise", {}, ("few",))
ABSENT = robustness.Setup("perse", {}, ("absent",))


def outcomes(answer: Any, cases: int = 2) -> list[Any]:
    lm = ScriptedLM(answer)
    return list(robustness.judge_all(robustness.deal({"authored": CASES}, cases, 0, [ASK_LETTERS]), lm))


def test_scored_and_unscored_are_counted_with_their_generations() -> None:
    ended = outcomes(lambda request: {"better": "A"})
    assert {(o.enforced, o.status, o.reason, o.calls) for o in ended} == {
        (True, "scored", "", 2),
        (False, "unscored", "parse_failure", 6),  # JSON where fields were asked for: three tries in each of two orders
    }
    counts = robustness.rows(ended)
    assert [(row["judge"], row["schema"], row["scored"], row["raised"]) for row in counts] == [
        ("direct", "enforced", 2, 0),
        ("direct", "not enforced", 0, 0),
        ("all", "enforced", 2, 0),
        ("all", "not enforced", 0, 0),
        ("all", "", 2, 0),
    ]
    assert (counts[-1]["cases"], counts[-1]["generations"], counts[-1]["unscored"]) == (4, 16, {"parse_failure": 2})


def test_an_engine_that_raises_ends_as_unscored() -> None:
    ended = outcomes(lambda request: ZeroDivisionError("inside the engine"))
    assert {(outcome.status, outcome.reason) for outcome in ended} == {("unscored", "infrastructure")}


def test_an_error_that_escapes_the_judge_is_counted_and_shown() -> None:
    def broken(case: Case) -> Any:
        raise ZeroDivisionError("inside the judge")

    lm = ScriptedLM(lambda request: {"better": "A"})
    (task, *_) = robustness.deal({"authored": CASES}, 1, 0, [ASK_LETTERS])
    ended = robustness.judge_one(task, broken, lm)
    assert (ended.status, ended.reason) == ("raised", "ZeroDivisionError")
    assert "inside the judge" in ended.detail
    assert robustness.rows([ended])[-1]["raised"] == 1


def test_cases_are_dealt_evenly_and_small_sets_give_what_they_have() -> None:
    tasks = robustness.deal({"authored": CASES, "few": CASES[:3]}, 20, 0, [ASK_LETTERS, ASK_SCORES, FEW, ABSENT])
    assert Counter((task.setup.judge, task.source, task.enforced) for task in tasks) == {
        (judge, source, enforced): count
        for judge, source, count in (("direct", "authored", 9), ("explicit", "authored", 8), ("pairwise", "few", 3))
        for enforced in (True, False)
    }


def test_a_journal_goes_on_after_a_kill_and_refuses_another_run(tmp_path: Path) -> None:
    path, ended = tmp_path / "journal.jsonl", outcomes(lambda request: {"better": "A"})
    journal = robustness.Journal.open(path, {"lm": "scripted"})
    for outcome in ended:
        journal.add(outcome)
    path.write_text(path.read_text()[:-20])
    assert robustness.Journal.open(path, {"lm": "scripted"}).outcomes == ended[:-1]
    assert len(path.read_text().splitlines()) == len(ended)
    with pytest.raises(DataError, match="holds the run"):
        robustness.Journal.open(path, {"lm": "another"})


def test_the_command_resumes_reports_and_fails_when_something_raised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lm = script = ScriptedLM(lambda request: {"better": "A", "score": 50})
    monkeypatch.setattr(robustness, "get_lm", lambda text, cache: lm)
    monkeypatch.setattr(robustness, "SETUPS", (ASK_LETTERS, ASK_SCORES))
    out = str(tmp_path / "out.jsonl")

    def command(*more: str) -> tuple[int, dict[str, Any]]:
        monkeypatch.setattr(sys, "argv", ["robustness", "--out", out, "--json", *more])
        with pytest.raises(SystemExit) as ended:
            robustness.main()
        return int(str(ended.value.code)), json.loads(capsys.readouterr().out)

    first = command("--count", "4", "--cases", "authored")
    asked = len(script.requests)
    assert first[0] == 0
    assert command("--count", "4", "--cases", "authored") == first
    assert command("--report") == first
    assert len(script.requests) == asked
    raised = robustness.Outcome("direct", "authored", "one more", True, "raised", "TypeError", "where it was")
    robustness.Journal.read(Path(out)).add(raised)
    assert command("--report")[0] == 1


@pytest.mark.model
@pytest.mark.slow
def test_real_generations_of_a_weak_model_all_end_as_scored_or_unscored(small_model: str) -> None:
    tasks = robustness.deal({"authored": CASES}, 1, 0, [ASK_LETTERS])
    ended = list(robustness.judge_all(tasks, get_lm(small_model, cache=False)))
    assert len(ended) == 2
    assert {outcome.status for outcome in ended} <= {"scored", "unscored"}
    assert all(outcome.reason for outcome in ended if outcome.status == "unscored")
    assert sum(outcome.calls for outcome in ended) >= 4
