"""Arrays in records: base64 in JSON, and in a judge file the names of tensors in the file beside it.

A serialization context {ARRAYS: a dict} collects the arrays under names that are digests of their bytes; a validation
context {ARRAYS: a mapping} resolves such names.
"""

import base64
import binascii
import hashlib
from typing import Any, Literal, Self

import numpy as np
from pydantic import (
    ConfigDict,
    Field,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    model_serializer,
    model_validator,
)

from ..data.case import Record

ARRAYS = "arrays"  # key of the contexts
MOST_NUMBERS = 10**8
Kind = Literal["float32", "float16"]


class Array(Record):
    """Finite numbers of a known shape, little-endian and row by row."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")  # beside those of Record

    dtype: Kind = Field(default="float32", description="how each number is held")
    shape: tuple[int, ...] = Field(description="numbers along each axis")
    data: bytes = Field(repr=False, description="the numbers")

    @classmethod
    def of(cls, values: Any, dtype: Kind = "float32") -> Self:
        """The array of these numbers.

        Raises:
            ValidationError: a number that is not finite, or too large for the type.
        """
        with np.errstate(over="ignore"):  # infinite: refused below
            array = np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<"))
        return cls(dtype=dtype, shape=array.shape, data=array.tobytes())

    @property
    def values(self) -> np.ndarray[Any, np.dtype[Any]]:
        """The numbers, which cannot be written to."""
        return np.frombuffer(self.data, dtype=np.dtype(self.dtype).newbyteorder("<")).reshape(self.shape)

    @property
    def name(self) -> str:
        """The digest of type, shape and bytes: the array's name in a file of tensors."""
        shape = "x".join(map(str, self.shape))
        return hashlib.sha256(f"{self.dtype} {shape} ".encode() + self.data).hexdigest()

    @model_validator(mode="before")
    @classmethod
    def _from_json(cls, content: Any, info: ValidationInfo) -> Any:
        if not isinstance(content, dict):
            return content
        if isinstance(content.get("tensor"), str):
            array = ((info.context or {}).get(ARRAYS) or {}).get(content["tensor"])
            if array is None or array.name != content["tensor"]:
                raise ValueError(f"the array {content['tensor'][:12]} is not in the file of arrays")
            return {"dtype": array.dtype, "shape": array.shape, "data": array.data}
        if isinstance(content.get("data"), str):
            try:
                return content | {"data": base64.b64decode(content["data"], validate=True)}
            except (binascii.Error, ValueError):
                raise ValueError("data is not base64") from None
        return content

    @model_validator(mode="after")
    def _fits(self) -> Self:
        numbers = 1
        for count in self.shape:
            numbers *= max(count, 0) if numbers <= MOST_NUMBERS else 1
        if min(self.shape, default=0) < 0 or numbers > MOST_NUMBERS:
            raise ValueError(f"the shape {self.shape} is none of up to {MOST_NUMBERS:,} numbers")
        if len(self.data) != numbers * np.dtype(self.dtype).itemsize:
            raise ValueError(f"{len(self.data)} bytes are not the shape {self.shape} of {self.dtype}")
        if not np.isfinite(self.values).all():
            raise ValueError("a number is not finite")
        return self

    @model_serializer(mode="wrap")
    def _as_base64_or_name(self, serialize: SerializerFunctionWrapHandler, info: SerializationInfo) -> Any:
        sink = (info.context or {}).get(ARRAYS)
        if sink is None:
            fields = serialize(self)
            return fields if info.mode == "python" else fields | {"data": base64.b64encode(self.data).decode()}
        sink[self.name] = self
        return {"tensor": self.name}
