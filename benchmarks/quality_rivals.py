"""What `benchmarks/quality.py` compares: sets, the ways to judge them, and their verdicts on one dealing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dicast
from dicast.data import Case, Finding, Verdict
from dicast.data.split import sample
from dicast.evidence.source_spec import SourceSpec
from dicast.judging.aggregate import aggregate_findings
from dicast.optimizers.head.fit import fit
from dicast.workflows.case_source import CaseSource

Vectors = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Set:
    """A set of labelled cases and the judge whose evidence is recorded on it."""

    source: CaseSource
    judge: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    groups: int | None = None  # at most, drawn with seed 1
    extra: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # further judges and their settings
    prompted: Mapping[str, Any] = field(default_factory=dict)  # settings of the judge whose prompts are searched


QUESTIONS: Mapping[str, Mapping[str, Any]] = {"questions": {"bank": "short"}}
LETTERS = {"grading": "pairwise"}
SETS = {
    "authored": Set(CaseSource("authored"), "direct", extra=QUESTIONS, prompted=LETTERS),
    "pandalm": Set(CaseSource("pandalm"), "direct", extra=QUESTIONS, prompted=LETTERS),
    "autoj": Set(CaseSource("autoj", max_chars=1500), "direct", prompted=LETTERS),
    "openmeva": Set(CaseSource("openmeva"), "direct"),
    "summeval": Set(CaseSource("summeval"), "direct", groups=20),
    "prism": Set(CaseSource("prism"), "persona", groups=60),
    "prefeval-mcq": Set(CaseSource("prefeval-mcq"), "zero-shot", {"readout": "probability"}),
}


@dataclass(frozen=True)
class Rival:
    """A way to judge.

    Attributes:
        keeps: which findings of the recorded verdict it may use; None: it has no verdict to use.
        sources: of evidence besides.
        fits: whether a head is fitted to the labels of the learning half.
        neighbours: whether the nearest labelled texts vote too.
        judge: whose verdicts; empty: the set's judge.
    """

    name: str
    keeps: Callable[[Finding], bool] | None
    sources: tuple[str, ...] = ()
    fits: bool = False
    neighbours: bool = False
    judge: str = ""


def everything(finding: Finding) -> bool:
    return True


def first_order(finding: Finding) -> bool:
    return finding.order == "ab"


def both_orders(finding: Finding) -> bool:
    return finding.order is not None


PAIRS = (
    Rival("letters, asked in one order", first_order),
    Rival("letters, both orders", both_orders),
    Rival("letters and scores (direct)", everything),
    Rival("head on letters", both_orders, fits=True),
    Rival("head on letters and scores", everything, fits=True),
    Rival("state alone", None, ("state",), fits=True),
    Rival("head on letters, scores and state", everything, ("state",), fits=True),
    Rival("the same with neighbours' votes", everything, ("state",), fits=True, neighbours=True),
)
OTHERS = (
    Rival("asked once", everything),
    Rival("head on the answer", everything, fits=True),
    Rival("state alone", None, ("state",), fits=True),
    Rival("head on the answer and state", everything, ("state",), fits=True),
)
OF_QUESTIONS = (
    Rival("questions", everything, judge="questions"),
    Rival("head on questions", everything, fits=True, judge="questions"),
    Rival("head on questions and state", everything, ("state",), fits=True, judge="questions"),
)


@dataclass
class Recorded:
    """The cases of a set, what each judge said of them, and their vectors."""

    cases: list[Case]
    verdicts: dict[str, list[Verdict]]
    vectors: list[Vectors]
    specs: dict[str, SourceSpec]
    tokens: dict[str, float]  # of a call, by judge

    @property
    def groups(self) -> NDArray[np.intp]:
        return np.unique([case.split_key for case in self.cases], return_inverse=True)[1]


def recorded(name: str, chosen: Set, lm: str, folder: Path) -> Recorded:
    """Run the set's judges over it, or read their runs where they are done."""
    cases = list(sample(chosen.source.cases(), None, 1, limit_groups=chosen.groups))
    cases = [case for case in cases if case.label is not None]
    verdicts: dict[str, list[Verdict]] = {}
    tokens: dict[str, float] = {}
    for judge, settings in {chosen.judge: chosen.settings, **chosen.extra}.items():
        run = dicast.run(dicast.JudgeSpec(judge, lm, dict(settings)), cases, out=folder / f"{name}-{judge}")
        by_id = {verdict.case_id: verdict for verdict in run.verdicts()}
        verdicts[judge] = [by_id[case.id] for case in cases]
        usage = run.evaluate().usage
        tokens[judge] = (usage.total_tokens or 0.0) / max(1, usage.calls + usage.cached)
    probe = dicast.judge("probe", lm=lm)
    run = dicast.run(probe, cases, out=folder / f"{name}-probe")
    usage = run.evaluate().usage
    tokens["state"] = (usage.total_tokens or 0.0) / max(1, usage.calls + usage.cached)
    specs = {source.name: source.spec for source in probe.sources()}
    return Recorded(cases, verdicts, [probe.read_vectors(case) for case in cases], specs, tokens)


def restricted(case: Case, verdict: Verdict, rival: Rival) -> Verdict:
    """The verdict by the findings that a rival may use; without any it knows nothing."""
    if rival.keeps is everything or verdict.status != "scored":
        return verdict
    findings = tuple(finding for finding in verdict.findings if rival.keeps and rival.keeps(finding))
    if not findings:
        return Verdict(case_id=case.id, winner="tie" if case.is_pair else 0, scores=(0.0,) * len(case.candidates))
    return Verdict(case_id=case.id, findings=findings, **aggregate_findings(findings, len(case.candidates)))


def judged(rival: Rival, data: Recorded, judge: str, learn: Sequence[int], rest: Sequence[int]) -> list[Verdict]:
    """The verdicts of a rival on the judged half."""
    verdicts = [restricted(case, v, rival) for case, v in zip(data.cases, data.verdicts[judge], strict=True)]
    if not rival.fits:
        return [verdicts[index] for index in rest]
    head = fit(
        [data.cases[index] for index in learn],
        [verdicts[index] for index in learn],
        sources=data.specs if rival.sources else None,
        vectors=[data.vectors[index] for index in learn] if rival.sources else None,
        neighbours=rival.neighbours,
    ).head
    return [head(data.cases[i], verdicts[i], data.vectors[i] if rival.sources else None) for i in rest]


def length_verdict(case: Case) -> Verdict:
    """The longer text wins; of single texts the length is the score."""
    lengths = [len(candidate.text) for candidate in case.candidates]
    if len(lengths) == 1:
        return Verdict(case_id=case.id, scores=(float(lengths[0]),))
    best = max(lengths)
    names: Sequence[Any] = ("a", "b") if case.is_pair else range(len(lengths))
    longest = [name for name, length in zip(names, lengths, strict=True) if length == best]
    return Verdict(case_id=case.id, winner=longest[0] if len(longest) == 1 or not case.is_pair else "tie")


def cost_of(rival: Rival, data: Recorded, judge: str) -> tuple[float, float]:
    """Mean calls and tokens of a verdict: a finding in one order is a call, any other one for each candidate."""
    calls = 0.0
    for case, verdict in zip(data.cases, data.verdicts[judge], strict=True):
        used = [finding for finding in verdict.findings if rival.keeps and rival.keeps(finding)]
        calls += sum(1 if finding.order else len(case.candidates) for finding in used)
    reads = sum(len(case.candidates) for case in data.cases) if rival.sources else 0
    n = len(data.cases)
    return (calls + reads) / n, (calls * data.tokens[judge] + reads * data.tokens["state"]) / n
