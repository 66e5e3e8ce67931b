"""Runs: exactly once under kills and faults, resumable, bounded, and refused when the folder holds something else."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest

from dicast import Case
from dicast.data import Usage, Verdict
from dicast.engines.batch import RunFolder, read_verdicts, run_cases
from dicast.errors import BudgetSpent, DeclarationError, Infrastructure, ModelError, ModelRefused, RunError
from dicast.testing import MockServer


def cases(count):
    return [Case(id=f"case-{n}", query=f"q{n}", candidates=[{"text": "x"}, {"text": "yy"}]) for n in range(count)]


def verdict(case, **fields):
    return Verdict(case_id=case.id, usage=Usage(calls=1), **({"winner": "a"} | fields))


def opened(path, **identity):
    folder = RunFolder(path)
    folder.open({"identity": {"judge": "test"} | identity})
    return folder


def ids(path):
    return Counter(judged.case_id for judged in read_verdicts(path))


def test_a_second_run_judges_only_what_is_new(tmp_path):
    asked = []
    judge = lambda case: (asked.append(case.id), verdict(case))[1]  # noqa: E731
    run_cases(judge, cases(10), opened(tmp_path), workers=3, on_verdict=lambda judged: None)
    run_cases(judge, cases(15), opened(tmp_path), workers=3, on_verdict=lambda judged: None)
    assert Counter(asked) == ids(tmp_path) == Counter(case.id for case in cases(15))


def test_a_half_written_line_is_cut_off_and_judged_again(tmp_path):
    run_cases(verdict, cases(3), opened(tmp_path), workers=1, on_verdict=lambda judged: None)
    path = tmp_path / "verdicts.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    folder = opened(tmp_path)
    assert len(folder.done) == 2
    run_cases(verdict, cases(3), folder, workers=1, on_verdict=lambda judged: None)
    assert set(ids(tmp_path).values()) == {1}


def test_server_failures_are_asked_again_and_other_failures_are_not(tmp_path):
    reasons = iter(["infrastructure", "parse_failure", None])

    def failing(case):
        reason = next(reasons)
        return verdict(case, status="unscored", reason=reason, winner=None) if reason else verdict(case)

    run_cases(failing, cases(3), opened(tmp_path), workers=1, on_verdict=lambda judged: None)
    folder = opened(tmp_path)
    assert len(folder.done) == 2
    run_cases(verdict, cases(3), folder, workers=1, on_verdict=lambda judged: None)
    assert Counter(judged.reason for judged in read_verdicts(tmp_path)) == {None: 2, "parse_failure": 1}
    assert set(ids(tmp_path).values()) == {1}


def test_a_folder_of_another_run_is_refused_with_what_differs(tmp_path):
    run_cases(verdict, cases(1), opened(tmp_path, lm="one"), workers=1, on_verdict=lambda judged: None)
    with pytest.raises(RunError, match="holds a run with lm = 'one', now it is 'two'"):
        opened(tmp_path, lm="two")


def test_an_option_that_is_off_equals_an_option_that_an_earlier_version_did_not_have(tmp_path):
    run_cases(verdict, cases(1), opened(tmp_path, lm="one", no_ties=False), workers=1, on_verdict=lambda judged: None)
    assert opened(tmp_path, lm="one", max_chars=None).done
    with pytest.raises(RunError, match="holds a run with no_ties = False, now it is True"):
        opened(tmp_path, lm="one", no_ties=True)
    with pytest.raises(RunError, match="holds a run with seed = None, now it is 0"):
        opened(tmp_path, lm="one", seed=0)


def test_verdicts_without_a_manifest_are_not_continued(tmp_path):
    run_cases(verdict, cases(1), opened(tmp_path), workers=1, on_verdict=lambda judged: None)
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(RunError, match=r"has verdicts but no manifest.json, so it is not known which judge gave them"):
        opened(tmp_path)
    (tmp_path / "manifest.json").write_text("[1]")
    with pytest.raises(
        RunError, match=r"manifest.json: a JSON list, not an object. What verdicts.jsonl holds is not lost"
    ):
        opened(tmp_path)


def test_a_lock_is_free_again_after_its_owner_was_killed(tmp_path):
    code = "import sys, time; from pathlib import Path; from dicast.engines.jsonl import only_writer\n"
    code += "with only_writer(Path('.lock'), Path('run')): print('locked', flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "locked\n"
    folder = RunFolder(tmp_path)
    with pytest.raises(RunError, match="in use, another process is writing here"), folder.locked():
        pass
    process.kill()
    process.communicate()
    with folder.locked():
        pass


def test_a_run_that_never_got_a_verdict_may_be_begun_anew(tmp_path):
    opened(tmp_path, lm="one")
    assert not opened(tmp_path, lm="two").done


def test_two_processes_cannot_write_one_run(tmp_path):
    first, second = RunFolder(tmp_path), RunFolder(tmp_path)
    with first.locked(), pytest.raises(RunError, match="another process is writing"), second.locked():
        pass


def test_a_dead_server_ends_the_run_and_keeps_what_is_done(tmp_path):
    dead = lambda case: verdict(case, status="unscored", reason="infrastructure", detail="down.", winner=None)  # noqa: E731
    with pytest.raises(Infrastructure, match="down. The first 5 cases failed so"):
        run_cases(dead, cases(100), opened(tmp_path), workers=1, on_verdict=lambda judged: None)
    assert len(ids(tmp_path)) < 10


def test_a_spent_budget_or_a_model_that_cannot_be_used_ends_the_run(tmp_path):
    for error in (BudgetSpent("spent"), ModelError("wrong")):

        def judge(case, error=error):
            if case.id == "case-3":
                raise error
            return verdict(case)

        with pytest.raises(type(error)):
            run_cases(
                judge, cases(50), opened(tmp_path / type(error).__name__), workers=2, on_verdict=lambda judged: None
            )
        assert "case-3" not in ids(tmp_path / type(error).__name__)


@pytest.mark.parametrize("count", [1, 40])
def test_an_odd_case_or_a_refusal_of_the_server_ends_no_run(tmp_path, count):
    reasons = {"case-0": DeclarationError("no pair"), "case-7": ModelRefused("401")}

    def judge(case):
        if case.id in reasons and count > 1:
            raise reasons[case.id]
        return verdict(case)

    run_cases(judge, cases(count), opened(tmp_path), workers=2, on_verdict=lambda judged: None)
    unscored = {judged.case_id: judged.reason for judged in read_verdicts(tmp_path) if judged.status == "unscored"}
    assert unscored == ({"case-0": "internal", "case-7": "infrastructure"} if count > 1 else {})
    assert len(ids(tmp_path)) == count


@pytest.mark.parametrize("count", [1, 500])
@pytest.mark.parametrize("error", [DeclarationError("no pair"), ModelRefused("401")])
def test_a_judge_that_can_judge_no_case_is_an_error(tmp_path, count, error):
    def judge(case):
        raise error

    with pytest.raises(type(error), match=str(error)):
        run_cases(judge, cases(count), opened(tmp_path), workers=2, on_verdict=lambda judged: None)
    assert len(ids(tmp_path)) < 50


def test_cases_are_read_no_faster_than_they_are_judged(tmp_path):
    read = 0

    def endless():
        nonlocal read
        for case in cases(10_000):
            read += 1
            yield case

    stop = threading.Event()

    def seen(judged):
        assert read <= len(folder.done) + 2 * 4 + 1
        if len(folder.done) >= 50:
            stop.set()

    folder = opened(tmp_path)
    run_cases(verdict, endless(), folder, workers=4, on_verdict=seen, stop=stop)
    assert 50 <= len(ids(tmp_path)) < 80


def test_a_stop_finishes_what_has_begun_and_leaves_what_waits(tmp_path):
    stop, begun = threading.Event(), []

    def slow(case):
        begun.append(case.id)
        stop.set()
        time.sleep(0.6)
        return verdict(case)

    run_cases(slow, cases(50), opened(tmp_path), workers=2, on_verdict=lambda judged: None, stop=stop)
    assert Counter(begun) == ids(tmp_path)
    assert len(begun) <= 2


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "pairs.jsonl"
    rows = [
        {
            "id": f"r{n}",
            "query": f"question {n}",
            "response_a": f"left {n}",
            "response_b": f"right {n}",
            "label": "ab"[n % 2],
        }
        for n in range(40)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def dicast_judge(rows, out, url, cache, *more, **popen):
    command = [sys.executable, "-m", "dicast", "judge", "--judge", "direct", "--cases", str(rows), "--out", str(out)]
    command += ["--lm", f"openai/mock@{url}", "--workers", "4", *more]
    environment = os.environ | {"DICAST_ANSWERS": str(cache), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **popen
    )


def wait_for_lines(path, count, process, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if path.exists() and path.read_bytes().count(b"\n") >= count:
            return
        if process.poll() is not None:
            raise AssertionError(f"ended early: {process.communicate()}")
        time.sleep(0.01)
    raise AssertionError(f"{path} did not reach {count} lines")


@pytest.mark.fault
@pytest.mark.slow
def test_kill_nine_and_resume_judges_every_case_once_and_pays_once(rows, tmp_path):
    faults = {"429": 0.04, "500": 0.04, "invalid_json": 0.03, "closed_connection": 0.03}
    with MockServer(faults=faults, delay=0.02, seed=1) as server:
        out, cache = tmp_path / "run", tmp_path / "cache"
        for lines in (5, 20):
            process = dicast_judge(rows, out, server.url, cache)
            wait_for_lines(out / "verdicts.jsonl", lines, process)
            process.kill()
            process.communicate()
        process = dicast_judge(rows, out, server.url, cache, "--json")
        output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert ids(out) == Counter(f"r{n}" for n in range(40))
    assert json.loads(output)["evaluation"]["scored"] == 40
    assert server.fault_counts.total() > 0
    # A kill loses the answers that were on their way: at most the requests in flight, 4 cases of 4 calls, at each kill.
    paid_twice = sum(count - 1 for count in server.request_counts.values())
    assert len(server.request_counts) == 160
    assert paid_twice <= 2 * 16


@pytest.mark.fault
@pytest.mark.slow
def test_ctrl_c_finishes_the_cases_in_flight_and_says_how_to_go_on(rows, tmp_path):
    with MockServer(delay=0.1) as server:
        out = tmp_path / "run"
        process = dicast_judge(rows, out, server.url, tmp_path / "cache")
        wait_for_lines(out / "verdicts.jsonl", 3, process)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "stopping after the cases in flight" in errors
        done = len(ids(out))
        assert 3 <= done < 40
        process = dicast_judge(rows, out, server.url, tmp_path / "cache")
        process.communicate(timeout=60)
    assert ids(out) == Counter(f"r{n}" for n in range(40))


@pytest.mark.fault
@pytest.mark.slow
def test_a_budget_stops_the_run_and_more_budget_finishes_it(rows, tmp_path):
    with MockServer() as server:
        out = tmp_path / "run"
        process = dicast_judge(rows, out, server.url, tmp_path / "cache", "--budget", "calls=40")
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 2
        assert "of 40 calls are used" in errors
        assert "coverage" in output
        assert server.request_counts.total() <= 40 + 16  # calls that were under way when the limit was reached
        process = dicast_judge(rows, out, server.url, tmp_path / "cache")
        process.communicate(timeout=60)
    assert ids(out) == Counter(f"r{n}" for n in range(40))


@pytest.mark.fault
def test_concurrency_falls_when_a_server_refuses(tmp_path):
    import dicast

    with MockServer(faults={"429": 0.1}, delay=0.01, seed=3) as server:
        judge = dicast.judge("direct", lm=f"openai/refusing@{server.url}")
        run_cases(judge, cases(20), opened(tmp_path), workers=16, on_verdict=lambda judged: None)
        from dicast.engines.models import get_lm

        limiter = get_lm(f"openai/refusing@{server.url}").transport.limiter
    assert set(ids(tmp_path).values()) == {1}
    assert all(judged.status == "scored" for judged in read_verdicts(tmp_path))
    assert limiter.limit < limiter.bound


def test_equal_calls_in_flight_are_made_once():
    import dicast

    with MockServer(delay=0.2) as server:
        judge = dicast.judge("direct", lm=f"openai/once@{server.url}", grading="pairwise", order="one")
        case = Case(id="same", query="q", candidates=[{"text": "x"}, {"text": "y"}])
        verdicts = []
        threads = [threading.Thread(target=lambda: verdicts.append(judge(case))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert server.request_counts.total() == 1
    assert sorted((v.usage.calls, v.usage.cached) for v in verdicts) == [(0, 1)] * 7 + [(1, 0)]
    assert {v.usage.total_tokens for v in verdicts} == {55}  # the cache knows how long its answers were


def test_two_servers_of_one_model_name_do_not_share_answers():
    import dicast

    case = Case(id="x", query="two servers", candidates=[{"text": "x"}, {"text": "y"}])
    asked = []
    for _ in range(2):
        with MockServer() as server:
            dicast.judge("direct", lm=f"openai/same@{server.url}", grading="pairwise", order="one")(case)
            asked.append(server.request_counts.total())
    assert asked == [1, 1]


def test_a_verdict_that_does_not_fit_its_case_is_unscored(tmp_path):
    def judge(case):
        return Verdict(case_id=case.id, winner=5) if case.id == "case-1" else verdict(case)

    run_cases(judge, cases(4), opened(tmp_path), workers=2, on_verdict=lambda judged: None)
    unscored = [(judged.case_id, judged.reason) for judged in read_verdicts(tmp_path) if judged.status == "unscored"]
    assert unscored == [("case-1", "internal")]
