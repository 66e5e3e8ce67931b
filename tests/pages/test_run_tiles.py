"""What a page of runs says first: the difference of two judges, and the answers in the reader's words."""

import re
from typing import Any

import pytest
from evaluated import comparison, disagreement, evaluation, gap, report, scores_alone, share

import dicast
from dicast.data import Usage
from dicast.data.reason import Reason
from dicast.evaluation.metrics import bias as bias_metrics
from dicast.evaluation.results import Bin, Measure, PairedTest, RunComparison
from dicast.evaluation.themes import Theme
from dicast.pages import Disagreement, RunReport, RunSubject, runs_html, runs_markdown
from dicast.pages.bias_words import SENTENCES, bias_sentence
from dicast.pages.reference_rows import reference_rows
from dicast.pages.run_headline import headline
from dicast.pages.run_report import lead_measure
from dicast.pages.run_tiles import answers, tile_rows

NOW = "21 November 2026"
THIN = "\u202f"


def tile(question: str, **fields: Any) -> Any:
    """The answer of a run whose evaluation has these fields."""
    run = RunReport("r", evaluation().model_copy(update=fields))
    return next(answer for answer in answers(run) if answer.question == question)


def compared(value: float, half: float, p: float, second: str = "direct", n: int = 540, **more: Any) -> RunComparison:
    test = PairedTest(name="accuracy", difference=gap("accuracy", value, half, n), p=p, p_holm=p)
    return RunComparison(first="fennec", second=second, cases=n, only_first=0, only_second=0, tests=(test,), **more)


# the difference first


@pytest.mark.parametrize(
    ("value", "half", "p", "tone", "words"),
    [
        (0.061, 0.04, 0.004, "good", "The judge fennec is better than direct"),
        (-0.061, 0.04, 0.004, "bad", "The judge fennec is worse than direct"),
        (0.061, 0.08, 0.3, "warn", "No difference in agreement with the human label shown between fennec and direct"),
        # the interval of one test leaves out 0, the p-value of all tests together shows nothing
        (0.061, 0.06, 0.051, "warn", "No difference in agreement with the human label shown between fennec and direct"),
    ],
)
def test_two_runs_open_with_their_difference(value: float, half: float, p: float, tone: str, words: str) -> None:
    runs = report()
    top = headline(runs, lead_measure(runs[0]), [compared(value, half, p)])
    assert (top.tone, top.words) == (tone, words)
    assert "95\u202f% interval" in top.sentences[0]
    assert f"p = {p:.3f}" in top.sentences[0]
    assert top.sentences[1] == "The judges fennec and direct are better than every baseline."


def test_both_figures_are_in_the_sentence_where_they_are_of_the_same_cases() -> None:
    runs = report()
    (same, *_) = headline(runs, lead_measure(runs[0]), [compared(0.061, 0.04, 0.004)]).sentences
    assert f"is 72.4{THIN}% for fennec and 66.3{THIN}% for direct: a difference of +6.1{THIN}points" in same
    (fewer, *_) = headline(runs, lead_measure(runs[0]), [compared(-0.061, 0.04, 0.004, n=300)]).sentences
    assert "72.4" not in fewer
    assert f"fennec agrees with the human label 6.1{THIN}points less often than direct" in fewer


def test_three_runs_are_named_by_what_is_shown_of_each() -> None:
    runs = [RunReport(name, evaluation()) for name in ("fennec", "direct", "longer", "other")]
    found = [compared(0.1, 0.05, 0.001), compared(-0.1, 0.05, 0.001, "longer"), compared(0.01, 0.05, 0.8, "other")]
    top = headline(runs, lead_measure(runs[0]), found)
    assert top.words == "The judge fennec is better than direct, worse than longer and not shown to differ from other"
    assert top.tone == "neutral"


def test_what_else_differs_is_said_where_the_main_figure_does_not() -> None:
    other = PairedTest(name="both-orders accuracy", difference=gap("x", 0.299, 0.06), p=0.0001, p_holm=0.0002)
    found = compared(0.0, 0.04, 0.9)
    found = found.model_copy(update={"tests": (*found.tests, other)})
    sentences = headline(report(), lead_measure(report()[0]), [found]).sentences
    assert sentences[1].startswith(f"They are shown to differ in both-orders accuracy (+29.9{THIN}points)")


def test_runs_without_a_common_label_have_the_headline_of_the_first() -> None:
    runs = report()
    without = comparison().model_copy(update={"tests": ()})
    assert headline(runs, lead_measure(runs[0]), [without]) == headline(runs, lead_measure(runs[0]))


def test_every_sentence_of_a_headline_starts_with_a_capital() -> None:
    runs = report()
    for found in ([], [comparison()]):
        top = headline(runs, lead_measure(runs[0]), found)
        for sentence in (top.words, *top.sentences):
            assert not sentence[0].islower(), sentence
            assert not re.search(r"\. [a-z]", sentence), sentence


# the reader's words


def test_certainty_is_explained_by_the_verdicts_near_eighty_percent() -> None:
    assert tile("How sure is it?").value == f"When it says 75{THIN}% it is right 68{THIN}%"
    few = tuple(
        Bin(low=low, high=low + 0.1, certainty=low + 0.05, accuracy=share("accuracy", n // 2, n))
        for low, n in ((0.5, 200), (0.7, 29))
    )
    assert tile("How sure is it?", reliability=few).value == f"When it says 55{THIN}% it is right 50{THIN}%"
    line = tile("How sure is it?").line
    assert line.startswith(f"Overconfident: on average it says 77{THIN}% and is right 70{THIN}%")
    assert "its surest half is right 83" in line


def test_an_unclear_overconfidence_has_no_name() -> None:
    sections = evaluation().sections | {"calibration": (gap("overconfidence", 0.01, 0.03),)}
    answer = tile("How sure is it?", sections=sections)
    assert (answer.line[:10], answer.tone) == ("On average", "neutral")


def test_the_most_frequent_mistake_is_named() -> None:
    answer = tile("Where is it wrong?")
    assert answer.value == "149 of 540 cases"
    assert re.fullmatch(r"most often people say \w+ and the judge \w+ \(\d+\)", answer.line)


def test_the_worst_bias_is_a_sentence() -> None:
    answer = tile("Is it biased?")
    assert answer.value == "Prefers longer texts"  # 9.0 points; first position is 7.6 from a half
    assert answer.line == f"9.0{THIN}points more often than people (+4.0 to +14.0); 1 more of 4 checks"
    assert answer.tone == "warn"
    unshown = evaluation().sections | {"bias": (gap("ties above people", 0.01, 0.05),)}
    assert tile("Is it biased?", sections=unshown).value == "Not shown"


def test_errors_by_length_are_named_only_where_nothing_else_is() -> None:
    errors, ties = gap("length errors", 0.4, 0.1), gap("ties above people", -0.1, 0.05)
    sections = evaluation().sections
    assert tile("Is it biased?", sections=sections | {"bias": (errors, ties)}).value == "Says tie too rarely"
    assert tile("Is it biased?", sections=sections | {"bias": (errors,)}).value == "Errs towards longer texts"


def test_every_bias_of_pairs_has_its_sentence() -> None:
    """The names in the code of the metrics: those with a null value, that is, of a difference or of a fair half."""
    from inspect import getsource

    code = getsource(bias_metrics)
    named = {*re.findall(r'difference_measure\("([^"]+)"', code), *re.findall(r'to_measure\("([^"]+)".*FAIR\)', code)}
    assert named == SENTENCES.keys() - {"leniency"}
    for name in named:
        for value in (0.9, -0.9) if name != "first position" else (0.9, 0.1):
            measure = Measure(name=name, value=value, null_value=0.5 if value > 0 and name == "first position" else 0.0)
            words, line = bias_sentence(measure.model_copy(update={"kind": "proportion"}))
            assert words
            assert "None" not in line


def test_a_bias_of_a_plug_in_is_named_with_its_value() -> None:
    strange = Measure(name="moon_phase", value=3.0, low=2.0, high=4.0, null_value=1.0)
    assert bias_sentence(strange) == ("moon phase 3.00", "2.00–4.00; a fair judge 1")


@pytest.mark.parametrize(
    ("usage", "value", "words"),
    [
        (Usage(calls=1080, prompt_tokens=500_000, completion_tokens=40_000, cost=0.54), "$1.00 per 1,000", ""),
        # half of the answers are stored ones: the other half cost 54 cents
        (
            Usage(calls=540, cached=540, prompt_tokens=250_000, completion_tokens=20_000, counted=540,
                  cached_tokens=270_000, cost=0.54),
            "$2.00 per 1,000",
            f"50{THIN}% of the answers came from the cache, and count here as if asked",
        ),
        (Usage(calls=540, prompt_tokens=5400, seconds=5400), f"2.8{THIN}hours per 1,000", "its price is not known"),
        (Usage(calls=540, prompt_tokens=5400, seconds=54, cost=0.0), f"1.7{THIN}minutes per 1,000", "it has no price"),
        (Usage(cached=1080, counted=1080, cached_tokens=540_000), "1.0 million tokens per 1,000", "is not recorded"),
        (Usage(cached=1080), "2.0 thousand calls per 1,000", "this run cost nothing"),
    ],
)  # fmt: skip
def test_the_cost_is_that_of_a_thousand_verdicts_asked_anew(usage: Usage, value: str, words: str) -> None:
    answer = tile("What does it cost?", usage=usage)
    assert answer.value == value
    assert words in answer.line


def test_a_judge_without_a_model_has_no_cost() -> None:
    run = RunReport("longer", evaluation().model_copy(update={"usage": Usage()}))
    assert "What does it cost?" not in [answer.question for answer in answers(run)]


def test_the_tiles_of_two_runs_are_side_by_side() -> None:
    rows = tile_rows([report()[0], RunReport("scores", scores_alone())])
    assert [row.question for row in rows][:2] == ["Can I trust it?", "How sure is it?"]
    assert all(len(row.answers) == 2 for row in rows)
    assert rows[1].answers[1] is None
    html = runs_html(report(), [comparison()], title="t", now=NOW)
    assert html.count('<table class="card versus"') == 1
    assert '<ul class="answers">' not in html


def test_what_the_judge_is_measured_against_has_its_side() -> None:
    leads = [lead for lead in map(lead_measure, report()) if lead is not None]
    rows = {row.name: row for row in reference_rows(leads)}
    assert list(rows) == ["Baseline “longer”", "Baseline “majority”", "One human annotator"]
    longer = rows["Baseline “longer”"]
    assert longer.reaches == f"59.1{THIN}%"
    assert [cell.words for cell in longer.cells if cell] == [f"13.3{THIN}points ahead", f"7.2{THIN}points ahead"]
    person = rows["One human annotator"].cells[1]
    assert person is not None
    assert person.side == "below"
    assert person.words.endswith("behind")


# names, and what is folded


def test_the_header_names_judge_model_and_data() -> None:
    run = RunReport("direct", evaluation(), subject=RunSubject("direct", "gpt-5-mini", "support.csv"))
    html = runs_html([run], title="Judge direct on support.csv", now=NOW)
    header = html[html.index("<header") : html.index("</header>")]
    for text in ("<bdi>direct</bdi>", "<bdi>gpt-5-mini</bdi>", "<bdi>support.csv</bdi>", "540 of 552 cases"):
        assert text in header


def test_every_table_of_figures_is_folded_and_the_cases_come_third() -> None:
    html = runs_html(report(), [comparison()], title="t", now=NOW)
    folded = html[html.index('<details class="folded">') :]
    assert 'class="measures' not in html[: html.index('<details class="folded">')]
    assert folded.count('class="measures') >= 7
    ids = re.findall(r'<section id="(\w+)"', html)
    assert ids[:4] == ["trust", "certainty", "errors", "cases"]
    assert ids[-1] == "figures"


def test_themes_say_where_the_judge_is_worse_and_link_to_its_cases() -> None:
    found = [disagreement(n) for n in range(1, 6)]
    themes = (
        Theme(
            ("bread", "oven"), ("pairs/2", "pairs/4", "pairs/99"), share("accuracy", 20, 60), share("o", 400, 480), 0.01
        ),
        Theme(("tax",), ("pairs/1",), share("accuracy", 400, 480), share("o", 20, 60), None),
    )
    run = RunReport("direct", evaluation(), found, themes={"requests": themes})
    html = runs_html([run], title="t", now=NOW)
    sentence = (
        "The judge is right less often on cases about “bread, oven”: 33\u202f% against 83\u202f% elsewhere (p = 0.010)."
    )
    assert sentence in html
    linked = re.findall(r'href="#(case-\d+)" aria-label="case (pairs/\d)"', html)
    assert [case for _, case in linked] == ["pairs/2", "pairs/4", "pairs/1"]
    for number, case in linked:
        assert re.search(rf'id="{number}"[^>]*data-id="{case}"', html)
    assert "<option>bread, oven</option>" in html
    text = runs_markdown([run], title="t", now=NOW)
    assert sentence.replace(THIN, " ") in text
    assert "| bread, oven | 60 | 33.3 % |" in text


def test_themes_that_cannot_be_tested_are_not_shown() -> None:
    right = Theme(("bread", "oven"), ("pairs/2",), share("accuracy", 60, 60), share("o", 480, 480), None)
    run = RunReport("direct", evaluation(), themes={"requests": (right, right)})
    assert "Themes of the cases" not in runs_html([run], title="t", now=NOW)


def test_a_reason_that_was_written_after_the_verdict_is_shown_with_its_doubts() -> None:
    plain = disagreement(1, findings=())
    reason = Reason(
        case_id="pairs/1", verdict_digest="0" * 16, verdict="b", text="B keeps bread dry.", speaks_for="A", agrees=False
    )
    html = runs_html(
        [RunReport("r", scores_alone(), [Disagreement(plain.judged, plain.case, reason)])], title="t", now=NOW
    )
    assert "B keeps bread dry." in html
    assert "This reason speaks for another verdict (A)" in html


def test_a_report_of_rows_names_the_model_of_each_run(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": str(n), "prediction": "ab"[n % 3 == 0], "label": "a", "judge": name}
        for n in range(40)
        for name in ("x", "y")
    ]
    import json

    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    dicast.report(["rows.jsonl:judge=x", "rows.jsonl:judge=y"], "page.html")
    assert '<h1 dir="auto">Judges x and y on rows.jsonl</h1>' in (tmp_path / "page.html").read_text()
