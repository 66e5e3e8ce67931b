"""What a model can do, asked once and kept: a card for each model, learned from what its server accepts and refuses.

`request_shape` makes requests of it. `dicast check --lm` forgets a card and asks anew.
"""

import hashlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from pydantic import Field

from ..data.case import Record
from ..errors import DicastError
from ..parsing import parse_record_json, read_text
from ..paths import private_folder
from .history_file import history_path
from .jsonl import write_whole

FOLDER = "models"
Part = Literal["logprobs", "schema", "max_tokens", "system", "temperature", "seed"]
Switch = Literal["reasoning_effort", "chat_template_kwargs"]
SWITCHES: tuple[Switch, ...] = ("reasoning_effort", "chat_template_kwargs")  # in the order of trying


class Card(Record):
    """What is known of a model; what is neither accepted nor refused was never sent."""

    accepts: frozenset[Part] = Field(default=frozenset(), description="parts of requests that it has taken")
    refuses: frozenset[Part] = Field(
        default=frozenset(), description="parts that it has refused; max_tokens: it takes max_completion_tokens"
    )
    thinks: bool = Field(default=False, description="whether it has thought before an answer")
    failed_switches: frozenset[Switch] = Field(default=frozenset(), description="what did not stop it from thinking")
    switch: Switch | None = Field(default=None, description="what stopped it from thinking")
    way: Literal["sampled", "stated"] | None = Field(
        default=None, description="how distributions are read where token probabilities cannot be"
    )
    room: int = Field(default=0, ge=0, description="tokens that an answer needs beside its own, for the thought")

    @property
    def next_switch(self) -> Switch | None:
        """What may stop it from thinking; None where nothing is left to try."""
        return self.switch or next((name for name in SWITCHES if name not in self.failed_switches), None)

    @property
    def way_without_tokens(self) -> Literal["sampled", "stated"]:
        """How distributions are read if token probabilities cannot be: of a model that thinks, as it states them."""
        return "stated" if self.thinks else "sampled"

    def can(self, part: Part) -> str:
        """Whether it takes a part of a request: "yes", "no" or "not asked"."""
        return "no" if part in self.refuses else "yes" if part in self.accepts else "not asked"

    def lines(self) -> list[tuple[str, str]]:
        """The card in words: what was asked, and the answer."""
        limit = {"yes": "max_tokens", "no": "max_completion_tokens"}.get(self.can("max_tokens"), "not asked")
        room = f", with {self.room:,} tokens more for the thought" if self.room else ""
        thought = "no"
        if self.thinks:
            thought = "yes; " + ("it cannot be switched off" if self.next_switch is None else "it can be switched off")
        reads = {"sampled": "no; read from sampled answers", "stated": "no; read as the model states it"}
        return [
            ("token probabilities", reads[self.way] if self.way else self.can("logprobs")),
            ("JSON schema", self.can("schema")),
            ("limit of an answer", limit + room),
            ("system prompt", self.can("system")),
            ("temperature", self.can("temperature")),
            ("thinks first", thought + (f" ({self.switch})" if self.switch else "")),
        ]


class KeptCard:
    """The card of a model, shared by threads, and kept in a file where it has one.

    Args:
        path: its file; None keeps it for the life of the object.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path, self._lock = path, threading.Lock()
        self._card = _read(path) if path is not None else Card()

    @classmethod
    def of(cls, identity: str) -> "KeptCard":
        """The card of the model with this identity, in the folder of this machine's history."""
        name = hashlib.sha256(identity.encode()).hexdigest()[:24]
        return cls(history_path(FOLDER) / f"{name}.json")

    @property
    def now(self) -> Card:
        """What is known by now."""
        return self._card

    def learn(self, change: Callable[[Card], Card]) -> Card:
        """The card after a change, which is kept; a folder without write access keeps it for this process."""
        with self._lock:
            card = change(self._card)
            if card != self._card:
                self._card = card
                self._write()
        return card

    def forget(self) -> None:
        """Know nothing, so that everything is asked anew."""
        self.learn(lambda card: Card())

    def _write(self) -> None:
        if self._path is None:
            return
        try:
            private_folder(self._path.parent.parent)
            private_folder(self._path.parent)
            write_whole(self._path, self._card.model_dump_json() + "\n")
        except (OSError, DicastError):
            pass


def _read(path: Path) -> Card:
    """The card in a file; an empty one where there is no file, or a damaged one."""
    try:
        return parse_record_json(Card, read_text(path), str(path)) if path.is_file() else Card()
    except (OSError, DicastError):
        return Card()
