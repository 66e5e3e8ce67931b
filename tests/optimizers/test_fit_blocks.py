"""Fits with blocks of evidence: what is planted in them is found and weighed, what is not there gains nothing, and
fits without blocks stay what they were."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from made_evidence import categories, choices, pairs, texts
from pydantic import TypeAdapter

from dicast.data import Case, Scores, Verdict, Winner
from dicast.errors import DeclarationError
from dicast.evidence.source_spec import SourceSpec
from dicast.judging.heads import Head
from dicast.optimizers.head import fit as fit_module
from dicast.optimizers.head.fit import HeadFit, fit
from dicast.optimizers.head.fit import _folds as folds_of
from dicast.optimizers.head.model_spec import evidence_sets

WIDTH = 40
SPEC = SourceSpec(kind="state", model="local/small", width=WIDTH)
SOURCES = {"state": SPEC}
Vectors = list[dict[str, np.ndarray]]


def quality(case: Case) -> np.ndarray:
    """What people think of each candidate in these worlds, as far as the label says."""
    if isinstance(case.label, Scores):
        return np.array(case.label.values)
    assert case.label is not None
    if case.categories:
        return np.array([float(case.categories.index(str(case.label.answer)))])
    liked = {"a": (1.0, 0.0), "b": (0.0, 1.0), "tie": (0.5, 0.5)}.get(str(case.label.winner))
    return np.eye(len(case.candidates))[int(str(case.label.winner))] if liked is None else np.array(liked)


def states(cases: Sequence[Case], seed: int, *, signal: float = 1.0, source: str = "state") -> Vectors:
    """A random vector a candidate, with its quality times `signal` along one direction."""
    random = np.random.default_rng(seed)
    direction = random.normal(size=WIDTH) / math.sqrt(WIDTH)
    vectors = []
    for case in cases:
        noise = random.normal(size=(len(case.candidates), WIDTH))
        vectors.append({source: (noise + signal * quality(case)[:, None] * direction * 3).astype(np.float32)})
    return vectors


WORLDS: dict[str, Callable[[], tuple[list[Case], list[Verdict]]]] = {
    "pairs": lambda: pairs(150, 1, letters=0.3, scores=0.0, threshold=0.4),
    "choices": lambda: choices(120, 2),
    "texts": lambda: texts(120, 3, noise=1.0),
    "categories": lambda: categories(150, 4, strength=0.5),
}


def planted(
    world: str, signal: float = 1.0, *, neighbours: bool = False
) -> tuple[list[Case], list[Verdict], Vectors, HeadFit]:
    cases, verdicts = WORLDS[world]()
    vectors = states(cases, 7, signal=signal)
    return cases, verdicts, vectors, fit(cases, verdicts, sources=SOURCES, vectors=vectors, neighbours=neighbours)


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_planted_evidence_is_weighed_and_its_worth_is_shown(world: str) -> None:
    cases, verdicts, _, fitted = planted(world, signal=2.0)
    (worth,) = fitted.worth
    assert worth.name == "state"
    assert worth.used
    assert worth.is_shown
    assert worth.gain == pytest.approx(worth.without - worth.loss)
    assert fitted.head.blocks
    again = fit(cases, verdicts)
    best = fitted.candidates[0].loss
    assert best < again.candidates[0].loss
    assert {c.name: c.loss for c in again.candidates}.items() <= {c.name: c.loss for c in fitted.candidates}.items()


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", [False, True])
@pytest.mark.parametrize("world", WORLDS)
def test_the_head_alone_gives_the_crossfitted_verdicts(world: str, neighbours: bool) -> None:
    """From JSON and the vectors, without the fit."""
    cases, verdicts, vectors, fitted = planted(world, signal=2.0, neighbours=neighbours)
    adapter: TypeAdapter[Any] = TypeAdapter(Head)
    for head, case, verdict, read, judged in zip(
        fitted.without, cases, verdicts, vectors, fitted.crossfitted, strict=True
    ):
        assert adapter.validate_json(head.model_dump_json())(case, verdict, read) == judged


@pytest.mark.slow
def test_a_case_is_judged_out_of_fold_without_its_label(monkeypatch: pytest.MonkeyPatch) -> None:
    """The label of a case moves neither the blocks nor the weights of its own cross-fitted head."""
    cases, verdicts, vectors, fitted = planted("pairs", signal=2.0, neighbours=True)
    fold = folds_of(cases, 5, 0)
    monkeypatch.setattr(fit_module, "_folds", lambda *_: fold)  # else dealt anew, as they balance the labels
    place = next(index for index, case in enumerate(cases) if case.label == Winner(value="a"))
    changed = list(cases)
    changed[place] = cases[place].model_copy(update={"label": Winner(value="b")})
    other = fit(changed, verdicts, sources=SOURCES, vectors=vectors, neighbours=True)
    assert other.crossfitted[place] == fitted.crossfitted[place]
    assert other.head != fitted.head


@pytest.mark.slow
def test_an_exchange_of_all_pairs_exchanges_the_fit_bit_for_bit() -> None:
    cases, verdicts, vectors, fitted = planted("pairs", signal=2.0)
    swapped = fit(
        [case.swapped() for case in cases],
        [verdict.swapped() for verdict in verdicts],
        sources=SOURCES,
        vectors=[{"state": read["state"][::-1]} for read in vectors],
    )
    assert swapped.head.blocks["state"] == fitted.head.blocks["state"]
    for one, other in zip(fitted.crossfitted, swapped.crossfitted, strict=True):
        assert other.distribution is not None
        assert one.distribution is not None
        assert other.distribution["a"] == pytest.approx(one.distribution["b"], abs=1e-12)


def test_the_order_of_cases_does_not_matter() -> None:
    cases, verdicts, vectors, fitted = planted("pairs")
    order = np.random.default_rng(0).permutation(len(cases)).tolist()
    shuffled = fit(
        [cases[i] for i in order], [verdicts[i] for i in order], sources=SOURCES, vectors=[vectors[i] for i in order]
    )
    assert shuffled.head == fitted.head
    assert [shuffled.crossfitted[order.index(i)] for i in range(len(cases))] == list(fitted.crossfitted)


def test_measured_numbers_of_a_verdict_are_evidence_too() -> None:
    """Such as a reward: no vectors, no block, but a worth."""
    cases, verdicts = pairs(150, 1, letters=0.3, scores=0.0, threshold=0.4)
    random = np.random.default_rng(5)
    measured = [
        verdict.model_copy(update={"measured": {"reward": tuple((2 * quality(case) + random.normal(size=2)).tolist())}})
        for case, verdict in zip(cases, verdicts, strict=True)
    ]
    fitted = fit(cases, measured)
    (worth,) = fitted.worth
    assert (worth.name, worth.used, worth.is_shown) == ("reward", True, True)
    assert not fitted.head.blocks
    assert "reward" in fitted.head.weights


def test_without_evidence_there_is_no_worth_and_no_block() -> None:
    cases, verdicts = pairs(60, 1)
    fitted = fit(cases, verdicts)
    assert fitted.worth == ()
    assert "blocks" not in fitted.head.model_dump()
    assert fit(cases, verdicts, sources={}, vectors=[{} for _ in cases]).head == fitted.head


def test_three_groups_are_too_few_for_blocks() -> None:
    cases, verdicts = pairs(60, 1)
    cases = [case.model_copy(update={"group": str(place % 3)}) for place, case in enumerate(cases)]
    fitted = fit(cases, verdicts, sources=SOURCES, vectors=states(cases, 1))
    assert fitted.worth == ()
    assert fitted.head == fit(cases, verdicts).head


def test_a_case_that_was_not_read_is_named() -> None:
    cases, verdicts = pairs(60, 1)
    vectors = states(cases, 1)
    vectors[3] = {}
    with pytest.raises(DeclarationError, match=f"nothing of 'state' for case '{cases[3].id}'"):
        fit(cases, verdicts, sources=SOURCES, vectors=vectors)


def test_many_sources_are_tried_alone_all_together_and_all_but_one() -> None:
    assert list(evidence_sets(["p", "q"], {"letters": ("letters",)})) == [
        "p", "p + letters", "q", "q + letters", "p + q", "p + q + letters"
    ]  # fmt: skip
    assert [len(used) for used, _ in evidence_sets(["p", "q", "r", "s"], {}).values()] == [1] * 4 + [3] * 4 + [4]


def test_of_three_categories_no_block_is_fitted() -> None:
    cases, verdicts = categories(90, 5, names=("ham", "phish", "spam"))
    random = np.random.default_rng(1)
    vectors = [{"state": random.normal(size=(1, WIDTH)).astype(np.float32)} for _ in cases]
    fitted = fit(cases, verdicts, sources=SOURCES, vectors=vectors)
    assert fitted == fit(cases, verdicts)


def test_random_vectors_of_two_categories_are_not_weighed() -> None:
    cases, verdicts = categories(150, 6)
    fitted = fit(cases, verdicts, sources=SOURCES, vectors=states(cases, 8, signal=0.0))
    assert not fitted.head.blocks
    assert not fitted.worth[0].used
