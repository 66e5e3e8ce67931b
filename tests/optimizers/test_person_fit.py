"""Weights of people in a compilation: a gain that is there is margins, and none is reported where there is none."""

import numpy as np
import pytest

from dicast.data import Case, Preference
from dicast.evidence.source_spec import SourceSpec
from dicast.judging.arrays import Array
from dicast.judging.heads import PairHead
from dicast.judging.linear_block import LinearBlock
from dicast.judging.person_block import PersonBlock
from dicast.optimizers.head.person_fit import PersonRows, fit_people, rows_of, with_people

WIDTH, PEOPLE, EACH = 4, 25, 24


def rows(spread: float, seed: int = 0, people: int = PEOPLE, each: int = EACH) -> PersonRows:
    """Pairs by people whose weights deviate from (1, .., 1) by this spread."""
    random = np.random.default_rng(seed)
    code = np.repeat(np.arange(people), each)
    x = random.standard_normal((len(code), WIDTH))
    weights = 1 + spread * random.standard_normal((people, WIDTH))
    share = 1 / (1 + np.exp(-np.einsum("nd,nd->n", x, weights[code])))
    y = (random.random(len(code)) < share).astype(float)
    names, questions = tuple(f"p{c:02}" for c in code), tuple(map(str, range(len(code))))
    return PersonRows(x, y, np.ones(len(y)), names, questions, "logistic")


def test_known_deviations_pay_and_are_used() -> None:
    fit = fit_people(rows(2.0))
    assert fit.worth is not None
    assert fit.worth.high < 0
    assert fit.ratio > 0
    assert sorted(fit.people) == [f"p{n:02}" for n in range(PEOPLE)]


@pytest.mark.slow
def test_without_deviations_nobody_gets_one_in_19_of_20_worlds() -> None:
    fits = [fit_people(rows(0.0, seed, people=20, each=10)) for seed in range(20)]
    assert sum(fit.worth is not None and fit.worth.pays for fit in fits) <= 1
    assert all(not fit.people and fit.ratio == 0 for fit in fits if not (fit.worth and fit.worth.pays))


def test_rows_of_nobody_have_shared_weights_alone() -> None:
    given = rows(2.0)
    fit = fit_people(
        PersonRows(given.x, given.target, given.counts, (None,) * len(given.x), given.questions, "logistic")
    )
    assert (fit.ratio, fit.people, fit.worth) == (0.0, {}, None)


def cases(given: PersonRows) -> list[Case]:
    return [
        Case(
            id=str(n),
            query=f"Question {n}?",
            candidates=[{"text": "x"}, {"text": "y"}],
            label={"value": "a" if target else "b"},
            group=person,
            profile=Preference(text="something"),
        )
        for n, (person, target) in enumerate(zip(given.people, given.target, strict=True))
    ]


@pytest.mark.parametrize(("spread", "kind"), [(2.0, "person"), (0.0, "linear")])
def test_a_head_gets_weights_of_people_only_where_they_pay(spread: float, kind: str) -> None:
    given = rows(spread)
    read = [{"state": np.stack([x / 2, -x / 2])} for x in given.x]
    linear = LinearBlock(source=SourceSpec(kind="state", width=WIDTH), weights=Array.of(np.ones(WIDTH)))
    before = PairHead(weights={"state": 1.0}, blocks={"state": linear})
    head, worth = with_people(before, cases(given), read)
    assert head.blocks["state"].kind == kind
    of_state, block = worth["state"], head.blocks["state"]
    assert of_state is not None
    assert of_state.pays is (kind == "person")
    assert isinstance(block, PersonBlock | LinearBlock)
    assert block.weights == linear.weights
    if isinstance(block, PersonBlock):
        known = cases(given)
        margins = np.array(
            [m[0] - m[1] for m in (block.measure(c, v["state"]) for c, v in zip(known, read, strict=True))]
        )
        assert ((margins > 0) == (given.target > 0.5)).mean() > (
            (given.x.sum(axis=1) > 0) == (given.target > 0.5)
        ).mean()


def test_rows_have_the_sign_of_the_pair_and_no_constant() -> None:
    given = rows(1.0)
    read = [np.stack([x / 2, -x / 2]) for x in given.x]
    paired = rows_of(cases(given), read, "logistic")
    assert paired.x[:, :-1] == pytest.approx(given.x)
    assert not paired.x[:, -1].any()
    assert paired.target == pytest.approx(given.target)
