"""A judge from a YAML file: what is asked, how criteria weigh, both readouts, every refusal."""

import json
import random
import re
from pathlib import Path

import dspy
import pytest
from judges import values_of

from dicast import Case
from dicast.cli import run as dicast_run
from dicast.data import Preference
from dicast.errors import DeclarationError
from dicast.judging import build
from dicast.judging.delimiters import FENCE_NOTE
from dicast.judging.yaml_judge import read_judge
from dicast.testing import MockServer, ScriptedLM, answer_fields, prompt_text

PAIR = Case(id="p", query="Name a prime.", candidates=[{"text": "9"}, {"text": "7 is prime"}])
SINGLE = Case(id="s", query="Name a prime.", candidates=[{"text": "7"}])
HEAD = "instructions: You judge replies of a support desk.\n"
CRITERIA = (
    "criteria:\n  - {name: polite, description: it thanks, weight: 2}\n  - {name: short, description: no padding}\n"
)
LETTERS, TIED = "judges: pairs\n", "judges: pairs\ntie: true\n"
SCORES, NAMED_PAIR = "judges: pairs\nscale: 0..4\n", "judges: pairs\nlevels: [rude, plain, kind]\n"
TEXTS, NAMED = "judges: texts\nscale: 1..10\n", "judges: texts\nlevels: [rude, plain, kind]\n"
KINDS = [LETTERS, TIED, SCORES, NAMED_PAIR, TEXTS, NAMED]


@pytest.fixture
def declared(tmp_path):
    """Reads a judge from the text of a file called desk.yaml."""

    def read(text, criteria=CRITERIA):
        path = tmp_path / "desk.yaml"
        path.write_text(HEAD + text + criteria)
        return read_judge(str(path))

    return read


def whim(request):
    """Answers as the prompt's own hash says: different everywhere, the same each time."""
    rng = random.Random(prompt_text(request))
    if request.config.logprobs is not None:
        return {"token_probabilities": {token: rng.uniform(0.03, 0.07) for token in "ABC0123456789"}}
    fields = request.config.response_format["schema"]["properties"]
    return {name: rng.choice(values_of(field)) if values_of(field) else "because" for name, field in fields.items()}


def ask(judge, case, answer=whim):
    lm = ScriptedLM(answer)
    with dspy.context(lm=lm):
        return judge(case), lm.requests


@pytest.mark.parametrize("readout", ["generate", "probability"])
@pytest.mark.parametrize("text", KINDS)
def test_exchanging_the_candidates_exchanges_the_verdict_exactly(declared, text, readout):
    judge = declared(text).set(readout=readout)
    for number in range(8):
        case = PAIR.model_copy(update={"query": f"Name prime {number}."})
        (verdict, _), (swapped, _) = ask(judge, case), ask(judge, case.swapped())
        assert verdict.status == "scored"
        for field in ("winner", "scores", "distribution", "certainty", "consistent"):
            assert getattr(swapped, field) == getattr(verdict.swapped(), field), field


@pytest.mark.parametrize("readout", ["generate", "probability"])
@pytest.mark.parametrize(("text", "lo", "hi"), [(SCORES, 0, 4), (NAMED_PAIR, 1, 3), (TEXTS, 1, 10), (NAMED, 1, 3)])
def test_scores_are_on_the_declared_scale(declared, text, lo, hi, readout):
    judge = declared(text).set(readout=readout)
    for number in range(8):
        verdict, _ = ask(judge, PAIR.model_copy(update={"query": f"{number}"}))
        assert all(lo <= score <= hi for score in verdict.scores)


@pytest.mark.parametrize(
    ("text", "readout", "calls"),
    [
        (LETTERS, "generate", 4), (LETTERS, "probability", 4), (SCORES, "generate", 4), (SCORES, "probability", 8),
        (TEXTS, "generate", 4), (NAMED, "probability", 4),
    ],
)  # fmt: skip
def test_each_criterion_is_a_question_of_its_own(declared, text, readout, calls):
    verdict, requests = ask(declared(text).set(readout=readout), PAIR)
    assert len(requests) == verdict.usage.calls == calls
    prompt = [
        {"polite: it thanks", "short: no padding"} & set(prompt_text(request).splitlines()) for request in requests
    ]
    assert [len(criteria) for criteria in prompt] == [1] * calls
    weights = {finding.criterion: finding.weight for finding in verdict.findings}
    assert weights == {"polite": 2, "short": 1}


@pytest.mark.parametrize("readout", ["generate", "probability"])
@pytest.mark.parametrize("text", KINDS)
def test_every_instruction_ends_with_the_fence(declared, text, readout):
    judge = declared(text).set(readout=readout)
    assert all(stage.ask.signature.instructions.endswith(f"\n{FENCE_NOTE}") for stage in judge.stages())
    _, requests = ask(judge, PAIR)
    assert all(prompt_text(request).startswith("You judge replies of a support desk.\n") for request in requests)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (LETTERS, "By the criterion, which response is better, A or B?\nAnswer with one letter."),
        (TIED, "By the criterion, which response is better, A or B, or C if both are equally good?\nAnswer with"),
        (SCORES, "from 0 (worst) to 4 (best)."),
        (SCORES, "How good is response A by the criterion?\n0. score 0 (worst)\n1. score 1\n"),
        (NAMED_PAIR, "Score both responses by the criterion alone: 1 rude, 2 plain, 3 kind.\n"),
        (TEXTS, "Score the response by the criterion alone, from 1 (worst) to 10 (best).\n"),
        (NAMED, "How good is the response by the criterion?\n1. rude\n2. plain\n3. kind\nAnswer with one digit."),
    ],
)
def test_what_a_model_is_asked(declared, text, expected):
    _, requests = ask(declared(text).set(readout="probability"), PAIR)
    assert any(expected in prompt_text(request) for request in requests)


def test_the_heavier_criterion_decides(declared):
    def split(request):
        """By politeness 7 is better, by shortness 9."""
        text = prompt_text(request)
        seven_is_a = text.index("7 is prime") < text.index("<<<\n9\n>>>")
        return {"better": "A" if seven_is_a == ("polite: it thanks" in text) else "B"}

    assert ask(declared(LETTERS), PAIR, split)[0].winner == "b"
    assert ask(declared(LETTERS, CRITERIA.replace("weight: 2", "weight: 0.5")), PAIR, split)[0].winner == "a"
    assert ask(declared(LETTERS, CRITERIA.replace("weight: 2", "weight: 1")), PAIR, split)[0].winner == "tie"


def test_scores_are_weighted_means(declared):
    def grade(request):
        return {"score": 9 if "polite: it thanks" in prompt_text(request) else 3}

    verdict, _ = ask(declared(TEXTS), SINGLE, grade)
    assert verdict.scores == ((2 * 9 + 1 * 3) / 3,)


def test_an_explanation_comes_before_the_verdict_and_is_not_read_from_probabilities(declared):
    judge = declared(TIED + "explain: true\n")
    verdict, requests = ask(judge, PAIR)
    assert list(requests[0].config.response_format["schema"]["properties"]) == ["explanation", "better"]
    assert verdict.rationale.splitlines()[0] == "polite: because"
    verdict, requests = ask(judge.set(readout="probability"), PAIR)
    assert (verdict.rationale, {request.config.max_tokens for request in requests}) == ("", {1})


def test_the_profile_is_shown_when_it_is_asked_for(declared):
    case = PAIR.model_copy(update={"profile": Preference(text="no padding at all")})
    for text, shown in ((LETTERS, False), (LETTERS + "profile: true\n", True)):
        _, requests = ask(declared(text), case)
        assert {"no padding at all" in prompt_text(request) for request in requests} == {shown}


def test_plain_words_are_a_criterion_and_the_file_gives_a_name(declared):
    judge = declared(LETTERS, "criteria: [polite, 'solves it']\n")
    assert (judge.name, judge.settings()) == ("desk", {"readout": "generate", "order": "both", "tie_threshold": 0.0})
    verdict, requests = ask(judge, PAIR)
    assert {finding.criterion for finding in verdict.findings} == {"polite", "solves it"}
    assert any("Criterion:\nsolves it\n" in prompt_text(request) for request in requests)


def test_structural_parameters_are_the_files_and_then_the_callers(declared, tmp_path):
    declared(SCORES + "name: tone\nreadout: probability\norder: one\ntie_threshold: 0.5\n")
    judge = build(str(tmp_path / "desk.yaml"), order="both")
    assert (judge.name, judge.settings()) == (
        "tone", {"readout": "probability", "order": "both", "tie_threshold": 0.5},
    )  # fmt: skip
    with pytest.raises(
        DeclarationError,
        match="no parameter 'branches'. It has: evidence, letters, min_mass, order, reading, readout",
    ):
        build(str(tmp_path / "desk.yaml"), branches=3)


def test_a_long_scale_is_written(declared):
    judge = declared("judges: texts\nscale: 0..100\n")
    verdict, _ = ask(judge, SINGLE, lambda request: {"score": 73})
    assert verdict.scores == (73,)
    with pytest.raises(DeclarationError, match="readout=probability reads at most 10 levels"):
        judge.set(readout="probability")


@pytest.mark.parametrize("readout", ["generate", "probability"])
@pytest.mark.parametrize("text", KINDS)
def test_a_saved_judge_asks_the_same_prompts(declared, text, readout, tmp_path):
    judge = declared(text).set(readout=readout, order="one")
    for stage in judge.stages():
        stage.ask.demos = [dspy.Example(request="r", criterion="kind", better="A", score=1, score_a=1, score_b=1)]
    judge.save(tmp_path / "state.json")
    loaded = declared(text)
    loaded.load(tmp_path / "state.json")
    prompts = [sorted(map(prompt_text, ask(each, PAIR)[1])) for each in (judge, loaded, judge.deepcopy())]
    assert prompts[0] == prompts[1] == prompts[2]
    assert loaded.settings() == judge.settings() == judge.reset_copy().settings()


@pytest.mark.parametrize(
    ("text", "criteria", "expected"),
    [
        ("judges: couples\n", CRITERIA, "field 'judges' is \"couples\": Input should be 'pairs' or 'texts'."),
        ("", CRITERIA, "field 'judges': Field required."),
        (LETTERS, "", "field 'criteria': Field required."),
        (LETTERS, "criteria: []\n", "field 'criteria' is []: Tuple should have at least 1 item"),
        (LETTERS, "criteria: polite\n", "field 'criteria' is \"polite\": Input should be a valid tuple."),
        (LETTERS, "criteria: [{description: x}]\n", "field 'criteria.0.name': Field required."),
        (LETTERS, "criteria: [polite, {name: x, wait: 2}]\n", "field 'criteria.1.wait' is 2: Extra inputs are not"),
        (LETTERS, "criteria: [{name: x, weight: 0}]\n", "field 'criteria.0.weight' is 0: Input should be greater"),
        (LETTERS, "criteria: [{name: x, weight: .inf}]\n", 'field "criteria.0.weight": inf is not a finite number.'),
        (LETTERS, "criteria: ['']\n", "field 'criteria.0.name' is \"\": String should have at least 1 character."),
        (LETTERS, "criteria: [polite, Polite]\n", "criterion 'polite' is there twice; keep one of them."),
        (LETTERS + "critera: [x]\n", CRITERIA, "field 'critera' is [\"x\"]: Extra inputs are not permitted."),
        (LETTERS + "tie: perhaps\n", CRITERIA, "field 'tie' is \"perhaps\": Input should be a valid boolean"),
        (LETTERS + "readout: guess\n", CRITERIA, "field 'readout' is \"guess\": Input should be 'generate', 'prob"),
        (LETTERS + "order: two\n", CRITERIA, "field 'order' is \"two\": Input should be 'one' or 'both'."),
        (LETTERS + "tie_threshold: -1\n", CRITERIA, "field 'tie_threshold' is -1: Input should be greater than or equ"),
        ("judges: texts\n", CRITERIA, "texts are scored; give `scale`, as in 1..5, or `levels`."),
        ("judges: texts\nscale: 1-5\n", CRITERIA, "field 'scale' is \"1-5\": '1-5' is no scale; write LO..HI, as in"),
        ("judges: texts\nscale: 5..1\n", CRITERIA, "field 'scale' is \"5..1\": '5..1' is no scale"),
        ("judges: texts\nscale: 0..0.5\n", CRITERIA, "field 'scale' is \"0..0.5\": give whole numbers, at most 101 of"),
        ("judges: texts\nscale: 0..1e9\n", CRITERIA, "field 'scale' is \"0..1e9\": give whole numbers, at most 101 of"),
        ("judges: texts\nscale: [1, 5]\n", CRITERIA, "field 'scale' is [1, 5]: '[1, 5]' is no scale; write LO..HI"),
        ("judges: texts\nlevels: [good]\n", CRITERIA, "field 'levels' is [\"good\"]: Tuple should have at least 2"),
        ("judges: texts\nlevels: [no, yes]\n", CRITERIA, "field 'levels.0' is false: Input should be a valid string."),
        (NAMED + "scale: 1..3\n", CRITERIA, "`scale` and `levels` exclude one another; keep one of them."),
        (TEXTS + "tie: true\n", CRITERIA, "`tie` is for pairs judged by letters; equal scores tie anyway. Leave"),
        (SCORES + "tie: true\n", CRITERIA, "`tie` is for pairs judged by letters"),
        (LETTERS + "explain: true\nreadout: probability\n", CRITERIA, "`explain` needs readout: generate;"),
        ("judges: texts\nscale: 0..10\nreadout: probability\n", CRITERIA, "readout: probability reads at most 10 "
         "levels, but `scale` has 11; use readout: generate, or a shorter scale."),
        ("judges: texts\nbad: [\n", CRITERIA, "is not YAML (while parsing a flow node"),
        ("judges: texts\nname: 2001-99-99\n", CRITERIA, "is not YAML (month must be in 1..12). Give a YAML"),
    ],
)  # fmt: skip
def test_a_wrong_declaration_names_file_field_and_value(declared, tmp_path, text, criteria, expected):
    with pytest.raises(DeclarationError) as refused:
        declared(text, criteria)
    assert re.match(rf"judge {re.escape(str(tmp_path))}/desk.yaml: {re.escape(expected)}", str(refused.value))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"just words", b"- a list", b"\xff\xfe"])
def test_a_file_that_declares_nothing_says_what_it_needs(tmp_path, content):
    (tmp_path / "desk.yml").write_bytes(content)
    text = (
        "is UTF-16, not UTF-8"
        if content[:1] == b"\xff"
        else "holds no fields. It needs `judges`, `instructions` and `criteria`"
    )
    with pytest.raises(DeclarationError, match=rf"desk\.yml: {text}"):
        build(str(tmp_path / "desk.yml"))


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(DeclarationError, match=r"^judge no\.yaml: cannot be read \(No such file or directory\)\. Give"):
        build("no.yaml")


def test_a_declared_judge_runs_from_the_command_line_and_an_edited_one_does_not_go_on(
    declared, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    text = TEXTS.replace("10", "5")
    declared(text)
    Path("texts.jsonl").write_text(json.dumps({"id": "1", "query": "q", "response": "x", "score": 1}) + "\n")
    with MockServer() as server:
        command = ["judge", "--judge", "desk.yaml", "--cases", "texts.jsonl", "--out", "run"]
        command += ["--lm", f"openai/desk@{server.url}"]
        assert dicast_run(command) == dicast_run(command) == 0
        assert sum(server.request_counts.values()) == 2
        capsys.readouterr()
        declared(text, CRITERIA.replace("it thanks", "it thanks twice"))
        assert dicast_run(command) == 3
    assert "run: holds a run with judge = 'desk@" in " ".join(capsys.readouterr().err.split())
    (verdict,) = [json.loads(line) for line in Path("run/verdicts.jsonl").read_text().splitlines()]
    assert verdict["scores"] == [1.0]


def test_the_wrong_kind_of_case_is_refused(declared):
    with pytest.raises(DeclarationError, match="judge 'desk': case 's' has 1 candidates, not two"):
        ask(declared(LETTERS), SINGLE)


def test_one_criterion_gives_what_the_plain_answer_says(declared):
    judge = declared(LETTERS + "order: one\n", "criteria: [polite]\n")
    verdict, (request,) = ask(judge, PAIR, lambda request: {"better": "B"})
    assert (verdict.winner, answer_fields(request)) == ("b", {"better"})
