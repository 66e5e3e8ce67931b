"""Labels of people teach a compiled judge for one run: who learns, what is left out, what the identity says."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from dicast.data import Case, Verdict
from dicast.data.person import person_of
from dicast.errors import DataError, DeclarationError
from dicast.evidence.source_spec import SourceSpec
from dicast.judging import Judge, build
from dicast.judging.arrays import Array
from dicast.judging.heads import PairHead
from dicast.judging.linear_block import LinearBlock
from dicast.judging.person_block import PersonBlock
from dicast.workflows.judge_spec import JudgeSpec
from dicast.workflows.person_labels import PersonLabels
from dicast.workflows.seen_cases import SeenCases

WIDTH = 3
LINEAR = LinearBlock(source=SourceSpec(kind="state", width=WIDTH), weights=Array.of(np.ones(WIDTH)))
ROWS = [
    {
        "id": f"{person}{n}",
        "query": f"Question {n}?",
        "response_a": f"one {n}",
        "response_b": f"two {n}",
        "label": letter,
        "group": person,
        "preference": f"what {person} likes",
    }
    for person, letter in (("ann", "a"), ("bob", "b"))
    for n in range(5)
]


class Reads(Judge):
    """Finds both texts equal, and reads three numbers of each that are drawn by its words."""

    name = "reads"

    def assess(self, case: Case) -> Verdict:
        return Verdict(case_id=case.id, winner="tie", distribution={"a": 0.5, "b": 0.5})

    def read_vectors(self, case: Case) -> dict[str, np.ndarray]:
        seeds = [sum(map(ord, candidate.text)) for candidate in case.candidates]
        return {"state": np.stack([np.random.default_rng(seed).standard_normal(WIDTH) for seed in seeds])}


def judge(block: LinearBlock | PersonBlock) -> Judge:
    reads = Reads()
    reads.head = PairHead(weights={"state": 1.0}, blocks={"state": block})
    return reads


def personal() -> PersonBlock:
    return PersonBlock.of(LINEAR, scale=np.ones(WIDTH), penalty=0.1, ratio=1.0, loss="logistic")


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    path = tmp_path / "labels.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def people(taught: Judge) -> Mapping[str, Array]:
    assert taught.head is not None
    block = taught.head.blocks["state"]
    assert isinstance(block, PersonBlock)
    return block.people


def test_a_run_learns_the_people_of_the_labels_and_leaves_the_judge_as_it_is(labels: Path) -> None:
    before, file = judge(personal()), PersonLabels(labels)
    taught = file.teach(before)
    assert set(people(taught)) == {person_of(case) for case in file.cases}
    assert people(before) == {}
    margins: dict[str, float] = {"ann": 0.0, "bob": 0.0}
    for case in file.cases:
        assert taught.head is not None
        shares = taught.head(case, taught.assess(case), taught.read_vectors(case)).distribution
        assert shares is not None
        margins[case.group or ""] += shares["a"] - shares["b"]
    assert margins["ann"] > margins["bob"]


def test_a_judge_without_weights_of_people_is_refused(labels: Path) -> None:
    for without in (judge(LINEAR), Reads()):
        with pytest.raises(DeclarationError, match="no weights of people"):
            PersonLabels(labels).teach(without)
    with pytest.raises(DeclarationError, match="no weights of people"):
        JudgeSpec("longer", learn=labels).build()


def test_labels_of_nobody_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(json.dumps({name: value for name, value in ROWS[0].items() if name != "preference"}) + "\n")
    with pytest.raises(DataError, match="no case has a label and a profile"):
        PersonLabels(path).teach(judge(personal()))


def test_the_labels_count_in_the_identity_and_their_cases_are_left_out(labels: Path) -> None:
    spec = JudgeSpec("longer", learn=labels)
    first = spec.identity(build("longer"))["learned"]
    seen = SeenCases(spec, build("longer"))
    known = list(PersonLabels(labels).cases)
    new = known[0].model_copy(update={"query": "Another question?"})
    assert list(seen.unseen([*known, new])) == [new]
    assert "learned from 10 of the cases" in seen.notice()
    labels.write_text(labels.read_text() + json.dumps(ROWS[0] | {"id": "more", "query": "More?"}) + "\n")
    assert spec.identity(build("longer"))["learned"] != first
