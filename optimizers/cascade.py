"""A certified cascade: labelled cases judged once by every member, and thresholds that are tested together.

Members judge with their heads, and without thresholds of their own, as only the joint ones are guaranteed (see
`certificates.certify.certify_cascade`). The cases must be new to all of them: on those that a head was fitted to, it is
surer than it will be.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from ..data import Case, Judged
from ..data.case import Record
from ..errors import DataError
from ..evaluation.measure_factories import proportion_measure
from ..evaluation.results import Measure
from ..evaluation.run_arrays import run_arrays
from ..judging.cascade import Cascade
from ..judging.judge import Judge
from ..judging.judge_file import read
from ..judging.judge_record import to_record
from ..judging.registry import JUDGE_SUFFIX, judge_title
from .certificates.certificate import CascadeCertificate, percent
from .certificates.certify import certify_cascade
from .cost_account import cost_per_verdict
from .evidence import Evidence, digest, digest_of, plain, seen_cases, unseen

Unit = Literal["tokens", "calls"]


class Member(Record):
    """One judge of the cascade."""

    name: str
    threshold: float | None = Field(description="None: left out, or nothing could be certified")
    asked: float | None = Field(description="share of the cases; None where nothing could be certified")
    decided: float | None = Field(description="share of the cases, likewise")
    accuracy: Measure = Field(description="of all its verdicts, sure or not")
    cost: float = Field(description="of one verdict")


@dataclass(frozen=True)
class CertifiedCascade:
    """What the labelled cases showed.

    Attributes:
        judge: of the members that are not left out, at the certified thresholds; None: nothing could be certified.
        members: all that were given, in their order.
        unit: of costs.
        cases: which they were, see `evidence.seen_cases`.
    """

    judge: Cascade | None
    certificate: CascadeCertificate
    members: tuple[Member, ...]
    unit: Unit
    cases: str

    def saving(self) -> str:
        """What a case costs beside always asking the last judge, in words; empty where nothing was certified."""
        price, always = self.certificate.cost, self.members[-1].cost
        if price is None:
            return ""
        share = f": {percent(price / always)}" if always else ""
        return f"A case costs {price:,.1f} {self.unit}, against {always:,.1f} where the last is always asked{share}."

    def training(self) -> dict[str, Any]:
        """The training record of the judge file, as JSON."""
        members = {one.name: one.model_dump(mode="json", exclude={"name"}) for one in self.members}
        return {"members": members, "unit": self.unit, "cases": self.cases}


def certified(
    members: Sequence[tuple[str, Judge]],
    cases: Iterable[Case],
    evidence: Evidence,
    *,
    risk: float = 0.1,
    delta: float = 0.05,
    seed: int = 0,
) -> CertifiedCascade:
    """The cascade of these judges, certified on the cases that have a label.

    Args:
        members: name (a program's, or a file) and judge, the cheapest first; they are not changed.
        cases: pairs or choices, those without a label are left out.
        risk, delta, seed: as `certify` takes them.

    Raises:
        DataError: no labelled case, those that a member was compiled from, or a member without certainties.
        Interrupted, BudgetSpent, Infrastructure: see `evidence.Evidence.of`.
    """
    labelled = [case for case in cases if case.label is not None and case.label.winner is not None]
    if not labelled:
        raise DataError("cascade: no pair or choice with a label. Give cases that people have labelled.")
    told = digest_of(labelled)
    _refuse_seen([name for name, _ in members], labelled)
    labelled.sort(key=lambda case: case.id)
    runs = [_judged(name, judge, labelled, told, evidence) for name, judge in members]
    unit, costs = _costs(runs)
    certificate = certify_cascade(
        [_stage(name, run) for (name, _), run in zip(members, runs, strict=True)],
        risk=risk, delta=delta, costs=costs, groups=[case.split_key for case in labelled], seed=seed,
    )  # fmt: skip
    names = [f"{number} {judge_title(name)}" for number, (name, _) in enumerate(members, start=1)]
    rows = zip(names, _shares(certificate, len(members)), map(_accuracy, runs), costs, strict=True)
    return CertifiedCascade(
        judge=_cascade([judge for _, judge in members], certificate),
        certificate=certificate,
        members=tuple(
            Member(name=name, threshold=threshold, asked=asked, decided=decided, accuracy=accuracy, cost=price)
            for name, (threshold, asked, decided), accuracy, price in rows
        ),
        unit=unit,
        cases=seen_cases(labelled),
    )


def _refuse_seen(names: Iterable[str], cases: Sequence[Case]) -> None:
    """Refuse judge files that were made of some of these cases."""
    for name in names:
        told = read(name).training.get("cases") if name.endswith(JUDGE_SUFFIX) else None
        if seen := len(cases) - len(unseen(cases, told)):
            raise DataError(
                f"cascade: {name} was made of {seen:,} of these {len(cases):,} cases, so that it is surer of them than "
                "of others. Certify on labelled cases that are new to every member."
            )


def _judged(name: str, judge: Judge, cases: Sequence[Case], data: str, evidence: Evidence) -> list[Judged]:
    """The member's verdicts, as its head decides them, kept apart from those of other judges and other cases."""
    part = f"{judge_title(name)}-{digest({'cases': data, 'judge': to_record(plain(judge)).model_dump_json()})}"
    run = evidence.decided(judge, cases, part)
    evidence.telling.step("judged", f"{judge_title(name)}: {len(run):,} cases")
    return run


def _stage(name: str, run: Sequence[Judged]) -> tuple[list[float], list[bool]]:
    """Certainty, NaN for no verdict, and whether people say the same."""
    sure = [math.nan if one.status != "scored" or one.certainty is None else one.certainty for one in run]
    if all(map(math.isnan, sure)):
        raise DataError(
            f"cascade: {name} gave no verdict with a certainty, so it can never decide. Compile it, for a head that "
            "gives one, or leave it out."
        )
    return sure, [one.winner == one.human_winner for one in run]


def _costs(runs: Sequence[Sequence[Judged]]) -> tuple[Unit, list[float]]:
    """What a verdict of each judge costs: tokens where these are known of all."""
    read_runs = [run_arrays(run) for run in runs]
    tokens = [cost_per_verdict(run, "tokens") for run in read_runs]
    return (
        ("calls", [cost_per_verdict(run) for run in read_runs]) if any(map(math.isnan, tokens)) else ("tokens", tokens)
    )


def _accuracy(run: Sequence[Judged]) -> Measure:
    scored = [one for one in run if one.status == "scored"]
    hits = [one.winner == one.human_winner for one in scored]
    return proportion_measure("accuracy", hits, [one.group for one in scored], "the verdict equals the human label")


def _shares(certificate: CascadeCertificate, judges: int) -> Iterable[tuple[float | None, float | None, float | None]]:
    """Threshold, share asked and share decided of each judge."""
    if not certificate.thresholds:
        return [(None, None, None)] * judges
    return zip(certificate.thresholds, certificate.asked, certificate.decided, strict=True)


def _cascade(judges: Sequence[Judge], certificate: CascadeCertificate) -> Cascade | None:
    if not certificate.thresholds:
        return None
    asked = [(judge, one) for judge, one in zip(judges, certificate.thresholds, strict=True) if one is not None]
    members = [judge.deepcopy() for judge, _ in asked]
    for member in members:
        member.threshold = None
    return Cascade(members, thresholds=[threshold for _, threshold in asked])
