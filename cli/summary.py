"""The table at the end of a run: every measure that applies to it, a line each."""

import math
from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from ..evaluation import Choices, Corrections, Factors, Proportion, Systems, Tally

MEASURES = {
    "accuracy": "the verdict equals the human label",
    "agreement": "both orders, each taken alone, name the human winner",
    "consistency": "both orders, each taken alone, name the same winner",
    "coverage": "cases with a verdict",
}
MOST_SYSTEMS = 20  # lines of the ranking; --json has all
Line = tuple[str, str, int, str]  # name, value, n, what


def share(proportion: Proportion) -> str:
    """`0.825 [0.750, 0.882]`; a dash when nothing was counted."""
    if not proportion.n:
        return "-"
    low, high = proportion.interval
    return f"{proportion.value:.3f} [{low:.3f}, {high:.3f}]"


def summary(tally: Tally) -> Table:
    """Value, interval, n and meaning of each measure."""
    table = Table(box=None, pad_edge=False)
    for name in ("", "value [95 % CI]", "n", "what"):
        table.add_column(name, justify="right" if name == "n" else "left")
    for name, value, n, what in lines(tally):
        table.add_row(Text(name), Text(value), Text(f"{n:,}"), Text(what))  # Text: a note or a system may hold markup
    return table


def lines(tally: Tally) -> Iterator[Line]:
    for name, meaning in MEASURES.items():
        measure: Proportion = getattr(tally, name)
        if measure.n:
            yield name, share(measure), measure.n, meaning
    for name, value in tally.correlations().items():
        told = "constant scores" if math.isnan(value) else f"{value:.3f}"
        yield name, told, len(tally.pairs), "judge's scores against people's, all texts"
    yield from _choices(tally.choices)
    yield from _factors(tally.factors)
    yield from _corrections(tally.corrections)
    yield from _systems(tally.systems)
    if tally.noted:
        yield "notes", "", tally.noted, f"verdicts with a note, such as: {tally.note}"
    for reason, count in tally.reasons.most_common():
        yield "unscored", reason, count, "counted in coverage alone"


def _choices(choices: Choices) -> Iterator[Line]:
    if not (n := choices.gains.n):
        return
    yield (
        "nDCG",
        f"{choices.gains.value:.4f}",
        n,
        f"how high the right answer stands; mean rank {choices.ranks.value:.2f}",
    )
    yield (
        "nDCG pooled",
        f"{choices.pooled_ndcg:.4f}",
        choices.answers.total(),
        "the answers of all questions in one list",
    )
    if choices.errors.n:
        yield (
            "MSE",
            f"{choices.errors.value:.2f}",
            choices.errors.n,
            "scores 0..10 against 10 for the right answer, else 0",
        )


def _factors(factors: Factors) -> Iterator[Line]:
    if not factors.guidelines:
        return
    each = f"of all factors, added for the person; {factors.added_each:.2f} a guideline"
    yield "added", share(factors.share_added), factors.factors, each
    if factors.added:
        yield "exclusions", share(factors.exclusions), factors.added, "of the added factors, ask to leave something out"
    left_out = f", {factors.left_out:,} left out" if factors.left_out else ""
    for name, value in factors.pooled().items():
        mean = factors.means.get(name)
        each = f"mean over {mean.n:,} guidelines {mean.value:.3f}" if mean else "no guideline by itself"
        told = "constant weights" if math.isnan(value) else f"{value:.3f}"
        what = f"weights by preference against weights by explanation; {each}{left_out}"
        yield f"explained {name}", told, factors.weights.total(), what


def _corrections(corrections: Corrections) -> Iterator[Line]:
    if not corrections.texts:
        return
    if corrections.after.n:
        gain = f"{corrections.before.value:.2f} -> {corrections.after.value:.2f}"
        yield "rewritten", gain, corrections.texts, "weak texts, mean score before and after"
        yield "improved", share(corrections.improved), corrections.after.n, "rewritten texts that score higher"
    else:
        yield "rewritten", "-", corrections.texts, "weak texts, not judged anew"


def _systems(systems: Systems) -> Iterator[Line]:
    ranking = systems.ranking()
    for place, (system, mean) in enumerate(ranking[:MOST_SYSTEMS], start=1):
        people = f"; people {systems.people[system].value:.2f}" if system in systems.people else ""
        yield f"system {place}", f"{mean.value:.2f}", mean.n, f"{system}: mean score of its texts{people}"
    agreed = systems.agreement()
    for name in ("spearman", "kendall"):
        if name in agreed:
            yield f"systems {name}", f"{agreed[name]:.3f}", int(agreed["n"]), "mean scores against people's, by system"
