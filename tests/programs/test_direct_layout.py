"""The shared-prefix layout of `direct`: one beginning for a text and for the pair that it leads."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from judges import PAIR, by_place, requests_of, run

from dicast.data import Case
from dicast.judging import build
from dicast.judging.judge_file import load, read, save
from dicast.programs.direct import alternating

ASPECT = PAIR.model_copy(update={"aspect": "honesty"})
QUESTION = "\n\nAspect:"


def prompts(case: Case, **settings: str) -> list[str]:
    """The system prompt and the question of each request, as one text."""
    return [text for text, _ in requests_of(build("direct", readout="probability", **settings), case)]


def of_kind(texts: list[str], question: str) -> list[str]:
    return [text for text in texts if question in text]


@pytest.mark.parametrize("case", [PAIR, ASPECT], ids=["overall", "aspect"])
def test_a_text_alone_begins_the_prompt_of_the_pair_that_it_leads(case: Case) -> None:
    asked = prompts(case, layout="shared")
    grades, pairs = of_kind(asked, "How good is response A"), of_kind(asked, "Which response is better")
    assert len(grades) == len(pairs) == 2
    beginnings = {grade[: grade.rindex(QUESTION)] for grade in grades}
    assert len(beginnings) == 2
    assert sorted(next(b for b in beginnings if pair.startswith(b + "\n\nResponse B:")) for pair in pairs) == sorted(
        beginnings
    )


def test_the_separate_layout_shares_no_more_than_a_few_words() -> None:
    asked = prompts(PAIR)
    grade, pair = of_kind(asked, "How good is the response?")[0], of_kind(asked, "Which response is better")[0]
    assert not pair.startswith(grade[:40])


@pytest.mark.parametrize("readout", ["probability", "generate"])
def test_both_layouts_give_a_verdict_from_the_same_findings(readout: str) -> None:
    verdicts = [run("direct", PAIR, by_place, readout=readout, layout=layout)[0] for layout in ("separate", "shared")]
    assert [len(verdict.findings) for verdict in verdicts] == [3, 3]
    assert {verdict.status for verdict in verdicts} == {"scored"}


@pytest.mark.parametrize(
    ("texts", "pairs", "expected"),
    [("xy", ["ab", "ba"], "x ab y ba"), ("xy", ["ab"], "x ab y"), ("", ["ab", "ba"], "ab ba"), ("xyz", [], "x y z")],
)
def test_a_text_is_asked_just_before_the_pair_that_it_leads(texts: str, pairs: list[str], expected: str) -> None:
    words: list[list[Any]] = [[partial(str, text) for text in texts], [partial(str, pair) for pair in pairs]]
    asks = alternating(*words)
    assert " ".join(str(ask()) for ask in asks) == expected


def test_a_file_of_the_separate_layout_does_not_name_the_other(tmp_path: Path) -> None:
    path = tmp_path / "plain.judge.json"
    save(build("direct"), path)
    assert "layout" not in read(path).judge.settings
    assert set(read(path).judge.stages) == {"prefer", "grade"}
    save(build("direct", layout="shared"), path)
    assert load(path).layout.value == "shared"
