"""Certificates of whole compilations, on simulated evidence with real fits: part compile of benchmarks/certificates.py.

A world draws groups of pairs with evidence in letters of both orders and in useless scores, splits its groups into a
learning and a test part, and fits the head of a compilation. Certified is a risk of 10 % at 95 % by three methods: the
test part alone, as after a search of prompts or structure; all labels, those of the learning part out of fold and by
ranks; and the same only where the final head and those of all folds weigh the same features. A certificate fails if the
final head's disagreement is above the risk among accepted verdicts of a population of 1,000 groups whose probabilities
are known, each group with accepted verdicts weighted equally.
"""

import math
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from dicast.data import Candidate, Case, Finding, Judged, Verdict, Winner
from dicast.judging.aggregate import aggregate_findings
from dicast.optimizers.certificates.certificate import Certificate
from dicast.optimizers.certificates.certify import certify
from dicast.optimizers.certificates.out_of_fold import certify_by_share, judged_out_of_fold
from dicast.optimizers.head.fit import fit
from dicast.stats.power import intraclass_correlation
from dicast.stats.resampling import wilson

Rng = np.random.Generator
Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
RISK = 0.1
ROUNDING = 1e-3
POPULATION = 1_000  # groups
SHOWN = 40  # worlds whose population gives the risk of the surest third; of others only certificates need it
COMMON, COMMON_CERTAINTY = 0.5, 0.25  # proportions of latent variance that cases of a group share
PANDALM = np.repeat(np.arange(1, 11), [8, 6, 7, 13, 10, 17, 15, 8, 8, 12])
TIE_BELOW = 0.8  # of a margin, where the right verdict is a tie in worlds with ties
LETTERS = ("a", "b", "tie")
METHODS = ("test part", "all labels", "all labels if heads share features")


class Setting(NamedTuple):
    """A row of the table.

    Attributes:
        judge: what its margins say of its errors.
        sizes: of groups.
        groups: of labels.
        learning: the proportion of groups that the head is fitted to.
        useless: features that say nothing.
    """

    judge: str
    sizes: str
    groups: int
    learning: float
    useless: int
    repetitions: int


class Cases(NamedTuple):
    """Labelled pairs with the judge's verdicts, (n, 3) probabilities of each label, and (n,) groups."""

    cases: list[Case]
    verdicts: list[Verdict]
    probabilities: Floats
    groups: Counts


def probability_of_right(judge: str, margin: Floats) -> Floats:
    """(n,) of the margins' sizes, in log odds."""
    odds: Floats = 1 / (1 + np.exp(-margin))
    if judge.startswith("10.2 % wrong everywhere"):
        return np.full(len(margin), 0.898)
    return 0.5 + 0.42 * (2 * odds - 1) if judge == "overconfident" else odds


def drawn(setting: Setting, rng: Rng, count: int) -> Cases:
    single = setting.sizes == "1"
    size = np.ones(count, dtype=np.int64) if single else np.maximum(1, np.round(0.52 * rng.choice(PANDALM, count)))
    groups = np.repeat(np.arange(count), size.astype(np.int64))
    n = len(groups)
    margin = np.abs(2.6 * latent(rng, groups, count, COMMON_CERTAINTY))
    right = probability_of_right(setting.judge, margin)
    believed = np.where(rng.random(n) < 0.5, 0, 1)
    if setting.judge.endswith("ties"):
        believed = np.where(margin < TIE_BELOW, 2, believed)
        other = (believed + 1 + (rng.random(n) < 0.5)) % 3
        probabilities = np.repeat((1 - right)[:, None] / 2, 3, axis=1)
    else:
        other, probabilities = 1 - believed, np.zeros((n, 3))
        probabilities[np.arange(n), other] = 1 - right
    probabilities[np.arange(n), believed] = right
    correct = norm.cdf(latent(rng, groups, count, COMMON)) < right
    labels = np.where(correct, believed, other)
    side = np.where(believed == 2, np.where(rng.random(n) < 0.5, 0, 1), believed)
    z, position = np.where(side == 0, margin, -margin), 0.7 * rng.normal(size=n)
    scores = rng.normal(size=(n, setting.useless))
    cases, verdicts = [], []
    for i in range(n):
        findings = [
            Finding(criterion="overall", order="ab", distribution=_letters(z[i] + position[i])),
            Finding(criterion="overall", order="ba", distribution=_letters(z[i] - position[i])),
            *(Finding(criterion=f"c{k}", scores=(3 + x, 3 - x)) for k, x in enumerate(scores[i].tolist())),
        ]
        pair = (Candidate(text="x"), Candidate(text="y"))
        label = Winner(value=LETTERS[labels[i]])
        cases.append(Case(id=f"{i:05}", query=f"q{i}", group=f"g{groups[i]}", candidates=pair, label=label))
        verdicts.append(Verdict(findings=tuple(findings), case_id=f"{i:05}", **aggregate_findings(findings, 2)))
    return Cases(cases, verdicts, probabilities, groups)


def latent(rng: Rng, groups: Counts, count: int, common: float) -> Floats:
    """Standard normal, (n,), correlated by `common` inside a group."""
    return math.sqrt(common) * rng.normal(size=count)[groups] + math.sqrt(1 - common) * rng.normal(size=len(groups))


def _letters(log_odds: float) -> dict[str, float]:
    a = 1 / (1 + math.exp(-log_odds))
    return {"a": a, "b": 1 - a}


@cache
def population(setting: Setting) -> Cases:
    return drawn(setting, np.random.default_rng(99), POPULATION)


def world(setting: Setting, seed: int) -> dict[str, Any]:
    """The certificates of one world by method: whether certified, failed, and the true coverage."""
    rng = np.random.default_rng([seed, setting.groups, setting.useless, round(100 * setting.learning)])
    drawn_cases = drawn(setting, rng, setting.groups)
    cases, verdicts, groups = drawn_cases.cases, drawn_cases.verdicts, drawn_cases.groups
    learn = np.flatnonzero(groups < round(setting.groups * setting.learning)).tolist()
    fitted = fit([cases[i] for i in learn], [verdicts[i] for i in learn])
    without = [*fitted.without, *[fitted.head] * (len(cases) - len(learn))]
    judged, share, final = judged_out_of_fold(cases, verdicts, fitted.head, without)
    labels = [Judged.of(case, verdict).human_winner for case, verdict in zip(cases, judged, strict=True)]
    correct = [verdict.winner == label for verdict, label in zip(judged, labels, strict=True)]
    certainty = np.array([verdict.certainty for verdict in judged], dtype=np.float64)
    test = slice(len(learn), None)
    certificates = {
        METHODS[0]: certify(certainty[test], correct[test], groups=groups[test]),
        METHODS[1]: certify_by_share(share, correct, final, groups=groups),
    }
    shared = len({frozenset(head.weights) for head in without}) == 1
    certificates[METHODS[2]] = certificates[METHODS[1 if shared else 0]]
    outcome: dict[str, Any] = {"labels": len(cases), "shared": shared, "surest third": math.nan}
    outcome["icc"] = intraclass_correlation(np.array(correct), groups) if len(cases) > setting.groups else math.nan
    if seed >= SHOWN and all(certificate.threshold is None for certificate in certificates.values()):
        return outcome | dict.fromkeys(METHODS, (False, False, 0.0))
    everyone = population(setting)
    read = [fitted.head(case, verdict) for case, verdict in zip(everyone.cases, everyone.verdicts, strict=True)]
    sure = np.array([verdict.certainty for verdict in read], dtype=np.float64)
    chosen = np.array([LETTERS.index(str(verdict.winner)) for verdict in read])
    wrong = 1 - everyone.probabilities[np.arange(len(read)), chosen]
    if seed < SHOWN:
        outcome["surest third"] = float(wrong[np.argsort(-sure)[: len(read) // 3]].mean())
    return outcome | {method: _truth(of, sure, wrong, everyone.groups) for method, of in certificates.items()}


def _truth(certificate: Certificate, sure: Floats, wrong: Floats, groups: Counts) -> tuple[bool, bool, float]:
    if certificate.threshold is None:
        return False, False, 0.0
    accepted = sure >= certificate.threshold
    number, size = np.bincount(groups, accepted), np.bincount(groups)
    some = number > 0
    risk = (np.bincount(groups, accepted * wrong)[some] / number[some]).mean() if some.any() else 0.0
    return True, bool(risk > RISK + ROUNDING), float((number / size).mean())


def simulated(setting: Setting) -> dict[str, Any]:
    """A row of the table."""
    worlds = [world(setting, seed) for seed in range(setting.repetitions)]
    row: dict[str, Any] = dict(setting._asdict())
    for name in ("labels", "icc", "shared"):
        row[name] = round(float(np.mean([outcome[name] for outcome in worlds])), 4)
    row["surest third"] = round(float(np.mean([outcome["surest third"] for outcome in worlds[:SHOWN]])), 4)
    for method in METHODS:
        certified, failed, coverage = (np.array(values) for values in zip(*(w[method] for w in worlds), strict=True))
        low, high = wilson(float(failed.mean()), len(worlds), 1.96)
        row[method] = {
            "failed": int(failed.sum()), "low": low, "high": high, "certified": float(certified.mean()),
            "coverage": float(coverage.mean()), "median": float(np.median(coverage)),
        }  # fmt: skip
    return row


def settings(quick: bool) -> Iterator[Setting]:
    parts = 20 if quick else 1
    wrong = "10.2 % wrong everywhere"
    for judge, sizes, groups, learning, useless, repetitions in (
        ("calibrated, 3 %", "PandaLM's", 100, 0.5, 0, 200),
        (wrong, "PandaLM's", 100, 0.5, 0, 400),
        (wrong, "1", 100, 0.5, 0, 400),
        (wrong, "1", 60, 0.5, 0, 400),
        ("overconfident", "1", 100, 0.5, 0, 400),
        (f"{wrong}, ties", "1", 100, 0.5, 0, 400),
        (wrong, "1", 100, 0.5, 12, 400),
    ):
        yield Setting(judge, sizes, groups, learning, useless, repetitions // parts)


def heading() -> str:
    first = (
        "judge",
        "sizes",
        "groups (labels)",
        "learning",
        "useless features",
        "risk of the surest third",
        "ICC",
        "heads share",
    )
    names = ("fails [95 %]", "certifies", "accepted, mean", "median")
    cells = [*first, *(f"{method}: {name}" for method in METHODS for name in names)]
    return f"| {' | '.join(cells)} |\n|{' --- |' * len(cells)}"


def line(row: dict[str, Any]) -> str:
    cells = [row["judge"], row["sizes"], f"{row['groups']} ({row['labels']:.0f})", f"{100 * row['learning']:.0f} %"]
    cells += [str(row["useless"]), f"{100 * row['surest third']:.1f} %"]
    cells.append("" if math.isnan(row["icc"]) else f"{row['icc']:.2f}")
    cells.append(f"{100 * row['shared']:.0f} %")
    for method in METHODS:
        of = row[method]
        failed = f"{of['failed']} of {row['repetitions']} [{100 * of['low']:.1f}, {100 * of['high']:.1f} %]"
        cells += [failed, *(f"{100 * of[name]:.1f} %" for name in ("certified", "coverage", "median"))]
    return f"| {' | '.join(cells)} |"
