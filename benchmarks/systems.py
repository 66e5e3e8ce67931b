"""How often the interval of two rankings' correlation holds it, on simulated systems whose quality is known.

    python benchmarks/systems.py [--worlds 400]

People's and the judge's scores of a text are the system's quality for each of them, the prompt, and noise, of which
half is common to both. Two truths: Spearman's correlation of these systems' qualities, as endless prompts would give
it, and that of endless systems. Fifteen minutes on one core.
"""

import argparse
import math
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from dicast.stats.resampling import Estimate
from dicast.stats.system_agreement import draw_groups, mean_score_draws, system_agreement

Floats = NDArray[np.float64]
SYSTEMS, PROMPTS = (3, 5, 8, 16, 30), (20, 100)
# Correlation of the qualities, and noise of a text beside their deviation of 1.
WORLDS = ((0.9, 0.05), (0.9, 1.0), (0.6, 1.0), (0.9, 4.0), (0.9, 6.0))


def drawn_world(rng: np.random.Generator, k: int, prompts: int, rho: float, noise: float) -> tuple[float, list[Floats]]:
    """Spearman of these systems' qualities, and the scores (prompts, k) of the judge and of people."""
    people = rng.normal(size=k)
    judge = rho * people + math.sqrt(1 - rho**2) * rng.normal(size=k)
    prompt, common = rng.normal(size=(prompts, 1)), 0.7 * rng.normal(size=(prompts, k))
    scores = [side + prompt + noise * (common + 0.7 * rng.normal(size=(prompts, k))) for side in (judge, people)]
    return float(spearmanr(judge, people).statistic), scores


def interval(scores: list[Floats], seed: int) -> Estimate:
    prompts, k = scores[0].shape
    wrote, groups = np.tile(np.arange(k), prompts), np.repeat(np.arange(prompts), k)
    resampled = draw_groups(groups, len(groups), seed=seed)
    judge, people = scores
    drawn = [mean_score_draws(side.ravel(), wrote, k, resampled) for side in scores]
    return system_agreement(judge.mean(axis=0), people.mean(axis=0), drawn[0], drawn[1], seed=seed)["spearman"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=400)
    worlds = parser.parse_args().worlds
    print("| systems | prompts | correlation | noise | holds that of these systems | of all systems | mean length |")
    print("| --- |" + " --- |" * 6)
    for k, prompts, (rho, noise) in product(SYSTEMS, PROMPTS, WORLDS):
        rng = np.random.default_rng([k, prompts])
        of_all, rows = 6 / math.pi * math.asin(rho / 2), []
        for _ in range(worlds):
            truth, scores = drawn_world(rng, k, prompts, rho, noise)
            estimate = interval(scores, int(rng.integers(2**32)))
            covered = (estimate.low <= rho_s <= estimate.high for rho_s in (truth, of_all))
            rows.append((*covered, estimate.high - estimate.low))
        of_these, of_any, length = np.mean(rows, axis=0)
        print(f"| {k} | {prompts} | {rho:g} | {noise:g} | {of_these:.3f} | {of_any:.3f} | {length:.2f} |", flush=True)


if __name__ == "__main__":
    main()
