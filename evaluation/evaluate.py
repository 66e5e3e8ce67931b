"""A run to its evaluation: every metric that applies, by section, and the rows of tables and plots."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..data import Judged
from .metric import THRESHOLD, MetricOptions, measures_of, usable_metrics
from .metrics.agreement import confusion_table, label_rows
from .metrics.baselines import leads_by_orders
from .metrics.calibration import reliability
from .metrics.categories import pass_points, positive_category
from .metrics.correlation import histograms, strata
from .metrics.selective import curve
from .metrics.systems import system_rows
from .results import Evaluation, Measure
from .run_arrays import RunArrays, run_arrays
from .run_signature import signature_line
from .sections import in_order, section_title
from .subgroups import subgroups

INCLUSION = "inclusion_probability"  # the field of a sample that `dicast agreement` wrote


def evaluate(
    verdicts: Iterable[Judged] | RunArrays,
    identity: Mapping[str, Any],
    *,
    threshold: float = THRESHOLD,
    judge_systems: Iterable[str] = (),
    seed: int = 0,
    by: Sequence[str] = (),
) -> Evaluation:
    """Every measure of a run; unscored verdicts count in coverage and are excluded from every other measure.

    Args:
        verdicts: of a run, or their arrays by `run_arrays`.
        identity: of the run's manifest: judge, settings, lm, data, ...; becomes the signature line.
        threshold: certainty, in [0, 1], from which selective prediction keeps a verdict.
        judge_systems: names of systems that are the judge itself, or of its family.
        seed: of everything that is resampled.
        by: fields of the cases, such as "subset", for whose values the main figure is given.
    """
    run = verdicts if isinstance(verdicts, RunArrays) else run_arrays(verdicts)
    options = MetricOptions(threshold=threshold, judge_systems=frozenset(judge_systems), seed=seed)
    sections = _sections(run, options)
    confusion = confusion_table(run) if run.labelled.n else None
    return Evaluation(
        signature=signature_line(identity, run.cases),
        judge=identity["judge"],
        cases=run.cases,
        scored=int(run.case_scored.sum()),
        labelled=run.labelled.n + run.rated.n,
        groups=len(set(run.group.tolist())),
        unscored=dict(sorted(run.unscored.items())),
        noted=run.noted,
        note=run.note,
        repeated=run.repeated,
        unequal_sample=run.attributes.varies(INCLUSION),
        notices=tuple(_notices(run)),
        sections=sections,
        titles={name: section_title(name) for name in sections},
        confusion=confusion,
        labels=label_rows(confusion) if confusion else (),
        reliability=reliability(run),
        curve=curve(run),
        positive=positive_category(run),
        precision_recall=pass_points(run),
        histograms=histograms(run),
        systems=system_rows(run, seed),
        strata=strata(run, seed),
        subgroups=subgroups(run, by, seed) if by else None,
        usage=run.usage,
    )


def _notices(run: RunArrays) -> Iterator[str]:
    both, known = run.in_both_orders, (run.by_order >= 0).any(axis=1)
    if half_read := int((known & ~both).sum()) if both.any() else 0:
        cases = f"{half_read:,} {'case has' if half_read == 1 else 'cases have'}"
        yield f"{cases} an answer in one of the two orders only, which is the verdict there"
    if leads_by_orders(run):
        ties = int((run.labelled.judge == run.labels.index("tie")).sum())
        yield (
            f"{ties:,} of {run.labelled.n:,} verdicts are ties and none of people's labels: compare the mean of "
            "orders, not the accuracy, with chance"
        )


def _sections(run: RunArrays, options: MetricOptions) -> dict[str, tuple[Measure, ...]]:
    measures: dict[str, tuple[Measure, ...]] = {}
    for metric in usable_metrics():
        if computed := measures_of(metric, run, options):
            measures[metric.section] = (*measures.get(metric.section, ()), *computed)
    return {name: measures[name] for name in in_order(set(measures))}
