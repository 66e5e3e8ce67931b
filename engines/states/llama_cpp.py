"""States by the embedded llama.cpp, without torch: a GGUF file cut after layer k, read by xllamacpp as an embedder.

llama.cpp gives the states after a model's last layer and final norm; in a file that ends after layer k these are the
states of layer k. Pooling is NONE and nothing is normalised, so that the server returns the state of each token.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from ...errors import ContextOverflow, DeclarationError, Infrastructure, ModelError
from ..gguf import ModelShape, model_shape
from ..model_string import ModelString
from ..pace import LOCAL_TIMEOUT
from ..providers.local import LocalServer, client_of, most_tokens, serve, weights_file
from ..weights import find_weights
from .chat_frame import ChatFrame
from .cut_gguf import cut_after, sha256_of
from .reader import StateAnswer, StateRequest, check_layer
from .unembedding import Unembedding

State = NDArray[np.float32]


class LlamaReader:
    """Reads states of a local model: see `StateReader`.

    Args:
        layer: 1 to the depth; None: 70 % of the depth. At the depth the file is read uncut, and gives options.

    Raises:
        ModelError: no local model, no such file, or no such layer.
    """

    engine, batch, slots, timeout, frame = "llama.cpp", 1, 1, LOCAL_TIMEOUT, ""

    def __init__(self, model: ModelString, layer: int | None = None) -> None:
        if model.provider != "local" or model.endpoint:
            raise ModelError(f"model {model.identity!r}: llama.cpp reads the states of local/ models only.")
        self.model, self._model = model.identity, model
        self.path = weights_file(model)
        self.layer, self.depth = check_layer(self.model, layer, self.shape.depth), self.shape.depth
        self.gives_options = self.layer == self.depth

    @cached_property
    def shape(self) -> ModelShape:
        """Depth, width and context of the model."""
        return model_shape(self.path)

    @property
    def width(self) -> int:
        return self.shape.width

    @property
    def context(self) -> int:
        """Tokens that a request may have: DICAST_LOCAL_CONTEXT, and no more than the model was trained on."""
        return min(most_tokens(), self.shape.context)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the weights: that of the catalogue, else of the file."""
        is_file = self._model.model.endswith(".gguf")
        return sha256_of(self.path) if is_file else find_weights(self._model.model).sha256

    def prepare(self) -> None:
        self._server  # noqa: B018  starts it

    def read(self, requests: Sequence[StateRequest]) -> list[StateAnswer]:
        return [self._read(request) for request in requests]

    @cached_property
    def _server(self) -> LocalServer:
        try:
            return serve(self._file, states=True)
        except ModelError:  # a version of llama.cpp that does not know the architecture of our cut
            if self.gives_options:
                raise
            return serve(cut_after(self.path, self.layer, self.digest, unconverted=True), states=True)

    @cached_property
    def _file(self) -> Path:
        return self.path if self.gives_options else cut_after(self.path, self.layer, self.digest)

    @cached_property
    def _frame(self) -> ChatFrame:
        return ChatFrame(self._render)

    @cached_property
    def _unembedding(self) -> Unembedding:
        return Unembedding(self.path)

    def _render(self, messages: Sequence[Mapping[str, str]], is_asked: bool) -> str:
        sent = {"messages": messages, "add_generation_prompt": is_asked}
        return str(self._ask("/apply-template", sent)["prompt"])

    def _read(self, request: StateRequest) -> StateAnswer:
        if request.options and not self.gives_options:
            raise DeclarationError(
                f"model {self.model!r}: the probabilities of options come from its last layer, {self.depth}, and not "
                f"from layer {self.layer}. Read layer {self.depth}."
            )
        parts = self._frame.around(request)
        ids = [self._tokens(text, special=special, first=not number) for number, (text, special) in enumerate(parts)]
        start = sum(map(len, ids[: ChatFrame.TEXT]))
        end = start + len(ids[ChatFrame.TEXT])
        prompt = [token for part in ids for token in part]
        self._check_length(len(prompt), end - start)
        states = self._states(prompt)
        if states.shape != (len(prompt), self.width) or not np.isfinite(states).all():
            raise Infrastructure(f"model {self.model!r}: llama.cpp gave unusable states, of the shape {states.shape}.")
        mean = states[start:end].mean(axis=0, dtype=np.float64) if end > start else states[start - 1]
        return StateAnswer(
            mean=mean.astype(np.float32),
            last=states[-1],
            tokens=end - start,
            prompt_tokens=len(prompt),
            next=self._next(request.options, states[-1]),
        )

    def _check_length(self, count: int, of_text: int) -> None:
        if not count:
            raise DeclarationError(f"model {self.model!r}: there is nothing to read: an empty text and no template.")
        if count > self.context:
            raise ContextOverflow(
                f"the prompt has {count:,} tokens, {of_text:,} of them the text's, and model {self.model!r} reads at "
                f"most {self.context:,}. Set DICAST_LOCAL_CONTEXT to more (the model was trained on "
                f"{self.shape.context:,}), or shorten the text."
            )

    def _next(self, options: Sequence[str], state: State) -> dict[str, float]:
        if not options:
            return {}
        tokens = []
        for option in options:
            ids = self._tokens(option)
            if len(ids) != 1:
                raise DeclarationError(
                    f"model {self.model!r}: the option {option!r} is {len(ids)} tokens. Give options of one token each."
                )
            tokens += ids
        return dict(zip(options, self._unembedding.log_probabilities(state, tokens), strict=True))

    def _tokens(self, text: str, *, special: bool = False, first: bool = False) -> list[int]:
        """The ids of a text; control tokens that it spells are text, unless it is part of the chat template.

        Args:
            first: it begins the prompt, before which some models put another token.
        """
        if not text and not first:
            return []
        sent = {"content": text, "add_special": first, "parse_special": special}
        return [int(token) for token in self._ask("/tokenize", sent)["tokens"]]

    def _states(self, prompt: list[int]) -> State:
        (answer,) = self._ask("/embeddings", {"content": prompt, "embd_normalize": -1})  # -1: as they are
        return np.asarray(answer["embedding"], dtype=np.float32)

    def _ask(self, path: str, sent: Any) -> Any:
        import httpx

        try:
            response = client_of(self._server).post(path, json=sent)
            response.raise_for_status()
        except httpx.HTTPError as error:
            raise Infrastructure(f"model {self.model!r}: llama.cpp's server: {error}") from None
        return orjson.loads(response.content)
