"""`mt-bench`: one response scored 1..10 after an explanation (MT-Bench, single-answer grading, arXiv 2306.05685)."""

from ..judging.registry import register
from ..judging.signature_judge import SignatureJudge
from ..signatures.mt_bench import GradeOneToTen


@register(
    "mt-bench",
    summary="a score 1..10 after a short explanation, each text alone",
    source="arXiv 2306.05685",
    inputs="single texts, pairs",
    calls="1 a text",
)
class MtBench(SignatureJudge):
    """Explains, then scores each text alone, 1..10: the judge of MT-Bench, and of texts corrected by Fennec (Table 4).

    Args:
        readout: "generate" or "probability".
        tie_threshold: score differences of at most this many points are ties.
    """

    name = "mt-bench"

    def __init__(self, *, readout: str = "generate", tie_threshold: float = 0.0) -> None:
        super().__init__(GradeOneToTen, name="mt-bench", readout=readout, tie_threshold=tie_threshold)
