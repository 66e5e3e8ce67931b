"""`probe`: asks no question; a head reads the verdict off the hidden states of a model that reads each text alone.

Every text costs one prefill, whatever pairs it is in, and no order of presentation can matter. Without a head nothing
is known: a pair or choice is an even tie, and a text has no score.
"""

from ..data import Case, Verdict
from ..data.verdict import BLANK
from ..judging.evidence_parameter import EvidenceParameter
from ..judging.judge import Judge
from ..judging.registry import register
from ..judging.seat import Seat


@register(
    "probe",
    summary="no question: a head reads hidden states, after compiling",
    source="-",
    inputs="anything",
    calls="no answer; 1 read a text",
)
class Probe(Judge):
    """Reads evidence and leaves the judgment to a head.

    Args:
        evidence: which sources are read; see docs/evidence.md.
    """

    name = "probe"

    def __init__(self, *, evidence: str = "state") -> None:
        super().__init__()
        self.evidence = EvidenceParameter("state", implied=False, is_needed=True)
        self.reader = Seat("judgment")
        self.set(evidence=evidence)

    def assess(self, case: Case) -> Verdict:
        count = len(case.candidates)
        notes = () if self.head is not None else (BLANK,)
        if count == 1:
            return Verdict(case_id=case.id, notes=notes)
        names = ("a", "b") if count == 2 else map(str, range(count))
        shares = dict.fromkeys(names, 1 / count)
        return Verdict(case_id=case.id, winner="tie", distribution=shares, certainty=0.0, notes=notes)
