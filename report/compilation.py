"""What a page of a compilation is made of: judges on the test part, what was learnt, tried and certified.

Plain data, so that pages can be drawn of compilations without the room that makes them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..data import Usage
from ..evaluation.results import Comparison, CurvePoint, Evaluation, Measure, PairedTest

Outcome = Literal["improved", "worse", "inconclusive"]
Status = Literal["complete", "stopped", "unusable"]


@dataclass(frozen=True)
class Contender:
    """One judge on the test part; `calls` and `tokens` are a verdict's, those that the cache answered included."""

    name: str
    evaluation: Evaluation
    calls: float
    tokens: float | None


@dataclass(frozen=True)
class Tested:
    """The test part, judged once.

    `decisive` is the test that the outcome is of: compiled against uncompiled; None where there could be none.
    """

    objective: str
    outcome: Outcome
    judges: tuple[Contender, ...]
    comparisons: tuple[Comparison, ...]
    decisive: PairedTest | None
    before: str
    after: str

    def judge(self, name: str) -> Contender:
        return next(one for one in self.judges if one.name == name)


@dataclass(frozen=True)
class Weights:
    """A head: what each piece of evidence weighs, and in `ties` what makes a tie likelier."""

    fitted: str
    n: int
    weights: Mapping[str, float]
    ties: Mapping[str, float] = field(default_factory=dict)
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Rewording:
    """One stage's instructions before and after, and how many demos it shows."""

    stage: str
    before: str
    after: str
    demos: int


@dataclass(frozen=True)
class Attempt:
    """A structure or a wording that was tried, measured on the cases that select."""

    number: int
    what: str
    figure: Measure
    cases: int
    unscored: int = 0
    calls: float | None = None
    tokens: float | None = None
    status: Status = "complete"
    detail: str = ""
    front: bool = False
    chosen: bool = False


@dataclass(frozen=True)
class Search:
    """A search with everything that it tried, the judge as it stood first; no attempt where there was no budget for it.

    `of` says what was tried. `cost` is what a front weighs against the figure; None where nothing was weighed. `gain`
    is the chosen one's figure less that of the first, on the cases that chose. `settings` are the structure's as (name,
    before, after).
    """

    of: Literal["structures", "wordings"]
    attempts: tuple[Attempt, ...]
    ended: str
    higher: bool = True
    cost: Literal["calls", "tokens"] | None = None
    gain: Measure | None = None
    settings: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True)
class Guarantee:
    """A certificate, or that there is none; `curve` is of the certify part, the surest verdicts first.

    `told` says what is certified, `held` what the test part says of that; empty without a threshold. `kept` is the
    share of the verdicts that the threshold keeps; `grouped` where one case of each group was used.
    """

    told: str
    held: str
    risk: float
    n: int
    curve: tuple[CurvePoint, ...]
    threshold: float | None = None
    kept: float = 0.0
    grouped: bool = False


@dataclass(frozen=True)
class Compilation:
    """One compilation, done to its end.

    Attributes:
        name: of the judge.
        parts: labelled cases by part.
        spent: on all of it; None where no account was kept.
        facts: seed, models, versions and the like, a name and words each.
        commands: to go on with, each with what it does.
    """

    name: str
    tested: Tested
    parts: Mapping[str, int]
    spent: Usage | None = None
    minutes: float | None = None
    weights: Weights | None = None
    rewordings: tuple[Rewording, ...] = ()
    prompts: Search | None = None
    structure: Search | None = None
    guarantee: Guarantee | None = None
    facts: tuple[tuple[str, str], ...] = ()
    commands: tuple[tuple[str, str], ...] = ()

    @property
    def compiled(self) -> Contender:
        return self.tested.judge(self.tested.after)

    @property
    def uncompiled(self) -> Contender:
        return self.tested.judge(self.tested.before)
