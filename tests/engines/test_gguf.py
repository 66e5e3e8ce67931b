"""The control tokens of a weights file."""

import struct
from pathlib import Path

import pytest

from dicast.engines.gguf import TOKENS, TYPES, control_tokens
from dicast.engines.models import get_lm

NORMAL, CONTROL, USER_DEFINED = 1, 3, 4


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def texts(values: list[str]) -> bytes:
    return struct.pack("<IIQ", 9, 8, len(values)) + b"".join(map(text, values))


def numbers(values: list[int]) -> bytes:
    return struct.pack(f"<IIQ{len(values)}i", 9, 5, len(values), *values)


def gguf(path: Path, *entries: bytes, version: int = 3) -> Path:
    path.write_bytes(struct.pack("<4sIQQ", b"GGUF", version, 0, len(entries)) + b"".join(entries))
    return path


ENTRIES = (
    text("general.name") + struct.pack("<I", 8) + text("made up"),
    text("some.float") + struct.pack("<If", 6, 0.5),
    text(TOKENS) + texts(["the", "<|im_end|>", "<tool_call>", "<｜end▁of▁turn｜>"]),
    text(TYPES) + numbers([NORMAL, CONTROL, USER_DEFINED, CONTROL]),
)


def test_control_tokens_are_those_of_their_type(tmp_path: Path) -> None:
    assert control_tokens(gguf(tmp_path / "a.gguf", *ENTRIES)) == {"<|im_end|>", "<｜end▁of▁turn｜>"}


def test_a_file_without_a_vocabulary_has_none(tmp_path: Path) -> None:
    assert control_tokens(gguf(tmp_path / "a.gguf", ENTRIES[0])) == frozenset()


def test_a_damaged_file_has_none_wherever_it_ends(tmp_path: Path) -> None:
    whole = gguf(tmp_path / "whole.gguf", *ENTRIES).read_bytes()
    for length in range(len(whole)):
        path = tmp_path / f"{length}.gguf"
        path.write_bytes(whole[:length])
        assert control_tokens(path) == frozenset()


@pytest.mark.parametrize(
    "entry",
    [
        text(TOKENS) + struct.pack("<IIQ", 9, 8, 2**62),  # an array without an end
        text(TOKENS) + struct.pack("<IQ", 8, 2**63),  # a text without an end
        text(TOKENS) + struct.pack("<IIQ", 9, 9, 3),  # arrays in an array
        text(TOKENS) + struct.pack("<I", 77),  # no such type
    ],
)
def test_a_length_that_cannot_be_is_refused(tmp_path: Path, entry: bytes) -> None:
    assert control_tokens(gguf(tmp_path / "a.gguf", entry)) == frozenset()


def test_another_version_is_not_read(tmp_path: Path) -> None:
    assert control_tokens(gguf(tmp_path / "a.gguf", *ENTRIES, version=1)) == frozenset()
    assert control_tokens(tmp_path / "none.gguf") == frozenset()


@pytest.mark.slow
@pytest.mark.model
def test_a_local_model_says_its_own_control_tokens(small_model: str) -> None:
    assert get_lm(small_model).special_tokens >= {"<|im_start|>", "<|im_end|>", "<jupyter_code>", "<filename>"}
