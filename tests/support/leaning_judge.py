"""A judge that knows the better text and is misled by a liking for the first, and labelled pairs for it."""

import numpy as np

from dicast.data import Case, Finding, Usage, Verdict
from dicast.engines.ledger import charge
from dicast.judging.judge import Judge, verdict_of


class Leaning(Judge):
    """Knows the better text, but leans to the first: its head has a bias of scores to undo, with a margin of noise."""

    name = "leaning"

    def __init__(self, skill: float = 1.5) -> None:
        super().__init__()
        self.skill, self.calls = skill, 0

    def assess(self, case: Case) -> Verdict:
        self.calls += 1
        charge(Usage(calls=2, prompt_tokens=20, completion_tokens=2))
        margin, noise = case.meta["margin"], case.meta["noise"]
        findings = [
            Finding(criterion="scores", scores=(3 + margin * self.skill, 3.0)),
            Finding(criterion="letters", distribution={"a": 1 / (1 + np.exp(-noise)), "b": 1 / (1 + np.exp(noise))}),
        ]
        return verdict_of(case, findings)


def worlds(n: int, seed: int = 0, *, random_labels: bool = False) -> list[Case]:
    """Pairs whose label follows the margin, with noise; the letters know nothing, and shout."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(n):
        margin = rng.normal()
        label = "a" if (rng.random() < 0.5 if random_labels else margin + 0.5 * rng.logistic() > 0) else "b"
        found.append(
            Case(
                id=f"{number:04}", query=f"q{number}", candidates=[{"text": "x"}, {"text": "yy"}],
                label={"value": label}, meta={"margin": float(margin), "noise": float(8 * rng.normal())},
            )
        )  # fmt: skip
    return found
