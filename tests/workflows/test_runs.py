"""`dicast.run` and the folder that it shares with `dicast judge`: killed in one, continued in the other."""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from inspect import iscoroutinefunction, signature
from pathlib import Path

import pytest

import dicast
from dicast.cli import run as command
from dicast.data import Judged, Verdict
from dicast.engines.batch import read_verdicts
from dicast.errors import DataError, DeclarationError, RunError
from dicast.judging import Panel
from dicast.testing import MockServer
from dicast.workflows import CaseSource, JudgeSpec, Progress, Run, RunSpec, open_run
from dicast.workflows.given_cases import case_source
from dicast.workflows.judge_spec import judge_spec, same_judge

OLD = Path(__file__).parent / "old_run"
ROWS = [
    {
        "id": str(n),
        "query": f"Name number {n}.",
        "response_a": "x" * n,
        "response_b": "four",
        "label": "ab"[n % 2],
        "group": f"g{n // 3}",
    }
    for n in range(1, 25)
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working folder with pairs.jsonl, and a store of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    Path("pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return tmp_path


def ids(path="out"):
    return Counter(judged.case_id for judged in read_verdicts(Path(path)))


def kill_when_some_are_judged(*arguments):
    """Run Python in another process and end it by SIGKILL once it has written a few verdicts."""
    environment = os.environ | {"DICAST_ANSWERS": str(Path("cache").absolute())}
    process = subprocess.Popen([sys.executable, *arguments], env=environment)
    verdicts, deadline = Path("out/verdicts.jsonl"), time.monotonic() + 120
    while not verdicts.exists() or verdicts.read_bytes().count(b"\n") < 3:
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline, "it wrote nothing"
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert 0 < sum(ids().values()) < len(ROWS)


def assert_whole_and_equal_by_both(capsys):
    """Every case has one verdict, and Python evaluates the folder as the command line does."""
    assert ids() == Counter(str(row["id"]) for row in ROWS)
    capsys.readouterr()
    assert command(["evaluate", "out", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)["evaluation"]
    assert dicast.evaluate("out").model_dump(mode="json") == printed
    assert open_run("out").evaluate().model_dump(mode="json") == printed
    assert printed["cases"] == len(ROWS)


@pytest.mark.fault
@pytest.mark.parametrize("cases", ["'pairs.jsonl'", "rows"])
def test_a_python_run_that_was_killed_is_continued_by_the_command_line(cases, capsys):
    Path("rows.json").write_text(json.dumps(ROWS))
    with MockServer(delay=0.03) as server:
        lm = server.model_string()
        script = f"""
import json, dicast
rows = json.load(open("rows.json"))
dicast.run(dicast.judge("direct", lm={lm!r}), {cases}, out="out", workers=2)
"""
        kill_when_some_are_judged("-c", script)
        source = "pairs.jsonl" if "pairs" in cases else "out/cases.jsonl"
        assert command(["judge", "--judge", "direct", "--cases", source, "--lm", lm, "--out", "out"]) == 0
    assert_whole_and_equal_by_both(capsys)


@pytest.mark.fault
def test_a_command_that_was_killed_is_continued_in_python(capsys):
    with MockServer(delay=0.03) as server:
        lm = server.model_string()
        options = ["--judge", "direct", "--cases", "pairs.jsonl", "--lm", lm, "--no-ties", "--workers", "2"]
        kill_when_some_are_judged("-m", "dicast", "judge", *options, "--out", "out")
        run = dicast.run(dicast.judge("direct", lm=lm), "pairs.jsonl", out="out", no_ties=True)
    assert (run.status, run.rejected, run.path) == ("complete", 0, Path("out"))
    assert_whole_and_equal_by_both(capsys)


@pytest.mark.parametrize(
    ("spec", "built"),
    [
        (JudgeSpec("direct", "openai/m@http://h/v1"), lambda: dicast.judge("direct", lm="openai/m@http://h/v1")),
        (
            JudgeSpec("fennec", "criteria=openai/a@http://h/v1,openai/b@http://h/v1", {"branches": 3}),
            lambda: dicast.judge("fennec", lm="criteria=openai/a@http://h/v1,openai/b@http://h/v1", branches=3),
        ),
        (
            JudgeSpec("direct", panel=("openai/a@http://h/v1", "openai/b@http://h/v1"), pool="mean"),
            lambda: Panel([dicast.judge("direct", lm=f"openai/{name}@http://h/v1") for name in "ab"], pool="mean"),
        ),
        (JudgeSpec("saved.judge.json"), lambda: dicast.judge("saved.judge.json", trust=True)),
        (JudgeSpec("longer"), lambda: dicast.judge("longer")),
    ],
    ids=["direct", "roles", "panel", "judge file", "no model"],
)
def test_a_built_judge_continues_the_run_of_the_same_judge_by_name(spec, built):
    saved = dicast.judge("direct", lm="openai/m@http://h/v1")
    saved.stages()[0].ask.signature = saved.stages()[0].ask.signature.with_instructions("Which one is shorter?")
    dicast.save(saved, "saved.judge.json")
    runs = [RunSpec(judge, case_source("pairs.jsonl"), 5, 1) for judge in (judge_spec(spec), judge_spec(built()))]
    by_name, by_object = (run.identity(run.judge.build()) for run in runs)
    assert same_judge(by_name, by_object, built()) == by_name
    assert same_judge(by_object, by_name, spec.build()) == by_object


def test_a_judge_that_learned_something_else_does_not_continue_a_run():
    judge = dicast.judge("longer")
    dicast.run(judge, ROWS, out="out", limit=3)
    for other, difference in [
        (dicast.judge("majority"), "judge = 'longer', now it is 'majority'"),
        (JudgeSpec("longer", samples=3), "judge = 'longer', now it is 'panel of longer'"),
    ]:
        with pytest.raises(RunError, match=f"out: holds a run with {difference}"):
            dicast.run(other, ROWS, out="out")
    with MockServer() as server:
        judge = dicast.judge("direct", lm=server.model_string())
        dicast.run(judge, ROWS, out="tuned", limit=2)
        stage = judge.stages()[0]
        stage.ask.signature = stage.ask.signature.with_instructions("Which one is shorter?")
        with pytest.raises(RunError, match="tuned: holds a run with judge = 'direct', now it is 'direct@"):
            dicast.run(judge, ROWS, out="tuned")


def test_more_rows_continue_a_run_and_other_ones_leave_its_rows_as_they_are():
    dicast.run("longer", ROWS[:5], out="out")
    assert sum(ids().values()) == 5
    dicast.run("longer", ROWS[5:7] + ROWS[:5][::-1], out="out")
    assert ids() == Counter(str(row["id"]) for row in ROWS[:7])
    before = Path("out/cases.jsonl").read_bytes()
    with pytest.raises(RunError, match="out: 2 of its 7 judged cases are not in"):
        dicast.run("longer", ROWS[2:], out="out")
    with pytest.raises(
        RunError, match=r"out: case '1' of .* is not the case that was judged: its label was 'b' and is"
    ):
        dicast.run("longer", [row | {"label": "tie"} for row in ROWS], out="out")
    assert Path("out/cases.jsonl").read_bytes() == before
    assert dicast.run("longer", ROWS, out="out").status == "complete"
    assert ids() == Counter(str(row["id"]) for row in ROWS)


def test_rows_files_cases_and_data_frames_give_the_same_verdicts():
    cases = list(dicast.read_cases("pairs.jsonl"))
    runs = [dicast.run("longer", given, out=f"out{n}") for n, given in enumerate(["pairs.jsonl", ROWS, cases])]
    first, *others = (sorted(run.to_dicts(), key=lambda row: int(row["case_id"])) for run in runs)
    assert len(first) == len(ROWS)
    assert all(other == first for other in others)
    evaluations = [run.evaluate().sections for run in runs]
    assert evaluations[0] == evaluations[1] == evaluations[2]


def test_a_pandas_frame_goes_in_and_comes_out():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame([*ROWS[:3], {key: value for key, value in ROWS[3].items() if key != "label"}])
    run = dicast.run("longer", frame, out="out")
    table = run.to_pandas().set_index("case_id")
    assert list(table.loc[["1", "2"], "label"]) == ["b", "a"]
    assert pandas.isna(table.loc["4", "label"])
    assert list(table.loc[["1", "2", "3"], "winner"]) == ["b", "b", "b"]
    assert {"certainty", "score_a", "p_a", "rationale", "prompt_tokens"} <= set(table.columns)


def test_a_polars_frame_goes_in_and_comes_out():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    run = dicast.run("longer", polars.DataFrame(ROWS), out="out")
    assert sorted(run.to_polars()["case_id"].to_list(), key=int) == [row["id"] for row in ROWS]


def test_a_missing_frame_package_is_one_clear_error(monkeypatch):
    run = dicast.run("longer", ROWS, out="out")
    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(DeclarationError, match=f"to_{name} needs {name}. pip install {name}"):
            getattr(run, f"to_{name}")()


@pytest.mark.parametrize(
    ("cases", "message"),
    [
        ([], "there is no row"),
        (3, "a int is not a collection of rows"),
        ({"query": "q"}, "a dict is not a collection of rows"),
        (dicast.Case(id="1", query="q", candidates=[{"text": "x"}]), "a Case is not a collection of rows"),
        (["q"], "row 1: a str is not a row. Give dicts"),
        ([{"query": object()}], "row 1: a object is not JSON"),
        ("nowhere.jsonl", "there is no such file"),
    ],
)
def test_cases_that_are_none_are_one_clear_error(cases, message):
    with pytest.raises(DataError, match=message):
        dicast.run("longer", cases, out="out")
    assert not Path("out").exists()


def test_something_that_is_no_judge_is_one_clear_error():
    with pytest.raises(DeclarationError, match="judge: a int is no judge"):
        dicast.run(3, ROWS)
    with pytest.raises(DeclarationError, match="lm is given twice"):
        dicast.run(JudgeSpec("direct", "openai/a"), ROWS, lm="openai/b")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limit": 0}, "limit: 0 is not a whole number of at least 1"),
        ({"limit": "3"}, "limit: '3' is not a whole number"),
        ({"limit_groups": 0}, "limit_groups: 0 is not a whole number of at least 1"),
        ({"limit": 3, "limit_groups": 2}, "limit_groups: 2 groups and limit 3 cases were both given. Give one"),
        ({"workers": -1}, "workers: -1 is not a whole number"),
        ({"budget": 5}, "budget: 5 is not a text"),
        ({"out": "pairs.jsonl"}, "pairs.jsonl: cannot be written"),
        ({"judge": JudgeSpec("longer", samples=2, pool="best")}, "'panel', pool: must be one of mean"),
    ],
)
def test_an_option_that_cannot_be_used_is_one_clear_error(options, message):
    with pytest.raises(DeclarationError, match=message):
        dicast.run(**{"judge": "longer", "cases": ROWS, **options})


def test_runs_and_compilations_have_separate_folders():
    dicast.run("longer", ROWS, out="run")
    with pytest.raises(RunError, match="run: holds a run"):
        dicast.compile("longer", ROWS, out="run")
    rows = [row | {"id": f"{n}-{row['id']}", "group": f"{n}"} for n in range(4) for row in ROWS]
    dicast.compile("longer", rows, out="compiled", trials=0)
    with pytest.raises(RunError, match="compiled: holds a compilation"):
        dicast.run("longer", ROWS, out="compiled")


def test_a_judge_says_what_it_is_and_takes_only_cases():
    text = repr(dicast.judge("direct", order="one", lm="openai/m@http://127.0.0.1:9/v1"))
    assert text.startswith("Direct('direct', ")
    assert "order='one'" in text
    assert text.endswith(", lm='openai/m@http://127.0.0.1:9/v1')")
    assert repr(dicast.judge("longer")) == "Longer('longer')"
    with pytest.raises(DeclarationError, match="judge 'longer': a dict is not a case"):
        dicast.judge("longer")(ROWS[0])


def test_verdicts_in_memory_are_evaluated_as_their_folder_is():
    run = dicast.run("longer", ROWS, out="out")
    rows = [
        {"id": judged.case_id, "prediction": judged.winner, "label": judged.human_winner, "group": judged.group}
        for judged in run
    ]
    pandas = pytest.importorskip("pandas")
    accuracy = run.evaluate().measure("accuracy")
    for verdicts in (run.verdicts(), run.to_dicts(), rows, pandas.DataFrame(rows)):
        assert dicast.evaluate(verdicts).measure("accuracy") == accuracy
    others = [row | {"judge": "other", "prediction": "tie"} for row in rows]
    named = [row | {"judge": "longer"} for row in rows]
    assert dicast.evaluate([*others, *named], where={"judge": "longer"}).measure("accuracy") == accuracy


@pytest.mark.parametrize(
    ("verdicts", "options", "message"),
    [
        (None, {}, "evaluate: a NoneType is not a collection of rows"),
        (ROWS, {}, "evaluate line 1: field 'prediction': Field required"),
        ([{"case_id": "1", "status": "odd"}], {}, "evaluate: row 1 is not a verdict: field .status. is"),
        ([{"id": "1", "prediction": "a"}], {"threshold": 7}, "threshold: 7 is not a certainty"),
    ],
)
def test_what_cannot_be_evaluated_is_one_clear_error(verdicts, options, message):
    with pytest.raises(DeclarationError, match=message):
        dicast.evaluate(verdicts, **options)


def test_a_comparison_and_a_page_need_runs():
    run = dicast.run("longer", ROWS, out="out")
    for call, message in (
        (lambda: dicast.compare("out"), "compare: one run was given"),
        (lambda: dicast.compare([run, run], names=["x"]), "2 runs have 1 names"),
        (lambda: dicast.report([]), "report: there is no run"),
        (lambda: dicast.report(run, "page.pdf"), "page.pdf: a page is HTML or Markdown"),
        (lambda: dicast.cascade("longer", ROWS), "cascade: one judge was given"),
    ):
        with pytest.raises(DeclarationError, match=message):
            call()


def test_the_rooms_are_found_without_another_import():
    code = "import dicast; dicast.workflows.open_run, dicast.evaluation.register, dicast.testing.MockServer"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_default_folder_is_the_same_for_the_same_rows():
    first = dicast.run("longer", ROWS)
    assert first.path.parent == Path("runs")
    assert dicast.run("longer", ROWS).path == first.path != dicast.run("longer", ROWS[:3]).path


class Slow(dicast.Judge):
    """Prefers the first; calls `hook` with each case."""

    name = "slow"

    def __init__(self, hook):
        super().__init__()
        self.hook = hook

    def deepcopy(self):
        return self

    def assess(self, case):
        self.hook(case)
        return Verdict(case_id=case.id, winner="a")


def test_progress_is_reported_and_a_stop_keeps_what_is_judged():
    class Counting(Progress):
        def __init__(self):
            self.started, self.seen = None, []

        def start(self, total, done):
            self.started = (total, done)

        def verdict(self, judged):
            assert isinstance(judged, Judged)
            self.seen.append(judged.case_id)
            if len(self.seen) == 5:
                stop.set()

    stop, progress = threading.Event(), Counting()
    run = dicast.run(Slow(lambda case: None), ROWS, out="out", progress=progress, stop=stop, workers=1)
    assert (run.status, progress.started) == ("stopped", (len(ROWS), 0))
    assert Counter(progress.seen) == ids()
    assert 5 <= len(progress.seen) < len(ROWS)
    again = Counting()
    stop = threading.Event()
    assert dicast.run(Slow(lambda case: None), ROWS, out="out", progress=again, workers=1).status == "complete"
    assert again.started == (len(ROWS), len(progress.seen))
    assert Counter(progress.seen) + Counter(again.seen) == ids()


def test_a_spent_budget_ends_the_run_and_more_finishes_it():
    with MockServer() as server:
        run = dicast.run("direct", ROWS, out="out", lm=server.model_string(), budget="calls=20")
        assert (run.status, run.message[:30]) == ("budget", "budget: 20 of 20 calls are used"[:30])
        assert 0 < len(run.verdicts()) < len(ROWS)
        assert sum(usage.calls for usage in run.usage.values()) == 20
        assert dicast.run("direct", ROWS, out="out", lm=server.model_string()).status == "complete"
    with pytest.raises(DeclarationError, match="budget 'coins=3': write calls="):
        dicast.run("longer", ROWS, budget="coins=3")


def test_an_interrupt_keeps_the_cases_in_flight():
    begun = []

    def interrupt(case):
        begun.append(case.id)
        if len(begun) == 4:
            signal.raise_signal(signal.SIGINT)  # the main thread gets it, as for Ctrl-C in a notebook
        time.sleep(0.05)

    with pytest.raises(KeyboardInterrupt):
        dicast.run(Slow(interrupt), ROWS, out="out", workers=2)
    assert Counter(begun) == ids()
    assert len(begun) < len(ROWS)


@pytest.mark.parametrize("options", [{}, {"stop": None}])
def test_an_async_run_is_awaited_and_a_cancelled_one_keeps_its_verdicts(options):
    begun, release = [], threading.Event()

    def hold(case):
        begun.append(case.id)
        release.wait(10)

    async def cancelled():
        task = asyncio.create_task(dicast.run_async(Slow(hold), ROWS, out="out", workers=2, **options))
        while not begun:
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.sleep(0.05)
        release.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert Counter(begun) == ids()
    assert 0 < len(begun) < len(ROWS)
    run = asyncio.run(dicast.run_async(Slow(lambda case: None), ROWS, out="out"))
    assert (run.status, sum(ids().values())) == ("complete", len(ROWS))


def test_run_async_and_the_method_evaluate_show_their_arguments():
    assert signature(dicast.run_async).parameters == signature(dicast.run).parameters
    assert list(signature(Run.evaluate).parameters) == list(signature(dicast.evaluate).parameters)
    assert iscoroutinefunction(dicast.run_async)


def test_verdicts_without_a_folder_are_evaluated_too():
    run = dicast.run("longer", ROWS, out="out")
    alone = dicast.evaluate(run.verdicts())
    assert alone.sections == run.evaluate().sections
    with pytest.raises(RunError, match="there is no verdict"):
        dicast.evaluate([])
    with pytest.raises(RunError, match="nowhere: there is no such run"):
        dicast.evaluate("nowhere")


def test_runs_are_compared_and_reported(capsys):
    runs = [dicast.run(name, ROWS, out=f"runs/{name}") for name in ("longer", "majority")]
    (comparison,) = dicast.compare(runs)
    assert command(["evaluate", "runs/longer", "--against", "runs/majority", "--json"]) == 0
    (printed,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert comparison.model_dump(mode="json") == printed
    page = dicast.report(runs, "out.md", seed=3)
    assert (page.path, page.titles) == (Path("out.md"), ("longer", "majority"))
    assert len(Path("out.md").read_bytes()) == page.size


# folders that an earlier version wrote


@pytest.fixture
def old(tmp_path):
    """Copies the runs of an earlier version, with paths and addresses of this machine: call it with the server's."""

    def copy(url="http://127.0.0.1:9/v1"):
        for path in OLD.rglob("*.json*"):
            target = tmp_path / "old" / path.relative_to(OLD)
            target.parent.mkdir(parents=True, exist_ok=True)
            text = path.read_text().replace("URL", url).replace("PAIRS", str(tmp_path / "old" / "pairs.jsonl"))
            target.write_text(text)
        return tmp_path / "old"

    return copy


def test_a_run_of_an_earlier_version_is_evaluated_and_reported(old):
    path = old()
    evaluation = dicast.evaluate(path / "all")
    assert (evaluation.cases, evaluation.labelled, len(evaluation.branches)) == (6, 6, 2)
    assert dicast.report([path / "all", path / "longer"], "page.md").size > 0


@pytest.mark.parametrize("by", ["command", "python"])
def test_a_run_of_an_earlier_version_is_continued(old, by):
    path = old()
    before = (path / "longer" / "verdicts.jsonl").read_text().splitlines(keepends=True)
    (path / "longer" / "verdicts.jsonl").write_text("".join(before[:2]))
    if by == "command":
        options = ["--no-ties", "--limit", "4", "--seed", "1", "--out", str(path / "longer")]
        assert command(["judge", "--judge", "longer", "--cases", str(path / "pairs.jsonl"), *options]) == 0
    else:
        source = CaseSource(str(path / "pairs.jsonl"), no_ties=True)
        dicast.run(dicast.judge("longer"), source, out=path / "longer", limit=4, seed=1)
    after = (path / "longer" / "verdicts.jsonl").read_text().splitlines(keepends=True)
    assert after[:2] == before[:2]
    assert {json.loads(line)["case_id"] for line in after} == {json.loads(line)["case_id"] for line in before}


def test_a_learned_run_of_an_earlier_version_is_continued_without_a_call(old):
    with MockServer() as server:
        path = old(server.url)
        spec = JudgeSpec(
            "fennec",
            f"criteria=openai/a@{server.url},openai/m@{server.url}",
            {"branches": 2, "keep": 1},
            learn=path / "all",
        )
        before = (path / "learned" / "verdicts.jsonl").read_bytes()
        run = dicast.run(spec, path / "pairs.jsonl", out=path / "learned", limit=4)
        assert run.status == "complete"
        assert (path / "learned" / "verdicts.jsonl").read_bytes() == before
        assert server.requests == []


def test_a_copy_of_a_run_folder_is_the_run(old):
    path = old()
    shutil.copytree(path / "all", path / "copy")
    assert dicast.evaluate(path / "copy") == dicast.evaluate(path / "all")


@pytest.mark.parametrize("seed", [-1, 1.5, "x", True])
def test_a_seed_is_a_whole_number_of_at_least_0(seed):
    run = dicast.run("longer", ROWS, out="out")
    message = f"seed: {seed!r} is not a whole number of at least 0. Give one."
    for call in (
        lambda: dicast.evaluate(run, seed=seed),
        lambda: dicast.compare([run, run], seed=seed),
        lambda: dicast.run("longer", ROWS, out="other", limit=2, seed=seed),
    ):
        with pytest.raises(DeclarationError, match=re.escape(message)):
            call()
    assert not Path("other").exists()
    assert command(["evaluate", "out", "--seed", "-1"]) == 3


def test_a_frame_with_two_columns_of_one_name_is_refused():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame(ROWS)
    frame = pandas.concat([frame, frame["label"]], axis=1)
    with pytest.raises(DataError, match="cases: more than one column is called 'label'. Rename all but one of them."):
        dicast.run("longer", frame, out="out")


def test_a_limit_of_groups_judges_whole_groups_and_is_part_of_a_sampled_run():
    run = dicast.run("longer", ROWS, out="first", limit_groups=2)
    assert sorted(ids("first")) == ["1", "2", "3", "4", "5"]  # g0 is two rows, g1 three
    assert "limit_groups" not in run.identity
    assert command(["judge", "--judge", "longer", "--cases", "pairs.jsonl", "--out", "sampled", "--limit-groups", "3",
                    "--seed", "5"]) == 0  # fmt: skip
    groups = {judged.group for judged in read_verdicts(Path("sampled"))}
    assert len(groups) == 3
    assert sum(ids("sampled").values()) == sum(row["group"] in groups for row in ROWS)
    with pytest.raises(RunError, match="limit_groups = 3, now it is 4"):
        dicast.run("longer", "pairs.jsonl", out="sampled", limit_groups=4, seed=5)
