"""What the corrector of one response may read of a judgment of two."""

import pytest

from dicast.programs.own_judgments import of_response


@pytest.mark.parametrize(
    ("explanation", "letter", "own"),
    [
        ("Response A is wrong.", "A", "The response is wrong."),
        ("It says that response A is wrong.", "A", "It says that the response is wrong."),
        ("A is wrong. B is right.", "A", "The response is wrong."),
        ("B fails to name one.", "B", "The response fails to name one."),
        ("A prime is named, but 9 is none.", "A", "A prime is named, but 9 is none."),
        ("A prime is named, but 9 is none.", "B", "A prime is named, but 9 is none."),
        ("It lists vitamin B and vitamin A.", "A", "It lists vitamin B and vitamin A."),
        ("It is short. Response B is longer.", "A", "It is short."),
        ("It is worse than B. It is wrong!", "A", "It is wrong!"),
        ("Unlike Assistant A, it is wrong.", "B", ""),
        ("Both responses are short. It is wrong.", "A", "It is wrong."),
        ("The other response is better. It is wrong.", "A", "It is wrong."),
        ("", "A", ""),
    ],
)
def test_only_what_is_said_of_the_response_itself_is_kept(explanation: str, letter: str, own: str) -> None:
    assert of_response(explanation, letter) == own
