"""Findings, verdicts and labelled worlds made by hand, for the tests of features, heads and fits."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dicast.data import Candidate, Case, Category, Finding, Scores, Verdict, Winner
from dicast.data.verdict import Order
from dicast.judging.aggregate import aggregate_findings


def pair(*texts: str) -> Case:
    return Case(id="1", query="q", candidates=tuple(Candidate(text=text) for text in (texts or ("long text", "text"))))


def judged(findings: Sequence[Finding], candidates: int = 2, **fields: Any) -> Verdict:
    return Verdict(findings=tuple(findings), **{"case_id": "1", **aggregate_findings(findings, candidates), **fields})


def lettered(a: float, order: Order | None = None, **fields: Any) -> Finding:
    return Finding(criterion="overall", order=order, distribution={"a": a, "b": 1 - a}, **fields)


def scored(*scores: float, criterion: str = "overall", order: Order | None = None, **fields: Any) -> Finding:
    return Finding(criterion=criterion, order=order, scores=scores, **fields)


def random_findings(random: np.random.Generator) -> list[Finding]:
    """One to eight findings: letters, scores or both, some with a tie, a member or a stated certainty."""
    findings = []
    for _ in range(random.integers(1, 9)):
        kinds = random.integers(1, 4)
        letters = ("a", "b", "tie") if random.random() < 0.3 else ("a", "b")
        shares = [float(p) for p in random.dirichlet([0.4] * len(letters))]
        findings.append(
            Finding(
                criterion=str(random.choice(["clear", "right", "kind"])),
                member=str(random.choice(["", "m1", "m2"])),
                order=(None, "ab", "ba")[random.integers(3)],
                weight=float(random.choice([0.1, 1.0, 3.0])),
                scores=tuple(float(x) for x in random.uniform(1, 5, size=2)) if kinds & 1 else None,
                distribution=dict(zip(letters, shares, strict=True)) if kinds & 2 else None,
                certainty=float(random.random()) if random.random() < 0.3 else None,
            )
        )
    return findings


def pairs(
    n: int, seed: int, *, letters: float = 0.5, scores: float = 1.0, threshold: float = 0.0
) -> tuple[list[Case], list[Verdict]]:
    """Pairs whose labels follow Rao & Kupper's model of the evidence: `letters` a log-odd of the letters (which have
    a liking for the first place of 1.5), `scores` a point of the single scores; 0 for both is labels at random."""
    random = np.random.default_rng(seed)
    cases, verdicts = [], []
    for number in range(n):
        liking, difference = random.normal(0, 1.5), random.normal(0, 1)
        findings = [
            lettered(1 / (1 + math.exp(-(liking + 1.5))), "ab"),
            lettered(1 / (1 + math.exp(-(liking - 1.5))), "ba"),
            scored(3 + difference / 2, 3 - difference / 2),
        ]
        m = letters * liking + scores * difference + random.logistic()
        label = "a" if m > threshold else "b" if m < -threshold else "tie"
        case = pair("x" * int(random.integers(50)), "y" * int(random.integers(50)))
        cases.append(case.model_copy(update={"id": f"{number:05}", "query": str(number), "label": Winner(value=label)}))
        verdicts.append(judged(findings, case_id=f"{number:05}"))
    return cases, verdicts


def texts(n: int, seed: int, *, noise: float = 0.3, bend: bool = False) -> tuple[list[Case], list[Verdict]]:
    """Single texts: the judge's scores lie on 0..100, people's on 1..5; bent, people know only two scores."""
    random = np.random.default_rng(seed)
    cases, verdicts = [], []
    for number in range(n):
        score = float(random.uniform(0, 100))
        mean = (1.5 if score < 50 else 4.5) if bend else 1 + 4 * score / 100
        people = min(max(mean + random.normal(0, noise), 1.0), 5.0)
        label = Scores(values=(people,), lo=1, hi=5)
        case = Case(id=f"{number:05}", query=str(number), candidates=(Candidate(text="x"),), label=label)
        cases.append(case)
        verdicts.append(judged([scored(score)], 1, case_id=case.id))
    return cases, verdicts


def choices(n: int, seed: int, *, worth: float = 1.0) -> tuple[list[Case], list[Verdict]]:
    """Choices among three or four scored options, taken by a conditional logit: `worth` a point of score."""
    random = np.random.default_rng(seed)
    cases, verdicts = [], []
    for number in range(n):
        scores = tuple(float(x) for x in random.uniform(0, 4, size=random.integers(3, 5)))
        taken = int(np.argmax(worth * np.array(scores) + random.gumbel(size=len(scores))))
        case = pair(*("x" * int(random.integers(9)) for _ in scores))
        case = case.model_copy(update={"id": f"{number:05}", "query": str(number), "label": Winner(value=taken)})
        cases.append(case)
        verdicts.append(judged([scored(*scores)], len(scores), case_id=case.id))
    return cases, verdicts


def categories(
    n: int = 300, seed: int = 0, names: tuple[str, ...] = ("fail", "pass"), strength: float = 1.5
) -> tuple[list[Case], list[Verdict]]:
    """People's labels follow a hidden quality; the judge reads it with noise and a bias towards the last category."""
    random = np.random.default_rng(seed)
    cases, verdicts = [], []
    for number in range(n):
        label = int(random.integers(len(names)))
        logits = random.normal(size=len(names)) + strength * (np.arange(len(names)) == label)
        logits[-1] += 2.0
        shares = np.exp(logits) / np.exp(logits).sum()
        distribution = dict(zip(names, shares.tolist(), strict=True))
        cases.append(
            Case(
                id=f"{number:04}", query=f"q{number}", candidates=({"text": f"text {number}"},), categories=names,
                label=Category(category=names[label]),
            )
        )  # fmt: skip
        verdicts.append(
            Verdict(
                case_id=cases[-1].id, category=max(distribution, key=lambda name: distribution[name]),
                distribution=distribution, certainty=max(distribution.values()),
                findings=(Finding(criterion="overall", distribution=distribution),),
            )
        )  # fmt: skip
    return cases, verdicts
