"""The probability that a local model gives to a text, token by token.

llama.cpp's server reports the probabilities of tokens that it writes, not those of a prompt. So the model writes the
text: a grammar with one token id for each place leaves it no choice, and what the server reports of each token is its
probability before the grammar, of all tokens at temperature 1. Neither grammars nor reports know a token that ends
inside a character (letters of rare scripts, emoji); it is looked up among the probabilities of all tokens, slowly.
"""

import codecs
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from ..errors import Infrastructure, ModelError
from .model_string import ModelString
from .providers.local import client_of, serve, weights_file

LEAST = -103.3  # the log of the smallest probability that llama.cpp reports
MARGIN = 1  # tokens of the context that the server keeps free
ALL = 1_000_000  # more tokens than any model has


class GivenText:
    """Reads texts with a model of this machine.

    Args:
        model: `local/NAME` of `dicast models list`, or `local/PATH.gguf`.

    Raises:
        ModelError: another kind of model string, or a model that cannot be loaded.
        DeclarationError: xllamacpp is not installed.
    """

    def __init__(self, model: str) -> None:
        parsed = ModelString.parse(model)
        if parsed.provider != "local" or parsed.endpoint:
            raise ModelError(f"model {model!r}: only a local model says how probable a text is. Give a local/ one.")
        self._server = serve(weights_file(parsed))
        settings = self._ask("GET", "/props")["default_generation_settings"]
        self.most_tokens = int(settings["n_ctx"]) - MARGIN

    def log_probabilities(self, before: str, text: str) -> list[float]:
        """The natural logarithm of the probability of each token of the text after `before`, at least -103.3.

        The text's first token has none where nothing is before it: no text, and no token of the model's own. What is
        longer than the model's context is read in windows: each token after at least half a context.

        Raises:
            Infrastructure: the server failed.
        """
        start, target = self._tokens(before, special=True), self._tokens(text)
        tokens = [token for token, _ in (*start, *target)]
        is_whole = [True] * len(start) + whole([piece for _, piece in target])
        return [
            value
            for begin, first, end in windows(max(len(start), 1), len(tokens), self.most_tokens)
            for together, places in groupby(range(first, end), key=is_whole.__getitem__)
            for value in (self._forced if together else self._looked_up)(tokens, begin, list(places))
        ]

    def _tokens(self, text: str, *, special: bool = False) -> list[tuple[int, bytes]]:
        """The text's tokens, id and bytes; control tokens that it spells are text."""
        sent = {"content": text, "add_special": special, "parse_special": False, "with_pieces": True}
        tokens = self._ask("POST", "/tokenize", sent)["tokens"]
        return [(token["id"], _bytes(token["piece"])) for token in tokens]

    def _forced(self, tokens: Sequence[int], begin: int, places: Sequence[int]) -> list[float]:
        """Of the tokens at consecutive places, read from `begin` on."""
        ids = [tokens[place] for place in places]
        grammar = f"root ::= {' '.join(f'<[{token}]>' for token in ids)}"
        written = self._written(tokens[begin : places[0]], grammar=grammar, n_predict=len(ids), n_probs=1)
        if [token["id"] for token in written] != ids:
            raise Infrastructure(f"llama.cpp wrote {len(written)} of {len(ids)} given tokens. Report this model.")
        return [_log(token) for token in written]

    def _looked_up(self, tokens: Sequence[int], begin: int, places: Sequence[int]) -> list[float]:
        """The same, one place at a time: the model writes another token, and the probabilities of all are read."""
        ((another, _), *_) = self._tokens("a")
        values = []
        for place in places:
            options = {"logit_bias": [[another, 1000]], "n_predict": 1, "n_probs": ALL}
            (written,) = self._written(tokens[begin:place], **options)
            values += [_log(token) for token in written["top_logprobs"] if token["id"] == tokens[place]]
        return values

    def _written(self, prompt: Sequence[int], **options: Any) -> Any:
        # Reading on from a kept state rounds differently.
        sent = {"prompt": list(prompt), "temperature": 0, "cache_prompt": False, **options}
        return self._ask("POST", "/completion", sent)["completion_probabilities"]

    def _ask(self, method: str, path: str, sent: Any = None) -> Any:
        import httpx

        try:
            response = client_of(self._server).request(method, path, json=sent)
            response.raise_for_status()
        except httpx.HTTPError as error:
            raise Infrastructure(f"llama.cpp's server: {error}") from None
        return response.json()


def _bytes(piece: str | list[int]) -> bytes:
    """The server gives a token that is no text by its bytes."""
    return piece.encode() if isinstance(piece, str) else bytes(piece)


def _log(token: dict[str, Any]) -> float:
    return max(LEAST, float(token["logprob"]))


def whole(pieces: Sequence[bytes]) -> list[bool]:
    """Which tokens of a text begin and end between characters, and can be part of a grammar.

    Example:
        >>> whole([b"the", b" \\xc3", b"\\x9c", b"ber", b"\\0"])
        [True, False, False, True, False]
    """
    decoder, flags, inside = codecs.getincrementaldecoder("utf-8")("replace"), [], False
    for piece in pieces:
        began_inside = inside
        decoder.decode(piece)
        inside = bool(decoder.getstate()[0])
        flags.append(not (began_inside or inside) and piece != b"" and b"\0" not in piece)
    return flags


def windows(start: int, end: int, most: int) -> Iterator[tuple[int, int, int]]:
    """Where to read the tokens start..end-1 at most `most` at a time: (begin, first, end), each token once.

    Example:
        >>> list(windows(1, 5, 8)), list(windows(1, 10, 8))
        ([(0, 1, 5)], [(0, 1, 5), (1, 5, 9), (5, 9, 10)])
    """
    if end <= most:
        if start < end:
            yield 0, start, end
        return
    half = most // 2
    for first in range(start, end, half):
        yield max(0, first - half), first, min(first + half, end)
