"""How the nearest labelled cases vote is chosen, and their votes are those of the block."""

import numpy as np
import pytest

from dicast.data import Case
from dicast.evidence.source_spec import SourceSpec
from dicast.optimizers.head.neighbours import RULES, NeighbourFit

WIDTH = 8
SPEC = SourceSpec(kind="state", model="local/made", digest="0" * 64, layer=3, width=WIDTH, layout=1, engine="made")


def world(n, candidates=2, seed=0, signal=1.0):
    """Cases in groups of three; the first number decides with some noise."""
    rng = np.random.default_rng(seed)
    cases = [
        Case(
            id=f"c{seed}-{number}",
            query=f"q{number}",
            group=f"g{seed}-{number // 3}",
            candidates=[{"text": f"{seed} {number} {place}"} for place in range(candidates)],
        )
        for number in range(n)
    ]
    vectors = [rng.normal(size=(candidates, WIDTH)).astype(np.float32) for _ in cases]
    noisy = [signal * values[:, 0] + rng.normal(scale=0.3, size=candidates) for values in vectors]
    if candidates == 1:
        return cases, vectors, [(float(values[0]),) for values in noisy]
    return cases, vectors, [tuple(np.eye(candidates)[values.argmax()].tolist()) for values in noisy]


@pytest.mark.parametrize("candidates", [1, 2, 3])
def test_the_votes_of_the_fit_are_the_votes_of_its_block(candidates):
    fit = NeighbourFit(*world(60, candidates))
    chosen = np.arange(60) < 42
    block = fit.block(SPEC, chosen)
    for case, values, said in zip(fit.cases, fit.vectors, fit.scores(chosen), strict=True):
        assert block.measure(case, values) == pytest.approx(said, abs=1e-9)


def test_the_label_of_a_case_never_reaches_its_group():
    cases, vectors, targets = world(60)
    chosen, before = np.ones(60, dtype=bool), NeighbourFit(cases, vectors, targets)
    rule = before.rule(chosen)
    changed = list(targets)
    changed[7] = tuple(0.98 * share + 0.01 for share in changed[7])  # too little to change the rule
    after = NeighbourFit(cases, vectors, changed)
    assert after.rule(chosen) == rule
    same = [a == b for a, b in zip(before.scores(chosen), after.scores(chosen), strict=True)]
    assert [number for number, equal in enumerate(same) if number // 3 == 7 // 3 and not equal] == []
    assert not all(same)


def test_cases_that_are_left_out_have_no_say():
    cases, vectors, targets = world(60)
    chosen = np.arange(60) % 6 != 0
    changed = [t if row else t[::-1] for t, row in zip(targets, chosen, strict=True)]
    assert NeighbourFit(cases, vectors, targets).scores(chosen) == NeighbourFit(cases, vectors, changed).scores(chosen)


def test_votes_find_what_decides_on_new_pairs():
    cases, vectors, targets = (a + b for a, b in zip(world(300), world(200, seed=1), strict=True))
    chosen = np.arange(500) < 300
    said = np.array([numbers[0] for numbers in NeighbourFit(cases, vectors, targets).scores(chosen)])[300:]
    right = (said > 0) == np.array([target[0] > 0.5 for target in targets[300:]])
    assert right.mean() > 0.8  # the label itself is .92 right about the sign of the first number's difference


def test_votes_on_labels_that_mean_nothing_say_nothing():
    cases, vectors, targets = world(300, signal=0.0)
    said = np.array([numbers[0] for numbers in NeighbourFit(cases, vectors, targets).scores(np.ones(300, dtype=bool))])
    label = np.array([target[0] - target[1] for target in targets])
    assert abs(np.corrcoef(said, label)[0, 1]) < 0.2  # 3.4 standard errors


def test_the_rule_is_one_of_the_rules_and_the_same_for_exchanged_pairs():
    cases, vectors, targets = world(90)
    turned = NeighbourFit([c.swapped() for c in cases], [v[::-1] for v in vectors], [t[::-1] for t in targets])
    chosen, straight = np.ones(90, dtype=bool), NeighbourFit(cases, vectors, targets)
    assert straight.rule(chosen) in RULES
    assert turned.rule(chosen) == straight.rule(chosen)
    assert [(b, a) for a, b in turned.scores(chosen)] == straight.scores(chosen)


def test_aspects_vote_apart():
    cases, vectors, targets = world(80, 1)
    cases = [c.model_copy(update={"aspect": "ab"[number % 2]}) for number, c in enumerate(cases)]
    chosen = np.ones(80, dtype=bool)
    raised = [(t[0] + 100 * (c.aspect == "b"),) for c, t in zip(cases, targets, strict=True)]
    before, after = (NeighbourFit(cases, vectors, t).scores(chosen) for t in (targets, raised))
    moved = [b[0] - a[0] for a, b in zip(before, after, strict=True)]
    assert moved == pytest.approx([100.0 * (c.aspect == "b") for c in cases], abs=1e-4)
