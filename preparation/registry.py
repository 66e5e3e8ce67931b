"""The preparations by name: what each does to a case, where it comes from and what it costs."""

import difflib
from typing import Any

from ..errors import DeclarationError
from ..judging.program import Program
from .anonymise import Anonymise
from .base import Chain
from .summarise import Summarise

PERSE = "PerSE, arXiv 2310.03304"


_BUILT_IN = (
    Program(
        "anonymise", Anonymise, "names of people and places are replaced, by code, through a mapping the model makes",
        PERSE, "any case", "1 a text, and 1 or 2 more where words look like names",
    ),
    Program("summarise", Summarise, "texts of more than 150 words are summarised", PERSE, "any case", "1 a long text"),
)  # fmt: skip
PREPARATIONS: dict[str, Program] = {one.name: one for one in _BUILT_IN}


def build_preparation(names: str, **settings: Any) -> Chain:
    """The preparations that `names` lists, as in `anonymise,summarise`, to be run in this order.

    Raises:
        DeclarationError: an unknown or repeated preparation, an unknown parameter, or a value that it cannot take.
    """
    listed = [name.strip() for name in names.split(",")]
    for number, name in enumerate(listed):
        if name not in PREPARATIONS:
            close = difflib.get_close_matches(name, PREPARATIONS, n=1)
            hint = f"Did you mean {close[0]!r}?" if close else f"Use one or more of {', '.join(PREPARATIONS)}."
            raise DeclarationError(f"preparation {name!r}: there is none of this name. {hint}")
        if name in listed[:number]:
            raise DeclarationError(f"preparation {name!r}: named twice in {names!r}. Name it once.")
    chain = Chain([PREPARATIONS[name].build() for name in listed])
    return chain.set(**settings)
