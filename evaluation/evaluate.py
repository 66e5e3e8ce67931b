"""A run to its evaluation: which figures apply, in the order in which a reader asks for them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..data import Judged, Usage
from ..stats.proportions import Proportion
from ..stats.resampling import Estimate
from . import calibration_metrics, label_metrics, score_metrics
from .measure_factories import plain, told
from .prediction_powered_metrics import powered
from .ranking_metrics import Scale
from .results import Evaluation, Measure
from .run_arrays import PAIR, Columns, columns
from .run_signature import signature_line
from .running_counts import Tally

ORDER = (
    "agreement", "people", "baselines", "correlation", "choice", "calibration", "selective", "bias", "systems",
    "powered", "findings", "cost",
)  # fmt: skip
HIGH = 0.8  # the certainty from which arXiv 2406.11657 calls a verdict sure


@dataclass(frozen=True)
class Read:
    """A run that has been read once."""

    columns: Columns
    tally: Tally
    scale: Scale | None


def read(verdicts: Iterable[Judged], scale: Scale | None = None) -> Read:
    """Take in verdicts, one at a time.

    Args:
        scale: of the judge's scores, where it always has the same.
    """
    tally = Tally(scale=scale)
    return Read(columns(_told_to(tally, verdicts)), tally, scale)


def evaluate(
    verdicts: Iterable[Judged] | Read,
    identity: Mapping[str, Any],
    *,
    threshold: float = HIGH,
    own: Iterable[str] = (),
    seed: int = 0,
) -> Evaluation:
    """Everything that can be said of a run; unscored verdicts are counted and excluded from every other figure.

    Args:
        verdicts: a run, or what `read` took in of it.
        identity: what the run's manifest says of the judge; becomes the signature.
        threshold: of certainty, from which a verdict is sure.
        own: names of systems that are the judge itself, or of its family.
        seed: of everything that is resampled.
    """
    taken = verdicts if isinstance(verdicts, Read) else read(verdicts)
    run = taken.columns
    winning, single = label_metrics.labelled(run), score_metrics.scored(run)
    ranked = score_metrics.systems(run, seed)
    table = label_metrics.confusion_table(run) if winning.n else None
    sections = _sections(taken, threshold, frozenset(own), seed) | {
        "systems": tuple(score_metrics.system_agreement(ranked))
    }
    return Evaluation(
        signature=signature_line(identity, run.cases),
        judge=identity["judge"],
        cases=run.cases,
        scored=run.n,
        labelled=winning.n + single.n,
        groups=len(set(run.group.tolist())),
        unscored=dict(sorted(run.unscored.items())),
        sections={name: sections[name] for name in ORDER if sections[name]},
        confusion=table,
        labels=label_metrics.label_rows(table) if table else (),
        reliability=calibration_metrics.reliability(run),
        curve=calibration_metrics.curve(run),
        histograms=score_metrics.histograms(run),
        systems=ranked,
        strata=score_metrics.strata(run, seed),
        usage=run.usage,
    )


def _sections(taken: Read, threshold: float, own: frozenset[str], seed: int) -> dict[str, tuple[Measure, ...]]:
    run, tally = taken.columns, taken.tally
    same_scale = taken.scale is not None and taken.scale == run.human_scale
    found = {
        "agreement": _coverage(run),
        "correlation": (
            *score_metrics.correlated(run, seed, same_scale=same_scale),
            *score_metrics.pair_correlation(run, seed),
        ),
        "people": (*label_metrics.ceiling(run, seed), *score_metrics.person(run, seed)),
        "choice": _choices(tally),
        "calibration": calibration_metrics.calibrated(run, seed),
        "selective": calibration_metrics.selected(run, seed, threshold),
        "powered": powered(run),
        "findings": _findings(tally),
        "cost": _cost(run),
        "baselines": (),
        "bias": (),
    }
    if label_metrics.labelled(run).n:
        found["agreement"] = (*_coverage(run), *label_metrics.agreement(run, seed))
        found["baselines"] = label_metrics.baselines(run)
    if run.labels[:3] == PAIR:
        found["bias"] = label_metrics.biases(run, seed, own)
    return {name: tuple(figures) for name, figures in found.items()}


def _told_to(tally: Tally, verdicts: Iterable[Judged]) -> Iterator[Judged]:
    for judged in verdicts:
        tally.add(judged)
        yield judged


def _coverage(run: Columns) -> Iterator[Measure]:
    told_reasons = ", ".join(f"{n:,} {reason}" for reason, n in run.unscored.most_common())
    what = "cases with a verdict; every other figure is of these"
    yield _proportion("coverage", Proportion(run.n, run.cases), what, told_reasons)


def _choices(tally: Tally) -> Iterator[Measure]:
    choices = tally.choices
    if not (n := choices.gains.n):
        return
    yield plain("rank", choices.ranks.value, n, "mean place of the right answer, 1 the best")
    yield plain("nDCG", choices.gains.value, n, "how high the right answer stands, mean over questions")
    pooled = choices.answers.total()
    yield plain("nDCG pooled", choices.pooled_ndcg, pooled, "the answers of all questions in one list")
    if choices.errors.n:
        what = "squared error of scores 0..10 against 10 for the right answer, else 0"
        yield plain("MSE", choices.errors.value, choices.errors.n, what)


def _findings(tally: Tally) -> Iterator[Measure]:
    """What the chains wrote on the way: factors added for a person, texts rewritten."""
    factors, corrections = tally.factors, tally.corrections
    if factors.guidelines:
        each = f"factors added for the person, of all; {factors.added_each:.2f} a guideline"
        yield _proportion("added", factors.share_added, each)
        if factors.added:
            yield _proportion("exclusions", factors.exclusions, "of the added factors, ask to leave something out")
        for name, value in factors.pooled().items():
            what = "weights by preference against weights by the explanation of the right answer"
            yield plain(f"explained {name}", value, factors.weights.total(), what)
    if corrections.after.n:
        gain = f"mean score {corrections.before.value:.2f} -> {corrections.after.value:.2f}"
        yield _proportion("improved", corrections.improved, f"rewritten texts that score higher; {gain}")


def _proportion(name: str, proportion: Proportion, what: str, note: str = "") -> Measure:
    figure = Estimate(proportion.value, *proportion.interval, proportion.n, proportion.n)
    return told(name, figure, what, note, is_share=True)


def _cost(run: Columns) -> Iterator[Measure]:
    usage, n = run.usage, run.cases
    if usage == Usage():  # nothing was asked, or not by dicast
        return
    yield plain("calls", usage.calls / n, n, "LM calls a case, those that the cache answered not among them")
    tokens = usage.prompt_tokens + usage.completion_tokens
    yield plain("tokens", tokens / n, n, "tokens a case, prompt and completion")
    yield plain("seconds", usage.seconds / n, n, "model seconds a case, summed over calls")
    if usage.cost is not None:
        yield plain("dollars", usage.cost / n, n, "US dollars a case")
