"""The parameter `evidence` of a judge: the sources that are read beside its questions, as in `state,reward=MODEL`."""

from typing import Any

from ..errors import DeclarationError
from ..evidence.source import parse_items
from .evidence_offers import searched_evidence
from .hparam import HParam

GRADINGS = ("pairwise", "single", "both")  # values of another parameter, which `direct` once called evidence


class EvidenceParameter(HParam):
    """A list of sources of evidence; empty for none.

    Args:
        value: the initial list.
        implied: see `HParam`.
        is_needed: the judge reads nothing else, so that an empty list is refused.
    """

    def __init__(self, value: str = "", *, implied: bool = True, is_needed: bool = False) -> None:
        self.is_needed = is_needed
        about = "sources that are read beside the questions, as in `state,reward=MODEL`; empty for none"
        super().__init__(value, search=searched_evidence if implied else (), implied=implied, about=about)

    def _checked(self, value: Any) -> Any:
        text = super()._checked(value)
        if text in GRADINGS:
            raise ValueError(
                f"{text!r} is no source. What the judge `direct` asks is its parameter grading: --set grading={text}"
            )
        if self.is_needed and not text.strip(" ,"):
            raise ValueError("names no source, and this judge reads nothing else. Name one, as in --set evidence=state")
        try:
            parse_items(text, "")
        except DeclarationError as error:
            raise ValueError(str(error).rstrip(".")) from None
        return text
