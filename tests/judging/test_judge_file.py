"""The saved judge: what is loaded asks and says the same, and whatever does not fit is refused by its field."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.utils.exceptions import LMAuthError
from judges import HEAD, JUDGES, LM, REVIEWER, YAML, ask, by_place, fitting, profile_of, requests_of, with_state

import dicast
from dicast import Case, __version__
from dicast.cli import run as dicast_run
from dicast.data import Verdict
from dicast.errors import DeclarationError, ModelError
from dicast.judging import Judge, Panel, build, build_panel
from dicast.judging.cascade import Cascade
from dicast.judging.heads import ChoiceHead, PairHead
from dicast.judging.judge_file import fingerprint, load, read, save
from dicast.judging.registry import judge_title
from dicast.judging.signature_judge import SignatureJudge
from dicast.programs.direct import Direct
from dicast.signatures.direct import Prefer
from dicast.testing import MockServer, ScriptedLM, prompt_text


def taught(name: str) -> Judge:
    """A program with everything that can be learnt: settings, demos, instructions, descriptions, head."""
    judge = with_state(name) if build(name).stages() else build(name)
    for number, stage in enumerate(judge.stages()):
        signature = stage.ask.signature
        first = next(iter(signature.output_fields))
        signature = signature.with_updated_fields(first, desc=f"changed {number}")
        stage.ask.signature = signature.with_instructions(f"{signature.instructions}\nBe strict: «{number}».")
        stage.ask.demos.append({**dict.fromkeys(signature.fields, "later"), "augmented": True})
    judge.head = HEAD
    return judge


def case_for(name):
    case = fitting(name)
    return case if profile_of(name) else case.model_copy(update={"profile": REVIEWER})


def said(judge, case):
    return ask(judge, case, by_place)[0].model_dump(exclude={"usage": {"seconds"}})


@pytest.fixture
def file(tmp_path):
    """Where a judge is saved to."""
    return tmp_path / "tone.judge.json"


@pytest.fixture
def edit(file):
    """Saves a taught `direct`, changes what the file says, and gives its path."""
    save(taught("direct"), file, lm=LM)

    def change(**changed):
        record = json.loads(file.read_text())
        for place, value in changed.items():
            at: Any = record
            *path, last = place.split("__")
            for name in path:
                at = at[name]
            at[last] = value
        file.write_text(json.dumps(record))
        return file

    return change


# head and threshold


def test_the_head_speaks_before_the_threshold_is_held_against_it():
    class Sure:
        blocks: dict[str, Any] = {}

        def __call__(self, case: Case, verdict: Verdict, vectors: Any = None) -> Verdict:
            return verdict.model_copy(update={"winner": "a", "certainty": 0.8})

    judge, case = build("direct"), fitting("direct")
    judge.head, judge.threshold = Sure(), 0.8
    assert said(judge, case)["status"] == "scored"
    judge.threshold = 0.81
    verdict = said(judge, case)
    assert (verdict["status"], verdict["winner"], verdict["reason"]) == ("abstained", "a", None)
    assert verdict["distribution"] is not None


def test_a_verdict_without_a_certainty_is_abstained_by_any_threshold():
    judge, case = build("longer"), fitting("longer")
    assert said(judge, case)["status"] == "scored"
    judge.threshold = 0.0
    assert said(judge, case)["status"] == "abstained"


def test_an_unscored_verdict_meets_neither_head_nor_threshold():
    judge = build("direct", readout="generate", grading="pairwise", order="one")
    judge.head, judge.threshold = ChoiceHead(), 1.0  # this head would refuse a pair
    verdict, _ = ask(judge, fitting("direct"), lambda request: "not json")
    assert (verdict.status, verdict.reason) == ("unscored", "parse_failure")


def test_copies_keep_head_and_threshold():
    judge = build("direct")
    judge.head, judge.threshold = HEAD, 0.7
    for copied in (judge.deepcopy(), judge.reset_copy()):
        assert (copied.head, copied.threshold) == (HEAD, 0.7)
    assert (build("direct").head, build("direct").threshold) == (None, None)


def test_a_panel_counts_a_member_that_abstains_as_absent():
    unsure, other = build("longer"), build("direct")
    unsure.threshold = 1.0
    assert said(Panel([unsure, other]), fitting("direct"))["notes"] == ("longer: abstained",)


# there and back


@pytest.mark.parametrize("name", JUDGES)
def test_a_loaded_judge_asks_and_says_the_same_byte_for_byte(name, file):
    judge, case = taught(name), case_for(name)
    save(judge, file)
    loaded = load(file)
    assert requests_of(loaded, case) == requests_of(judge, case)
    assert said(loaded, case) == said(judge, case)
    if judge.stages():
        assert any("Be strict: «" in prompt and "later" in prompt for prompt, _ in requests_of(loaded, case))
        assert requests_of(loaded, case) != requests_of(with_state(name), case)
    judge.threshold = 0.999
    save(judge, file)
    assert said(load(file), case)["status"] == "abstained"


def test_a_server_without_schemas_is_asked_the_same(file):
    judge = taught("pref")
    demo = {"question": "earlier", "count": 1, "factors": [{"name": "taste", "test": "is it good"}]}
    judge.stages()[0].ask.demos = [dspy.Example(**demo)]
    save(judge, file)
    asked = []
    for one in (judge, load(file)):
        lm = ScriptedLM(lambda request: "none", schema=False)
        with dspy.context(lm=lm):
            one(fitting("pref"))
        asked.append([prompt_text(request) for request in lm.requests])
    assert asked[0] == asked[1]
    assert "is it good" in asked[0][0]


def test_demos_of_pydantic_values_are_written_the_same(file):
    from dicast.signatures.pref import Factor

    judge, case = build("pref"), fitting("pref")
    judge.stages()[0].ask.demos = [
        dspy.Example(question="earlier", count=1, factors=[Factor(name="taste", test="is it good")])
    ]
    save(judge, file)
    assert requests_of(load(file), case) == requests_of(judge, case)
    assert any("is it good" in prompt for prompt, _ in requests_of(judge, case))


def test_decision_settings_are_kept(file):
    judge, case = build("implicit"), fitting("implicit")
    judge.ask_yes_no.ask.fields = {"good": {"threshold": 0.7}}
    save(judge, file)
    assert load(file).ask_yes_no.ask.fields == {"good": {"threshold": 0.7}}
    assert said(load(file), case) == said(judge, case)


def test_a_stage_that_dspy_marked_as_compiled_is_saved_too(file):
    judge = taught("fennec")
    judge.judge_pair._compiled = judge._compiled = True
    save(judge, file)
    assert load(file).judge_pair.ask.signature.instructions == judge.judge_pair.ask.signature.instructions
    assert not getattr(load(file).judge_pair, "_compiled", False)


def test_a_panel_is_saved_with_its_members(file):
    panel = Panel([taught("direct"), taught("persona"), taught("explicit")], pool="probability", samples=2)
    panel.members[1].set(setting="tie")
    panel.members[0].bind("openai/one").threshold = 0.1
    panel.members[2].bind("openai/two")
    panel.head, panel.threshold = PairHead(), 0.2
    save(panel, file)
    loaded, case = load(file), fitting("persona")
    assert loaded.settings() == panel.settings()
    assert (loaded.head, loaded.threshold, loaded.members[0].threshold) == (PairHead(), 0.2, 0.1)
    assert [stage.model for stage in loaded.stages()] == [stage.model for stage in panel.stages()]
    for one in (panel, loaded):
        for stage in one.stages():
            stage.model = ""
    assert requests_of(loaded, case) == requests_of(panel, case)
    assert said(loaded, case) == said(panel, case)


def test_a_cascade_is_saved_with_its_members_and_thresholds(file):
    cascade = Cascade([taught("direct"), taught("persona")], thresholds=[0.9, 0.25])
    save(cascade, file)
    loaded, case = load(file), fitting("persona")
    assert [threshold.value for threshold in loaded.thresholds] == [0.9, 0.25]
    assert requests_of(loaded, case) == requests_of(cascade, case)
    assert said(loaded, case) == said(cascade, case)


def test_judges_of_judges_of_judges_are_saved(file):
    inner = Panel([taught("direct"), build("longer")])
    inner.head, inner.members[0].threshold = PairHead(weights={"votes": 2.0}), 0.2
    cascade = Cascade([inner, Cascade([taught("persona")], thresholds=[0.5])], thresholds=[0.9, 0.25])
    save(cascade, file)
    loaded, case = load(file), fitting("persona")
    assert (loaded.members[0].head, loaded.members[0].members[0].threshold) == (inner.head, 0.2)
    assert loaded.settings() == cascade.settings()
    assert said(loaded, case) == said(cascade, case)


def test_a_judge_file_is_built_by_its_name_like_any_judge(file):
    judge, case = taught("direct"), fitting("direct")
    save(judge, file, lm=LM)
    named = build(str(file), order="both")
    assert (named.head, named.order.value, named.prefer.model) == (HEAD, "both", LM)
    assert {stage.model for stage in dicast.judge(str(file)).stages()} == {LM}
    assert {stage.model for stage in dicast.judge(str(file), lm="openai/other").stages()} == {"openai/other"}
    (member,) = build_panel(str(file), ["openai/other"]).members
    assert (member.head, member.prefer.model) == (HEAD, "openai/other")
    for stage in named.set(order=judge.order.value).stages():
        stage.model = ""
    assert requests_of(named, case) == requests_of(judge, case)


@pytest.mark.parametrize(
    ("name", "called"),
    [("fennec", "fennec"), ("a/tone.judge.json", "tone"), ("a/desk.yaml", "desk"), ("v1.2.judge.json", "v1.2")],
)
def test_a_judge_is_called_by_its_name_or_the_stem_of_its_file(name, called):
    assert judge_title(name) == called


def test_a_judge_declared_in_yaml_needs_its_file_no_more(tmp_path, file):
    (tmp_path / "desk.yaml").write_text(YAML)
    judge, case = build(str(tmp_path / "desk.yaml"), order="one"), fitting("direct")
    judge.question.ask.signature = judge.question.ask.signature.with_instructions("Judge <<< anew.")
    save(judge, file)
    (tmp_path / "desk.yaml").unlink()
    assert requests_of(load(file), case) == requests_of(judge, case)
    assert said(load(file), case) == said(judge, case)
    assert read(file).judge.declaration["scale"] == "0..4"


@pytest.mark.slow
def test_a_fresh_process_loads_the_same_judge(file):
    judge, case = taught("fennec"), fitting("fennec")
    save(judge, file)
    code = (
        "import json, sys; from judges import *; from dicast.judging.judge_file import load\n"
        "judge = load(sys.argv[1]); print(json.dumps(requests_of(judge, fitting('fennec'))))"
    )
    path = os.pathsep.join([*filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert json.loads(done.stdout) == [list(one) for one in requests_of(judge, case)]


def test_models_come_back_by_role_and_can_be_given_anew(file):
    judge = build("fennec").bind(f"judge={LM},criteria=openai/small")
    save(judge, file)
    assert {stage.role: stage.model for stage in load(file).stages()} == {
        "criteria": "openai/small", "guideline": LM, "judgment": LM, "correction": LM,
    }  # fmt: skip
    assert {stage.model for stage in load(file, lm="openai/other").stages()} == {"openai/other"}
    save(build("fennec"), file, lm="criteria=openai/small")
    assert read(file).judge.lm == {"criteria": "openai/small"}
    save(build("fennec"), file)
    assert {stage.model for stage in load(file).stages()} == {""}


def test_the_address_that_a_variable_gave_is_kept(file, monkeypatch):
    monkeypatch.setenv("OPENAI_API_BASE", "http://127.0.0.1:9/v1")
    save(build("direct"), file, lm="openai/judge")
    monkeypatch.delenv("OPENAI_API_BASE")
    assert read(file).judge.lm == {"judge": LM}


# keys


@pytest.mark.parametrize(
    "model",
    [
        "openai/judge@http://sk-secret@127.0.0.1:9/v1",
        "openai/judge@http://me:sk-secret@127.0.0.1:9/v1",
        "openai/judge@http://127.0.0.1:9/v1?key=sk-secret",
    ],
)
def test_a_model_string_with_a_key_is_refused_without_repeating_it(model, file, edit):
    for attempt in (
        lambda: save(build("direct"), file, lm=f"judge={model}"),
        lambda: load(edit(judge__lm={"judge": model})),
    ):
        with pytest.raises(DeclarationError, match="'?openai/judge'?: its address holds") as error:
            attempt()
        assert "sk-secret" not in str(error.value)


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """A server, and what judges one case with a judge: the keys that it was sent meanwhile."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-other")
    monkeypatch.setattr("dicast.engines.models._lms", {})
    with MockServer() as server, dspy.context(cache=False):

        def keys(judge: Judge) -> set[str]:
            server.authorizations.clear()
            for stage in judge.stages():
                stage.lm.cache = False
            assert judge(fitting("direct")).status == "scored"
            return set(server.authorizations)

        yield server, keys


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_key_does_not_go_where_a_judge_file_says(provider, asked, file, edit):
    server, keys = asked
    save(build("direct"), file, lm=LM)
    assert keys(load(edit(judge__lm={"judge": f"{provider}/x@{server.url}"}))) == {"Bearer none"}
    panel = Panel([load(file), load(file)])
    save(panel.bind(f"{provider}/x@{server.url}"), file)
    assert keys(load(file)) == {"Bearer none"}


def test_a_key_goes_where_the_user_says(asked, file, monkeypatch):
    server, keys = asked
    model = f"openai/x@{server.url}"
    save(build("direct"), file, lm=model)
    assert keys(load(file, lm=model)) == keys(load(file).bind(model)) == {"Bearer sk-real"}
    monkeypatch.setenv("OPENAI_API_BASE", server.url)
    assert keys(load(file)) == {"Bearer sk-real"}


def test_the_refusal_of_a_server_that_wants_a_key_says_how_it_gets_one(file, monkeypatch):
    def unauthorised(request):
        raise LMAuthError("401 who are you", model="x", provider="openai")

    save(build("direct"), file, lm=LM)
    judge = load(file)
    monkeypatch.setattr("dicast.engines.lm.Transport.complete", lambda self, request: unauthorised(request))
    with pytest.raises(ModelError, match=f"A judge file names this address, so no key was sent. To send it: --lm {LM}"):
        judge(fitting("direct"))


def test_a_refused_key_is_said_in_words_of_the_user():
    with MockServer(faults={"401": 1.0}) as server, pytest.raises(ModelError) as refused:
        build("direct").bind(server.model_string())(fitting("direct"))
    advice = "Check the key of this provider in the environment or in .env."
    assert str(refused.value) == f"model {server.model_string()!r}: fault 401. {advice}"


def test_no_key_of_the_environment_and_no_lm_state_is_written(file, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    judge = taught("direct").bind("openai/judge")
    judge.prefer.ask.lm = dspy.LM("openai/judge", api_key="sk-secret")
    save(judge, file)
    assert "sk-secret" not in file.read_text()
    assert load(file).prefer.ask.lm is None


# the file


def test_a_file_is_written_whole_or_not_at_all(file, monkeypatch):
    save(taught("direct"), file)
    before = file.read_text()
    with pytest.raises(DeclarationError, match="cannot be saved: Object of type Path is not JSON|PosixPath"):
        save(build("direct"), file, training={"folder": Path("here")})
    with pytest.raises(DeclarationError, match="Out of range float values"):
        save(build("direct"), file, certificate={"risk": float("nan")})
    assert file.read_text() == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_the_fingerprint_is_of_what_verdicts_depend_on(file, tmp_path):
    save(taught("direct"), file, training={"seed": 1}, certificate={"risk": 0.1})
    same, other = tmp_path / "same.judge.json", tmp_path / "other.judge.json"
    save(load(file), same, training={"seed": 2})
    assert fingerprint(file) == fingerprint(same)
    judge = load(file)
    judge.head = HEAD.model_copy(update={"intercept": -1.5000000000000002})
    save(judge, other)
    assert fingerprint(other) != fingerprint(file)


def test_training_record_and_certificate_come_back_as_given(file):
    training = {"after": {"hits": 80, "n": 100}, "before": {"hits": 3, "n": 2}, "seeds": [1, 2], "data": "ä"}
    save(build("direct"), file, training=training, certificate={"risk": 0.1})
    found = read(file)
    assert (found.training, found.certificate) == (training, {"risk": 0.1})
    assert (found.accuracy("after").estimate.value, found.accuracy("after").estimate.n) == (0.8, 100)
    assert found.accuracy("before") is None  # more hits than cases are none


def test_a_task_file_that_changed_is_not_taken_for_the_old_one(file, tmp_path):
    task = tmp_path / "reviews.yaml"
    task.write_text("wording: a product review\naspects: {}\n")
    save(build("implicit", task=str(task)), file)
    assert load(file).settings()["task"] == str(task)
    task.write_text("wording: a film review\naspects: {}\n")
    with pytest.raises(DeclarationError, match="reviews.yaml, which is gone or has changed. Bring it back."):
        load(file)


# refusals


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(DeclarationError, match="Give a name that ends in .judge.json."):
        save(build("direct"), tmp_path / "judge.json")


class Loud(Direct):
    """A judge that only its own code can build again."""


@pytest.mark.parametrize("judge", [Loud(), SignatureJudge(Prefer, name="direct"), Panel([Loud()])])
def test_a_judge_that_the_registry_does_not_build_is_refused(judge, file):
    with pytest.raises(DeclarationError, match="is another judge. Register yours|names question, and the program"):
        save(judge, file)
    assert not file.exists()


def test_a_judge_of_an_unknown_name_is_refused(file):
    with pytest.raises(DeclarationError, match="judge 'mine' cannot be saved: judge 'mine': there is no such judge."):
        save(SignatureJudge(Prefer, name="mine"), file)


def test_a_newer_format_says_who_wrote_it_and_what_to_do(edit):
    with pytest.raises(DeclarationError) as error:
        load(edit(format=3, versions={"dicast": "0.9.0"}, judge={"shape": "new"}))
    assert str(error.value).endswith(
        f"tone.judge.json: format 3 was written by dicast 0.9.0, and dicast {__version__} reads formats 1 and 2. "
        "Use the dicast that wrote it, or compile anew."
    )


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"judge__threshold": 1.5}, "field 'judge.threshold' is 1.5: Input should be less than or equal to 1."),
        ({"judge__program": "fenec"}, "judge 'fenec': there is no such judge. Did you mean 'fennec'?"),
        ({"judge__program": "os.system"}, "judge 'os.system': there is no such judge."),
        ({"judge__program": "tone.judge.json"}, "judge 'tone.judge.json': there is no such judge."),
        ({"judge__program": "desk.yaml"}, "judge 'desk.yaml': there is no such judge."),
        ({"judge__extra": 1}, "field 'judge.extra' is 1: Extra inputs are not permitted."),
        ({"judge__settings__order": "sideways"}, "judge 'direct', order: must be one of one, both, got 'sideways'."),
        ({"judge__settings__depth": 3}, "judge 'direct' has no parameter 'depth'."),
        ({"judge__stages__prefer__demos": "none"}, "field 'judge.stages.prefer.demos' is \"none\":"),
        ({"judge__stages__prefer__fields": []}, "field 'judge.stages.prefer.fields' names none, and the program has"),
        ({"judge__stages__prefer__decisions": {"x": {}}}, "field 'judge.stages.prefer.decisions': Decision config"),
        ({"judge__stages": {}}, "field 'judge.stages' names none, and the program has prefer, "),
        ({"judge__learned": {"wisdom": {}}}, "field 'judge.learned' names wisdom, and the program has none."),
        ({"judge__head__kind": "oracle"}, "field 'judge.head'"),
        ({"judge__head__intercept": "high"}, "field 'judge.head.pair.intercept' is \"high\":"),
        ({"judge__lm": {"judge": "gpt"}}, "model 'gpt': a model string has a provider and a name."),
        ({"judge__declaration": {"judges": "cats"}}, "field 'judge.declaration': field 'name': Field required."),
        ({"versions": {}}, "field 'versions' is {}"),
        ({"judge": []}, "field 'judge' is []"),
    ],
    ids=lambda value: "" if isinstance(value, str) else next(iter(value)),
)  # fmt: skip
def test_a_field_that_was_edited_wrongly_is_named_in_one_line(changed, expected, edit):
    path = edit(**changed)
    with pytest.raises(DeclarationError) as error:
        load(path)
    assert str(error.value).startswith(f"judge file {path}: {expected}")
    assert "\n" not in str(error.value)


def test_a_weight_beyond_all_numbers_is_refused(file):
    save(taught("direct"), file)
    file.write_text(file.read_text().replace('"log_odds": 0.1', '"log_odds": 1e999'))
    with pytest.raises(DeclarationError, match=r"judge\.head\.weights\.log_odds.*finite number"):
        load(file)


def test_a_damaged_file_is_refused_in_one_line(file, edit):
    whole = edit().read_text()
    for text, message in [
        (whole[: len(whole) // 2], "is not JSON ("),
        ("", "is not JSON ("),
        (whole.replace('"n": 90', '"n": NaN'), "is not JSON (NaN is no JSON number)"),
        ("[" * 100_000, "lists and objects are nested more than 100 deep"),
        ("[1, 2]", "field 'format' is missing, so it is no judge file."),
        ('{"judge": {}}', "field 'format' is missing, so it is no judge file."),
    ]:
        file.write_text(text)
        with pytest.raises(DeclarationError) as error:
            read(file)
        assert str(error.value).startswith(f"judge file {file}: {message}"), message
        assert "\n" not in str(error.value)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(DeclarationError, match="is UTF-16, not UTF-8"):
        read(file)
    with pytest.raises(DeclarationError, match=r"cannot be read \(No such file or directory\)"):
        read(file.with_name("gone.judge.json"))


# dicast judge --judge FILE


@pytest.fixture
def cases(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": f"case {n}", "query": f"{tmp_path.name} {n}", "response_a": "x", "response_b": "y", "label": "ab"[n % 2]}
        for n in range(4)
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def identity(folder):
    return json.loads((folder / "manifest.json").read_text())["identity"]


def test_a_judge_file_judges_by_its_own_lm_and_is_in_the_signature(cases, capsys):
    with MockServer() as server:
        save(taught("direct"), "tone.judge.json", lm=f"openai/m@{server.url}")
        assert dicast_run(["judge", "--judge", "tone.judge.json", "--cases", "pairs.jsonl", "--json"]) == 0
    record, digest = json.loads(capsys.readouterr().out), fingerprint("tone.judge.json")[:12]
    assert record["out"] == os.path.join("runs", "tone-pairs")
    assert record["evaluation"]["signature"].startswith(
        f"tone@{digest}|grading=pairwise,layout=shared,min_mass=0.025,order=one,"
    )
    assert all("Be strict" in json.dumps(body) for body in server.requests)
    assert identity(cases / "runs" / "tone-pairs")["lm"] == f"openai/m@{server.url}"


def test_settings_and_lm_of_a_judge_file_can_be_overridden(cases, capsys):
    save(build("direct"), "tone.judge.json", lm=LM)
    with MockServer() as server:
        more = ["--lm", f"openai/n@{server.url}", "--order", "one", "--set", "grading=pairwise", "--out", "out"]
        assert dicast_run(["judge", "--judge", "tone.judge.json", "--cases", "pairs.jsonl", "--json", *more]) == 0
    assert len(server.requests) == 4
    assert identity(cases / "out")["settings"]["order"] == "one"


def test_a_run_of_a_judge_file_is_not_continued_by_another_one(cases, capsys):
    with MockServer() as server:
        judge = build("direct")
        arguments = ["judge", "--judge", "tone.judge.json", "--cases", "pairs.jsonl", "--out", "out", "--json"]
        save(judge, "tone.judge.json", lm=f"openai/m@{server.url}")
        assert dicast_run(arguments) == 0
        judge.threshold = 0.99
        save(judge, "tone.judge.json", lm=f"openai/m@{server.url}")
        assert dicast_run(arguments) == 3
    assert "holds a run with judge = 'tone@" in capsys.readouterr().err


def test_abstained_verdicts_are_counted_apart(cases, capsys):
    judge = build("direct")
    judge.threshold = 0.99
    with MockServer() as server:
        save(judge, "tone.judge.json", lm=f"openai/m@{server.url}")
        assert dicast_run(["judge", "--judge", "tone.judge.json", "--cases", "pairs.jsonl", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["evaluation"]["scored"], record["evaluation"]["unscored"]) == (0, {"abstained": 4})


def test_one_case_is_explained_by_a_judge_file(cases, capsys):
    with MockServer() as server:
        save(taught("fennec"), "tone.judge.json", lm=f"openai/m@{server.url}")
        explain = ["--explain", "case 2"]
        assert dicast_run(["judge", "--judge", "tone.judge.json", "--cases", "pairs.jsonl", *explain]) == 0
    assert "human label a" in capsys.readouterr().out


def test_a_judge_file_sits_on_a_panel(cases, capsys):
    save(taught("direct"), "tone.judge.json", lm=LM)
    with MockServer() as first, MockServer() as second:
        panel = ["--panel", f"openai/m@{first.url}", "--panel", f"openai/n@{second.url}", "--pool", "probability"]
        arguments = ["judge", "--judge", "tone.judge.json", "--cases", "pairs.jsonl", "--json", *panel]
        assert dicast_run(arguments) == 0
    assert len(first.requests) == len(second.requests) > 0
    record = json.loads(capsys.readouterr().out)
    assert record["evaluation"]["signature"].startswith(f"panel of tone@{fingerprint('tone.judge.json')[:12]}|")


def test_a_judge_file_without_an_lm_takes_the_usual_one(cases):
    from dicast.workflows import JudgeSpec

    save(build("direct"), "tone.judge.json")
    judge = JudgeSpec("tone.judge.json").build()
    assert {stage.model for stage in judge.stages()} == {"local/qwen2.5-coder-1.5b"}


def test_a_missing_judge_file_is_one_clear_line(cases, capsys):
    assert dicast_run(["judge", "--judge", "gone.judge.json", "--cases", "pairs.jsonl"]) == 3
    assert capsys.readouterr().err == (
        "dicast: judge file gone.judge.json: cannot be read (No such file or directory). "
        "Give a file that ends in .judge.json.\n"
    )
