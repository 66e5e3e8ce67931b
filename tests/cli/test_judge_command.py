"""`dicast judge` beyond one plain run: one case explained, panels, samples, learned priorities, refusals left out."""

import json

import pytest

from dicast.cli import run
from dicast.testing import MockServer


@pytest.fixture
def cases(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": f"case {n}", "query": f"{tmp_path.name} {n}", "response_a": "x", "response_b": "y", "label": "ab"[n % 2]}
        for n in range(4)
    ]
    rows[3]["response_b"] = "I'm sorry, but I cannot help with that."
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def judge(server, *more):
    return run(["judge", "--cases", "pairs.jsonl", "--lm", f"openai/m@{server.url}", *more])


def test_explain_prints_the_whole_tree_of_one_case(cases, capsys):
    with MockServer() as server:
        assert judge(server, "--judge", "fennec", "--branches", "1", "--explain", "case 2") == 0
    out = capsys.readouterr().out
    for message in ("case 2", "some text", "order a, b", "order b, a", "human label a", "criteria: 1 calls"):
        assert message in out, message
    assert not (cases / "runs").exists()


def test_explain_as_json_is_the_verdict(cases, capsys):
    with MockServer() as server:
        assert judge(server, "--explain", "case 1", "--json") == 0
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["case_id"] == "case 1"
    assert len(verdict["findings"]) == 3


def test_explaining_a_case_that_is_not_there_names_a_close_one(cases, capsys):
    with MockServer() as server:
        assert judge(server, "--explain", "case 9") == 3
    assert "--explain case 9: no case of pairs.jsonl has this id. One of 4 is 'case" in capsys.readouterr().err


def test_explaining_a_fitted_baseline_fits_it_first(cases, capsys):
    assert run(["judge", "--judge", "majority", "--cases", "pairs.jsonl", "--explain", "case 0"]) == 0
    assert "winner a" in capsys.readouterr().out


def test_a_panel_asks_every_member_and_names_them_in_the_signature(cases, capsys):
    with MockServer() as first, MockServer() as second:
        models = [f"openai/m@{first.url}", f"openai/n@{second.url}"]
        arguments = ["judge", "--cases", "pairs.jsonl", "--set", "grading=pairwise", "--out", "out", "--json"]
        assert run([*arguments, "--panel", models[0], "--panel", models[1], "--pool", "probability"]) == 0
    assert len(first.requests) == len(second.requests) == 4 * 2
    record = json.loads(capsys.readouterr().out)["evaluation"]
    assert record["signature"].startswith("panel of direct|")
    assert f"lm={models[0]} + {models[1]}" in record["signature"]
    lines = (cases / "out" / "verdicts.jsonl").read_text().splitlines()
    members = {finding["member"] for line in lines for finding in json.loads(line)["findings"]}
    assert members == set(models)


def test_samples_draw_written_answers_anew(cases, capsys):
    arguments = ("--readout", "generate", "--set", "grading=pairwise", "--order", "one", "--limit", "1")
    with MockServer() as server:
        assert judge(server, *arguments, "--samples", "3", "--out", "out", "--json") == 0
    assert [body["temperature"] for body in server.requests] == [0.7] * 3
    assert json.loads(capsys.readouterr().out)["evaluation"]["usage"]["calls"] == 3


def test_lm_and_panel_together_are_refused(cases, capsys):
    assert run(["judge", "--cases", "pairs.jsonl", "--lm", "openai/a", "--panel", "openai/b"]) == 3
    assert "--lm and --panel both name models" in capsys.readouterr().err


def test_priorities_are_learned_from_a_run_and_are_in_the_manifest(cases, capsys):
    def reply(body):
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
        return {"criteria": ["style: nice", "truth: right"]} if set(schema) == {"criteria"} else None

    with MockServer(answer=reply) as server:
        assert judge(server, "--judge", "fennec", "--branches", "2", "--out", "all", "--json") == 0
        more = ("--branches", "2", "--set", "keep=1", "--learn", "all", "--out", "kept", "--json")
        capsys.readouterr()
        assert judge(server, "--judge", "fennec", *more) == 3
        assert "fennec learned from all of these 4 cases. Give cases that are new to it." in capsys.readouterr().err
        new = {"id": "new", "query": "What is new?", "response_a": "some", "response_b": "none", "label": "a"}
        with (cases / "pairs.jsonl").open("a") as file:
            file.write(json.dumps(new) + "\n")
        assert judge(server, "--judge", "fennec", *more) == 0
    assert "fennec has learned from 4 of the cases: they are left out ('case 0'" in capsys.readouterr().err
    identity = json.loads((cases / "kept" / "manifest.json").read_text())["identity"]
    assert set(identity["learned"]["priorities"]["shares"]) == {"style", "truth"}
    assert identity["settings"]["priority"] == "learned"
    lines = (cases / "kept" / "verdicts.jsonl").read_text().splitlines()
    assert all(len({finding["criterion"] for finding in json.loads(line)["findings"]}) == 1 for line in lines)


def test_a_judge_without_branches_cannot_learn(cases, capsys):
    with MockServer() as server:
        assert judge(server, "--out", "first", "--json") == 0
        assert judge(server, "--learn", "first", "--out", "second") == 3
    assert (
        "judge 'direct' cannot learn from a run. These can: fennec, fennec-single, fennec-correct."
        in capsys.readouterr().err
    )


def test_learning_from_a_folder_without_a_run_is_one_clear_line(cases, capsys):
    assert run(["judge", "--judge", "fennec", "--cases", "pairs.jsonl", "--learn", "."]) == 3
    assert "has no manifest.json, so it is not a run folder" in capsys.readouterr().err


def kept(capsys, *options, name="longer"):
    assert run(["judge", "--judge", name, "--cases", "pairs.jsonl", "--out", "out", "--json", *options]) == 0
    printed = capsys.readouterr()
    return json.loads(printed.out)["evaluation"]["cases"], printed.err


def person_pairs(folder, *texts, systems=("m1", "m2")):
    rows = [
        {"id": f"p{n}", "query": "q", "response_a": f"Yes {n}.", "response_b": text, "label": "a"}
        | {"profile": {"kind": "persona", "features": {"age": "30"}}, "system_a": systems[0], "system_b": systems[1]}
        for n, text in enumerate(texts)
    ]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize("option", [("--refusals", "opening"), ("--no-refusals",)])
def test_cases_whose_responses_open_as_a_refusal_can_be_left_out(cases, capsys, option):
    count, said = kept(capsys, *option)
    assert count == 3
    assert "1 of 4 cases are left out: a response opens as a refusal does. --refusals keep judges them too." in said


def test_a_plain_judge_keeps_refusals(cases, capsys):
    assert kept(capsys)[0] == 4


def test_the_persona_judge_leaves_out_responses_of_an_ai_as_the_paper_does_and_says_so(cases, capsys):
    person_pairs(cases, "No.", "As a chatbot I can't take sides.", "Well, as an AI I try to stay neutral.")
    with MockServer() as server:
        lm = ("--lm", f"openai/m@{server.url}")
        count, said = kept(capsys, *lm, name="persona")
        assert count == 1
        assert "2 of 3 cases are left out: a response names an AI, a language model or a chatbot." in said
        identity = json.loads((cases / "out" / "manifest.json").read_text())["identity"]
        assert identity["refusals"] == "ai-words"
        assert kept(capsys, *lm, "--refusals", "keep", "--out", "all", name="persona")[0] == 3
        assert kept(capsys, *lm, "--set", "question=wrote", "--out", "wrote", name="persona")[0] == 3


@pytest.mark.parametrize(("system", "left"), [("gpt-4o", 2), ("GPT-4o", 2), ("gpt*", 1), ("gpt", 3)])
def test_cases_with_a_response_of_the_judge_s_own_model_can_be_left_out(cases, capsys, system, left):
    rows = [("gpt-4o", "m"), ("m", "gpt-3.5-turbo"), ("m", "command-r")]
    lines = [
        {
            "id": f"{n}",
            "query": "q",
            "response_a": f"{n}",
            "response_b": "yes",
            "label": "a",
            "system_a": a,
            "system_b": b,
        }
        for n, (a, b) in enumerate(rows)
    ]
    (cases / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    count, said = kept(capsys, "--not-by", system)
    assert count == left
    assert (f"{3 - left} of 3 cases are left out: a response is by {system}." in said) == (left < 3)
    assert ("--not-by: no response is by gpt, so no case is left out for it." in said) == (left == 3)
    assert json.loads((cases / "out" / "manifest.json").read_text())["identity"]["not_by"] == [system]


def test_filters_that_leave_no_case_are_named(cases, capsys):
    row = {"id": "1", "query": "q", "response_a": "x", "response_b": "y", "label": "a", "system_a": "gpt-4o"}
    (cases / "pairs.jsonl").write_text(json.dumps(row) + "\n")
    assert run(["judge", "--judge", "longer", "--cases", "pairs.jsonl", "--not-by", "gpt*"]) == 3
    said = " ".join(capsys.readouterr().err.split())
    assert "none that the options leave. Give others. 1 of 1 cases are left out: a response is by gpt*." in said
    assert run(["judge", "--judge", "longer", "--cases", "pairs.jsonl", "--not-by", " "]) == 3
    assert "not_by: (' ',) is no list of systems." in capsys.readouterr().err


def test_a_filter_of_systems_that_no_response_names_is_said(cases, capsys):
    assert "--not-by: no response names its system, so no case is left out for it." in kept(capsys, "--not-by", "m")[1]


def test_an_edited_task_file_is_another_run(cases, capsys):
    (cases / "reviews.yaml").write_text("wording: a product review\naspects: {}\n")
    arguments = ("--judge", "implicit", "--set", "task=reviews.yaml", "--out", "out", "--json")
    with MockServer() as server:
        judge(server, *arguments)
        assert "reviews@" in json.loads((cases / "out" / "manifest.json").read_text())["identity"]["settings"]["task"]
        (cases / "reviews.yaml").write_text("wording: a film review\naspects: {}\n")
        assert judge(server, *arguments) == 3
    assert "holds a run with settings" in capsys.readouterr().err
