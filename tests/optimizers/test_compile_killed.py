"""A compilation in a process of its own that is killed, interrupted, or out of budget, against a server that is not."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from dicast.judging.judge_file import JudgeFile, read
from dicast.testing import MockServer

SPACE = {"order": ["both", "one"], "grading": ["both", "pairwise", "single"]}
RECIPE = {
    "trials": 4, "space": SPACE, "baseline": None, "risk": 0.4, "delta": 0.2, "seed": 3,
    "parts": {"train": 0.35, "select": 0.15, "certify": 0.15, "test": 0.35},
}  # fmt: skip


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    """Pairs whose better text says so, three times in four."""
    draw, path = random.Random(0), tmp_path / "labels.jsonl"
    rows = []
    for number in range(100):
        better = draw.choice("ab")
        label = better if draw.random() < 0.75 else draw.choice("ab")
        texts = {f"response_{side}": f"text {number} {'good' if side == better else 'poor'}" for side in "ab"}
        rows.append({"id": f"r{number}", "query": f"question {number}", "label": label, **texts})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "recipe.yaml").write_text(json.dumps(RECIPE))
    return path


def tokens(body: dict[str, Any]) -> dict[str, float]:
    """A weak liking for texts that say good, blurred by a draw that depends on the whole request alone."""
    prompt = json.dumps(body["messages"])
    blur = int(hashlib.sha256(prompt.encode()).hexdigest()[:8], 16) / 2**32
    first_good = 0 <= prompt.find("good") < prompt.find("poor") or "poor" not in prompt
    liking = 0.2 + 0.3 * first_good + 0.3 * blur
    return {"A": liking / 2, "B": (1 - liking) / 2, "2": (1 - liking) / 2, "4": liking / 2}


def compiling(labels: Path, out: Path, server: MockServer, *more: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "dicast", "compile", "direct", "--cases", str(labels), "--out", str(out)]
    command += ["--recipe", str(labels.with_name("recipe.yaml")), "--lm", f"openai/mock@{server.url}", *more]
    environment = os.environ | {
        "DICAST_ANSWERS": str(out.with_suffix(".cache")),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(process: "subprocess.Popen[str]") -> tuple[str, str]:
    output, errors = process.communicate(timeout=120)
    assert process.returncode in (0, 2), errors
    return output, errors


def learnt(out: Path) -> tuple[Any, ...]:
    """All of a judge file that does not say how long it took."""
    file: JudgeFile = read(out / "direct.judge.json")
    training = {name: value for name, value in file.training.items() if name not in ("spent", "test")}
    return file.judge, file.certificate, training


def lines(out: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in out.glob("evidence/*/verdicts.jsonl"))


def wait_for(process: "subprocess.Popen[str]", out: Path, count: int) -> None:
    """Until so many verdicts are kept."""
    end = time.monotonic() + 60
    while lines(out) < count and process.poll() is None and time.monotonic() < end:
        time.sleep(0.005)


@pytest.mark.fault
@pytest.mark.slow
def test_kill_nine_at_five_moments_gives_the_judge_of_an_undisturbed_compilation(labels: Path, tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    with MockServer(token_probabilities=tokens, delay=0.01) as server:
        finished(compiling(labels, whole, server))
        total, draw, struck = lines(whole), random.Random(7), 0
        for share in sorted(draw.random() for _ in range(5)):
            process = compiling(labels, killed, server)
            wait_for(process, killed, int(share * total))
            time.sleep(draw.uniform(0, 0.3))
            struck += process.poll() is None
            process.kill()
            process.communicate()
        assert struck >= 4  # the last moment may come after the end
        finished(compiling(labels, killed, server))
    assert learnt(killed) == learnt(whole)
    kept = ["split.json", "structure.json", "certificate.json"]
    assert [json.loads((killed / name).read_text()) for name in kept] == [
        json.loads((whole / name).read_text()) for name in kept
    ]


@pytest.mark.fault
@pytest.mark.slow
def test_ctrl_c_keeps_the_best_so_far_and_resume_goes_on(labels: Path, tmp_path: Path) -> None:
    out = tmp_path / "stopped"
    with MockServer(token_probabilities=tokens, delay=0.03) as server:
        process = compiling(labels, out, server)
        wait_for(process, out, 54)  # train and select are judged, and a structure is being tried or a part is judged
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 130, errors
        assert "stopping after the cases in flight" in errors
        assert f"best so far, not tested: {out / 'direct.judge.json'}" in errors
        assert read(out / "direct.judge.json").training["outcome"] == "untested"
        finished(compiling(labels, out, server, "--resume"))
    assert read(out / "direct.judge.json").training["outcome"] != "untested"


@pytest.mark.fault
@pytest.mark.slow
@pytest.mark.parametrize("method", ["random-search", "miprov2", "simba"])
def test_ctrl_c_in_the_search_of_prompts_keeps_the_best_so_far(labels: Path, tmp_path: Path, method: str) -> None:
    """DSPy's threads take the signal for themselves, so that only a real one shows what comes of it."""
    out = tmp_path / "stopped"
    (tmp_path / "recipe.yaml").write_text(json.dumps(RECIPE | {"prompts": method, "prompt_trials": 6, "demos": 2}))
    with MockServer(token_probabilities=tokens, delay=0.05) as server:
        process = compiling(labels, out, server)
        assert process.stderr is not None
        while not next(process.stderr).startswith("prompts  wording 0"):
            pass
        time.sleep(0.7)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert f"best so far, not tested: {out / 'direct.judge.json'}" in errors


@pytest.mark.fault
@pytest.mark.slow
def test_a_budget_is_kept_and_leaves_enough_for_the_test(labels: Path, tmp_path: Path) -> None:
    """Train and select are 50 verdicts of 4 calls, certify 15 and test 35: 400 calls; a search would take more."""
    out = tmp_path / "limited"
    (tmp_path / "recipe.yaml").write_text(json.dumps(RECIPE | {"space": {"readout": ["probability", "generate"]}}))
    with MockServer(token_probabilities=tokens) as server:
        result, errors = finished(compiling(labels, out, server, "--budget", "calls=450"))
    assert server.request_counts.total() <= 450
    assert "spent:" in result, errors
    assert read(out / "direct.judge.json").training["outcome"] in ("improved", "inconclusive")
    assert json.loads((out / "structure.json").read_text())["summary"]


@pytest.mark.slow
def test_resume_of_nothing_says_so(labels: Path, tmp_path: Path) -> None:
    with MockServer(token_probabilities=tokens) as server:
        process = compiling(labels, tmp_path / "none", server, "--resume")
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "--resume" in errors
