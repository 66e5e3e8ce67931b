"""What is printed, line by line at a fixed width: whole judgments and the table at the end of a run."""

import io
from typing import Any

import pytest
from runs import distinct, evaluated, pair

from dicast.cli import render
from dicast.cli.render.console import CleanConsole
from dicast.data import Candidate, Case, Correction, Finding, Judged, Scores, Turn, Usage, Verdict, Winner
from dicast.data.case import Persona, Preference, Review, Reviewer

WIDTH = 72


def printed(renderable: Any, width: int = WIDTH) -> list[str]:
    out = io.StringIO()
    CleanConsole(width=width, file=out, color_system=None).print(renderable)
    return out.getvalue().splitlines()


def inside(case: Case, verdict: Verdict, width: int = WIDTH) -> list[str]:
    """The lines within the frame."""
    return [line[1:-1].strip() for line in printed(render.judgment(case, verdict), width)[1:-1]]


def of_texts(*texts: str, **fields: Any) -> Case:
    return Case(id="c", query="Which?", candidates=tuple(Candidate(text=text) for text in texts), **fields)


PAIR = Case(
    id="pair/1",
    query="And 3 + 3?",
    history=(Turn(role="user", text="What is 2 + 2?"), Turn(role="assistant", text="4.\nWhat else?")),
    candidates=(
        Candidate(text="6", system="big"),
        Candidate(text="It is 7, as everybody who can count will tell you."),
    ),
    label=Winner(value="a"),
    votes=(Winner(value="a"), Winner(value="a"), Winner(value="tie")),
    aspect="correctness",
)
FENNEC = Verdict(
    case_id="pair/1",
    winner="a",
    scores=(4.5, 1.5),
    distribution={"a": 0.95, "b": 0.04, "tie": 0.01},
    certainty=0.95,
    consistent=True,
    findings=(
        Finding(
            criterion="accuracy: facts are right", guideline="1: wrong\n5: right", order="ab", scores=(5, 1),
            explanation="(a) right (b) wrong", mass_read=0.98,
        ),
        Finding(criterion="accuracy: facts are right", guideline="1: wrong\n5: right", order="ba", scores=(4, 2)),
        Finding(criterion="brevity", order="ab", distribution={"a": 0.7, "b": 0.3}, certainty=0.8),
    ),
    corrections=(Correction(candidate=1, text="It is 6.", criteria=("accuracy",), before=1.5, after=5),),
    notes=("profile: nothing is known",),
    usage=Usage(calls=7, cached=2, prompt_tokens=1200, completion_tokens=80, cost=0.0123),
)  # fmt: skip


def test_a_whole_judgment_of_a_pair() -> None:
    assert printed(render.judgment(PAIR, FENNEC)) == [
        "╭─ pair/1 ─────────────────────────────────────────────────────────────╮",
        "│ user       What is 2 + 2?                                            │",
        "│ assistant  4.                                                        │",
        "│            What else?                                                │",
        "│ request    And 3 + 3?                                                │",
        "│ aspect     correctness                                               │",
        "│ a (big)    6                                                         │",
        "│ b          It is 7, as everybody who can count will tell you.        │",
        "│ accuracy: facts are right                                            │",
        "│ ├── 1: wrong                                                         │",
        "│ │   5: right                                                         │",
        "│ ├── order a, b: scores a: 5.00, b: 1.00  (a) right (b) wrong  (mass  │",
        "│ │   read 0.98)                                                       │",
        "│ └── order b, a: scores a: 4.00, b: 2.00                              │",
        "│ brevity                                                              │",
        "│ └── order a, b: p(a) 0.70, p(b) 0.30, stated certainty 0.80          │",
        "│ b rewritten  1.50 -> 5.00, failed accuracy                           │",
        "│              It is 6.                                                │",
        "│ note         profile: nothing is known                               │",
        "│ verdict      winner a; scores a: 4.50, b: 1.50; p(a) 0.95, p(b)      │",
        "│              0.04, p(tie) 0.01; certainty 0.95; both orders agree;   │",
        "│              human label a; votes a: 2, tie: 1                       │",
        "│ cost         7 calls (2 more from the cache), 1,200 prompt + 80      │",
        "│              generated tokens, $0.0123                               │",
        "╰──────────────────────────────────────────────────────────────────────╯",
    ]


def test_a_choice_by_weighted_factors_shows_them_once() -> None:
    case = of_texts("w", "x", "y", "z", profile=Preference(text="no fish"), label=Winner(value=0))
    verdict = Verdict(
        case_id="c",
        winner=0,
        scores=(9, 2, 1, 3),
        findings=(
            Finding(criterion="accuracy", guideline="claims are right", weight=9, explained_weight=5),
            Finding(criterion="no seafood", weight=7, added=True, explanation="the person avoids fish"),
            Finding(criterion="personalised guideline", guideline="accuracy (weight 9): claims are right\n...",
                    scores=(9, 2, 1, 3), explanation="(0) meat (1) cod"),
        ),
    )  # fmt: skip
    assert inside(case, verdict) == [
        "request     Which?",
        "preference  no fish",
        "0           w",
        "1           x",
        "2           y",
        "3           z",
        "factors",
        "├── weight 9, 5 in the explanation  accuracy: claims are right",
        "└── weight 7  no seafood  (added: the person avoids fish)",
        "personalised guideline",
        "└── scores 0: 9.00, 1: 2.00, 2: 1.00, 3: 3.00  (0) meat (1) cod",
        "verdict  winner 0; scores 0: 9.00, 1: 2.00, 2: 1.00, 3: 3.00; human",
        "label 0",
        "cost     0 calls (0 more from the cache), 0 prompt + 0 generated",
        "tokens",
    ]


def test_a_single_text_for_a_reviewer() -> None:
    reviewer = Reviewer(id="r7", reviews=(Review(text="A film.", comment="Dull.", score=2),), scale=(1, 5))
    case = of_texts("Another film.", profile=reviewer, label=Scores(values=(3,), lo=1, hi=5))
    finding = Finding(criterion="as the reviewer would", scores=(2.5,), explanation="Slow again.")
    verdict = Verdict(case_id="c", scores=(2.5,), findings=(finding,), usage=Usage(calls=1))
    assert inside(case, verdict) == [
        "request             Which?",
        "reviewer r7 (1..5)  Text: A film.",
        "Review: Dull.",
        "Score: 2",
        "text                Another film.",
        "as the reviewer would",
        "└── score 2.50  Slow again.",
        "verdict  score 2.50; human label score 3.00 of 1..5",
        "cost     1 calls (0 more from the cache), 0 prompt + 0 generated",
        "tokens",
    ]


def test_the_members_of_a_panel_are_shown_apart() -> None:
    findings = (
        Finding(criterion="accuracy", weight=9, member="one"),
        Finding(criterion="guideline", guideline="accuracy (weight 9)", scores=(7, 3), member="one"),
        Finding(criterion="guideline", guideline="what counts", scores=(1, 3), member="two", weight=2),
    )
    verdict = Verdict(
        case_id="c", winner="tie", findings=findings, rationale="one: so\ntwo: so", notes=("three: refusal",)
    )
    persona = Persona(features={"age_group": "20-29"}, text="A student.")
    assert inside(of_texts("x", "y", profile=persona), verdict) == [
        "request  Which?",
        "persona  age group: 20-29",
        "A student.",
        "a        x",
        "b        y",
        "one",
        "├── factors",
        "│   └── weight 9  accuracy",
        "└── guideline",
        "└── scores a: 7.00, b: 3.00",
        "two",
        "└── guideline (weight 2)",
        "├── what counts",
        "└── scores a: 1.00, b: 3.00",
        "rationale  one: so",
        "two: so",
        "note       three: refusal",
        "verdict    winner tie",
        "cost       0 calls (0 more from the cache), 0 prompt + 0 generated",
        "tokens",
    ]


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("status", ["unscored", "abstained"])
def test_a_judgment_without_a_verdict_says_why(count: int, status: Any) -> None:
    failed = {"reason": "parse_failure", "detail": "no score: 'seven'"} if status == "unscored" else {}
    text = "unscored: parse_failure no score: 'seven'" if failed else "abstained"
    verdict = Verdict(case_id="c", status=status, **failed)
    lines = inside(of_texts(*"wxyz"[:count]), verdict)
    assert len(lines) == 1 + count + 3
    assert lines[1 + count :] == [
        f"verdict  {text}", "cost     0 calls (0 more from the cache), 0 prompt + 0 generated", "tokens"
    ]  # fmt: skip


@pytest.mark.parametrize("count", [1, 2, 4])
def test_long_texts_stay_whole(count: int) -> None:
    words = [f"w{number}" for number in range(400)]
    finding = Finding(criterion="c", guideline=" ".join(words), scores=(1.0,) * count, explanation=" ".join(words))
    lines = inside(of_texts(*[" ".join(words)] * count), Verdict(case_id="c", findings=(finding,)))
    assert [word for line in lines for word in line.split() if word in set(words)] == words * (count + 2)


def test_texts_are_neither_markup_nor_steer_the_terminal() -> None:
    case = of_texts("[bold]x[/bold]", "\x1b[2Jy\x07\tz\r\nend", aspect="[link=x]")
    lines = inside(case, Verdict(case_id="c", notes=("[/]",)))
    assert lines[1:5] == ["aspect   [link=x]", "a        [bold]x[/bold]", "b        ␛[2Jy   z", "end"]
    assert "note     [/]" in lines


# the table at the end of a run


def table(*verdicts: Judged, scale: tuple[float, float] | None = None) -> list[str]:
    return [line.rstrip() for line in printed(render.summary(evaluated(*distinct(verdicts), scale=scale)), 160)]


def test_a_run_of_pairs_has_the_four_measures() -> None:
    judged = Judged(case_id="c", winner="a", consistent=True, label=Winner(value="a"))
    failed = Judged(case_id="d", status="unscored", reason="refusal", label=Winner(value="a"))
    assert table(judged, judged, failed) == [
        "                      value [95 % CI]       n  description",
        "accuracy              1.000 [0.342, 1.000]  2  the verdict equals the human label",
        "both-orders accuracy  1.000 [0.342, 1.000]  2  both orders, each by itself, name the human winner",
        "consistency           1.000 [0.342, 1.000]  2  both orders, each by itself, name the same winner",
        "coverage              0.667 [0.208, 0.939]  3  cases with a verdict",
        "unscored              refusal               1  counted in coverage only; asked again with --retry refusal",
    ]


def test_the_intervals_of_the_summary_take_whole_groups() -> None:
    judged = Judged(case_id="c", winner="a", label=Winner(value="a"), group="one prompt")
    other = judged.model_copy(update={"group": "another", "winner": "b"})
    assert table(*[judged] * 6, *[other] * 6)[1].split("  ")[1].startswith("0.500 [0.0")


def test_a_run_of_choices_has_ranks_errors_and_factors() -> None:
    factors = [Finding(criterion=f"f{n}", weight=n, explained_weight=n) for n in (1, 2, 3)]
    added = Finding(criterion="avoid fish", weight=7, added=True, explanation="said so")
    read = Finding(criterion="personalised guideline", scores=(9, 2, 1, 3))
    judged = Judged(
        case_id="c", winner=0, scores=(9, 2, 1, 3), findings=(*factors, added, read), label=Winner(value=0),
        notes=("preference: [b]no weight[/b]",),
    )  # fmt: skip
    lines = table(judged, scale=(0.0, 10.0))
    assert [line[:19].strip() for line in lines[1:8]] == [
        "accuracy", "coverage", "rank", "nDCG", "nDCG pooled", "MSE", "added factors"
    ]  # fmt: skip
    assert [line for line in lines if line.startswith(("MSE", "exclusions", "notes"))] == [
        "MSE                              3.750                 4  squared error of scores 0..10 against 10 for the "
        "right answer, else 0",
        "exclusions                       1.000 [0.207, 1.000]  1  added factors that ask to leave something out",
        "notes                                                  1  verdicts with a note, such as: preference: [b]no "
        "weight[/b]",
    ]


def test_a_run_of_rewritten_texts_of_systems_ranks_them() -> None:
    def text(system: str, score: float, human: float, *fixes: Correction) -> Judged:
        finding = Finding(criterion="c", scores=(score,))
        label = Scores(values=(human,), lo=0, hi=10)
        return Judged(
            case_id="c", scores=(score,), findings=(finding,), systems=(system,), label=label, corrections=fixes
        )

    fix = Correction(candidate=0, text="new", before=1, after=3.5)
    lines = table(text("x[1]", 4, 9), text("y", 1, 2, fix), text("z", 2, 3))
    # 4 1 2 against 9 2 3: products of deviations sum to 102/9, squares to 42/9 and 258/9: 102 / sqrt(42 * 258) = 0.980
    assert any(line.startswith("pearson") and "0.980" in line for line in lines)
    assert [line.split("  ")[-1] for line in lines if line.startswith("system ")] == [
        "x[1]: mean score of its texts; people 9.000",
        "z: mean score of its texts; people 3.000",
        "y: mean score of its texts; people 2.000",
    ]
    assert any(line.startswith("systems kendall") and "1.000" in line for line in lines)
    assert any("score after less before; mean 1.00 -> 3.50" in line for line in lines)


def test_texts_that_were_not_judged_again_have_no_gain() -> None:
    judged = Judged(case_id="c", corrections=(Correction(candidate=0, text="new"),))
    lines = table(judged)
    assert lines[-1].endswith("rewritten texts per case; 1 in all")
    assert not any("improved" in line for line in lines)


def test_progress_of_a_compilation_has_no_accuracy_and_that_of_a_run_has() -> None:
    """Verdicts of several judges, before any head is fitted."""
    notes = {}
    for kind in (render.RunProgress, render.Compiling):
        with kind(quiet=True) as progress:
            progress.verdict(pair("a", "a"))
            notes[kind.__name__] = progress.note()
    assert "accuracy" in notes["RunProgress"]
    assert "accuracy" not in notes["Compiling"]
