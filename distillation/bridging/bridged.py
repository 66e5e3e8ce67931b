"""A published judgment after bridging: what was filled in, and whether judging forward confirms it."""

from pydantic import Field

from ...data.case import Record
from ..trace import Trace
from .judgment import SetJudgment

PROGRAM = "fennec"


class Bridged(Record):
    """A judgment with what was filled in."""

    id: str = Field(description="of the judgment")
    digest: str = Field(description="of the judgment's case")
    judgment: SetJudgment = Field(description="with criterion and guideline")
    traces: tuple[Trace, ...] = Field(default=(), description="the forward judgment")
    agrees: bool = Field(default=False, description="whether it comes to the published result")
    failure: str = Field(default="", description="why there is no forward judgment, if so")
    detail: str = Field(default="", description="the failure's message")
