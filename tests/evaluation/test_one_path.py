"""One truth: the same verdicts have the same accuracy and interval wherever they are shown."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from dicast.cli import run
from dicast.engines.batch import read_manifest, read_verdicts
from dicast.evaluation import evaluate, run_arrays
from dicast.judging import build
from dicast.judging.judge_file import save
from dicast.testing import MockServer

PROMPTS, PAIRS = 20, 6


@pytest.fixture
def cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """120 pairs of 20 prompts, 6 of each: people say tie on most pairs of some prompts, on few of others."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(5)
    rows = [
        {
            "query": f"prompt {prompt}", "response_a": f"x{number}", "response_b": f"y{number}",
            "label": "tie" if random.random() < rate else "a",
        }
        for prompt, rate in enumerate(random.beta(1.6, 0.4, size=PROMPTS))
        for number in range(PAIRS)
    ]  # fmt: skip
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "pairs.jsonl"


def texts_of(value: float, low: float, high: float) -> str:
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"


@pytest.mark.slow
def test_one_folder_has_one_accuracy_and_interval(cases: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A judge of the mock server, that says A in both orders and so ties every pair, by every way to measure it."""
    with MockServer() as server:
        judge = build("direct", grading="pairwise")
        training = {"after": {"hits": 60, "n": 100}}
        save(judge, "tone.judge.json", training=training, lm=f"openai/m@{server.url}")
        judging = ["judge", "--judge", "tone.judge.json", "--cases", cases, "--out", "out"]
        assert run(judging) == 0
        requests = len(server.requests)
        capsys.readouterr()
        assert run(judging) == 0  # a finished folder: nothing is judged again
        printed = capsys.readouterr().out
        assert run([*judging, "--json"]) == 0
        judged = json.loads(capsys.readouterr().out)["evaluation"]
        assert len(server.requests) == requests
        run(["check", "--judge", "tone.judge.json", "--cases", cases, "--json"])
        checked = json.loads(capsys.readouterr().out)["now"]

    evaluation = evaluate(run_arrays(read_verdicts(Path("out"))), read_manifest(Path("out"))["identity"])
    accuracy = evaluation.measure("accuracy")
    assert accuracy is not None
    assert (accuracy.n, accuracy.groups) == (PROMPTS * PAIRS, PROMPTS)
    assert accuracy.effective_n is not None
    assert accuracy.effective_n < 0.6 * PROMPTS * PAIRS  # the groups matter
    assert (accuracy.value, accuracy.low, accuracy.high) == tuple(checked[end] for end in ("value", "low", "high"))
    assert (checked["n"], checked["groups"], checked["effective_n"]) == (120, 20, accuracy.effective_n)

    assert run(["evaluate", "out", "--json"]) == 0
    evaluated = json.loads(capsys.readouterr().out)["evaluation"]
    assert evaluated == judged
    assert evaluated == evaluation.model_dump(mode="json")

    assert accuracy.value is not None
    assert accuracy.low is not None
    assert accuracy.high is not None
    shown = texts_of(accuracy.value, accuracy.low, accuracy.high)
    assert re.search(rf"^accuracy +{re.escape(shown)} +120 ", printed, re.MULTILINE)
    assert run(["evaluate", "out"]) == 0
    assert re.search(rf"^accuracy +{re.escape(shown)} +120 ", capsys.readouterr().out, re.MULTILINE)

    assert run(["report", "out", "--out", "out.md"]) == 0
    (row,) = (line for line in Path("out.md").read_text().splitlines() if line.startswith("| accuracy |"))
    percent = [f"{100 * number:.1f}" for number in (accuracy.value, accuracy.low, accuracy.high)]
    assert all(number in row for number in percent), row
