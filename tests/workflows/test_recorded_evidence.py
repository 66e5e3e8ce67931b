"""Answers that come with the package: looked up in a copy, which new answers join."""

import os

import pytest

from dicast.engines.answer_store import AnswerStore, default_store
from dicast.engines.states.store import FILE as STATES
from dicast.workflows.recorded_evidence import answers_in, write_record

KEY, OTHER = b"k" * 32, b"o" * 32


@pytest.fixture
def record(tmp_path):
    for file in (None, STATES):
        store = AnswerStore(tmp_path / "record", **({"file": file} if file else {}))
        store.put(KEY, b"recorded")
        store.close()
    return tmp_path / "record"


def test_answers_are_looked_up_in_a_copy_and_new_ones_join_it(record, tmp_path, monkeypatch):
    monkeypatch.delenv("DICAST_ANSWERS", raising=False)
    with answers_in(tmp_path / "copy", record):
        assert default_store().get(KEY) == b"recorded"
        assert default_store(STATES).get(KEY) == b"recorded"
        default_store().put(OTHER, b"new")
    assert "DICAST_ANSWERS" not in os.environ
    assert AnswerStore(record).get(OTHER) is None
    with answers_in(tmp_path / "copy", record):
        assert default_store().get(OTHER) == b"new"


def test_the_folder_that_the_user_chose_is_back_afterwards_also_after_an_error(record, tmp_path, monkeypatch):
    monkeypatch.setenv("DICAST_ANSWERS", str(tmp_path / "mine"))
    with pytest.raises(KeyboardInterrupt), answers_in(tmp_path / "copy", record):
        raise KeyboardInterrupt
    assert os.environ["DICAST_ANSWERS"] == str(tmp_path / "mine")
    assert default_store().folder == tmp_path / "mine"


def test_a_copy_that_was_cut_off_is_made_again(record, tmp_path):
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "answers.sqlite.part").write_bytes(b"half")
    with answers_in(tmp_path / "copy", record):
        assert default_store().get(KEY) == b"recorded"


def test_a_folder_without_a_record_begins_empty_and_becomes_one(record, tmp_path):
    with answers_in(tmp_path / "new"):
        assert default_store().get(KEY) is None
        default_store().put(OTHER, b"new")
        default_store(STATES).put(OTHER, b"state")
    write_record(tmp_path / "new", tmp_path / "written")
    assert sorted(path.name for path in (tmp_path / "written").iterdir()) == ["answers.sqlite", "states.sqlite"]
    with answers_in(tmp_path / "again", tmp_path / "written"):
        assert default_store().get(OTHER) == b"new"
        assert default_store(STATES).get(OTHER) == b"state"
