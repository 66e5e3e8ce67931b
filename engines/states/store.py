"""States that were read, kept as float16 in SQLite beside the answers, so that no run reads a text twice.

The numbers are rounded to float16 when they are read, stored or not, so that a stored state and a fresh one are the
same bytes. 1,536 numbers twice are 6 kB a text.
"""

import hashlib
import struct
from dataclasses import replace

import numpy as np
import orjson

from ...errors import Infrastructure
from ..answer_store import AnswerStore, default_store
from .reader import StateAnswer, StateReader, StateRequest

FORMAT = 2  # of keys, states and cut files: states of another format are never looked up
FILE = "states.sqlite"
HEAD = struct.Struct("<BIIII")  # format, width, tokens of the text, tokens in all, bytes of the options


def states_store() -> AnswerStore:
    """The store of states: a file beside that of the answers, bounded as well by DICAST_CACHE_LIMIT."""
    return default_store(FILE)


def key_of_state(reader: StateReader, request: StateRequest) -> bytes:
    """SHA-256 of everything that can change the state: weights, layer, engine, template and the request."""
    identity = [reader.digest, reader.engine, reader.layer, reader.frame]
    parts: list[object] = [request.before, request.text, request.after, request.options, request.form]
    parts += [request.history] if request.history else []
    return hashlib.sha256(orjson.dumps([FORMAT, identity, parts])).digest()


def rounded(answer: StateAnswer) -> StateAnswer:
    """The answer with its states rounded to float16.

    Raises:
        Infrastructure: a state is no number, or beyond the greatest float16 (65,504).
    """
    with np.errstate(over="ignore"):
        mean, last = (state.astype(np.float16).astype(np.float32) for state in (answer.mean, answer.last))
    if not (np.isfinite(mean).all() and np.isfinite(last).all()):
        raise Infrastructure("a state holds numbers that are infinite or beyond 65,504. Read another layer.")
    return replace(answer, mean=mean, last=last)


def pack_state(answer: StateAnswer) -> bytes:
    """A rounded answer as bytes."""
    options = orjson.dumps(dict(answer.next))
    head = HEAD.pack(FORMAT, len(answer.mean), answer.tokens, answer.prompt_tokens, len(options))
    return head + options + answer.mean.astype("<f2").tobytes() + answer.last.astype("<f2").tobytes()


def unpack_state(stored: bytes) -> StateAnswer | None:
    """The answer of `pack_state`; None when it is damaged."""
    try:
        version, width, tokens, prompt_tokens, size = HEAD.unpack_from(stored)
        if version != FORMAT or len(stored) != HEAD.size + size + 4 * width:
            return None
        options = orjson.loads(stored[HEAD.size : HEAD.size + size])
        mean, last = np.frombuffer(stored, "<f2", offset=HEAD.size + size).astype(np.float32).reshape(2, width)
        return StateAnswer(mean, last, tokens, prompt_tokens, {str(key): float(p) for key, p in options.items()})
    except (struct.error, ValueError, AttributeError):
        return None
