"""What was read, so that a head knows it again: kind of evidence, weights, layer, layout and width."""

from typing import Annotated

from pydantic import Field

from ..data.case import Record
from ..data.verdict import Digest

Count = Annotated[int, Field(ge=1, le=10**7)]


class SourceSpec(Record):
    """The identity of a source of evidence."""

    kind: str = Field(description="the registered name, as in state")
    model: str = Field(default="", description="model string; empty where no model is read")
    digest: Digest = Field(default="", description="SHA-256 of the weights, in hex; empty where it is not known")
    layer: int | None = Field(default=None, description="the layer after which states are read; None: not a layer")
    width: Count = Field(default=1, description="numbers a candidate")
    layout: int = Field(default=1, description="version of the text that the model reads")
    engine: str = Field(default="", description="what computed it, as in llama.cpp")

    def difference(self, other: "SourceSpec") -> str:
        """What keeps numbers of the other source from being numbers of this one, in words; empty if nothing does.

        Weights are known by their digest, else by the model string. Another engine may compute them.

        Example:
            >>> read = SourceSpec(kind="state", model="local/small", layer=21, width=576)
            >>> read.difference(read.model_copy(update={"layer": 20}))
            'layer 20, not 21'
        """
        if self.kind != other.kind:
            return f"{other.kind}, not {self.kind}"
        if self.digest and other.digest:
            if self.digest != other.digest:
                return f"{other.model} with weights {other.digest[:12]}, not {self.model} with {self.digest[:12]}"
        elif self.model != other.model:
            return f"{other.model or 'no model'}, not {self.model or 'no model'}"
        if self.layer != other.layer:
            return f"layer {other.layer}, not {self.layer}"
        if self.layout != other.layout:
            return f"version {other.layout} of the layout, not {self.layout}"
        return f"{other.width} numbers a candidate, not {self.width}" if self.width != other.width else ""
