"""`reward=MODEL`: the number that a reward model gives a candidate, as the assistant's answer to the query.

A reward model is a linear head on the last state of a language model, so that it is read as states are: each text
alone, once, whatever pairs it is in, kept in the store of states. MODEL is a name of `REWARD_MODELS`, a sequence
classifier that transformers loads (`transformers/OWNER/NAME` or a folder), or a GGUF file with a score row
(`local/FILE.gguf`).
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..data import Case
from ..engines.model_string import IN_PROCESS, ModelString
from ..engines.states.kept import KeptReader
from ..engines.states.reader import StateReader, StateRequest
from ..engines.states.score_row import NO_ROW, score_row
from ..engines.weights import CATALOG, OnProgress, silent
from ..errors import DeclarationError, ExecutionError, ModelError
from .layout import before_text
from .reward_models import REWARD_MODELS, model_string_of
from .source import EvidenceSource, SourceItem, register
from .source_spec import SourceSpec

LAYOUT = 1
CLASSIFIER = "AutoModelForSequenceClassification"


@register
class RewardSource(EvidenceSource):
    """One number a text.

    Args:
        reader: reads last states; by default that of the item's model.
        row: the score row, float32 (width of a state,); by default the model's.
    """

    kind = "reward"
    summary = "the number of a reward model, such as reward=skywork-qwen3-0.6b"

    def __init__(
        self, item: SourceItem, reader: KeptReader | None = None, row: NDArray[np.float32] | None = None
    ) -> None:
        super().__init__(item)
        self._reader, self._row = reader, row
        if item.layer is not None:
            raise DeclarationError(f"evidence {self.name!r}: a reward model is read after its last layer. Leave @ out.")

    @cached_property
    def reader(self) -> KeptReader:
        """Reads the last states; fetches the weights."""
        return self._reader or KeptReader(self._opened[0], stage=self.item.name)

    @cached_property
    def row(self) -> NDArray[np.float64]:
        """The score row."""
        return (self._opened[1] if self._row is None else self._row).astype(np.float64)

    @cached_property
    def spec(self) -> SourceSpec:
        reader = self.reader.reader
        return SourceSpec(
            kind=self.kind,
            model=self.item.model,
            digest=reader.digest,
            width=1,
            layout=LAYOUT,
            engine=reader.engine,
        )

    @property
    def width(self) -> int:
        return 1

    def prepare(self, progress: OnProgress = silent) -> None:
        self.reader.prepare(progress)

    def read(self, case: Case) -> NDArray[np.float32]:
        rewards = []
        for number, request in enumerate(self._requests(case), 1):
            try:
                rewards.append([float(self.reader.read(request).last.astype(np.float64) @ self.row)])
            except ExecutionError as error:
                raise type(error)(f"evidence {self.name!r}, case {case.id!r}, text {number}: {error}") from error
        return np.array(rewards, dtype=np.float32)

    def _requests(self, case: Case) -> list[StateRequest]:
        """The conversation as turns where the reader takes them, else as one plain text."""
        turns = tuple((turn.role, turn.text) for turn in case.history)
        if turns and not getattr(self.reader.reader, "takes_history", False):
            return [StateRequest(before_text(case), text.text, form="dialogue") for text in case.candidates]
        return [StateRequest(case.query, text.text, form="dialogue", history=turns) for text in case.candidates]

    @cached_property
    def _opened(self) -> tuple[StateReader, NDArray[np.float32]]:
        """The reader and the score row of the item's model.

        Raises:
            ModelError: no reward model.
            DeclarationError: the package that runs it is not installed.
        """
        model = ModelString.parse(model_string_of(self.item.model))
        if model.endpoint or model.provider not in IN_PROCESS or model.model in CATALOG:
            raise ModelError(
                f"{NO_ROW.format(f'evidence {self.name!r}: {self.item.model}')} There are: {', '.join(REWARD_MODELS)}; "
                "a folder or hub name as transformers/NAME; a GGUF file with a score row as local/FILE.gguf."
            )
        if model.model.endswith(".gguf"):
            return _of_gguf(ModelString("local", model.model))
        from ..engines.states.transformers_reader import TransformersReader
        from ..engines.torch_models.weights import find_torch_weights

        weights = find_torch_weights(model.model)
        row = score_row(weights.folder())
        return TransformersReader(model, -1, kind=CLASSIFIER), row


def _of_gguf(model: ModelString) -> tuple[StateReader, NDArray[np.float32]]:
    from ..engines.providers.local import weights_file
    from ..engines.states.llama_cpp import LlamaReader

    row = score_row(weights_file(model))
    return LlamaReader(model, LlamaReader(model).depth), row
