"""Votes of the nearest labelled cases: of the right side, equivariant, never of a case's group."""

import numpy as np
import pytest
from pydantic import ValidationError

from dicast.data import Case
from dicast.errors import DeclarationError
from dicast.evidence.source_spec import SourceSpec
from dicast.judging.arrays import ARRAYS
from dicast.judging.neighbour_block import NeighbourBlock
from dicast.judging.neighbour_votes import VoteRule, relative, relative_targets, votes
from dicast.judging.origins import Origins

WIDTH = 6
SPEC = SourceSpec(kind="state", model="local/made", digest="0" * 64, layer=3, width=WIDTH, layout=1, engine="made")
STANDARD = (np.zeros((2, WIDTH)), np.ones((2, WIDTH)))
LONG = "a text that is long enough to show that two cases belong together"


def case(number, candidates=2, **fields):
    texts = fields.pop("texts", [f"text {number} {place}" for place in range(candidates)])
    shown = [{"text": text} for text in texts]
    return Case(
        **({"id": f"c{number}", "query": f"q{number}", "candidates": shown, "group": f"g{number % 5}"} | fields)
    )


def world(n=20, candidates=2, seed=0):
    """Cases whose first number decides, with vectors and targets."""
    rng = np.random.default_rng(seed)
    cases = [case(number, candidates) for number in range(n)]
    vectors = [rng.normal(size=(candidates, WIDTH)).astype(np.float32) for _ in cases]
    if candidates == 1:
        return cases, vectors, [(float(values[0, 0] > 0),) for values in vectors]
    return cases, vectors, [tuple(np.eye(candidates)[values[:, 0].argmax()].tolist()) for values in vectors]


def block(cases, vectors, targets, **rule):
    return NeighbourBlock.of(SPEC, cases, vectors, [relative_targets(t) for t in targets], VoteRule(**rule), STANDARD)


def test_the_nearest_pair_votes_for_the_text_on_the_side_of_the_preferred_one():
    first = np.array([[1.0, 0, 0, 0, 0, 0], [-1.0, 0, 0, 0, 0, 0]])
    other = np.array([[0, 1.0, 0, 0, 0, 0], [0, -1.0, 0, 0, 0, 0]])
    known = block([case(1), case(2)], [first, other], [(1.0, 0.0), (0.0, 1.0)], neighbours=1)
    assert known.measure(case(3), first * 0.5) == (1.0, -1.0)
    assert known.measure(case(3), -first) == (-1.0, 1.0)
    assert known.measure(case(3), other) == (-1.0, 1.0)


def test_a_vote_is_the_weighted_mean_by_hand():
    # cosines .8 and -.6, labels a (+1) and a (+1): (.8 - .6) / 1.4; squared weights: (.64 - .36) / 1
    near = np.array([[0.8, -0.6]])
    said, usable = np.array([1.0, 1.0]), np.array([True, True])
    assert votes(near, None, said, usable, VoteRule(), "pair")[0] == pytest.approx(0.2 / 1.4)
    assert votes(near, None, said, usable, VoteRule(power=2), "pair")[0] == pytest.approx(0.28)
    # texts: only those on the same side; scores 4 and 1
    assert votes(near, None, np.array([4.0, 1.0]), usable, VoteRule(), "text")[0] == 4.0
    # a subject at cosine 0 with topic 1 weighs 1/e
    topics = np.array([[1.0, 0.0]])
    expected = (0.8 - 0.6 / np.e) / (0.8 + 0.6 / np.e)
    assert votes(near, topics, said, usable, VoteRule(topic=1), "pair")[0] == pytest.approx(expected)


@pytest.mark.parametrize("rule", [{}, {"neighbours": 3}, {"power": 4.0}, {"topic": 3.0, "neighbours": 5}])
def test_an_exchanged_pair_gets_exactly_the_exchanged_numbers(rule):
    cases, vectors, targets = world(40)
    known = block(cases, vectors, targets, **rule)
    for new, values in zip(*world(30, seed=1)[:2], strict=True):
        a, b = known.measure(new, values)
        assert a == -b
        assert known.measure(new.swapped(), values[::-1]) == (b, a)


def test_the_order_in_which_labelled_cases_come_changes_nothing():
    cases, vectors, targets = world(30)
    order = np.random.default_rng(3).permutation(len(cases))
    shuffled = block(*([listed[row] for row in order] for listed in (cases, vectors, targets)), topic=1.0)
    assert shuffled == block(cases, vectors, targets, topic=1.0)
    # exchanged labelled pairs carry the same lesson
    turned = block([c.swapped() for c in cases], [v[::-1] for v in vectors], [t[::-1] for t in targets], neighbours=7)
    straight = block(cases, vectors, targets, neighbours=7)
    for new, values in zip(*world(10, seed=2)[:2], strict=True):
        assert turned.measure(new, values) == pytest.approx(straight.measure(new, values), abs=1e-12)


@pytest.mark.parametrize("candidates", [1, 2, 4])
def test_a_case_is_never_judged_by_the_labels_of_its_group(candidates):
    cases, vectors, targets = world(25, candidates)
    lies = [tuple(1 - t for t in said) if c.group == "g1" else said for c, said in zip(cases, targets, strict=True)]
    honest, lying = block(cases, vectors, targets), block(cases, vectors, lies)
    for c, values in zip(cases, vectors, strict=True):
        assert (honest.measure(c, values) == lying.measure(c, values)) == (c.group == "g1")


def test_a_case_that_was_in_a_joined_group_keeps_out_all_of_that_group():
    cases = [case(number, group="joined" if number < 4 else f"g{number}") for number in range(8)]
    as_read = cases[0].model_copy(update={"group": "its file says so", "id": "another"})
    assert Origins.of(cases).usable_for(as_read).tolist() == [False] * 4 + [True] * 4
    stranger = case(99, group="new", texts=[LONG, "no"])
    sharing = Origins.of([*cases, case(50, group="h", texts=["x", LONG.upper()])])
    assert sharing.usable_for(stranger).tolist() == [True] * 8 + [False]


def test_who_may_vote_on_whom_is_the_same_for_all_at_once_as_for_each():
    cases = [
        case(number, group=f"g{number // 3}", texts=[LONG if number in (1, 7) else f"t{number}", "u"])
        for number in range(12)
    ]
    cases.append(cases[0].model_copy(update={"group": "g9", "id": "again"}))
    origins = Origins.of(cases)
    assert (origins.usable_among() == np.stack([origins.usable_for(c) for c in cases])).all()


def test_texts_get_scores_of_their_aspect():
    cases, vectors, _ = world(12, 1)
    cases = [c.model_copy(update={"aspect": "style" if number % 2 else "plot"}) for number, c in enumerate(cases)]
    known = block(cases, vectors, [(1.0,) if c.aspect == "style" else (5.0,) for c in cases])
    new = case(40, 1, group="new")
    assert known.measure(new.model_copy(update={"aspect": "style"}), vectors[0]) == (1.0,)
    assert known.measure(new.model_copy(update={"aspect": "plot"}), vectors[0]) == (5.0,)
    assert 1 < known.measure(new, vectors[0])[0] < 5


def test_options_are_judged_each_in_any_order():
    known = block(*world(40, 4), neighbours=9, topic=2.0)
    for new, values in zip(*world(10, 4, seed=5)[:2], strict=True):
        said = known.measure(new, values)
        order = [2, 0, 3, 1]
        assert known.measure(new, values[order]) == pytest.approx([said[place] for place in order], abs=1e-12)


def test_a_block_comes_back_from_json_and_from_tensors_with_equal_figures():
    known = block(*world(15), topic=1.0)
    arrays = {}
    content = known.model_dump(mode="json", context={ARRAYS: arrays})
    again = NeighbourBlock.model_validate_json(known.model_dump_json())
    from_tensors = NeighbourBlock.model_validate(content, context={ARRAYS: arrays})
    assert again == known == from_tensors
    assert len(known.measure(case(99), np.eye(2, WIDTH))) == 2
    assert again == known  # also after use
    assert "text" not in str({name: value for name, value in content["origins"].items() if name != "texts"})
    for new, values in zip(*world(5, seed=9)[:2], strict=True):
        assert again.measure(new, values) == known.measure(new, values) == from_tensors.measure(new, values)


def test_without_voters_there_is_no_vote():
    known = block([case(1, group="only")], [np.ones((2, WIDTH)) * [[1], [2]]], [(1.0, 0.0)])
    assert known.measure(case(2, group="only"), np.ones((2, WIDTH)) * [[3], [2]]) == (0.0, -0.0)


def test_what_does_not_fit_is_refused():
    known = block(*world(6))
    with pytest.raises(DeclarationError, match="form pair"):
        known.measure(case(9, 1), np.ones((1, WIDTH)))
    with pytest.raises(ValidationError, match="not of 6 rows"):
        NeighbourBlock.model_validate(known.model_dump() | {"targets": known.vectors.model_dump()})
    with pytest.raises(ValidationError, match="no middles"):
        NeighbourBlock.model_validate(known.model_dump() | {"rule": {"topic": 1.0}})


def test_the_rows_of_a_case_do_not_depend_on_what_all_candidates_share():
    values = np.random.default_rng(0).normal(size=(3, WIDTH))
    assert relative(values + 7) == pytest.approx(relative(values))
    assert relative(values[:2] + 7) == pytest.approx(relative(values[:2]))
