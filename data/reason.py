"""A reason: why a verdict is what it is, written after the verdict and for it."""

from pydantic import Field

from .case import Record
from .case import digest as digest_of
from .verdict import Digest, Judged, ModelText, Usage


class Reason(Record):
    """A line of `reasons.jsonl`, beside the run's verdicts."""

    case_id: str = Field(description="the id of the case")
    case_digest: Digest = Field(default="", description="of the case, as in the verdict's line")
    verdict_digest: Digest = Field(description="of the verdict that is explained (`verdict_digest`)")
    verdict: ModelText = Field(description="the verdict in words, as the model was shown it")
    text: ModelText = Field(description="the reason; empty where the model wrote none that says anything")
    cause: ModelText = Field(default="", description="why the text is empty")
    speaks_for: ModelText = Field(default="", description="the verdict that the reason speaks for; empty: not known")
    agrees: bool | None = Field(default=None, description="whether that is the verdict; None: it could not be checked")
    tries: int = Field(default=1, description="2 where a first reason spoke for another verdict, or said nothing")
    usage: Usage = Field(default=Usage(), description="what the reason cost")

    @property
    def note(self) -> str:
        """What a reader must know of the reason; empty where it speaks for the verdict."""
        if not self.text:
            return f"No reason: {self.cause or 'the model wrote none'}."
        if self.agrees is False:
            return f"This reason speaks for another verdict ({self.speaks_for}), also after a second try."
        return "" if self.agrees else "Not checked: which verdict this reason speaks for could not be read."


def verdict_digest(judged: Judged) -> str:
    """16 hex digits of what a reason is about: the case, the judge, and the verdict's winner, category or scores."""
    answer = judged.answer or " ".join(f"{score:.6g}" for score in judged.scores or ())
    return digest_of("\0".join((judged.case_id, judged.case_digest, judged.judge_digest, answer)))
