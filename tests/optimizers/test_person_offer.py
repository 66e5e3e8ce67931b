"""Weights of people in a compilation: used and reported where people deviate, left out where they do not, and nothing
changes where nobody is known or people have few labels."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from judge_readers import WIDTH, Readers, case, probe

from dicast.data import Candidate, Case, Preference, Winner
from dicast.data.person import person_of
from dicast.judging.judge_file import load
from dicast.judging.person_block import PersonBlock
from dicast.optimizers.compile import Compiled, Compiler
from dicast.optimizers.evidence import fit_head
from dicast.optimizers.head.fit import HeadFit
from dicast.optimizers.recipe import Recipe

PEOPLE, EACH = 20, 16


@pytest.fixture(autouse=True)
def _readers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    Readers.put_in_place(monkeypatch)


def labelled(spread: float, people: int = PEOPLE, each: int = EACH, *, known: bool = True) -> list[Case]:
    """Pairs that people label by a direction of the states, which deviates by this spread from person to person."""
    random, reader, cases = np.random.default_rng(3), probe(), []
    shared = random.normal(size=WIDTH)
    for person in range(people):
        direction = shared + spread * random.normal(size=WIDTH)
        for number in range(each):
            name = f"{person:02}-{number:02}"
            pair = case(f"text {name}", f"other {name}", name=name).model_copy(update={"query": name})
            first, second = reader.read_vectors(pair)["state"] @ direction
            liked = 1.5 * (first - second) + random.logistic() > 0
            profile = {"profile": Preference(text="likes something"), "group": f"person {person}"} if known else {}
            cases.append(pair.model_copy(update={"label": Winner(value="a" if liked else "b"), **profile}))
    return cases


def fitted(cases: list[Case], *, as_read: bool = True) -> HeadFit:
    judge = probe()
    return fit_head(judge, cases, [judge(one) for one in cases], seed=0, as_read=cases if as_read else None)


def compiled(cases: list[Case], folder: Path) -> Compiled:
    return Compiler(probe(), cases, folder, Recipe(trials=0, estimate="split", baseline=None)).run()


def test_people_who_deviate_get_weights_and_their_worth_is_written(tmp_path: Path) -> None:
    cases = labelled(1.5)
    result = compiled(cases, tmp_path)
    assert result.judge.head is not None
    block = result.judge.head.blocks["state"]
    assert isinstance(block, PersonBlock)
    assert len(block.people) == PEOPLE, "the delivered head is fitted to all labels"
    of_state, of_people = result.training["evidence"]
    assert (of_state["name"], of_people["name"]) == ("state", "state by person")
    assert of_people["used"]
    assert 0 < of_people["low"] < of_people["gain"] == pytest.approx(of_people["without"] - of_people["loss"])
    path = tmp_path / "probe.judge.json"
    result.save(path)
    judge = load(path)
    assert [judge(one).distribution for one in cases[:40]] == [result.judge(one).distribution for one in cases[:40]]


def test_people_who_do_not_deviate_get_none_and_the_page_says_so() -> None:
    cases = labelled(0.0)
    shared, offered = fitted(cases, as_read=False), fitted(cases)
    assert offered.head == shared.head
    (of_state, of_people) = offered.worth
    assert (of_state,) == shared.worth
    assert not of_people.used
    assert of_people.sentence.startswith("state by person: loss ")
    assert of_people.sentence.endswith("; left out")


@pytest.mark.parametrize(
    "cases",
    [
        pytest.param(lambda: labelled(1.5, known=False), id="nobody is known"),
        pytest.param(lambda: labelled(1.5, people=4, each=40), id="four people"),
        pytest.param(lambda: labelled(1.5, people=60, each=3), id="three labels each"),
    ],
)
def test_nothing_changes_where_too_few_people_have_several_labels(cases: Callable[[], list[Case]]) -> None:
    made = cases()
    shared, offered = fitted(made, as_read=False), fitted(made)
    assert (offered.head, offered.worth, offered.crossfitted) == (shared.head, shared.worth, shared.crossfitted)


@pytest.mark.slow
def test_a_person_is_named_by_the_group_of_the_case_as_the_user_gave_it(tmp_path: Path) -> None:
    """Groups that share texts are joined for the split; the judge sees cases with the groups of the user."""
    cases, random = labelled(1.5), np.random.default_rng(9)
    for person in range(0, PEOPLE, 2):
        both = Candidate(text=" ".join(map(str, random.integers(10**6, size=30))))
        for place in (person * EACH, (person + 1) * EACH):
            cases[place] = cases[place].model_copy(update={"candidates": (both, cases[place].candidates[1])})
    result = compiled(cases, tmp_path)
    assert "joined" in result.training
    assert result.judge.head is not None
    block = result.judge.head.blocks["state"]
    assert isinstance(block, PersonBlock)
    assert len(block.people) >= 5
    assert block.people.keys() <= {person_of(one) for one in cases}
