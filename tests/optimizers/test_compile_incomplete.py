"""Compilations of which the server failed some cases: no result comes of evidence that can still be completed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from known_judge import Known, known_cases

from dicast.data import Case, Verdict
from dicast.errors import Infrastructure
from dicast.optimizers.compile import Compiled, Compiler
from dicast.optimizers.evidence import Incomplete, ProgressCallbacks
from dicast.optimizers.recipe import Parts, Recipe

pytestmark = pytest.mark.fault
CASES = known_cases(120)
RECIPE = Recipe(trials=0, estimate="split", baseline=None, risk=0.4, parts=Parts())


class Served(Known):
    """Fails at its server where `fails` says so, of a case and of how often it was asked of it before."""

    asked: dict[str, int]
    fails: Callable[[str, int], bool]

    def assess(self, case: Case) -> Verdict:
        times = Served.asked.get(case.id, 0)
        Served.asked[case.id] = times + 1
        if Served.fails(case.id, times):
            raise Infrastructure("stage 'judgment': 503")
        verdict: Verdict = super().assess(case)
        return verdict


def compiled(folder: Path, fails: Callable[[str, int], bool]) -> tuple[Compiled, list[str]]:
    """The compilation with a server that fails so, and its lines."""
    lines: list[str] = []
    Served.asked, Served.fails = {}, staticmethod(fails)
    progress = ProgressCallbacks(step=lambda name, text: lines.append(f"{name}: {text}"))
    compiler = Compiler(Served(), CASES, folder, RECIPE, progress=progress, workers=1)
    return compiler.run(), lines


def parts(folder: Path) -> dict[str, list[str]]:
    ids: dict[str, list[str]] = json.loads((folder / "split.json").read_text())
    return ids


def results(folder: Path) -> dict[str, Any]:
    """Every step's file but those of the session."""
    return {path.name: json.loads(path.read_text()) for path in folder.glob("*.json") if path.name != "spent.json"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A compilation whose server never failed."""
    folder = tmp_path_factory.mktemp("whole")
    compiled(folder, lambda case, times: False)
    return folder


@pytest.mark.parametrize("part", ["train", "certify", "test"])
def test_a_part_of_which_many_failed_ends_it_and_the_next_run_gives_what_no_fault_had_given(
    tmp_path: Path, whole: Path, part: str
) -> None:
    lost = set(parts(whole)[part][::4])
    with pytest.raises(Incomplete, match=rf"{len(lost)} of \d+ cases failed .* 503.* Run again"):
        compiled(tmp_path, lambda case, times: case in lost)
    finished = {"train": (), "certify": ("head",), "test": ("head", "certificate.json")}[part]
    begun = {"compile.json", "groups.json", "split.json", "certifiable.json"}
    assert {name.split("-")[0] for name in results(tmp_path)} == {*begun, *finished}
    compiled(tmp_path, lambda case, times: False)
    later = {"train": {"certify", "test"}, "certify": {"test"}}.get(part, set())
    assert set(Served.asked) == lost | {case for name in later for case in parts(whole)[name]}
    assert results(tmp_path) == results(whole)


def test_faults_that_pass_are_asked_again_at_once(tmp_path: Path, whole: Path) -> None:
    draws = {case.id: 0 if int(case.id) % 4 else 1 + int(case.id) // 4 % 3 for case in CASES}  # failures of each
    _, lines = compiled(tmp_path, lambda case, times: times < draws[case])
    assert max(Served.asked.values()) == 4
    assert results(tmp_path) == results(whole)
    assert not [line for line in lines if line.startswith("evidence")]


def test_a_few_that_fail_for_good_are_named_and_never_asked_again(tmp_path: Path, whole: Path) -> None:
    split = parts(whole)
    lost = {split["train"][0], split["test"][0]}
    _, lines = compiled(tmp_path, lambda case, times: case in lost)
    said = [line for line in lines if line.startswith("evidence")]
    sizes = len(split["train"]) + len(split["select"]), len(split["test"])
    assert said == [f"evidence: known: 1 of {n} cases failed at the server and stay unscored" for n in sizes]
    before = results(tmp_path)
    _, again = compiled(tmp_path, lambda case, times: False)
    assert Served.asked == {}
    assert (results(tmp_path), [line for line in again if line.startswith("evidence")]) == (before, said)


def test_a_few_that_fail_for_good_do_not_end_it_though_alone_they_look_like_a_dead_server(tmp_path: Path) -> None:
    cases = known_cases(400)
    Served.asked, Served.fails = {}, staticmethod(lambda case, times: case in lost)
    compiler = Compiler(Served(), cases, tmp_path, Recipe(trials=0, estimate="split", baseline=None), workers=1)
    lost = set(parts(tmp_path)["train"][5::15][:6])
    result = compiler.run().result
    assert result.n == len(parts(tmp_path)["test"])
    (learn,) = tmp_path.glob("evidence/learn-*/verdicts.jsonl")
    assert {json.loads(line)["case_id"] for line in learn.read_text().splitlines()} >= lost
    Served.asked = {}
    Compiler(Served(), cases, tmp_path, Recipe(trials=0, estimate="split", baseline=None), workers=1).run()
    assert Served.asked == {}
