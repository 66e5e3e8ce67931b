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
from ..engines.states.reader import StateAnswer, StateReader, StateRequest
from ..engines.states.score_row import NO_ROW, score_row
from ..engines.weights import CATALOG
from ..errors import DeclarationError, ModelError
from .layout import before_text
from .reader_source import ReaderSource
from .reward_models import REWARD_MODELS, model_string_of
from .source import SourceItem, register

CLASSIFIER = "AutoModelForSequenceClassification"
THERE_ARE = (
    f"There are: {', '.join(REWARD_MODELS)}; a folder or hub name as transformers/NAME; a GGUF file with a score row "
    "as local/FILE.gguf."
)


@register
class RewardSource(ReaderSource):
    """One number a text.

    Args:
        reader: reads last states; by default that of the item's model.
        row: the score row, float32 (width of a state,); by default the model's.
    """

    kind = "reward"
    summary = "the number of a reward model, such as reward=skywork-qwen3-0.6b"
    layout = 1
    layer = None
    model_width = 1

    def __init__(
        self, item: SourceItem, reader: KeptReader | None = None, row: NDArray[np.float32] | None = None
    ) -> None:
        super().__init__(item, reader)
        self._row = row
        if item.layer is not None:
            raise DeclarationError(f"evidence {self.name!r}: a reward model is read after its last layer. Leave @ out.")

    @classmethod
    def model_of(cls, named: str) -> str:
        model = model_string_of(named)
        try:
            ModelString.parse(model)
        except ModelError:
            raise DeclarationError(f"there is no reward model {named!r}. {THERE_ARE}") from None
        return model

    @cached_property
    def row(self) -> NDArray[np.float64]:
        """The score row."""
        return (self._opened[1] if self._row is None else self._row).astype(np.float64)

    @property
    def width(self) -> int:
        return 1

    def open_reader(self) -> KeptReader:
        return KeptReader(self._opened[0], stage=self.item.name)

    def numbers(self, answer: StateAnswer) -> NDArray[np.float32]:
        return np.array([answer.last.astype(np.float64) @ self.row], dtype=np.float32)

    def requests(self, case: Case) -> list[StateRequest]:
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
            raise ModelError(f"{NO_ROW.format(self.item.model)} {THERE_ARE}")
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
