"""A reader of states without a model: the state of a text is a fixed function of the text."""

import hashlib

import numpy as np

from dicast.engines.answer_store import AnswerStore
from dicast.engines.states.kept import KeptReader
from dicast.engines.states.reader import StateAnswer
from dicast.evidence.source import SourceItem
from dicast.evidence.state import StateSource


class ScriptedReader:
    """A `StateReader` whose states are drawn by a digest of the request; it counts what it reads."""

    model, engine, layer, depth, frame = "local/scripted", "scripted", 3, 4, ""
    gives_options, slots, timeout = False, 1, 60.0

    def __init__(self, width=8, digest="0" * 64, batch=1, fails=None):
        self.width, self.digest, self.batch, self.fails = width, digest, batch, fails
        self.requests = []

    def prepare(self):
        pass

    def read(self, requests):
        self.requests += requests
        if self.fails is not None:
            raise self.fails
        return [self.answer(request) for request in requests]

    def answer(self, request):
        seed = hashlib.sha256(f"{request.before}|{request.text}|{request.after}".encode()).digest()[:8]
        state = np.random.default_rng(int.from_bytes(seed)).standard_normal((2, self.width)).astype(np.float32)
        return StateAnswer(state[0], state[1], len(request.text), len(request.before + request.text))


def scripted_source(name="state", **options):
    """A `state` source on a ScriptedReader, with a store in memory."""
    reader = KeptReader(ScriptedReader(**options), AnswerStore(None), stage=name)
    return StateSource(SourceItem("state", "local/scripted", None, name), reader)
