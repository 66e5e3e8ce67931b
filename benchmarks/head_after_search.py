"""How much too certain is a head that is fitted to the cases on which its judge's prompts were chosen?

Simulated: a judge's margin on a pair is its skill towards the better answer plus noise, of which half is of the case
and the same for all wordings. Of ten wordings, whose skills differ, the most accurate on the select cases is taken, and
a logistic head is fitted to its margins. Three ways to use n labels, measured on 4,000 fresh pairs:

same cases      the wording is chosen on .3 of them, as by the default recipe, and the head is fitted to all
same, all       the wording is chosen on all of them, the most that a search could see, and the head is fitted to all
held back       the wording is chosen on the first half, and the head is fitted to the other half

    python -m dicast.benchmarks.head_after_search --worlds 2000
"""

import argparse

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
WORDINGS, FRESH, SKILL = 10, 4000, 0.6
SPREADS = (0.0, 0.1, 0.3)  # standard deviation of the wordings' skills
SIZES = (60, 100, 200)  # labels of train and select


def margins(skills: Floats, n: int, random: np.random.Generator) -> Floats:
    """(wordings, n): margins towards the better answer."""
    of_case, of_wording = random.normal(size=n), random.normal(size=(len(skills), n))
    return np.asarray(skills[:, None] + np.sqrt(0.5) * (of_case + of_wording))


def fitted(x: Floats, steps: int = 30) -> float:
    """The weight of the margin by maximum a posteriori with a standard normal prior on the standardised weight."""
    size = np.sqrt(np.square(x).mean())
    x, w = x / size, 0.0
    for _ in range(steps):
        p = 1 / (1 + np.exp(-w * x))
        w -= float((w - ((1 - p) * x).sum()) / (1 + (p * (1 - p) * x * x).sum()))
    return w / float(size)


def measured(x: Floats, w: float) -> tuple[float, float]:
    """Overconfidence, and the log-loss in nats, of a head on fresh margins."""
    certainty = 1 / (1 + np.exp(-np.abs(w * x)))
    return float(certainty.mean() - (x > 0).mean()), float(np.log1p(np.exp(-w * x)).mean())


def world(n: int, spread: float, random: np.random.Generator) -> list[tuple[float, float]]:
    """Overconfidence and log-loss by the three ways."""
    skills = SKILL + spread * random.normal(size=WORDINGS)
    x = margins(skills, n, random)

    def chosen(part: slice) -> int:
        return int((x[:, part] > 0).mean(axis=1).argmax())

    def new_pairs(wording: int) -> Floats:
        drawn: Floats = margins(skills[wording : wording + 1], FRESH, random)[0]
        return drawn

    select, half = slice(int(0.7 * n), n), n // 2
    ways: list[tuple[int, Floats]] = []
    for part, rows in ((select, slice(0, n)), (slice(0, n), slice(0, n)), (slice(0, half), slice(half, n))):
        ways.append((best := chosen(part), x[best, rows]))
    return [measured(new_pairs(wording), fitted(rows)) for wording, rows in ways]


def shown(values: Floats) -> str:
    return "  ".join(f"{value:+.3f}" for value in values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=2000)
    worlds = parser.parse_args().worlds
    print("labels  spread   overconfidence: same cases, same all, held back    log-loss: the same")
    for n in SIZES:
        for spread in SPREADS:
            random = np.random.default_rng([n, round(100 * spread)])
            values = np.array([world(n, spread, random) for _ in range(worlds)])
            error = values.std(axis=0).max() / np.sqrt(worlds)
            over, losses = values.mean(axis=0).T
            print(f"{n:6}  {spread:6.2f}   {shown(over)}    {shown(losses)}   (standard error at most {error:.4f})")


if __name__ == "__main__":
    main()
