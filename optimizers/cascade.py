"""Certify a cascade: every member judges the labelled cases once, and their thresholds are tested together.

Members judge with their heads, but without their abstention thresholds: only the joint thresholds are guaranteed (see
`certificates.certify.certify_cascade`). The cases must be new to every member: on cases that its head was fitted to, a
member is more certain than on others.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from ..data import Case, Judged
from ..data.case import Record
from ..data.counting import cases_text
from ..data.joined_groups import join_groups
from ..errors import DataError
from ..evaluation.measure_factories import proportion_measure
from ..evaluation.results import Measure
from ..evaluation.run_arrays import run_arrays
from ..judging.cascade import Cascade
from ..judging.judge import Judge, learned_from
from ..judging.judge_file import read
from ..judging.judge_record import to_record
from ..judging.registry import JUDGE_SUFFIX, judge_title
from .certificates.certificate import CascadeCertificate
from .certificates.certify import certify_cascade, judge_evidence
from .certificates.wording import percent
from .cost_account import cost_per_verdict
from .evidence import Evidence, without_head
from .fingerprints import case_fingerprints, digest, digest_of, exclude_seen

Unit = Literal["tokens", "calls"]


class CascadeMember(Record):
    """One judge of a cascade."""

    name: str = Field(description="its number in the cascade, and the name of the program or file")
    threshold: float | None = Field(description="None: left out, or nothing could be certified")
    reached: float | None = Field(description="proportion of the cases that reach it; None: nothing could be certified")
    decided: float | None = Field(
        description="proportion of the cases that it decides; None: nothing could be certified"
    )
    accuracy: Measure = Field(description="of all its verdicts, accepted or not")
    cost: float = Field(description="of one verdict, in the unit of the cascade")


@dataclass(frozen=True)
class CertifiedCascade:
    """The result of certifying a cascade.

    Attributes:
        judge: the members that are not left out, at the certified thresholds; None: nothing could be certified.
        members: all members, in the order of the cascade.
        unit: of costs.
        cases: fingerprints of the labelled cases and of those that the members were compiled on; see
            `fingerprints.case_fingerprints`.
        joined: how many cases were put into one group because they share texts, in words; empty if none.
    """

    judge: Cascade | None
    certificate: CascadeCertificate
    members: tuple[CascadeMember, ...]
    unit: Unit
    cases: str
    joined: str = ""

    def saving(self) -> str:
        """The cost of a case beside that of the last judge alone, in words; empty if nothing was certified."""
        price, always = self.certificate.cost, self.members[-1].cost
        if price is None:
            return ""
        ratio = f": {percent(price / always)}" if always else ""
        return f"A case costs {price:,.1f} {self.unit}, against {always:,.1f} if the last judge got every case{ratio}."

    def training(self) -> dict[str, Any]:
        """The training record of the judge file, as JSON."""
        members = {member.name: member.model_dump(mode="json", exclude={"name"}) for member in self.members}
        joined = {"joined": self.joined} if self.joined else {}
        return {"members": members, "unit": self.unit, "cases": self.cases, **joined}


def certify_judges(
    members: Sequence[tuple[str, Judge]],
    cases: Iterable[Case],
    evidence: Evidence,
    *,
    risk: float = 0.1,
    delta: float = 0.05,
) -> CertifiedCascade:
    """The cascade of these judges, certified on the cases with a label.

    Args:
        members: name (of a program or a file) and judge, the cheapest first; they are not changed.
        cases: pairs or choices; those without a label are left out.
        risk, delta: as in `certify`.

    Raises:
        DataError: no labelled case, a case that a member was compiled on, or a member without certainties.
        Interrupted, BudgetSpent, Infrastructure: see `evidence.Evidence.of`.
    """
    labelled = [case for case in cases if case.label is not None and case.label.answer is not None]
    if not labelled:
        raise DataError("cascade: no pair or choice with a label. Give cases that people have labelled.")
    data = digest_of(labelled)
    compiled_on = [_compiled_on(name) for name, _ in members]
    refuse_seen(members, compiled_on, labelled)
    labelled.sort(key=lambda case: case.id)
    groups = join_groups(labelled)
    if groups.counts:
        evidence.progress.step("groups", groups.counts)
    runs = [_judged(name, judge, labelled, data, evidence) for name, judge in members]
    unit, costs = _costs(runs)
    certificate = certify_cascade(
        [_stage(name, run) for (name, _), run in zip(members, runs, strict=True)],
        risk=risk, delta=delta, costs=costs, groups=groups.keys,
    )  # fmt: skip
    names = [f"{number} {judge_title(name)}" for number, (name, _) in enumerate(members, start=1)]
    accuracies = [_accuracy(run, groups.keys) for run in runs]
    rows = zip(names, _by_member(certificate, len(members)), accuracies, costs, strict=True)
    return CertifiedCascade(
        judge=_cascade([judge for _, judge in members], certificate),
        certificate=certificate,
        members=tuple(
            CascadeMember(
                name=name, threshold=threshold, reached=reached, decided=decided, accuracy=accuracy, cost=price
            )
            for name, (threshold, reached, decided), accuracy, price in rows
        ),
        unit=unit,
        cases=case_fingerprints(labelled, *compiled_on),
        joined=groups.counts,
    )


def _compiled_on(name: str) -> object:
    """The fingerprints of the cases that a judge file was compiled on; None of any other judge."""
    return read(name).training.get("cases") if name.endswith(JUDGE_SUFFIX) else None


def refuse_seen(members: Iterable[tuple[str, Judge]], compiled_on: Iterable[object], cases: Sequence[Case]) -> None:
    """Raise DataError for a judge that was compiled on some of these cases, or learned from them."""
    for (name, judge), fingerprints in zip(members, compiled_on, strict=True):
        has_learned = learned_from(judge)
        unseen = [case for case in exclude_seen(cases, fingerprints) if not has_learned(case)]
        if seen := len(cases) - len(unseen):
            raise DataError(
                f"cascade: {name} was compiled on {seen:,} of these {len(cases):,} cases, so it is more certain of "
                "them than of others. Certify on labelled cases that are new to every member."
            )


def _judged(name: str, judge: Judge, cases: Sequence[Case], data: str, evidence: Evidence) -> list[Judged]:
    """The member's verdicts with its head, in a run folder for this judge and these cases."""
    part = f"{judge_title(name)}-{digest({'cases': data, 'judge': to_record(without_head(judge)).model_dump_json()})}"
    run = evidence.with_head(judge, cases, part)
    evidence.progress.step("judged", f"{judge_title(name)}: {cases_text(len(run))}{_unscored(run)}")
    return run


def _unscored(run: Iterable[Judged]) -> str:
    """`, 17 unscored: 15 unreadable, 2 refusal`; empty where each case has a verdict."""
    reasons = Counter(judged.reason for judged in run if judged.status == "unscored")
    counts = ", ".join(f"{count:,} {reason}" for reason, count in reasons.most_common())
    return f", {reasons.total():,} unscored: {counts}" if reasons else ""


def _stage(name: str, run: Sequence[Judged]) -> tuple[list[float], list[bool]]:
    """The member's certainties and whether its verdicts equal the labels; raises DataError if it has no certainty."""
    certainties, correct = judge_evidence(run)
    if all(map(math.isnan, certainties)):
        raise DataError(
            f"cascade: {name} gave no verdict with a certainty, so it can never decide. Compile it, for a head that "
            "gives one, or leave it out."
        )
    return certainties, correct


def _costs(runs: Sequence[Sequence[Judged]]) -> tuple[Unit, list[float]]:
    """The cost of a verdict of each judge: in tokens if these are known for all, else in calls."""
    arrays = [run_arrays(run) for run in runs]
    tokens = [cost_per_verdict(run, "tokens") for run in arrays]
    return ("calls", [cost_per_verdict(run) for run in arrays]) if any(map(math.isnan, tokens)) else ("tokens", tokens)


def _accuracy(run: Sequence[Judged], groups: Sequence[str]) -> Measure:
    scored = [(judged, group) for judged, group in zip(run, groups, strict=True) if judged.status == "scored"]
    hits = [judged.answer == judged.human_answer for judged, _ in scored]
    return proportion_measure("accuracy", hits, [group for _, group in scored], "the verdict equals the human label")


def _by_member(
    certificate: CascadeCertificate, judges: int
) -> Iterable[tuple[float | None, float | None, float | None]]:
    """Threshold, proportion reached and proportion decided of each judge."""
    if not certificate.thresholds:
        return [(None, None, None)] * judges
    return zip(certificate.thresholds, certificate.reached, certificate.decided, strict=True)


def _cascade(judges: Sequence[Judge], certificate: CascadeCertificate) -> Cascade | None:
    if not certificate.thresholds:
        return None
    used = [(judge, value) for judge, value in zip(judges, certificate.thresholds, strict=True) if value is not None]
    members = [judge.deepcopy() for judge, _ in used]
    for member in members:
        member.threshold = None
    return Cascade(members, thresholds=[threshold for _, threshold in used])
