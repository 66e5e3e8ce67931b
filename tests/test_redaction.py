"""No key and no control character leaves in a text."""

import pytest

from dicast.errors import DicastError, RunError
from dicast.redaction import MASK, clean, printable, redact, register_secret


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Authorization: Bearer abc.DEF-123", f"Authorization: Bearer {MASK}"),
        ("'x-api-key': 'abcdef123'", f"'x-api-key': '{MASK}'"),
        ("Incorrect API key provided: sk-proj-AAAABBBBCCCCDDDD.", f"Incorrect API key provided: {MASK}."),
        ("the bearer of news, a basic rule", "the bearer of news, a basic rule"),
        ("task-oriented, sk-learn", "task-oriented, sk-learn"),
        ("Skywork/Skywork-Reward-V2-Qwen3-0.6B", "Skywork/Skywork-Reward-V2-Qwen3-0.6B"),
    ],
)
def test_text_that_has_the_shape_of_a_key_is_removed(text, expected):
    assert redact(text) == expected


def test_values_of_secret_variables_are_removed(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "plain words\r")
    monkeypatch.setenv("OTHER_API_KEY", "none")
    assert redact("it says plain words, or none") == f"it says {MASK}, or none"


def test_registered_values_are_removed_after_the_variable_is_gone():
    register_secret("opensesame-1")
    assert redact("'opensesame-1'") == f"'{MASK}'"


def test_control_characters_become_visible():
    assert printable("a\tb\n\x1b[31mred\x9b0m\x7f\u202edc") == "a\tb\n␛[31mred\ufffd0m␡\ufffddc"


def test_messages_of_errors_are_clean():
    error = RunError("runs/x: the server said Bearer abcdef123456 \x1b]0;x\x07")
    assert str(error) == f"runs/x: the server said Bearer {MASK} ␛]0;x␇"
    assert error.args == (str(error),)
    assert clean(str(error)) == str(error)
    assert isinstance(error, DicastError)
