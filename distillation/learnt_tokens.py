"""Training rows as token ids: what the model reads, which tokens it learns, and the distributions of labels.

The ids are those that `engines/torch_models/chat.py` makes when the student is asked: the same template, texts in which
no special token is parsed, and an answer that begins where the prompt ends. So only the last assistant message is
learnt, demos in earlier ones are not, and no template needs marks around what it generates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import DataError

if TYPE_CHECKING:
    from ..engines.torch_models.chat import Chat
    from .row import TrainingRow

IGNORED = -100  # the label of a token that is not learnt, as torch's losses have it
ANSWER = "dicast-answer-goes-in-here"


@dataclass(frozen=True)
class LearntTokens:
    """A row as token ids.

    Attributes:
        ids: of the prompt and the answer.
        labels: the id where a token is learnt, else -100; as long as `ids`.
        target: {id: probability} of a label, in place of the last id; empty where words are learnt.
        weight: of the row in the loss.
    """

    ids: tuple[int, ...]
    labels: tuple[int, ...]
    target: Mapping[int, float]
    weight: float

    @property
    def learnt(self) -> int:
        """How many tokens are learnt."""
        return sum(label != IGNORED for label in self.labels)


class RowTokenizer:
    """Makes token ids of training rows.

    Args:
        chat: of the base model.
    """

    def __init__(self, chat: "Chat") -> None:
        self.chat, self._end = chat, turn_end(chat)

    def __call__(self, row: "TrainingRow") -> LearntTokens:
        """The row's tokens.

        Raises:
            DataError: two labels of the row begin with the same token.
        """
        *before, last = ({"role": str(m.role), "content": m.content} for m in row.messages)
        prompt = self.chat.prompt(before).ids
        if row.targets:
            target = self._target(row)
            answer = [max(target, key=lambda token: target[token])]
        else:
            target, answer = {}, [*self.chat.text_ids(last["content"]), self._end]
        return LearntTokens((*prompt, *answer), (*(IGNORED for _ in prompt), *answer), target, row.weight)

    def _target(self, row: "TrainingRow") -> dict[int, float]:
        tokens = {text: self.chat.text_ids(text)[0] for text in row.targets}
        target = {tokens[text]: p for text, p in row.targets.items()}
        if len(target) < len(tokens):
            raise DataError(
                f"row {row.case_id!r}: two of the labels {', '.join(tokens)} begin with the same token of this base, "
                "so that a token does not distinguish them. Name the labels by letters, or leave such rows out."
            )
        return target


def turn_end(chat: "Chat") -> int:
    """The token that ends an answer: the first special token that the template writes after it, else that of the end of
    the text."""
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": ANSWER}]
    after = chat.template_ids(chat.rendered(messages, answer=False).rpartition(ANSWER)[2])
    special = {chat.tokenizer.convert_tokens_to_ids(mark) for mark in chat.special}
    return int(next((token for token in after if token in special), chat.tokenizer.eos_token_id))


def tokenized(
    rows: "Sequence[TrainingRow]", tokenizer: RowTokenizer, length: int
) -> tuple[list[LearntTokens], list[str]]:
    """(the rows of at most `length` tokens, the case ids of the longer ones), in order."""
    everything = [(row.case_id, tokenizer(row)) for row in rows]
    longer = [case_id for case_id, tokens in everything if len(tokens.ids) > length]
    return [tokens for _, tokens in everything if len(tokens.ids) <= length], longer
