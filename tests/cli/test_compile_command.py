"""`dicast compile` on a judge whose accuracy and cost by setting are known: what is printed, written, and refused."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from known_judge import CARE, SPACE, Known

import dicast
from dicast.cli import run
from dicast.data import Case, Finding, Verdict
from dicast.data.split import split
from dicast.engines.jsonl import only_writer
from dicast.judging import PROGRAMS, Program
from dicast.judging.judge import Judge, verdict_of
from dicast.judging.judge_file import read
from dicast.judging.stage import Stage
from dicast.optimizers.recipe import Parts
from dicast.signatures.direct import Prefer
from dicast.testing import MockServer
from dicast.workflows.compilations import LOCK

N = 200
RECIPE = {"space": SPACE, "trials": 18, "head": False, "baseline": None, "risk": 0.3, "parts": Parts().model_dump()}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(PROGRAMS._added, "known", Program("known", Known, "a judge that is known", "-", "pairs", "1"))
    rows = [
        {
            "id": f"{index:04}", "query": f"question {index}", "response_a": "x", "response_b": "yy",
            "label": "ab"[index * 7 % 5 % 2], "meta": {"ease": (index + 0.5) / N},
        }
        for index in range(N)
    ]  # fmt: skip
    write("labels.jsonl", rows)
    Path("recipe.yaml").write_text(json.dumps(RECIPE))


def write(path: str, rows: list[dict[str, Any]]) -> None:
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_what_a_compilation_tells(capsys: pytest.CaptureFixture[str]) -> None:
    """The best structure, its calls and the right verdicts (42 and 58 of 70) follow from the tables of `known_judge`;
    the intervals are those of `evaluate`, whose own tests have their sources."""
    assert run(["compile", "known", "--cases", "labels.jsonl", "--recipe", "recipe.yaml"]) == 0
    printed = capsys.readouterr()
    lines = [line.rstrip() for line in printed.out.splitlines()]
    assert lines.pop(0) == (
        "Better verdicts: accuracy 0.60 -> 0.83, p = 0.00012; its certainty can now be trusted: log-loss 0.78 -> 0.46, "
        "p = 0.0004; fewer errors among the verdicts it is surest of: AURC 0.40 -> 0.17, p = 0.001; costlier: calls "
        "2.00 -> 10, p = 0.0003 (p adjusted for 4 tests, Holm)."
    )
    assert lines[:8] == [
        "",
        "The test part, 70 labels:",
        "            accuracy              kappa                  ECE                   "
        "log-loss              calls  tokens",
        "uncompiled  0.600 [0.483, 0.707]  0.186 [-0.050, 0.402]  0.200 [0.106, 0.345]  "
        "0.778 [0.615, 0.941]  2.0    200",
        "compiled    0.829 [0.724, 0.899]  0.651 [0.431, 0.798]   0.029 [0.003, 0.235]  "
        "0.461 [0.335, 0.586]  10.0   1,000",
        "chance      0.500",
        "majority    0.600 [0.483, 0.707]",
        "longer      0.400 [0.293, 0.517]",
    ]
    assert lines[8:12] == [
        "accuracy +0.229 [+0.120, +0.325] against the uncompiled judge, n = 70, p = 3.05e-05",
        "",
        "Verdicts of certainty 0 or more disagree with people in at most 30 % of cases, with 95 % confidence: of 30 "
        "labelled cases 30 are accepted (100 % [88.6 %, 100 %]), and 1 of these disagree.",
        "Of 70 other labelled cases 70 are accepted, and 12 of these disagree with people: 17.1 % [9.18 %, 28 %], "
        "which is compatible with the certified 30 %.",
    ]
    assert lines[12].startswith(
        "spent: 7,890 calls (0 more from the cache), 710,100 prompt + 78,900 generated tokens, "
    )
    assert lines[13:] == [
        "",
        "judge: compiled/known-labels/known.judge.json",
        "page:  compiled/known-labels/report.html",
        "more:  dicast show compiled/known-labels/known.judge.json",
    ]
    steps = [line for line in printed.err.splitlines() if not line.startswith(("structure  trial ", "judged "))]
    assert steps[:8] == [
        "split  train 70, select 30, certify 30, test 70",
        "certify  a certificate of 30 % at 95 % takes 9 groups with accepted verdicts if none has an error, 49 for an "
        "80 % chance at a disagreement of 15 %; the certify part has 30 groups",
        "structure  tried: 18 structures on 1,500 cases; 5 stopped, 0 unusable",
        "structure  ended: trials",
        "structure  chosen: trial 12 (best): care=careful, votes=5",
        "structure  accuracy: 0.890, at the start 0.670",
        "structure  difference: +0.220 [+0.137, +0.303], better than the start; on the cases that chose it",
        "structure  calls: 10.0 a verdict, at the start 2.0",
    ]
    assert Path("compiled/known-labels/report.html").exists()


def test_another_seed_in_another_folder_is_another_test_of_the_same_cases(capsys: pytest.CaptureFixture[str]) -> None:
    tests = []
    for seed in "123":
        command = ["compile", "known", "--cases", "labels.jsonl", "--recipe", "recipe.yaml", "--json", "--out", seed]
        run([*command, "--seed", seed, "--trials", "2"])
        tests.append(json.loads(capsys.readouterr().out)["result"])
    assert [result["looks"]["number"] for result in tests] == [1, 2, 3]
    for factor, result in zip((1, 2, 6), tests, strict=True):
        (test,) = (test for test in result["comparisons"][0]["tests"] if test["name"] == "accuracy")
        assert test["p_looks"] == pytest.approx(min(1, factor * test["p"]))
    assert "third test of these cases (" in tests[2]["summary"]
    assert run(["show", "3/known.judge.json"]) == 0
    shown = capsys.readouterr().out
    assert "test 3: " in shown
    judges = (("before", "uncompiled"), ("after", "compiled"))
    figures = dict(re.findall(r"^ +(\w+): (accuracy \d[^\]]*\])", shown, re.MULTILINE))
    assert all(figures[first] == figures[second] for first, second in judges), figures  # one figure, one interval


def test_a_judge_that_does_not_beat_what_costs_nothing_is_reported_so(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [json.loads(line) for line in Path("labels.jsonl").read_text().splitlines()]
    write("labels.jsonl", [row | {f"response_{row['label']}": "the longer one"} for row in rows])
    command = ["compile", "known", "--cases", "labels.jsonl", "--recipe", "recipe.yaml", "--trials", "0"]
    assert run(command) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "It is worse than longer: accuracy -0.400 [-0.508, -0.270].",
        "Worse than a baseline: same verdicts.",
    ]
    assert (
        "Next: Use longer, or try a stronger model (--lm) or another program; more labels do not make this one better."
        in lines
    )
    assert lines[10] == "Not shown to be better than longer, majority."


def test_a_baseline_with_settings_is_shown_beside_the_judge(capsys: pytest.CaptureFixture[str]) -> None:
    baseline = {"judge": "known", "set": {"care": "careful", "votes": 5}}
    Path("recipe.yaml").write_text(json.dumps(RECIPE | {"trials": 0, "baseline": baseline}))
    assert run(["compile", "known", "--cases", "labels.jsonl", "--recipe", "recipe.yaml"]) == 1
    table, training = capsys.readouterr().out.splitlines()[4:8], read("compiled/known-labels/known.judge.json").training
    assert [line.split("  ")[0] for line in table[1:]] == ["known (care=careful, votes=5)", "uncompiled", "compiled"]
    assert str(training["summary"]).endswith("; not shown to be better than known (care=careful, votes=5), majority")


def test_the_judge_itself_is_no_baseline(capsys: pytest.CaptureFixture[str]) -> None:
    Path("recipe.yaml").write_text(json.dumps(RECIPE | {"trials": 0, "baseline": "known"}))
    assert run(["compile", "known", "--cases", "labels.jsonl", "--recipe", "recipe.yaml"]) == 2
    assert capsys.readouterr().out.splitlines()[4].startswith("uncompiled")


def test_only_short_cases_are_taken(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [json.loads(line) for line in Path("labels.jsonl").read_text().splitlines()]
    write("labels.jsonl", [row | {"response_a": "x" * (1 + number)} for number, row in enumerate(rows)])
    most = len("question 119") + len("yy") + 120
    command = ["compile", "known", "--cases", "labels.jsonl", "--recipe", "recipe.yaml", "--trials", "0"]
    assert run([*command, "--max-chars", str(most)]) in (0, 2)
    parts = json.loads(Path("compiled/known-labels/split.json").read_text())
    assert sorted(one for part in parts.values() for one in part) == [f"{number:04}" for number in range(120)]


def test_too_few_labels_end_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compile", "known", "--cases", "labels.jsonl", "--limit", "30"]) == 2
    assert "compile: 30 labelled cases; at least 40 are needed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--recipe", "none.yaml"], "recipe none.yaml: cannot be read"),
        (
            ["--objective", "beauty"],
            "Invalid value for '--objective': 'beauty' is not one of 'log-loss', 'brier', 'ndcg', ",
        ),
        (["--set", "care=none"], "judge 'known'"),
        (["--budget", "euros=3"], "write calls=, tokens=, cost= or minutes="),
        (["--prompts", "copro"], "'copro' is not one of"),
        (["--resume"], "--resume: compiled/known-labels holds no compilation"),
        (["--seed", "-1"], "-1 is not in the range x>=0"),
        (["--recipe", "latin.yaml"], "recipe latin.yaml: byte 11 (0xe9, 'é' in Latin-1) is not UTF-8."),
        (["--recipe", "seed.yaml"], "recipe seed.yaml: field 'seed' is -1"),
        (["--out", "labels.jsonl/sub"], "labels.jsonl: is no folder."),
        (["--max-chars", "1"], "--cases labels.jsonl: holds no case, or none that the options leave"),
        (["--prompts", "gepa"], "judge 'known' asks no model, so there is no prompt to optimise"),
    ],
)
def test_what_is_wrong_is_one_clear_line(capsys: pytest.CaptureFixture[str], more: list[str], message: str) -> None:
    Path("latin.yaml").write_bytes(b"objective: \xe9")
    Path("seed.yaml").write_text("seed: -1")
    assert run(["compile", "known", "--cases", "labels.jsonl", *more]) == 3
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_model_that_writes_prompts_is_looked_for_before_anything_is_judged(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setitem(PROGRAMS._added, "answering", Program("answering", Answering, "knows", "-", "pairs", "1"))
    with MockServer() as server:
        words = ["compile", "answering", "--cases", "labels.jsonl", "--lm", f"openai/x@{server.url}"]
        assert run([*words, "--prompts", "gepa", "--prompt-lm", "openai/y@http://127.0.0.1:9/v1"]) == 3
    assert "nothing answers at http://127.0.0.1:9/v1" in capsys.readouterr().err
    assert not Path("compiled").exists()


def test_bad_rows_are_left_out_when_asked_to(capsys: pytest.CaptureFixture[str]) -> None:
    with Path("labels.jsonl").open("a") as file:
        file.write('{"id": "bad", "query": "no responses"}\n')
    command = ["compile", "known", "--cases", "labels.jsonl", "--recipe", "recipe.yaml"]
    assert run(command) == 3
    assert run([*command, "--skip-bad"]) == 0
    assert "1 bad rows are in compiled/known-labels/rejects.jsonl" in capsys.readouterr().err


def test_a_folder_of_another_compilation_names_what_differs(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compile", "known", "--cases", "labels.jsonl", "--recipe", "recipe.yaml"]
    assert run(command) == 0
    assert run([*command, "--seed", "4"]) == 3
    error = capsys.readouterr().err
    assert (
        "holds a compilation with recipe.seed = 0, now it is 4. Compile with the same again, or give another" in error
    )


def test_a_compilation_that_ended_before_any_verdict_is_not_in_the_way(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    command = ["compile", "direct", "--cases", "labels.jsonl", "--trials", "0", "--seed"]
    assert run([*command, "1", "--lm", "openai/gpt-4o"]) == 3
    assert "no API key" in capsys.readouterr().err
    with MockServer() as server:
        assert run([*command, "2", "--lm", f"openai/other@{server.url}"]) in (0, 1, 2)
        assert "holds a compilation" not in capsys.readouterr().err
        assert run([*command, "3", "--lm", f"openai/other@{server.url}"]) == 3
    assert "holds a compilation with recipe.seed = 2, now it is 3" in capsys.readouterr().err


def test_a_judge_that_became_worse_ends_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CARE, "careful", 0.97)  # what the search believes of the cases it sees
    recipe = RECIPE | {"space": {"care": ["careful"]}, "trials": 2}
    Path("recipe.yaml").write_text(json.dumps(recipe))
    original = Known.assess

    def assess(self: Known, case: Case) -> Verdict:
        verdict: Verdict = original(self, case)
        hidden = case.id in tested and self.care.value == "careful"
        return verdict if not hidden else verdict.swapped()

    found = split_of("labels.jsonl")
    tested = set(found["test"])
    monkeypatch.setattr(Known, "assess", assess)
    assert run(["compile", "known", "--cases", "labels.jsonl", "--recipe", "recipe.yaml"]) == 1


def split_of(path: str) -> dict[str, list[str]]:
    cases = list(dicast.read_cases(path))
    return {
        name: [one.id for one in part] for name, part in split(cases, parts=Parts().proportions(certify=True)).items()
    }


def test_a_second_call_tells_the_same_and_judges_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compile", "known", "--cases", "labels.jsonl", "--recipe", "recipe.yaml", "--json"]
    assert run(command) == 0
    first = json.loads(capsys.readouterr().out)
    before = Path(first["judge"]).read_bytes()
    assert run([*command, "--resume"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert {**again, "spent": first["spent"]} == first
    assert read(first["judge"]).judge.settings["care"] == "careful"
    assert json.loads(before)["judge"] == json.loads(Path(first["judge"]).read_text())["judge"]


class Answering(Judge):
    """Right where the model `openai/right` answers; asks nobody."""

    name = "answering"

    def __init__(self) -> None:
        super().__init__()
        self.prefer = Stage(Prefer, "judgment")

    def assess(self, case: Case) -> Verdict:
        assert case.label is not None
        right = self.prefer.model == "openai/right" or case.meta["ease"] < 0.5
        said = str(case.label.winner) if right else "tie"
        return verdict_of(
            case, [Finding(criterion="x", distribution={"a": 0.05, "b": 0.05, "tie": 0.05} | {said: 0.9})]
        )


def test_cases_of_every_earlier_compilation_are_seen(capsys: pytest.CaptureFixture[str]) -> None:
    """A judge file that is compiled again keeps its prompts, so the cases that they came from are not new to it."""
    rows = [json.loads(line) for line in Path("labels.jsonl").read_text().splitlines()]
    write("first.jsonl", rows[:60])
    write("second.jsonl", rows[60:120])
    run(["compile", "longer", "--cases", "first.jsonl", "--out", "one"])
    run(["compile", "one/longer.judge.json", "--cases", "second.jsonl", "--out", "two"])
    capsys.readouterr()
    for name in ("first", "second"):
        assert run(["check", "--judge", "two/longer.judge.json", "--cases", f"{name}.jsonl"]) == 3
        assert "was compiled on all of these 60 cases" in capsys.readouterr().err
    run(["show", "two/longer.judge.json"])
    assert "cases: digests of 120 cases" in capsys.readouterr().out


def test_a_second_compilation_in_the_same_folder_waits(capsys: pytest.CaptureFixture[str]) -> None:
    with only_writer(Path("out") / LOCK, Path("out")):
        assert run(["compile", "longer", "--cases", "labels.jsonl", "--out", "out"]) == 3
    assert "dicast: out: in use, another process is writing here." in capsys.readouterr().err


def test_a_ledger_that_cannot_be_written_is_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("file").write_text("")
    monkeypatch.setenv("DICAST_HISTORY", "file/history")
    run(["compile", "longer", "--cases", "labels.jsonl", "--out", "out"])
    assert "ledger  this machine does not remember the tested cases (file/history: " in capsys.readouterr().err


def test_one_group_is_a_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [json.loads(line) | {"group": "all"} for line in Path("labels.jsonl").read_text().splitlines()]
    write("labels.jsonl", rows)
    assert run(["compile", "longer", "--cases", "labels.jsonl", "--out", "out"]) == 3
    assert "1 group cannot fill 3 folds. Give cases of more groups" in capsys.readouterr().err


def test_the_model_that_the_search_chose_is_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROGRAMS._added, "answering", Program("answering", Answering, "knows", "-", "pairs", "1"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    recipe = {"space": {"model": ["openai/wrong", "openai/right"]}, "trials": 3, "head": False, "baseline": None}
    Path("recipe.yaml").write_text(json.dumps(recipe))
    words = ["compile", "answering", "--cases", "labels.jsonl", "--recipe", "recipe.yaml", "--lm", "openai/wrong"]
    assert run(words) == 0
    assert read("compiled/answering-labels/answering.judge.json").judge.lm == {"judge": "openai/right"}


@pytest.mark.parametrize(
    ("limits", "problem"),
    [("calls=1,calls=2", "'calls' is there twice"), ("dollars=1", "write one of calls"), ("calls=nan", "over 0")],
)
def test_limits_of_a_verdict_that_say_nothing_are_refused(
    capsys: pytest.CaptureFixture[str], limits: str, problem: str
) -> None:
    assert run(["compile", "known", "--cases", "labels.jsonl", "--per-verdict", limits]) == 3
    assert problem in capsys.readouterr().err


def test_a_missing_key_of_the_lm_that_proposes_questions_is_noticed_before_any_verdict(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with MockServer() as server:
        asked = ["compile", "questions", "--set", "bank=short", "--cases", "labels.jsonl", "--trials", "0"]
        asked += ["--lm", f"openai/mock@{server.url}", "--criteria", "learn", "--criteria-lm", "openai/gpt-4.1-mini"]
        assert run(asked) == 3
        assert not server.requests
    assert "model 'openai/gpt-4.1-mini': no API key. Set OPENAI_API_KEY" in capsys.readouterr().err
