"""What a model's chat template puts around the parts of a prompt, asked of the engine with signs in place of texts."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from os.path import commonprefix

from .reader import Form, StateRequest

FIRST, SECOND, THIRD = "\x01", "\x02", "\x03"  # signs in place of texts; no template holds them

Render = Callable[[Sequence[Mapping[str, str]], bool], str]  # messages, and whether the model's answer is begun


class ChatFrame:
    """Puts the parts of a request into the template of a model.

    Args:
        render: the prompt of messages, with the beginning of the model's answer where asked.

    Example:
        >>> render = lambda turns, is_asked: "".join(f"<{turn['content']}>" for turn in turns) + "<" * is_asked
        >>> frame = ChatFrame(render)
        >>> frame.around(StateRequest("Query: q", " Answer: a", " Good?"))
        [('<', True), ('Query: q', False), ('', True), (' Answer: a', False), (' Good?', False), ('><', True)]
        >>> frame.around(StateRequest("q", "a"))
        [('<', True), ('q', False), ('', True), ('a', False), ('', False), ('', True)]
    """

    TEXT = 3  # the place of the text among the parts

    def __init__(self, render: Render) -> None:
        self._render = cache(lambda form: self._pieces(render, form))

    def around(self, request: StateRequest) -> list[tuple[str, bool]]:
        """Texts to read one after the other, and whether control tokens in them count: in the template's, not in ours.

        Where nothing comes after the text of a turn, its end is left out.
        """
        start, between, end = self._render(request.form)
        if request.form == "turn" and not request.after:
            end = ""
        return [
            (start, True),
            (request.before, False),
            (between, True),
            (request.text, False),
            (request.after, False),
            (end, True),
        ]

    @staticmethod
    def _pieces(render: Render, form: Form) -> tuple[str, str, str]:
        """What is before the first text, between the two, and after the second; of a turn there is nothing between."""
        user = {"role": "user", "content": FIRST}
        start, end = _split(render([user], True), FIRST)
        if form == "turn":
            return start, "", end
        # Templates leave a last turn of the assistant open, so that another turn of the user comes after it here.
        turns = [user, {"role": "assistant", "content": SECOND}, {"role": "user", "content": THIRD}]
        between, rest = _split(_split(render(turns, True), FIRST)[1], SECOND)
        end_and_start = _split(rest, THIRD)[0]
        end_of_turn = _split(render([user], False), FIRST)[1]
        if end_and_start.startswith(end_of_turn):  # turns of both end in the same way
            return start, between, end_of_turn
        return start, between, end_and_start.removesuffix(_common_end(start, end_and_start))


def _split(text: str, sign: str) -> tuple[str, str]:
    before, _, after = text.partition(sign)
    return before, after


def _common_end(first: str, second: str) -> str:
    """The end that two texts share.

    Example:
        >>> _common_end("<s>[INST]", "</s>[INST]")
        's>[INST]'
    """
    return commonprefix([first[::-1], second[::-1]])[::-1]  # noqa: RUF071  texts, not paths
