"""Probes whose evidence is read without a model, and heads for them."""

from typing import Any

import numpy as np
import pytest
from scripted_states import ScriptedReader

from dicast.data import Candidate, Case
from dicast.engines.answer_store import AnswerStore
from dicast.engines.states import kept
from dicast.judging import build, evidence_reading
from dicast.judging.arrays import Array
from dicast.judging.heads import PairHead
from dicast.judging.linear_block import LinearBlock

WIDTH = 8
LOCAL = "local/smollm2-135m"


def case(*texts: str, name: str = "1") -> Case:
    return Case(id=name, query="q", candidates=tuple(Candidate(text=text) for text in texts))


PAIR = case("long text", "text")


class Readers:
    """The readers that were opened, by model and layer; each new one is a ScriptedReader with these options."""

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}
        self.opened: dict[tuple[str, int | None], ScriptedReader] = {}
        self.trusted: list[bool] = []

    @classmethod
    def put_in_place(cls, monkeypatch: pytest.MonkeyPatch) -> "Readers":
        """In the place of every model, with nothing stored or opened yet."""
        readers, store = cls(), AnswerStore(None)
        monkeypatch.setattr(kept, "connect_reader", readers.connect)
        monkeypatch.setattr(kept, "states_store", lambda: store)
        monkeypatch.setattr(kept, "_readers", {})
        monkeypatch.setattr(evidence_reading, "_sources", {})
        return readers

    def connect(self, model: str, layer: int | None, engine: str = "auto", *, trusted: bool = True) -> ScriptedReader:
        reader = ScriptedReader(**{"width": WIDTH, **self.options})
        reader.model, reader.layer = model, layer or 3
        self.opened[model, layer] = reader
        self.trusted.append(trusted)
        return reader


def probe(head: Any = None, evidence: str = "state") -> Any:
    judge = build("probe", evidence=evidence).bind(LOCAL)
    judge.head = head
    return judge


def block(source: Any, seed: int = 0, **fields: Any) -> LinearBlock:
    weights, centre = np.random.default_rng(seed).normal(size=(2, WIDTH))
    return LinearBlock(source=source.spec, weights=Array.of(weights), centre=Array.of(centre), **fields)


def pair_head(judge: Any, seed: int = 0) -> PairHead:
    weights = {"state": 0.8, "letters": 0.3}
    blocks = {"state": block(judge.sources()[0], seed)}
    return PairHead(weights=weights, intercept=-0.6, threshold={"state distance": 0.2}, blocks=blocks)
