"""Prompts as token ids: the chat template around texts, in which no special token is parsed.

The template is rendered with stand-ins for the texts. Its special tokens are looked up; everything between them, the
texts included, is tokenised with special tokens read as plain text. So a candidate's `<|im_end|>` closes nothing.
"""

import re
import secrets
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

THINKING = {"enable_thinking": False}  # Qwen3's templates then close the thoughts; other templates ignore it


@dataclass(frozen=True)
class Prompt:
    """A prompt as token ids.

    Attributes:
        ids: all of them.
        head: how many of the first are the same for every request with the same system message.
    """

    ids: tuple[int, ...]
    head: int


class Chat:
    """Makes prompts with a model's tokenizer; safe to use from several threads.

    Args:
        tokenizer: of transformers, perhaps with a chat template.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.special = frozenset(str(token) for token in tokenizer.added_tokens_decoder.values() if token.special)
        structure = sorted((str(token) for token in tokenizer.added_tokens_decoder.values()), key=len, reverse=True)
        self._structure = re.compile("|".join(map(re.escape, structure))) if structure else None
        self._lock = threading.Lock()  # tokenizers of the Rust library are not safe to set up from two threads

    def prompt(self, messages: Sequence[Mapping[str, str]], *, answer: bool = True) -> Prompt:
        """The prompt of messages with `role` (system, user, assistant) and `content`.

        Args:
            answer: the model is to answer; else the messages are closed, as a reward model reads them.
        """
        mark = secrets.token_hex(8)
        names = [f"{mark}{index:04d}" for index in range(len(messages))]
        stand_ins = [{"role": m["role"], "content": name} for m, name in zip(messages, names, strict=True)]
        contents = {name: m["content"] for name, m in zip(names, messages, strict=True)}
        rendered = self._render(stand_ins, contents, answer)
        pieces: list[int | str] = []  # special tokens as ids, plain texts
        system = {name for name, m in zip(names, messages, strict=True) if m["role"] == "system"}
        head, is_head = 0, True
        for part in re.split(f"({mark}[0-9]{{4}})", rendered):
            if part in contents:
                if is_head and part not in system:
                    head, is_head = len(pieces), False
                _add_text(pieces, contents[part])
            else:
                self._add_template(pieces, part)
        if head and isinstance(pieces[head - 1], str):
            head -= 1  # that text goes on with what differs
        ids = [self._ids(piece) for piece in pieces]
        return Prompt(tuple(token for part in ids for token in part), sum(map(len, ids[:head])))

    def text_ids(self, text: str) -> list[int]:
        """A text's token ids, special tokens read as plain text."""
        with self._lock:
            return list(self.tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True))

    def template_ids(self, text: str) -> list[int]:
        """The token ids of a part of a template: its special tokens are parsed."""
        pieces: list[int | str] = []
        self._add_template(pieces, text)
        return [token for piece in pieces for token in self._ids(piece)]

    def words(self, tokens: Sequence[int]) -> str:
        """The text of an answer, without special tokens."""
        with self._lock:
            return str(self.tokenizer.decode(list(tokens), skip_special_tokens=True))

    def token_text(self, token: int) -> str:
        """One token as a text, with the space before it that some tokenizers leave out (`▁A`)."""
        with self._lock:
            text = str(self.tokenizer.decode([token]))
            raw = str(self.tokenizer.convert_ids_to_tokens(token))
        return f" {text}" if raw.startswith("▁") and not text.startswith(" ") else text

    def rendered(self, messages: Sequence[Mapping[str, str]], answer: bool) -> str:
        """The template with these messages, for those that look at its parts."""
        return self._render([dict(message) for message in messages], {m["content"]: "" for m in messages}, answer)

    def _ids(self, piece: int | str) -> list[int]:
        return [piece] if isinstance(piece, int) else self.text_ids(piece)

    def _add_template(self, pieces: list[int | str], text: str) -> None:
        """Add a part of the rendered template."""
        place = 0
        for match in self._structure.finditer(text) if self._structure else ():
            _add_text(pieces, text[place : match.start()])
            pieces.append(int(self.tokenizer.convert_tokens_to_ids(match.group())))
            place = match.end()
        _add_text(pieces, text[place:])

    def _render(self, messages: list[dict[str, str]], contents: dict[str, str], answer: bool) -> str:
        """The template with stand-ins; where it takes no system message, that goes before the first user's."""
        if self.tokenizer.chat_template is None:
            return "\n\n".join([message["content"] for message in messages] + ([""] if answer else []))
        from jinja2.exceptions import TemplateError

        options = {"tokenize": False, "add_generation_prompt": answer, **THINKING}
        try:
            return str(self.tokenizer.apply_chat_template(messages, **options))
        except TemplateError:
            if messages[0]["role"] != "system" or len(messages) < 2:
                raise
            first, second, *others = messages
            contents[second["content"]] = f"{contents[first['content']]}\n\n{contents[second['content']]}"
            return str(self.tokenizer.apply_chat_template([second, *others], **options))


def _add_text(pieces: list[int | str], text: str) -> None:
    """Add plain text to the end: neighbouring texts are tokenised as one."""
    if not text:
        return
    if pieces and isinstance(pieces[-1], str):
        pieces[-1] += text
    else:
        pieces.append(text)
