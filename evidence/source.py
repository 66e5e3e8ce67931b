"""Evidence sources: each gives numbers for every candidate of a case, as a fixed function of the case.

A source is named in a list such as `state,reward=local/MODEL`: an item is KIND, KIND=MODEL, KIND@LAYER or
KIND=MODEL@LAYER. A new kind is one file of this folder that registers a class with `@register`; kinds of other packages
are looked up in the entry-point group `dicast.evidence`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Case
from ..engines.model_string import ModelString
from ..engines.weights import OnProgress, silent
from ..errors import DeclarationError, ModelError
from ..registry import Registry
from .source_spec import SourceSpec

LAYER = re.compile(r"@(\d{1,4})$")
FORM = "Write KIND, KIND=MODEL, KIND@LAYER or KIND=MODEL@LAYER, as in state,reward=local/NAME."

Progress = Callable[[int, int], None]  # cases read, cases in all


@dataclass(frozen=True)
class SourceItem:
    """One parsed item of a list of sources.

    Attributes:
        name: of the source among the others: the kind, with the layer where one is given, and with the model's name
            where two would have the same.
        trusted: the user has named the model's address, so that the user's keys may be sent to it.
    """

    kind: str
    model: str
    layer: int | None
    name: str
    trusted: bool = True


class EvidenceSource:
    """A source of numbers about candidates. A subclass says what it reads.

    Attributes:
        kind: the registry's name.
        summary: what it is, in a line.
        name: the feature's name, unique among the sources of a judge.
    """

    kind: str = ""
    summary: str = ""

    def __init__(self, item: SourceItem) -> None:
        self.item, self.name = item, item.name

    @classmethod
    def model_of(cls, named: str) -> str:
        """The model string of what follows = in an item.

        Raises:
            DeclarationError: there is no such model.
        """
        try:
            ModelString.parse(named)
        except ModelError as error:
            raise DeclarationError(str(error)) from None
        return named

    @property
    def spec(self) -> SourceSpec:
        """The identity of what is read; may fetch the model's weights.

        Raises:
            ModelError: the model cannot be used.
        """
        raise NotImplementedError

    @property
    def width(self) -> int:
        """Numbers a candidate."""
        return self.spec.width

    def prepare(self, progress: OnProgress = silent) -> None:
        """Make the source ready before the first case, such as by a download; raises ModelError."""

    def read(self, case: Case) -> NDArray[np.float32]:
        """The numbers of each candidate, float32 (candidates, width); each depends on its candidate alone.

        Raises:
            ExecutionError: the model could not read it; see `errors`. The message names the case and the text.
        """
        raise NotImplementedError

    def read_all(self, cases: Sequence[Case], progress: Progress | None = None) -> list[NDArray[np.float32]]:
        """`read` of each case, in their order."""
        arrays = []
        for case in cases:
            arrays.append(self.read(case))
            if progress is not None:
                progress(len(arrays), len(cases))
        return arrays


def _source_class(name: str, loaded: Any) -> type[EvidenceSource]:
    if not (isinstance(loaded, type) and issubclass(loaded, EvidenceSource)):
        raise DeclarationError(f"evidence {name!r}: is no EvidenceSource. Name a subclass of it.")
    return loaded


SOURCES: Registry[type[EvidenceSource]] = Registry(
    "evidence source", ".evidence", "dicast.evidence", convert=_source_class
)


def register(source: type[EvidenceSource]) -> type[EvidenceSource]:
    """Class decorator: register a source under its kind."""
    return SOURCES.add(source.kind, source, module=source.__module__)


def parse_items(text: str, default_model: str, *, trusted: bool = True) -> tuple[SourceItem, ...]:
    """The items of a list of sources, each under another name; an empty text has none.

    Args:
        default_model: the model string of items without a model.
        trusted: the user has named the models' addresses.

    Raises:
        DeclarationError: an item of another form, an unknown kind or model, or the same item twice.

    Example:
        >>> [item.name for item in parse_items("state,state@16,state=local/smollm2-135m", "local/x")]
        ['state', 'state@16', 'state smollm2-135m']
    """
    items: list[SourceItem] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = LAYER.search(part)
        kind, equals, model = part[: match.start() if match else None].partition("=")
        if not kind or (equals and not model):
            raise DeclarationError(f"evidence {text!r}: {part!r} names no source. {FORM}")
        if "@" in kind:
            raise DeclarationError(
                f"evidence {text!r}: {part!r} names no layer. Write @ and its number at the end, as in state@16."
            )
        source = SOURCES.find(kind)
        try:
            model = source.model_of(model) if model else default_model
        except DeclarationError as error:
            raise DeclarationError(f"evidence {text!r}: {error}") from None
        layer = int(match[1]) if match else None
        name = kind if layer is None else f"{kind}@{layer}"
        if any((kind, model, layer) == (other.kind, other.model, other.layer) for other in items):
            raise DeclarationError(f"evidence {text!r}: {part!r} is there twice. Keep one of them.")
        names = {item.name for item in items}
        while name in names:
            name += f" {_short(model)}"
        items.append(SourceItem(kind, model, layer, name, trusted))
    return tuple(items)


def parse(text: str, default_model: str, *, trusted: bool = True) -> tuple[EvidenceSource, ...]:
    """The sources of a list, such as `state,reward=local/NAME`; arguments and errors as of `parse_items`.

    Nothing is fetched, started or read yet.
    """
    return tuple(SOURCES.find(item.kind)(item) for item in parse_items(text, default_model, trusted=trusted))


def _short(model: str) -> str:
    """The last part of a model string's name.

    Example:
        >>> _short("local//models/judge.gguf"), _short("openai/org/m@http://127.0.0.1/v1")
        ('judge', 'm')
    """
    return model.partition("@http")[0].rpartition("/")[2].removesuffix(".gguf")
