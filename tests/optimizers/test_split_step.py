"""The split of a compilation: cases that share texts are in one part and one group, and old folders continue."""

import json
from hashlib import sha256
from pathlib import Path

import pytest
from leaning_judge import Leaning, worlds

from dicast.data import Case, split
from dicast.data.text_digest import case_text_digest, query_digest
from dicast.errors import RunError
from dicast.optimizers.compile import Compiler
from dicast.optimizers.compile_folder import read_compilation
from dicast.optimizers.evidence import ProgressCallbacks
from dicast.optimizers.recipe import Recipe
from dicast.pages.compile_page import compilation_markdown

PLAIN = Recipe(trials=0, estimate="split", baseline=None)


def copied(count: int) -> list[Case]:
    """Pairs of one annotator, and a fifth of them again under another annotator's group."""
    first = [
        case.model_copy(update={"query": sha256(case.id.encode()).hexdigest(), "group": f"first {number}"})
        for number, case in enumerate(worlds(count))
    ]
    again = [
        case.model_copy(update={"id": f"again {case.id}", "group": f"second {case.id}", "query": case.query + " "})
        for case in first[: count // 5]
    ]
    return first + again


def steps(cases: list[Case], folder: Path) -> tuple[Compiler, list[str]]:
    lines: list[str] = []
    progress = ProgressCallbacks(step=lambda name, text: lines.append(f"{name}: {text}"))
    compiler = Compiler(Leaning(), cases, folder, PLAIN, progress=progress)
    compiler.run()
    return compiler, lines


def test_copies_are_in_one_part_and_a_notice_says_so(tmp_path: Path) -> None:
    compiler, lines = steps(copied(150), tmp_path)
    assert "; 60 of 180 cases joined by equal texts" in lines[0]
    elsewhere = {query_digest(case) for name in ("train", "select") for case in compiler.parts[name]}
    assert not elsewhere & {query_digest(case) for case in compiler.parts["test"]}
    compilation = read_compilation(tmp_path)
    assert compilation.joined == "60 of 180 cases joined by equal texts"
    page = compilation_markdown(compilation, title="Page", now="now")
    assert "| split | 60 of 180 cases joined by equal texts |" in page


@pytest.mark.slow
def test_intervals_take_joined_groups_and_evidence_keeps_those_of_the_user(tmp_path: Path) -> None:
    cases = copied(150)
    compiler, _ = steps(cases, tmp_path)
    groups = {case.id: case.group for case in cases}
    joined = {case.id: case.group for part in compiler.parts.values() for case in part}
    assert len(set(groups.values())) == 180
    assert len(set(joined.values())) == 150
    tested = compiler.evidence.of(compiler.judge, compiler.parts["test"], "test")
    assert [judged.group for judged in tested] == [case.group for case in compiler.parts["test"]]
    for path in (tmp_path / "evidence").glob("*/verdicts.jsonl"):
        for line in path.read_text().splitlines():
            judged = json.loads(line)
            assert judged["group"] == groups[judged["case_id"]]
    accuracy = read_compilation(tmp_path).result.compiled.evaluation.measure("accuracy")
    assert accuracy is not None
    assert accuracy.groups == len({case.group for case in compiler.parts["test"]})


@pytest.mark.slow
def test_a_folder_of_an_earlier_version_continues_with_its_split(tmp_path: Path) -> None:
    cases = copied(150)
    old, _ = steps(cases, tmp_path / "old")
    parts = split(cases, parts=PLAIN.proportions(certify=True), seed=0, join=False)
    ids = {name: [case.id for case in part] for name, part in parts.items()}
    for path in (tmp_path / "old").glob("*"):
        if path.name not in {"compile.json", "split.json"} and path.is_file():
            path.unlink()
    (tmp_path / "old" / "split.json").write_text(json.dumps(ids))
    again, lines = steps(cases, tmp_path / "old")
    assert {name: [case.id for case in part] for name, part in again.parts.items()} == ids
    assert "joined" not in lines[0]
    assert not (tmp_path / "old" / "groups.json").exists()
    assert {case.group for part in again.parts.values() for case in part} == {case.group for case in cases}
    assert old.parts != again.parts


@pytest.mark.slow
def test_a_folder_that_is_continued_keeps_its_joined_groups(tmp_path: Path) -> None:
    cases = copied(150)
    first, lines = steps(cases, tmp_path)
    again, repeated = steps(cases, tmp_path)
    assert again.parts == first.parts
    assert repeated[0] == lines[0]


@pytest.mark.slow
def test_cases_without_equal_texts_are_split_as_before(tmp_path: Path) -> None:
    cases = worlds(120)
    compiler, lines = steps(cases, tmp_path)
    before = split(cases, parts=PLAIN.proportions(certify=True), seed=0, join=False)
    assert compiler.parts == before
    assert "joined" not in lines[0]


@pytest.mark.slow
def test_the_judge_file_knows_its_cases_by_their_texts(tmp_path: Path) -> None:
    cases = copied(150)
    compiler = Compiler(Leaning(), cases, tmp_path, PLAIN)
    training = compiler.run().training
    assert training["joined"] == "60 of 180 cases joined by equal texts"
    assert set(training["cases"].split()[1:]) == set(map(case_text_digest, cases))


@pytest.mark.slow
def test_damaged_groups_are_named(tmp_path: Path) -> None:
    steps(copied(150), tmp_path)
    (tmp_path / "groups.json").write_text('{"joined": 7}')
    with pytest.raises(RunError, match=r"groups\.json: is damaged"):
        steps(copied(150), tmp_path)
