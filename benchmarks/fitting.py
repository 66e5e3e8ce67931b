"""How long a head takes to fit: seconds, and how many plain fits that is.

    python benchmarks/fitting.py [--pairs 50,200,1000] [--criteria 1,3] [--rounds 5]

The evidence is simulated: letters in both orders and scores by each criterion, and labels, ties among them, that follow
an ordered logit of them. `fit` fits every candidate without each fold, without each two folds, for the nested choice,
and to all pairs. The plain fit is one `scipy.optimize.minimize` of the same likelihood and prior with all features on
all pairs, its gradient given. Rounds alternate, and medians are printed. `fit` also reads the features of the verdicts.
"""

import argparse
import math
import statistics
import time
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from dicast.data import Candidate, Case, Finding, Verdict, Winner
from dicast.judging.aggregate import aggregate_findings
from dicast.judging.heads import THRESHOLDS
from dicast.optimizers.head.fit import fit
from dicast.optimizers.head.likelihood import EVEN_PENALTY, INTERCEPT_PENALTY, outcomes
from dicast.optimizers.head.ordered_logit import PairEvidence

TIES = 0.5  # log-odds: about one label in six is a tie
FITS = 5 + 10 + 1  # of a candidate: without each of five folds, without each two, to all
LIKING = 1.0  # for the first place, in log-odds


def simulated(n: int, criteria: int, seed: int) -> tuple[list[Case], list[Verdict]]:
    """Labelled pairs and their verdicts."""
    random = np.random.default_rng(seed)
    cases, verdicts = [], []
    for number in range(n):
        letters, differences = random.normal(0, 1.5), random.normal(0, 1, size=criteria)
        m = letters / 2 + differences.sum() / math.sqrt(criteria) + random.logistic()
        findings = [
            Finding(criterion="overall", order=order, distribution={"a": p, "b": 1 - p})
            for order, p in (("ab", _logistic(letters + LIKING)), ("ba", _logistic(letters - LIKING)))
        ]
        for name, (d, level) in enumerate(zip(differences, random.normal(3, 0.5, size=criteria), strict=True)):
            findings.append(Finding(criterion=f"criterion {name}", scores=(level + d / 2, level - d / 2)))
        label = "a" if m > TIES else "b" if m < -TIES else "tie"
        texts = (Candidate(text="one"), Candidate(text="other"))
        cases.append(Case(id=f"{number:06}", query=str(number), candidates=texts, label=Winner(value=label)))
        verdicts.append(Verdict(case_id=cases[-1].id, findings=tuple(findings), **aggregate_findings(findings, 2)))
    return cases, verdicts


def unpacked(evidence: PairEvidence) -> None:
    """One fit with all features, by BFGS."""
    x = evidence.odd / np.sqrt(np.square(evidence.odd).mean(axis=0))
    z = (evidence.even - evidence.even.mean(axis=0)) / evidence.even.std(axis=0)
    design = np.column_stack([np.ones(len(z)), z])
    penalty = np.r_[np.ones(x.shape[1]), INTERCEPT_PENALTY, np.full(z.shape[1], EVEN_PENALTY)]

    def objective(both: np.ndarray) -> tuple[float, np.ndarray]:
        t = np.exp(np.clip(design @ both[x.shape[1] :], *THRESHOLDS))
        results = outcomes(x @ both[: x.shape[1]], t)
        loss, by_m, by_t = (np.einsum("nk,kn->n", evidence.proportions, part) for part in results)
        gradient = np.r_[by_m @ x, (by_t * t) @ design]
        return loss.sum() + penalty @ np.square(both) / 2, gradient + penalty * both

    minimize(objective, np.zeros(len(penalty)), jac=True)


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def measured(n: int, criteria: int, rounds: int) -> str:
    """A row of the table."""
    cases, verdicts = simulated(n, criteria, seed=n)
    evidence = PairEvidence(cases, verdicts, length=False)
    works: list[Callable[[], object]] = [lambda: fit(cases, verdicts), lambda: unpacked(evidence)]
    times = [[seconds(work) for work in works] for _ in range(rounds + 1)][1:]  # the first one imports
    whole, single = (statistics.median(side) for side in zip(*times, strict=True))
    features, candidates = f"{len(evidence.names)} + {len(evidence.even_names)}", len(evidence.plans())
    counts = f"{n:>6,}  {features:>8}  {candidates:>10}  {candidates * FITS:>5,}"
    return f"{counts}  {whole:>6.3f}  {1000 * single:>9.1f}  {whole / single:>5.0f}"


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", default="50,200,1000", help="how many, comma-separated")
    parser.add_argument("--criteria", default="1,3", help="that are scored, comma-separated; more are more features")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    print(f"{'pairs':>6}  {'features':>8}  {'candidates':>10}  {'fits':>5}  {'fit, s':>6}  {'plain, ms':>9}  ratio")
    for criteria in map(int, arguments.criteria.split(",")):
        for n in map(int, arguments.pairs.split(",")):
            print(measured(n, criteria, arguments.rounds), flush=True)
    print("features: that turn over with the pair + that stay")


if __name__ == "__main__":
    main()
