"""Where the tail of a prompt begins: after the shown texts, with the words that every prompt of a set ends with.

A program shows its inputs first and asks last, so that prompts of one question differ in the texts and are equal from
the question on. The tail's tokens are those that stay the same whatever a text ends with: a tokenizer may join the end
of a text with the line break after it. They are an adapter's `alora_invocation_tokens`, and are looked for in the same
way in training and in serving. Prompts of several questions share less: the words after them, or the template's alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from os.path import commonprefix

from ..engines.torch_models.chat import Chat
from ..errors import DataError

Dialogue = Sequence[Mapping[str, str]]  # messages with `role` and `content`

PARAGRAPH = "\n\n"
# What texts end with, of every kind that a tokenizer may join with a line break.
ENDINGS = ("a", "Z", "7", ".", "!", ")", '"', "*", "```", " ", "\t", "\n", "é", "。", "字", "🙂")


def tail_marker(chat: Chat, prompts: Sequence[Dialogue]) -> tuple[int, ...]:
    """The tokens that all prompts end with, of their last paragraph and of what the template puts after it.

    Args:
        chat: of the model.
        prompts: of the set, without their answers.

    Raises:
        DataError: there are no two different prompts, or they have no end in common.
    """
    texts = {prompt[-1]["content"] for prompt in prompts}
    if len(texts) < 2:
        raise DataError(
            f"the end of prompts: {len(texts)} different prompts do not show where the texts end. Give more rows."
        )
    question = common_question(texts)
    *before, last = prompts[0]
    shown = [[*before, {**last, "content": f"{ending}{question}"}] for ending in ENDINGS]
    rows = {chat.prompt(prompt).ids for prompt in [*shown, *prompts]}
    marker = common_end(rows)
    if not marker:
        raise DataError(
            "the end of prompts: they have no words in common, and the model's template adds none. Train an adapter of "
            "all tokens (method lora)."
        )
    return marker


def common_question(texts: Iterable[str]) -> str:
    """The last paragraph of texts, where they share it; else the lines that they end with; empty where there are none.

    Example:
        >>> common_question(["Query: a\\n\\nWhich?\\nOne letter.", "Query: ba\\n\\nWhich?\\nOne letter."])
        '\\n\\nWhich?\\nOne letter.'
    """
    common = commonprefix([text[::-1] for text in texts])[::-1]  # noqa: RUF071  texts, not paths
    start = common.rfind(PARAGRAPH)
    if start < 0:
        start = common.find("\n")
    return common[start:] if start >= 0 else ""


def common_end(rows: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """The tokens that rows end with; at least one of a row is left.

    Example:
        >>> common_end([(1, 2, 3, 4), (9, 3, 4), (5, 5, 3, 4)])
        (3, 4)
    """
    first, *others = list(rows)
    length = min(map(len, [first, *others])) - 1
    for row in others:
        while row[len(row) - length :] != first[len(first) - length :]:
            length -= 1
    return tuple(first[len(first) - length :])
