"""Which texts a model knows: asked for the title of each, it is compared with the true one (PerSE, appendix A.1).

What a model says of a text that it knows by heart may be memory rather than judgment. A run is measured on both groups
by `dicast evaluate --by known`.
"""

import re
import unicodedata

from ..data import Case
from ..errors import DeclarationError
from ..judging.hparam import HParam
from ..judging.judge import fenced
from ..judging.stage import Stage
from ..signatures import preparation as signatures
from .base import Preparation
from .registry import register

ARTICLE = re.compile(r"^(?:the|a|an) ")
YEAR = re.compile(r"\s*\((?:1[89]|20)\d\d[^)]*\)\s*$")
INVERTED = re.compile(r"^(.*), (the|a|an)$", re.IGNORECASE)


@register(
    "titles",
    summary="the model is asked for the title of each text; meta.known says whether it knows it",
    source="PerSE, arXiv 2310.03304",
    inputs="single texts with their title",
    calls="1",
)
class Titles(Preparation):
    """Asks for the title of the text; the case is as it was, but for what was found.

    `meta["known"]` is "known" where the answer is the title, else "unknown"; `meta["title_answer"]` is the answer,
    empty where the model names none. Titles are equal but for case, accents, punctuation, a leading article and a
    year in parentheses at the end. The model that is asked should be the model that judges.

    Args:
        field: the field of `meta` that holds the title.
    """

    name = "titles"

    def __init__(self, *, field: str = "title") -> None:
        super().__init__()
        self.field = HParam(field)
        self.identify = Stage(signatures.IdentifyTitle, "title", max_tokens=64)

    def prepare(self, case: Case) -> Case:
        title = case.meta.get(self.field.value)
        if not title:
            fields = ", ".join(sorted(case.meta)) or "none"
            raise DeclarationError(
                f"preparation 'titles': case {case.id!r} has no {self.field.value!r}; its fields are {fields}. "
                "Name the field of the title with --set field=NAME."
            )
        if len(case.candidates) != 1:
            raise DeclarationError(f"preparation 'titles': case {case.id!r} is no single text. Give single texts.")
        answer = self.identify(text=fenced(case.candidates[0].text)).title.strip()
        known = "known" if normalised_title(answer) == normalised_title(str(title)) else "unknown"
        return case.model_copy(update={"meta": case.meta | {"title_answer": answer, "known": known}})


def normalised_title(title: str) -> str:
    """The title as it is compared.

    Example:
        >>> normalised_title("The Crazies (2010)") == normalised_title("crazies, the") == "crazies"
        True
    """
    undated = INVERTED.sub(r"\2 \1", YEAR.sub("", title.strip()))
    letters = unicodedata.normalize("NFKD", undated).casefold().replace("&", " and ")
    words = " ".join(re.findall(r"[^\W_]+", "".join(c for c in letters if not unicodedata.combining(c))))
    return ARTICLE.sub("", words)
