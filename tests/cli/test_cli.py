"""The command line: exact output, exit codes, one clear line for what is wrong, quick help."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dicast.cli import COMMANDS, run
from dicast.judging import PROGRAMS
from dicast.testing import MockServer


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """An empty working folder and store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("DICAST_DATA", raising=False)
    return tmp_path


def pairs(folder, count=6, name="pairs.jsonl"):
    labels = ["a", "b", "tie"]
    rows = [
        {"query": f"q{n}", "response_a": "long answer", "response_b": "short", "label": labels[n % 3]}
        for n in range(count)
    ]
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return name


def measures(out):
    """The values of `dicast judge --json` by name."""
    return {one["name"]: one["value"] for part in json.loads(out)["evaluation"]["sections"].values() for one in part}


def test_judging_with_a_baseline_prints_the_table(elsewhere, capsys):
    assert run(["judge", "--judge", "longer", "--cases", pairs(elsewhere), "--out", "out"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("longer|lm=none|n=6|data=")
    assert [line.split("  ")[0] for line in out[2:4]] == ["accuracy", "coverage"]
    assert out[-3] == "usage: 0 calls (0 more from the cache), 0 prompt + 0 generated tokens"
    assert "0.333 [0.097, 0.700]" in out[2]  # Wilson, 2 of 6
    assert "1.000 [0.610, 1.000]" in out[3]  # Wilson, 6 of 6
    assert out[-2] == f"verdicts: {os.path.join('out', 'verdicts.jsonl')}"


def test_json_output_is_one_object_and_nothing_else(elsewhere, capsys):
    assert run(["judge", "--judge", "longer", "--cases", pairs(elsewhere), "--out", "out", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    evaluation = record["evaluation"]
    accuracy = next(one for one in evaluation["sections"]["agreement"] if one["name"] == "accuracy")
    assert accuracy["value"] == pytest.approx(2 / 6)
    assert accuracy["n"] == evaluation["scored"] == evaluation["cases"] == 6
    assert record["rejected"] == 0


def test_ties_can_be_left_out_and_a_sample_is_drawn_by_seed(elsewhere, capsys):
    name = pairs(elsewhere, 30)
    arguments = ["judge", "--judge", "longer", "--cases", name, "--json", "--no-ties", "--limit", "10"]
    chosen = []
    for seed in ("1", "1", "2"):
        assert run([*arguments, "--seed", seed, "--out", f"out{len(chosen)}"]) == 0
        lines = (elsewhere / f"out{len(chosen)}" / "verdicts.jsonl").read_text().splitlines()
        chosen.append({json.loads(line)["case_id"] for line in lines})
        assert all(json.loads(line)["label"]["value"] != "tie" for line in lines)
    assert chosen[0] == chosen[1] != chosen[2]
    assert {len(ids) for ids in chosen} == {10}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["judge", "--cases", "nowhere.jsonl"], "dicast: --cases nowhere.jsonl: there is no such file."),
        (["judge", "--cases", "nosuchset"], "dicast: --cases nosuchset: no such file and no such set."),
        (["judge", "--cases", "bad.jsonl"], "dicast: bad.jsonl line 2: field 'label' is \"left\". Use a, b or tie, "
         "or say which it means, as in --values left=a."),
        (["judge", "--cases", "broken.jsonl"], "dicast: broken.jsonl line 1: is not JSON ("),
        (["judge", "--cases", "pairs.jsonl", "--judge", "fenec"], "dicast: judge 'fenec': there is no such judge."),
        (["judge", "--cases", "pairs.jsonl", "--lm", "local/nothing"], "dicast: local/nothing: no such local model."),
        (["judge", "--cases", "pairs.jsonl", "--lm", "gpt"], "dicast: model 'gpt': a model string has a provider"),
        (["judge", "--cases", "pairs.jsonl", "--lm", "nobody/x"], "dicast: model 'nobody/x': the provider 'nobody'"),
        (["judge", "--cases", "pairs.jsonl", "--lm", "openai/x@http://127.0.0.1:9/v1"], "nothing answers at http://127"),
        (["judge", "--cases", "pairs.jsonl", "--lm", "openai/gpt-4o-mini"], "no API key. Set OPENAI_API_KEY"),
        (["judge", "--cases", "pairs.jsonl", "--set", "depth=3"], "no parameter 'depth'. It has: evidence, grading"),
        (["judge", "--cases", "pairs.jsonl", "--branches", "3"], "judge 'direct' has no parameter 'branches'."),
        (["judge", "--cases", "pairs.jsonl", "--budget", "euros=3"], "write calls=, tokens=, cost= or minutes="),
        (["judge", "--cases", "pairs.jsonl", "--scale", "5"], "'5' is no scale; write LO..HI, as in 1..5."),
        (["judge"], "Missing option '--cases'"),
        (["models", "path", "qwen2.5-coder-1.5b"], "dicast: local/qwen2.5-coder-1.5b: not fetched yet."),
        (["data", "path", "pandalmm"], "there is no such data set. Did you mean 'pandalm'"),
        (["nonsense"], "No such command 'nonsense'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_clear_line_and_exit_code_three(elsewhere, capsys, monkeypatch, arguments, message):
    if "openai/gpt-4o-mini" in arguments:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    else:
        monkeypatch.setenv("OPENAI_API_KEY", "never sent")
    pairs(elsewhere)
    good = (elsewhere / "pairs.jsonl").read_text().splitlines()[0]
    (elsewhere / "bad.jsonl").write_text(good + "\n" + good.replace('"label": "a"', '"label": "left"') + "\n")
    (elsewhere / "broken.jsonl").write_text("{not json\n")
    lm = [] if "--lm" in arguments or arguments[0] != "judge" else ["--lm", "openai/gpt-4o-mini"]
    assert run([*arguments, *lm]) == 3
    errors = capsys.readouterr().err
    assert message in errors
    assert "Traceback" not in errors
    assert not (elsewhere / "runs").exists() or arguments[2] in ("bad.jsonl", "broken.jsonl", "pairs.jsonl")
    assert len([line for line in errors.splitlines() if line.startswith(("dicast:", "Error:"))]) == 1


def test_bad_rows_can_be_skipped_and_are_kept_aside(elsewhere, capsys):
    name = pairs(elsewhere, 4)
    with (elsewhere / name).open("a") as file:
        file.write('{"query": "q", "response_a": "x", "response_b": 7}\nnot json\n')
    assert run(["judge", "--judge", "longer", "--cases", name, "--out", "out", "--skip-bad"]) == 0
    out = capsys.readouterr().out
    assert "2 bad rows are in" in out
    rejects = [json.loads(line) for line in (elsewhere / "out" / "rejects.jsonl").read_text().splitlines()]
    assert [reject["line"] for reject in rejects] == [5, 6]
    assert rejects[0]["error"] == "field 'response_b' is 7. Give a text (it may be empty)."


def test_a_server_is_judged_by_with_every_program(elsewhere, capsys):
    name = pairs(elsewhere, 3)
    for program in ("direct", "fennec", "fennec-single", "fennec-correct", "pref"):
        with MockServer() as server:
            arguments = ["judge", "--judge", program, "--cases", name, "--out", program, "--json"]
            assert run([*arguments, "--lm", f"openai/mock@{server.url}", "--readout", "generate"]) == 0
            record = json.loads(capsys.readouterr().out)
            evaluation = record["evaluation"]
            assert evaluation["scored"] == 3
            assert server.request_counts.total() == evaluation["usage"]["calls"]
            assert sum(stage["calls"] for stage in record["stages"].values()) == evaluation["usage"]["calls"]


def test_keys_reach_the_server_and_no_file(elsewhere, capsys, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    name = pairs(elsewhere, 2)
    with MockServer() as server:
        assert run(["judge", "--cases", name, "--out", "out", "--lm", f"openai/keyed@{server.url}"]) == 0
    written = "".join(path.read_text() for path in (elsewhere / "out").iterdir())
    captured = capsys.readouterr()
    assert "sk-very-secret" not in written + captured.out + captured.err


def test_roles_are_answered_by_their_own_models(elsewhere, capsys):
    name = pairs(elsewhere, 1)
    with MockServer() as judging, MockServer() as finding:
        lm = f"judge=openai/j@{judging.url},criteria=openai/c@{finding.url}"
        assert run(["judge", "--judge", "fennec", "--cases", name, "--out", "out", "--lm", lm, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["evaluation"]["usage"]["calls"] == 4
    assert (finding.request_counts.total(), judging.request_counts.total()) == (1, 3)


def readable(body):
    """The token probabilities of a model that answers with what it was offered."""
    return {"A": 0.7, "B": 0.1} if "one letter" in json.dumps(body) else {"4": 0.6, "5": 0.3}


def test_check_tells_what_is_well_and_what_to_mend(elsewhere, capsys):
    name = pairs(elsewhere)
    with MockServer(token_probabilities=readable) as server:
        code = run(["check", "--lm", f"openai/checked@{server.url}", "--cases", name, "--json"])
    found = {line["name"]: line for line in json.loads(capsys.readouterr().out)}
    assert code == 0
    assert "default model" not in found  # another one was named
    data = found[f"data {name}"]
    assert (data["ok"], data["text"]) == (True, "6 cases; labels: 2 a, 2 b, 2 tie")
    (model,) = [line for what, line in found.items() if what.startswith("model openai/")]
    assert model["ok"]
    assert "token probabilities yes (mass read 0.80)" in model["text"]
    assert server.request_counts.total() == 3  # as `check --help` says


def test_check_misses_the_default_model_where_no_other_is_named(elsewhere, capsys):
    assert run(["check", "--json"]) == 3
    found = {line["name"]: line for line in json.loads(capsys.readouterr().out)}
    assert found["default model"]["text"].endswith("is not fetched. dicast models get qwen2.5-coder-1.5b")


def test_what_no_model_of_the_command_needs_is_no_failure(elsewhere, capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with MockServer(token_probabilities=readable) as server:
        assert run(["check", "--lm", f"openai/checked@{server.url}"]) == 0
    out = capsys.readouterr().out
    assert "FAIL" not in out
    assert "-    extra report  not installed; for pages. Run: pip install" in out
    assert run(["check"]) == 3
    assert "FAIL extra local" in capsys.readouterr().out


def test_check_fails_a_model_that_would_mostly_say_something_else(elsewhere, capsys):
    with MockServer(token_probabilities=lambda body: {"<think>": 0.7, "A": 0.2, "4": 0.1}) as server:
        assert run(["check", "--lm", f"openai/checked@{server.url}", "--json"]) == 3
    model = json.loads(capsys.readouterr().out)[-1]
    assert not model["ok"]
    assert "token probabilities are of other tokens: stage 'check', question 'better'" in model["text"]
    assert "hold 20.00% of the probability, less than 50%. The model's first token is '<think>' 70%" in model["text"]


def test_check_asks_the_model_also_when_it_has_answered_before(elsewhere, capsys):
    """The store would answer for a server that has been replaced by a server that gives errors only."""
    with MockServer(token_probabilities=readable) as server:
        for faults, ok in (({}, True), ({"500": 1.0}, False)):
            server.set_faults(faults)
            asked = server.request_counts.total() + server.fault_counts.total()
            assert run(["check", "--lm", f"openai/checked@{server.url}", "--json"]) == (0 if ok else 3)
            (model,) = [
                item for item in json.loads(capsys.readouterr().out) if item["name"].startswith("model openai/")
            ]
            assert model["ok"] == ok
            assert server.request_counts.total() + server.fault_counts.total() > asked


def test_check_counts_bad_rows_and_tells_the_first(elsewhere, capsys):
    (elsewhere / "bad.jsonl").write_text('{"query": "q"}\n{"query": "q"}\n')
    assert run(["check", "--cases", "bad.jsonl", "--json"]) == 3
    record = json.loads(capsys.readouterr().out)[-1]["text"]
    assert record.startswith("2 bad rows of 2; line 1: the columns are query. They have none of the shapes")


def test_list_names_every_program_with_its_calls(elsewhere, capsys):
    assert run(["list", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    rows = {row["name"]: row for row in record["judges"]}
    assert set(rows) == set(PROGRAMS.built_in())
    calls_nothing = [not row["stages"] for row in rows.values()]
    assert calls_nothing == sorted(calls_nothing)
    assert all(row["source"] and row["inputs"] and row["calls"] for row in rows.values())
    assert rows["fennec"]["stages"] == ["criteria", "guideline", "judgment", "correction"]
    assert rows["pref"]["stages"] == ["coverage", "preference", "score"]
    assert [row["name"] for row in record["preparations"]] == [
        "anonymise", "histories", "pairs", "summarise", "titles",
    ]  # fmt: skip
    assert record["engines"] == ["endpoint", "hosted", "local", "transformers"]
    assert "authored" in record["data_sets"]
    assert "accuracy" in record["objectives"]
    assert run(["list"]) == 0
    out = capsys.readouterr().out
    assert "stages criteria -> guideline -> judgment -> correction" in out
    assert "\nengines  endpoint, hosted, local, transformers\n" in out


def test_no_command_knows_a_judge_by_name_but_the_demo():
    """A command works for every judge: no text of its code, help aside, is the name of a judge that asks a model."""
    systems = {name for name, program in PROGRAMS.built_in().items() if program.build().stages()}
    systems -= {"direct", "questions"}  # of which the second is also a field that `dicast list --json` prints
    for path in (Path(__file__).parents[2] / "cli").rglob("*.py"):
        tree = ast.parse(path.read_text())
        texts = {
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        assert path.name == "demo.py" or texts & systems == set(), path.name


def test_list_of_one_judge_prints_every_question_that_it_asks(elsewhere, capsys):
    assert run(["list", "pref"]) == 0
    out = capsys.readouterr().out
    assert "coverage (generate): question, count -> factors" in out
    assert "score (generate or probability): question, profile, guideline, answer -> explanation, factual, score" in out
    assert "You score one answer by the weighted guideline" in " ".join(out.split())
    assert run(["list", "no-such"]) == 3


def test_the_majority_baseline_gives_everybody_the_most_frequent_label(elsewhere, capsys):
    name = pairs(elsewhere, 4)  # a, b, tie, a
    assert run(["judge", "--judge", "majority", "--cases", name, "--out", "out", "--json"]) == 0
    assert measures(capsys.readouterr().out)["accuracy"] == 0.5


def test_pointwise_scores_are_correlated_with_people(elsewhere, capsys):
    rows = [{"query": "q", "response": "x" * n, "score": score} for n, score in ((1, 2), (2, 1), (3, 3), (4, 5))]
    (elsewhere / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run(["judge", "--judge", "longer", "--cases", "texts.jsonl", "--out", "out", "--json"]) == 0
    assert measures(capsys.readouterr().out)["spearman"] == pytest.approx(0.8)  # 1 - 6 * (1 + 1) / (4 * 15)


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom dicast.cli import run\nrun(['--help'])\n"
        "heavy = ('dspy', 'numpy', 'scipy', 'pydantic', 'litellm', 'rich')\n"
        "print(*[module for module in heavy if module in sys.modules], file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stderr.strip() == ""
    assert "LLM judges that agree with your people." in result.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example_and_the_exit_codes_that_matter(command, capsys):
    assert run([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert "Example:" in text
    assert f"dicast {command}" in text
    if command in ("check", "prepare", "judge", "compile", "cascade", "evaluate", "reproduce"):
        assert re.search(r"\b[Ee]xit (code )?", text.replace("--min-coverage", "").partition("Options:")[0])


def test_a_scoring_run_on_a_native_route_never_imports_litellm(elsewhere):
    name = pairs(elsewhere, 1)
    with MockServer() as server:
        code = (
            "import sys\nfrom dicast.cli import run\n"
            f"assert run(['judge', '--cases', {name!r}, '--out', 'out', '--lm', 'openai/x@{server.url}']) == 0\n"
            "assert 'litellm' not in sys.modules"
        )
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize("limit", ["abc", "", "1.5"])
def test_a_setting_that_would_end_the_import_of_dspy_is_named_in_one_line(limit, monkeypatch, capsys):
    monkeypatch.setenv("DSPY_CACHE_LIMIT", limit)
    assert run(["list"]) == 3
    assert capsys.readouterr().err.startswith("dicast: DSPY_CACHE_LIMIT: must be a whole number of bytes")
