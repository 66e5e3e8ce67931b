"""The framework for judges: what the programs of dicast, and judges of other packages, are built from."""

from ..data.profile_text import profile_text
from ..engines.parallel import concurrently
from ..signatures.scales import ReadAs
from .aggregate import aggregate_findings
from .answer_types import Levels, Options
from .building import build, build_panel
from .cascade import Cascade
from .delimiters import Fence, constant, unfenced
from .evidence import ScoreReading, mean_reading, rescaled, side_by_side
from .hparam import HParam
from .judge import (
    FittedJudge,
    Judge,
    LearningJudge,
    PresentedCase,
    fenced,
    in_case_order,
    orders,
    present,
    request_text,
    shown_profile,
    shuffled_orders,
    verdict_of,
)
from .panel import Panel
from .question import READOUTS, Answer, Question
from .registry import PROGRAMS, Program, new_judge, register
from .sampling import sample_answers, sampled
from .signature_judge import SignatureJudge
from .stage import Stage
from .yaml_judge import YamlJudge

__all__ = [
    "PROGRAMS",
    "READOUTS",
    "Answer",
    "Cascade",
    "Fence",
    "FittedJudge",
    "HParam",
    "Judge",
    "LearningJudge",
    "Levels",
    "Options",
    "Panel",
    "PresentedCase",
    "Program",
    "Question",
    "ReadAs",
    "ScoreReading",
    "SignatureJudge",
    "Stage",
    "YamlJudge",
    "aggregate_findings",
    "build",
    "build_panel",
    "concurrently",
    "constant",
    "fenced",
    "in_case_order",
    "mean_reading",
    "new_judge",
    "orders",
    "present",
    "profile_text",
    "register",
    "request_text",
    "rescaled",
    "sample_answers",
    "sampled",
    "shown_profile",
    "shuffled_orders",
    "side_by_side",
    "unfenced",
    "verdict_of",
]
