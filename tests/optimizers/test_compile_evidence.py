"""Compilations whose judge reads hidden states, here made-up ones: what is fitted, written and shown."""

from pathlib import Path

import numpy as np
import pytest
from judge_readers import LOCAL, WIDTH, Readers, case, probe

from dicast.data import Case, Winner
from dicast.judging import build
from dicast.judging.evidence_offers import offered_evidence, searched_evidence
from dicast.judging.judge_file import load
from dicast.optimizers.compile import Compiled, Compiler
from dicast.optimizers.compile_folder import read_compilation
from dicast.optimizers.recipe import Recipe
from dicast.optimizers.structure.space import space_of
from dicast.pages.compile_tables import evidence_grid
from dicast.pages.text_tables import TextCell
from dicast.workflows.compilations import with_best_evidence
from dicast.workflows.judge_spec import JudgeSpec
from dicast.workflows.progress import SILENT

PLAIN = Recipe(trials=0, estimate="split", baseline=None)


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Readers:
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    return Readers.put_in_place(monkeypatch)


def labelled(*, by_states: bool, n: int = 160) -> list[Case]:
    """Pairs of many prompts, labelled by a direction of the states or by chance."""
    random, reader = np.random.default_rng(5), probe()
    direction, cases = random.normal(size=WIDTH), []
    for number in range(n):
        pair = case(f"text {2 * number}", f"text {2 * number + 1}", name=f"{number:04}")
        pair = pair.model_copy(update={"query": str(number)})
        first, second = reader.read_vectors(pair)["state"] @ direction
        liked = first > second if by_states else random.random() < 0.5
        cases.append(pair.model_copy(update={"label": Winner(value="a" if liked else "b")}))
    return cases


def compiled(cases: list[Case], folder: Path) -> Compiled:
    return Compiler(probe(), cases, folder, PLAIN).run()


@pytest.mark.slow
def test_a_probe_learns_what_the_states_say_and_its_worth_is_written_and_shown(
    readers: Readers, tmp_path: Path
) -> None:
    result = compiled(labelled(by_states=True), tmp_path)
    assert result.result.outcome == "improved"
    (worth,) = result.training["evidence"]
    assert (worth["name"], worth["used"]) == ("state", True)
    assert worth["low"] > 0
    path = tmp_path / "probe.judge.json"
    result.save(path)
    judge, new = load(path), case("one text", "another", name="new")
    assert judge(new).distribution == result.judge(new).distribution
    (shown,) = read_compilation(tmp_path).worth
    assert shown.model_dump() == worth
    assert evidence_grid([shown]).rows[0].cells[0] == TextCell("state", "weighed")


def test_labels_by_chance_are_no_gain(readers: Readers, tmp_path: Path) -> None:
    result = compiled(labelled(by_states=False), tmp_path)
    (worth,) = result.training["evidence"]
    assert worth["low"] is None or worth["low"] <= 0
    assert result.result.compiled.evaluation is not None


@pytest.mark.slow
def test_a_head_of_many_numbers_is_certified_on_the_test_part_alone(readers: Readers, tmp_path: Path) -> None:
    assert compiled(labelled(by_states=True), tmp_path).certifiable.part == "test"
    assert not compiled(labelled(by_states=True), tmp_path).certifiable.out_of_fold


def test_a_judge_on_a_local_model_is_offered_its_states_and_a_search_tries_both() -> None:
    pytest.importorskip("gguf")
    judge = build("direct").bind(LOCAL)
    assert offered_evidence(judge).evidence == "state"
    assert searched_evidence(judge) == ("", "state")
    assert space_of(judge)["evidence"] == ["", "state"]


def test_a_judge_behind_an_address_is_offered_nothing_and_says_what_could_be_read() -> None:
    offer = offered_evidence(build("direct").bind("openai/gpt-4o-mini"))
    assert offer.evidence == ""
    assert "hidden states" in offer.hints[0].lower()
    assert offered_evidence(build("longer")).hints == ()


def test_evidence_that_nobody_chose_is_read_where_a_model_gives_it() -> None:
    pytest.importorskip("gguf")
    judge, spec = build("direct").bind(LOCAL), JudgeSpec("direct", LOCAL)
    assert with_best_evidence(judge, spec, Recipe(), (), SILENT).evidence_text == "state"
    assert judge.evidence_text == "", "the given judge is not changed"
    without = build("direct").bind(LOCAL)
    without.set(evidence="")
    assert with_best_evidence(without, spec, Recipe(), (), SILENT).evidence_text == ""
    assert with_best_evidence(judge, spec, Recipe(head=False), (), SILENT).evidence_text == ""
    assert with_best_evidence(judge, spec, Recipe(space={"evidence": ("", "state")}), (), SILENT).evidence_text == ""
    assert with_best_evidence(judge, JudgeSpec("x.judge.json"), Recipe(), (), SILENT).evidence_text == ""
