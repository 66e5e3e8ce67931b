"""A judge file with arrays: two files that are one judge, whole or not at all, the same figures wherever they are."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from judge_readers import LOCAL, PAIR, Readers, case, pair_head, probe

from dicast.data import Usage
from dicast.errors import DeclarationError
from dicast.judging import Cascade, Panel, build
from dicast.judging.arrays import Array
from dicast.judging.arrays_file import packed
from dicast.judging.judge_file import fingerprint, load, read, save
from dicast.judging.judge_summary import summarize_file
from dicast.judging.linear_block import LinearBlock

NAME, ARRAYS = "tone.judge.json", "tone.judge.safetensors"


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> Readers:
    return Readers.put_in_place(monkeypatch)


def saved(folder: Path, seed: int = 0) -> Path:
    judge = probe()
    judge.head = pair_head(judge, seed)
    save(judge, folder / NAME)
    return folder / NAME


def test_a_copy_of_both_files_in_another_place_judges_bit_for_bit_the_same(readers: Readers, tmp_path: Path) -> None:
    path = saved(tmp_path / "here")
    shutil.copytree(tmp_path / "here", tmp_path / "there" / "deeper")
    for name in (NAME, ARRAYS):
        (tmp_path / "here" / name).unlink()
    again = load(tmp_path / "there" / "deeper" / NAME)
    judge = probe()
    judge.head = pair_head(judge)
    assert again.head == judge.head
    same = {"usage": Usage()}
    for texts in (("long text", "text"), ("a", ""), ("b", "b")):
        shown = case(*texts)
        assert again(shown).model_copy(update=same) == judge(shown).model_copy(update=same)
    assert again.settings()["evidence"] == "state"
    assert path.name == NAME


def test_files_may_be_renamed_together(readers: Readers, tmp_path: Path) -> None:
    path = saved(tmp_path)
    before = fingerprint(path)
    path.rename(tmp_path / "other.judge.json")
    (tmp_path / ARRAYS).rename(tmp_path / "other.judge.safetensors")
    assert fingerprint(tmp_path / "other.judge.json") == before


def test_the_json_names_the_digest_and_holds_no_weights(readers: Readers, tmp_path: Path) -> None:
    from hashlib import sha256

    from safetensors.numpy import load_file

    path = saved(tmp_path)
    content = json.loads(path.read_text())
    assert content["arrays"] == sha256((tmp_path / ARRAYS).read_bytes()).hexdigest()
    name = content["judge"]["head"]["blocks"]["state"]["weights"]["tensor"]
    head = load(path).head
    assert head is not None
    block = head.blocks["state"]
    assert isinstance(block, LinearBlock)
    weights = block.weights.values
    np.testing.assert_array_equal(load_file(tmp_path / ARRAYS)[name], weights)


def test_a_judge_without_arrays_has_one_file_and_no_field_of_them(tmp_path: Path) -> None:
    save(build("direct"), tmp_path / NAME)
    assert [path.name for path in tmp_path.iterdir()] == [NAME]
    assert "arrays" not in json.loads((tmp_path / NAME).read_text())


def test_arrays_of_an_earlier_judge_go_with_it(readers: Readers, tmp_path: Path) -> None:
    path = saved(tmp_path)
    save(build("direct"), path)
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            lambda path: path.unlink(),
            "the arrays of its head, tone.judge.safetensors, are missing beside it. Copy",
        ),
        (lambda path: path.write_bytes(path.read_bytes()[:-4]), "tone.judge.safetensors has other bytes than it had"),
        (lambda path: path.write_bytes(b"x" + path.read_bytes()), "tone.judge.safetensors has other bytes than it had"),
    ],
)
def test_missing_or_other_arrays_are_refused(readers: Readers, tmp_path: Path, change: Any, problem: str) -> None:
    path = saved(tmp_path)
    change(tmp_path / ARRAYS)
    for use in (load, read, fingerprint, summarize_file):
        with pytest.raises(DeclarationError, match=f"judge file .*{NAME}: {problem}"):
            use(path)


def rewritten(path: Path, content: bytes, **changes: Any) -> None:
    """Other arrays with their digest in the JSON, as somebody who edits both would leave them."""
    from hashlib import sha256

    (path.parent / ARRAYS).write_bytes(content)
    fields = json.loads(path.read_text()) | {"arrays": sha256(content).hexdigest()}
    fields["judge"]["head"]["blocks"]["state"] |= changes
    path.write_text(json.dumps(fields))


def test_arrays_that_do_not_fit_are_refused_though_the_digest_is_right(readers: Readers, tmp_path: Path) -> None:
    path = saved(tmp_path)
    short = Array.of(np.zeros(3))
    for content, changes, problem in (
        (b"no tensors", {}, "holds no arrays of numbers"),
        (packed({"other": short}), {}, "is not in the file of arrays"),
        (packed({short.name: short}), {"weights": {"tensor": short.name}}, r"is not in the file of arrays"),
        (
            packed({short.name: short}),
            {"weights": {"tensor": short.name}, "centre": None},
            r"weights of the shape \(3,\) for 8 numbers a candidate",
        ),
    ):
        rewritten(path, content, **changes)
        with pytest.raises(DeclarationError, match=problem):
            load(path)


@pytest.mark.parametrize("stop", range(3))
def test_wherever_the_writing_ends_the_file_is_the_old_or_the_new_judge(
    readers: Readers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    """A process that ends before its first, second or third file gets its name."""
    path = saved(tmp_path, seed=1)
    old, replace, count = fingerprint(path), Path.replace, iter(range(9))

    def ending(self: Path, target: Any) -> Any:
        if next(count) == stop:
            raise KeyboardInterrupt
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", ending)
        with pytest.raises(KeyboardInterrupt):
            saved(tmp_path, seed=2)
    new = fingerprint(saved(tmp_path / "other", seed=2))
    assert fingerprint(path) == (new if stop == 2 else old) != (old if stop == 2 else new)
    load(path)
    saved(tmp_path, seed=3)
    assert fingerprint(path) == fingerprint(saved(tmp_path / "third", seed=3))
    assert sorted(os.listdir(tmp_path)) == ["other", "third", NAME, ARRAYS]


@pytest.mark.parametrize("kind", [Panel, Cascade])
def test_members_with_arrays_are_saved_in_one_pair_of_files(readers: Readers, tmp_path: Path, kind: Any) -> None:
    members = [probe(), probe()]
    for seed, member in enumerate(members):
        member.head = pair_head(member, seed)
    judge = kind(members)
    save(judge, tmp_path / NAME)
    assert sorted(os.listdir(tmp_path)) == [NAME, ARRAYS]
    again = load(tmp_path / NAME)
    same = {"usage": Usage()}
    assert again(PAIR).model_copy(update=same) == judge(PAIR).model_copy(update=same)


def test_a_summary_describes_the_evidence_without_its_weights(readers: Readers, tmp_path: Path) -> None:
    rows = dict(summarize_file(saved(tmp_path)).judge.head or ())
    assert rows["evidence state"] == f"8 numbers of {LOCAL} after layer 3"


def test_the_fingerprint_is_of_the_weights_too(readers: Readers, tmp_path: Path) -> None:
    first, second = (fingerprint(saved(tmp_path / str(seed), seed)) for seed in (1, 2))
    assert first != second
    assert first == fingerprint(saved(tmp_path / "again", 1))


def test_an_old_file_of_direct_is_read_with_the_present_name_of_its_parameter(tmp_path: Path) -> None:
    save(Panel([build("direct", grading="single"), build("fennec-single")]), tmp_path / NAME)
    fields = json.loads((tmp_path / NAME).read_text())
    settings = fields["judge"]["members"][0]["settings"]
    settings["evidence"] = settings.pop("grading")
    (tmp_path / NAME).write_text(json.dumps(fields))
    assert load(tmp_path / NAME).members[0].grading.value == "single"
    assert read(tmp_path / NAME).judge.members[0].settings["grading"] == "single"
