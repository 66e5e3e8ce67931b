"""Whatever a file holds, its reader returns or raises a DicastError of one line."""

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dicast.benchmarks import fuzz_files
from dicast.catalog.rows import json_list, jsonl
from dicast.data import Rejects, read_cases
from dicast.data.task_descriptions import task
from dicast.engines.batch import read_manifest, read_verdicts
from dicast.errors import DicastError
from dicast.evaluation.external_verdicts import read_external_verdicts
from dicast.judging import build
from dicast.judging.judge_file import load
from dicast.optimizers.compile_folder import read_compilation
from dicast.optimizers.recipe import read_recipe
from dicast.reproduction.recorded import RecordedPreference, RecordedScore, read
from dicast.workflows.case_source import CaseSource
from dicast.workflows.prepared_cases import PreparedCases
from dicast.workflows.run_results import Run

ROOT = Path(__file__).parents[2]

QUICK = settings(
    max_examples=25, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


@dataclass(frozen=True)
class Reading:
    """How a file is read, and a valid one to damage."""

    name: str
    valid: Path
    read: Callable[[Path], Any]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        fuzz_files.write_corpus(folder)
    return folder


def cases(path: Path) -> list[Any]:
    with Rejects(path.with_suffix(".rejects")) as rejects:
        read_rows = list(read_cases(path, rejects=rejects))
    for line in rejects.path.read_text().splitlines() if rejects.count else ():
        json.loads(line)
    return read_rows or list(read_cases(path))


def whole_run(path: Path) -> None:
    opened = Run(path.parent)
    assert opened.source is None or isinstance(opened.source, CaseSource)
    opened.evaluate()


READINGS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "cases of JSON Lines": ("pairs.jsonl", cases),
    "texts of JSON Lines": ("texts.jsonl", cases),
    "choices of JSON Lines": ("choices.jsonl", cases),
    "cases of CSV": ("pairs.csv", cases),
    "cases of Parquet": ("pairs.parquet", cases),
    "cases of gzip": ("pairs.jsonl.gz", cases),
    "verdicts": ("run-majority/verdicts.jsonl", lambda path: list(read_verdicts(path.parent))),
    "a run by its verdicts": ("run-majority/verdicts.jsonl", whole_run),
    "choices by their verdicts": ("run-longer/verdicts.jsonl", whole_run),
    "a manifest": ("run-majority/manifest.json", lambda path: read_manifest(path.parent)),
    "a run by its manifest": ("run-majority/manifest.json", whole_run),
    "letters of another tool": ("letters.verdicts.jsonl", lambda path: list(read_external_verdicts(path))),
    "scores of another tool": ("scores.verdicts.jsonl", lambda path: list(read_external_verdicts(path))),
    "measures of another tool": ("scores.verdicts.jsonl", lambda path: Run(path).evaluate()),
    "a judge file": ("tone.judge.json", load),
    "a judge file of a panel": ("panel.judge.json", load),
    "a YAML judge": ("desk.yaml", lambda path: build(str(path))),
    "a recipe": ("recipe.yaml", read_recipe),
    "a task": ("desk.yaml", lambda path: task(str(path))),
    "prepared cases": ("pairs.jsonl", lambda path: list(PreparedCases(path).finished())),
    "rows of a public set": ("pairs.jsonl", lambda path: list(jsonl(path))),
    "a list of a public set": ("tone.judge.json", json_list),
    "recorded preferences": ("letters.verdicts.jsonl", lambda path: list(read(path, RecordedPreference))),
    "recorded scores": ("scores.verdicts.jsonl", lambda path: list(read(path, RecordedScore))),
    "a compilation's identity": ("compiled/compile.json", lambda path: read_compilation(path.parent)),
    "a compilation's split": ("compiled/split.json", lambda path: read_compilation(path.parent)),
    "a compilation's test": ("compiled/test.json", lambda path: read_compilation(path.parent)),
    "a compilation's account": ("compiled/spent.json", lambda path: read_compilation(path.parent)),
}


@pytest.fixture(params=READINGS)
def reading(request: pytest.FixtureRequest, corpus: Path, tmp_path: Path) -> Reading:
    name, read_file = READINGS[request.param]
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    source, target = corpus / name, tmp_path / name
    if "/" in name:
        shutil.copytree(source.parent, target.parent)
    else:
        target.write_bytes(source.read_bytes())
    return Reading(request.param, target, read_file)


def check(reading: Reading, content: bytes) -> None:
    """Read the content in place of the file."""
    reading.valid.write_bytes(content)
    message = "-"
    try:
        reading.read(reading.valid)
    except DicastError as error:
        message = str(error)
    assert "\n" not in message
    assert 0 < len(message) < 1_500


def test_any_bytes_are_read_or_refused_in_one_line(reading: Reading) -> None:
    @QUICK
    @given(st.binary(max_size=200))
    def attack(content: bytes) -> None:
        check(reading, content)

    attack()


def test_a_damaged_file_is_read_or_refused_in_one_line(reading: Reading) -> None:
    valid = reading.valid.read_bytes()

    @QUICK
    @given(st.integers(min_value=0))
    def attack(seed: int) -> None:
        check(reading, fuzz_files.damaged(valid, random.Random(seed)))

    attack()


@pytest.mark.slow
def test_a_few_hundred_damaged_files_through_the_command_line_leave_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    tallies, problems = fuzz_files.fuzz(tmp_path, 300, 7, 60)
    assert problems == []
    assert sum(tally.codes.total() for tally in tallies.values()) > 20
