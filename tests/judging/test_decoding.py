"""Decoding by role: what is set, where it goes, what is refused, and what a run and a judge file keep of it."""

import json
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request
from judges import PAIR, YAML, by_place, run, with_state

import dicast
from dicast.cli import run as command
from dicast.engines.decoding_values import MOST_SEED
from dicast.errors import DeclarationError
from dicast.judging import PROGRAMS, Panel, build
from dicast.judging.decoding import seed_of_draw
from dicast.judging.judge_file import fingerprint, load, save
from dicast.judging.sampling import sampled
from dicast.judging.stage import Stage
from dicast.preparation.registry import PREPARATIONS
from dicast.signatures.direct import Prefer
from dicast.testing import MockServer, ScriptedLM, answer_fields

WRITTEN: dict[str, Any] = {"readout": "generate", "grading": "pairwise"}
JUDGES = [program.name for program in PROGRAMS]
SET = {"temperature": 0.8, "top_p": 0.9, "max_tokens": 600, "seed": 7}


def configs(requests: list[Request]) -> list[tuple[Any, ...]]:
    config = [request.config for request in requests]
    return [(each.temperature, each.top_p, each.max_tokens, each.seed) for each in config]


# what is sent


def test_what_is_set_for_all_roles_is_sent():
    _, requests = run("direct", PAIR, lambda request: {"better": "A"}, order="one", **WRITTEN, **SET)
    assert configs(requests) == [(0.8, 0.9, 600, 7)]


def test_without_a_setting_requests_are_as_they_were():
    _, requests = run("direct", PAIR, lambda request: {"better": "A"}, order="one", **WRITTEN)
    assert configs(requests) == [(0.0, None, 32, None)]


def test_one_role_is_decoded_differently_whatever_the_order_of_the_settings():
    of_one, of_all = {"judgment.temperature": 0.2}, {"judge.temperature": 0.9}
    for settings in (of_one | {"temperature": 0.9}, of_all | of_one):
        _, requests = run("fennec", PAIR, by_place, branches=1, order="one", **settings)
        temperatures = {"score_a" in answer_fields(request): request.config.temperature for request in requests}
        assert temperatures == {True: 0.2, False: 0.9}


def test_the_settings_name_no_role_where_all_roles_agree():
    assert build("direct", **{"judgment.temperature": 1}).settings()["temperature"] == 1.0
    settings = build("fennec", temperature=0.8, **{"criteria.temperature": None}).settings()
    assert {name: value for name, value in settings.items() if "temperature" in name} == {
        f"{role}.temperature": 0.8 for role in ("guideline", "judgment", "correction")
    }


def test_a_seed_of_the_judge_itself_comes_first():
    judge = build("perse", **{"seed": 3, "judge.seed": 4})
    assert {name: value for name, value in judge.settings().items() if "seed" in name} == {
        "seed": 3, "judgment.seed": 4, "review.seed": 4,
    }  # fmt: skip
    assert build("fennec", **{"judge.seed": 4}).settings() == build("fennec", seed=4).settings()


@pytest.mark.parametrize("name", JUDGES)
def test_what_is_set_is_kept_by_every_judge_that_writes(name: str, tmp_path: Path):
    judge = build(name)
    if not any("generate" in stage.readouts for stage in judge.stages()):
        with pytest.raises(DeclarationError):
            judge.set(temperature=0.5)
        return
    before = judge.settings()
    values = {f"judge.{parameter}": value for parameter, value in SET.items()}
    changed = with_state(name).set(**values)
    for stage in changed.stages():
        assert stage.decoded() == SET
    changed.save(tmp_path / "state.json")
    loaded = build(name)
    loaded.load(tmp_path / "state.json")
    assert loaded.settings() == changed.settings() == changed.deepcopy().settings() == changed.reset_copy().settings()
    assert build(name).set(**values).set(**dict.fromkeys(values)).settings() == before


def test_a_preparation_is_decoded_as_set():
    preparation = PREPARATIONS.find("summarise").build().set(temperature=0.3, **{"summary.seed": 5})
    (stage,) = preparation.stages()
    assert (preparation.settings()["temperature"], stage.decoded()["seed"]) == (0.3, 5)


# samples, second tries, probabilities


def stage_requests(answer: Any, samples: int = 0, default: float = 0.0, **values: Any) -> list[Request]:
    lm = ScriptedLM(answer, cache=True)
    stage = Stage(Prefer, "judgment", temperature=default)
    stage.ask.lm = lm
    for name, value in values.items():
        stage.decoding.set(name, value)
    inputs = {"request": "r", "response_a": "x", "response_b": "y", "aspect": "z"}
    for sample in range(1, samples + 1):
        with sampled(sample):
            stage(**inputs)
    if not samples:
        with pytest.raises(dicast.errors.ParseFailure):
            stage(**inputs)
    return lm.requests


def test_samples_are_drawn_at_the_temperature_that_is_set():
    requests = stage_requests({"better": "A"}, samples=3, temperature=0.4)
    assert [(temperature, top_p) for temperature, top_p, *_ in configs(requests)] == [(0.4, 0.95)] * 3


def test_samples_of_temperature_0_are_one_answer():
    assert len(stage_requests({"better": "A"}, samples=3, temperature=0)) == 1


def test_samples_of_one_seed_have_different_seeds_and_the_same_ones_again():
    seeds = [seed for *_, seed in configs(stage_requests({"better": "A"}, samples=3, seed=1))]
    assert len(set(seeds)) == 3
    assert seeds == [seed for *_, seed in configs(stage_requests({"better": "A"}, samples=3, seed=1))]
    assert not set(seeds) & {seed for *_, seed in configs(stage_requests({"better": "A"}, samples=3, seed=2))}


def test_a_seed_of_a_draw_fits_in_31_bits():
    assert seed_of_draw(7, 0) == 7
    assert all(0 <= seed_of_draw(MOST_SEED, draw) <= MOST_SEED for draw in range(100))


@pytest.mark.parametrize(("set_to", "tries"), [(0, [0.0, 0.7, 0.7]), (0.3, [0.3, 0.7, 0.7]), (1.2, [1.2, 1.2, 1.2])])
def test_an_answer_of_the_wrong_form_is_asked_again_at_no_less_than_0_7(set_to: float, tries: list[float]):
    assert [temperature for temperature, *_ in configs(stage_requests("no", temperature=set_to))] == tries


def test_probabilities_are_read_greedily_and_the_run_says_so(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    judge = build("direct", temperature=0.8)
    assert judge.idle_decoding() == (
        "judge 'direct': judgment.temperature changes nothing, as the answer is read from token probabilities. "
        "--readout generate has it written."
    )
    assert build("direct", readout="generate", temperature=0.8).idle_decoding() == ""
    assert build("perse", readout="probability", temperature=0.8).idle_decoding() == ""  # its review is written
    assert build("direct").idle_decoding() == ""
    rows = [{"id": "1", "query": "q", "response_a": "a", "response_b": "b", "label": "a"}]
    Path("pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with MockServer() as server:
        lm = server.model_string()
        assert command(["judge", "--cases", "pairs.jsonl", "--lm", lm, "--set", "temperature=0.8", "--out", "out"]) == 0
    assert "judgment.temperature changes nothing" in " ".join(capsys.readouterr().err.split())
    assert {body["temperature"] for body in server.requests} == {0.0}


# what is refused


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("temperature", -0.1, "judge 'fennec', temperature: must be between 0 (greedy) and 2, got -0.1."),
        ("temperature", 2.1, "must be between 0 (greedy) and 2, got 2.1."),
        ("temperature", "hot", 'must be a number, got "hot".'),
        ("temperature", True, "must be a number, got true."),
        ("temperature", float("nan"), "must be a number, got NaN."),
        ("top_p", 0, "must be above 0 and at most 1, got 0."),
        ("top_p", 1.01, "must be above 0 and at most 1, got 1.01."),
        ("judgment.max_tokens", 0, "judge 'fennec', judgment.max_tokens: must be between 1 and 2147483647, got 0."),
        ("max_tokens", 2**31, "must be between 1 and 2147483647, got 2147483648."),
        (".temperature", 0.5, "has no parameter '.temperature'. It has: "),
        ("max_tokens", 1.5, "must be a whole number, got 1.5."),
        ("seed", -1, f"must be between 0 and {MOST_SEED}, got -1."),
        (
            "verdict.temperature", 1,
            "judge 'fennec', verdict.temperature: there is no role 'verdict'. Its roles: correction, criteria, "
            "guideline, judge, judgment.",
        ),
        ("judgment.heat", 1, "has no parameter 'judgment.heat'. It has: "),
    ],
)  # fmt: skip
def test_values_and_roles_that_cannot_be_are_refused(setting: str, value: Any, message: str):
    with pytest.raises(DeclarationError) as failure:
        build("fennec", **{setting: value})
    assert message in str(failure.value)


def test_a_role_that_is_only_read_is_refused():
    with pytest.raises(
        DeclarationError, match=r"read from token probabilities, which no decoding changes. Leave it out"
    ):
        build("implicit", **{"score.temperature": 0.5})


def test_a_judge_without_stages_has_no_decoding():
    with pytest.raises(DeclarationError, match=r"^judge 'longer' has no parameter 'temperature'. It has: none.$"):
        build("longer", temperature=0.5)


def test_an_answer_that_was_cut_says_at_how_many_tokens(monkeypatch: pytest.MonkeyPatch):
    with MockServer(answer=lambda body: '{"better": ') as server:
        complete = server.complete

        def cut(body: Any) -> Any:
            reply = complete(body)
            reply["choices"][0]["finish_reason"] = "length"
            return reply

        monkeypatch.setattr(server, "complete", cut)
        judge = dicast.judge("direct", lm=server.model_string(), order="one", max_tokens=5, **WRITTEN)
        with dspy.context(), pytest.raises(dicast.errors.ParseFailure) as failure:
            judge.prefer(readout="generate", request="r", response_a="x", response_b="y", aspect="z")
    assert "it was cut at 5 tokens. Allow more with --set judgment.max_tokens=N." in str(failure.value)


@pytest.mark.parametrize(
    ("answer", "grows"), [("It says one thing and then it says another", True), ("It loops. " * 20, False)]
)
def test_an_answer_that_was_cut_is_asked_again_with_more_room_unless_it_loops(
    answer: str, grows: bool, monkeypatch: pytest.MonkeyPatch
):
    with MockServer(answer=lambda body: answer) as server:
        complete = server.complete

        def cut(body: Any) -> Any:
            reply = complete(body)
            reply["choices"][0]["finish_reason"] = "length"
            return reply

        monkeypatch.setattr(server, "complete", cut)
        judge = dicast.judge("direct", lm=server.model_string(), order="one", **WRITTEN)
        with dspy.context(), pytest.raises(dicast.errors.ParseFailure):
            judge.prefer(readout="generate", request="r", response_a="x", response_b="y", aspect="z")
        first, second = (
            request.get("max_tokens") or request["max_completion_tokens"] for request in server.requests[:2]
        )
        assert second == (4 * first if grows else first)


# records


def test_a_judge_file_without_decoding_is_as_before_and_keeps_its_fingerprint(tmp_path: Path):
    for name in ("direct", "fennec", "explicit"):
        save(build(name), tmp_path / "plain.judge.json")
        record = json.loads((tmp_path / "plain.judge.json").read_text())["judge"]
        assert not {"temperature", "top_p", "max_tokens", "seed"} & set(record["settings"])
        before = fingerprint(tmp_path / "plain.judge.json")
        save(load(tmp_path / "plain.judge.json"), tmp_path / "again.judge.json")
        assert fingerprint(tmp_path / "again.judge.json") == before


def test_a_judge_file_keeps_the_decoding(tmp_path: Path):
    judge = build("fennec", temperature=0.8, **{"judgment.max_tokens": 600})
    save(judge, tmp_path / "drawn.judge.json")
    save(build("fennec"), tmp_path / "greedy.judge.json")
    assert load(tmp_path / "drawn.judge.json").settings() == judge.settings()
    assert fingerprint(tmp_path / "drawn.judge.json") != fingerprint(tmp_path / "greedy.judge.json")


def test_a_state_that_was_saved_before_decoding_was_a_setting_loads():
    judge = build("fennec", temperature=0.8)
    state = {name: value for name, value in judge.dump_state().items() if not name.endswith("decoding")}
    judge.load_state(state)
    assert judge.settings() == build("fennec").settings()


def test_the_members_of_a_panel_are_decoded_each_as_set(tmp_path: Path):
    panel = Panel([build("direct", **WRITTEN), build("direct", **WRITTEN)])
    panel.set(temperature=0.4, **{"members[1].judgment.temperature": 0.9, "members[0].seed": 1})
    stages = [member.stages()[0].decoded() for member in panel.members]
    assert [(stage["temperature"], stage.get("seed")) for stage in stages] == [(0.4, 1), (0.9, None)]
    save(panel, tmp_path / "panel.judge.json")
    assert load(tmp_path / "panel.judge.json").settings() == panel.settings()
    assert {"members[0].temperature", "members[1].temperature", "members[0].seed"} <= set(panel.settings())


def test_a_yaml_judge_declares_its_decoding(tmp_path: Path):
    path = tmp_path / "desk.yaml"
    path.write_text(YAML + "temperature: 0.8\nmax_tokens: 500\nseed: 2\n")
    judge = build(path)
    assert judge.stages()[0].decoded() == {"temperature": 0.8, "max_tokens": 500, "seed": 2}
    save(judge, tmp_path / "desk.judge.json")
    assert load(tmp_path / "desk.judge.json").settings() == judge.settings()
    path.write_text(YAML + "top_p: 0\n")
    with pytest.raises(DeclarationError, match=r"top_p.*must be above 0 and at most 1, got 0"):
        build(path)


def test_a_run_keeps_its_decoding_and_is_not_continued_with_another(tmp_path: Path):
    rows = [{"id": str(n), "query": "q", "response_a": f"a{n}", "response_b": "b", "label": "a"} for n in range(2)]
    with MockServer() as server:
        judge = build("direct", readout="generate", grading="pairwise", order="one", **SET).bind(server.model_string())
        dicast.run(judge, rows, out=tmp_path / "run", limit=1)
        manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
        other = judge.deepcopy().set(temperature=0.7)
        message = r"settings\.temperature = 0\.8, now it is 0\.7"
        with pytest.raises(dicast.errors.RunError, match=message):
            dicast.run(other, rows, out=tmp_path / "run")
        run = dicast.run(judge, rows, out=tmp_path / "run")
    assert manifest["decoding"]["roles"]["judgment"]["prefer"] == SET
    assert manifest["decoding"]["samples"] == {"temperature": 0.7, "top_p": 0.95}
    assert "temperature=0.8" in dicast.evaluate(run).signature
    assert {body["seed"] for body in server.requests} == {7}
    assert len(list(run)) == 2


def test_the_manifest_says_what_is_read(tmp_path: Path):
    rows = [{"id": "1", "query": "q", "response_a": "a", "response_b": "b"}]
    with MockServer() as server:
        dicast.run("direct", rows, out=tmp_path / "run", lm=server.model_string())
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["decoding"]["roles"]["judgment"]["prefer"] == {"readout": "probability"}


def test_answers_of_another_decoding_are_not_taken_from_the_store():
    lm = ScriptedLM({"better": "A"}, cache=True)
    for settings in ({}, *({name: value} for name, value in SET.items()), {"seed": 8}, {"seed": 8}):
        judge = build("direct", order="one", **WRITTEN).set(**settings)
        with dspy.context(lm=lm):
            assert judge(PAIR).status == "scored"
    assert len(lm.requests) == 1 + len(SET) + 1


def test_dicast_list_says_how_each_question_is_decoded(capsys):
    assert command(["list", "persona"]) == 0
    assert "written with temperature=0.7, max_tokens=16, top_p=0.95" in " ".join(capsys.readouterr().out.split())
