"""Leak-safe splits: every case once, no group in two parts, seeded, and label shares alike."""

from collections import Counter

import numpy as np
import pytest

from dicast.data import Case, Scores, Winner, split
from dicast.data.split import PARTS, sample, sample_groups
from dicast.errors import DeclarationError

LETTERS = ("a", "b", "tie")


def pair(number: int, label: str | None = None, group: str | None = None, query: str = "") -> Case:
    return Case(
        id=str(number),
        query=query or f"q{number}",
        candidates=[{"text": "x"}, {"text": "y"}],
        label={"value": label} if label else None,
        group=group,
    )


def synthetic(seed: int, count: int) -> list[Case]:
    """Pairs in groups of about four, some without a label, some grouped by their query alone."""
    random = np.random.default_rng(seed)
    cases = []
    for number in range(count):
        group = f"g{random.integers(count // 4 + 3)}"
        label = (*LETTERS, None)[random.choice(4, p=[0.4, 0.3, 0.2, 0.1])]
        named = random.random() < 0.7
        cases.append(pair(number, label, group if named else None, "" if named else group))
    return cases


def where(parts: dict[str, list[Case]]) -> dict[str, str]:
    return {case.id: name for name, cases in parts.items() for case in cases}


@pytest.mark.parametrize("seed", range(10))
def test_every_case_is_in_exactly_one_part(seed: int) -> None:
    cases = synthetic(seed, 20 + 13 * seed)
    dealt = [case.id for part in split(cases, seed=seed).values() for case in part]
    assert Counter(dealt) == Counter(case.id for case in cases)


@pytest.mark.parametrize("seed", range(10))
def test_no_group_straddles_two_parts(seed: int) -> None:
    cases = synthetic(seed, 20 + 13 * seed)
    parts = where(split(cases, seed=seed))
    homes = {(case.split_key, parts[case.id]) for case in cases}
    assert len(homes) == len({case.split_key for case in cases})


@pytest.mark.parametrize("seed", range(10))
def test_no_part_is_empty_when_there_are_groups_enough(seed: int) -> None:
    random = np.random.default_rng(seed)
    shares = random.dirichlet(np.full(5, 0.3)) + 1e-6
    parts = {str(number): float(share) for number, share in enumerate(shares / shares.sum())}
    cases = [pair(number, "a", group=str(number % 5)) for number in range(40)]
    assert all(split(cases, parts=parts, seed=seed).values())


def test_the_same_seed_gives_the_same_split() -> None:
    cases = synthetic(0, 200)
    assert split(cases, seed=3) == split(cases, seed=3)


def test_another_seed_gives_another_split() -> None:
    cases = synthetic(0, 200)
    assert len({str(sorted(where(split(cases, seed=seed)).items())) for seed in range(5)}) == 5


def test_cases_keep_their_order_within_a_part() -> None:
    for part in split(synthetic(1, 300)).values():
        assert [int(case.id) for case in part] == sorted(int(case.id) for case in part)


@pytest.mark.parametrize("seed", range(3))
def test_parts_have_their_shares_of_a_thousand_cases(seed: int) -> None:
    for name, part in split(synthetic(seed, 1000), seed=seed).items():
        assert len(part) / 1000 == pytest.approx(PARTS[name], abs=0.01)


@pytest.mark.parametrize("seed", range(3))
def test_label_shares_of_a_thousand_cases_are_alike_in_all_parts(seed: int) -> None:
    cases = synthetic(seed, 1000)
    whole = Counter(str(case.label) for case in cases)
    for part in split(cases, seed=seed).values():
        shares = Counter(str(case.label) for case in part)
        for label, count in whole.items():
            assert shares[label] / len(part) == pytest.approx(count / 1000, abs=0.02)


def test_score_levels_of_a_thousand_cases_are_alike_in_all_parts() -> None:
    random = np.random.default_rng(0)
    cases = [
        Case(id=str(n), query=f"q{n // 3}", candidates=[{"text": "x"}], label={"values": [s], "lo": 1, "hi": 5})
        for n, s in enumerate(random.choice([1, 2, 3, 4, 5], size=1000, p=[0.1, 0.1, 0.2, 0.4, 0.2]))
    ]
    for part in split(cases).values():
        low = sum(isinstance(case.label, Scores) and case.label.values[0] <= 2 for case in part)
        assert low / len(part) == pytest.approx(0.2, abs=0.03)


def test_a_rare_label_reaches_every_large_part() -> None:
    cases = [pair(number, "tie" if number < 10 else "a") for number in range(500)]
    for part in split(cases).values():
        assert any(case.label == Winner(value="tie") for case in part)


@pytest.mark.slow
def test_a_large_group_comes_to_each_part_as_often_as_its_share_says() -> None:
    """Of 400 seeds; four standard errors of a share of 0.4 are 0.1."""
    cases = [pair(number, LETTERS[number % 3], group="large" if number < 20 else None) for number in range(200)]
    homes = Counter(where(split(cases, seed=seed))["0"] for seed in range(400))
    for name, share in PARTS.items():
        assert homes[name] / 400 == pytest.approx(share, abs=0.1)


def test_pairs_with_two_scores_are_dealt_by_their_winner() -> None:
    random = np.random.default_rng(0)
    labels = [Scores(values=(v, 6 - v), lo=1, hi=5) for v in random.choice([1, 3, 5], size=1000, p=[0.7, 0.1, 0.2])]
    cases = [pair(n).model_copy(update={"label": label}) for n, label in enumerate(labels)]
    for part in split(cases).values():
        wins = sum(case.label is not None and case.label.winner == "a" for case in part)
        whole = sum(label.winner == "a" for label in labels) / 1000
        assert wins / len(part) == pytest.approx(whole, abs=0.005)


def test_one_large_group_stays_whole() -> None:
    cases = [pair(number, "a", group="large") for number in range(50)] + [pair(n, "a") for n in range(50, 60)]
    parts = where(split(cases))
    assert len({parts[str(number)] for number in range(50)}) == 1


def test_cases_of_one_query_stay_together_without_a_group() -> None:
    cases = [pair(number, query=f"q{number % 10}") for number in range(100)]
    parts = where(split(cases))
    assert all(parts[str(number)] == parts[str(number % 10)] for number in range(100))


def test_one_part_takes_everything() -> None:
    cases = synthetic(0, 30)
    assert split(cases, parts={"all": 1.0}) == {"all": cases}


def test_fewer_groups_than_parts_are_refused() -> None:
    cases = [pair(number, group=str(number % 2)) for number in range(9)]
    with pytest.raises(DeclarationError, match=r"split: 2 groups cannot fill 3 parts\. Give cases of more groups"):
        split(cases)


@pytest.mark.parametrize("parts", [{}, {"train": 0.5}, {"train": 0.6, "test": 0.6}, {"train": 1.0, "test": 0.0}])
def test_shares_that_are_no_shares_are_refused(parts: dict[str, float]) -> None:
    with pytest.raises(DeclarationError, match="proportions must be positive and sum to 1, got"):
        split([pair(number) for number in range(9)], parts=parts)


def test_a_negative_share_is_refused() -> None:
    with pytest.raises(DeclarationError, match=r"got {'train': 1\.5, 'test': -0\.5}"):
        split([pair(number) for number in range(9)], parts={"train": 1.5, "test": -0.5})


def test_shares_may_carry_rounding_errors() -> None:
    assert set(split([pair(n) for n in range(9)], parts={"x": 0.1, "y": 0.2, "z": 0.7})) == {"x", "y", "z"}


# samples


@pytest.mark.parametrize("limit", [0, 1, 7, 20, 50])
def test_a_sample_has_so_many_cases_in_their_order(limit: int) -> None:
    cases = synthetic(0, 20)
    drawn = list(sample(cases, limit, seed=1))
    assert len(drawn) == len({case.id for case in drawn}) == min(limit, 20)
    assert [int(case.id) for case in drawn] == sorted(int(case.id) for case in drawn)


def test_a_limit_beyond_any_number_of_cases_takes_them_all() -> None:
    cases = synthetic(0, 20)
    assert list(sample(cases, 10**30)) == list(sample(cases, 10**30, seed=1)) == cases


def test_without_a_seed_a_sample_is_the_first_cases() -> None:
    cases = synthetic(0, 20)
    assert list(sample(cases, 5)) == cases[:5]
    assert list(sample(cases, None)) == list(sample(cases, None, seed=1)) == cases


def test_the_same_seed_draws_the_same_sample() -> None:
    cases = synthetic(0, 100)
    assert list(sample(cases, 10, seed=3)) == list(sample(iter(cases), 10, seed=3))
    assert list(sample(cases, 10, seed=3)) != list(sample(cases, 10, seed=4))


def test_every_case_is_drawn_about_as_often() -> None:
    cases = synthetic(0, 20)
    drawn = Counter(case.id for seed in range(1000) for case in sample(cases, 5, seed=seed))
    # 250 times each on average, with a standard deviation of sqrt(1000 / 4 * 3 / 4) = 14
    assert all(180 < drawn[case.id] < 320 for case in cases)


# samples of whole groups


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize("limit", [1, 3, 1000])
def test_a_sample_of_groups_holds_every_case_of_each(seed: int | None, limit: int) -> None:
    cases = synthetic(0, 60)
    drawn = list(sample(cases, None, seed, limit_groups=limit))
    groups = {case.split_key for case in drawn}
    assert len(groups) == min(limit, len({case.split_key for case in cases}))
    assert drawn == [case for case in cases if case.split_key in groups]


def test_without_a_seed_a_sample_of_groups_is_the_first_groups() -> None:
    cases = [pair(n, group=group) for n, group in enumerate("abacbdac")]
    assert [case.id for case in sample_groups(cases, 2)] == ["0", "1", "2", "4", "6"]


def test_every_group_is_drawn_about_as_often_whatever_its_size() -> None:
    cases = [pair(n, group=group) for n, group in enumerate("aaaaaaaabcdefghijklmnopqrst")]
    drawn = Counter(name for seed in range(1000) for name in {case.group for case in sample_groups(cases, 5, seed)})
    # 250 times each on average, with a standard deviation of sqrt(1000 / 4 * 3 / 4) = 14
    assert len(drawn) == 20
    assert all(180 < count < 320 for count in drawn.values())
