"""Seen cases are left out also where they were typed differently; fingerprints of earlier versions still work."""

from dicast.data import Case
from dicast.optimizers.fingerprints import case_fingerprints, exclude_seen, seen_before

# As an earlier version wrote them of `cases(2)`.
EARLIER = "495e609e97e7c186f135a58c2faa8dfa016eed4b7d0fabe14a820935e1fc5d1c 51c55644fed2 b85ee270702e"


def cases(count: int, **changed: object) -> list[Case]:
    return [
        Case(
            id=str(number),
            query=f"Why is the sky blue on day {number}?",
            candidates=[{"text": f"Light scatters {number}."}, {"text": "It is paint."}],
            label={"value": "a"},
        ).model_copy(update=changed)
        for number in range(count)
    ]


def typed_differently(case: Case) -> Case:
    return case.swapped().model_copy(update={"id": "new", "query": f" {case.query.upper()}\n", "group": "another"})


def test_seen_cases_are_left_out() -> None:
    seen = case_fingerprints(cases(2))
    assert [case.id for case in exclude_seen(cases(5), seen)] == ["2", "3", "4"]
    assert exclude_seen(cases(2)[::-1], seen) == []


def test_one_space_more_does_not_make_a_case_new() -> None:
    seen = case_fingerprints(cases(2))
    assert exclude_seen([typed_differently(case) for case in cases(2)], seen) == []
    assert len(exclude_seen(cases(2, aspect="tone"), seen)) == 2


def test_fingerprints_of_an_earlier_version_still_work() -> None:
    assert [case.id for case in exclude_seen(cases(5), EARLIER)] == ["2", "3", "4"]
    assert exclude_seen([case.swapped() for case in cases(2)], EARLIER) == []
    assert exclude_seen(cases(2), EARLIER) == []
    assert exclude_seen(cases(2), EARLIER.split()[0]) == []


def test_cases_of_all_earlier_compilations_are_seen() -> None:
    """Also where an earlier version wrote some of them."""
    new = cases(4)[2:]
    both = case_fingerprints(new, EARLIER, None)
    assert exclude_seen(cases(4), both) == []
    assert [case.id for case in exclude_seen(cases(5), case_fingerprints(cases(0), both))] == ["4"]


def test_without_fingerprints_every_case_is_new() -> None:
    values: tuple[object, ...] = (None, {}, "", 7)
    for fingerprints in values:
        assert exclude_seen(cases(2), fingerprints) == cases(2)


def test_a_case_by_itself_is_seen_or_not() -> None:
    for fingerprints in (case_fingerprints(cases(2)), EARLIER):
        is_seen = seen_before(fingerprints)
        assert [is_seen(case) for case in cases(4)] == [True, True, False, False]
    assert not seen_before(None)(cases(1)[0])
