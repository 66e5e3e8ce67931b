"""The report page and its Markdown: honest words, no markup from texts, the same bytes, and a browser that works."""

import hashlib
import re
from base64 import b64encode
from html.parser import HTMLParser
from typing import Any

import pytest
from evaluated import comparison, disagreement, evaluation, gap, report, scores_alone, share

import dicast
from dicast.data import Case, Finding, Judged
from dicast.errors import DeclarationError
from dicast.evaluation.results import Evaluation, Measure
from dicast.pages import Disagreement, RunReport, runs_html, runs_markdown
from dicast.pages.formatting import format_interval, format_measure, format_p_value, format_value
from dicast.pages.plots import chart
from dicast.pages.run_headline import headline
from dicast.pages.run_report import lead_measure
from dicast.pages.run_tiles import answers

NOW = "21 November 2026"
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u2028\u2029"
# The tags of the page's own template and drawings; a text that became markup would bring others.
TAGS = {
    *("html", "head", "meta", "link", "title", "style", "script", "body", "nav", "main", "header", "footer", "section"),
    *(
        "article",
        "div",
        "span",
        "p",
        "a",
        "b",
        "i",
        "u",
        "bdi",
        "strong",
        "small",
        "kbd",
        "code",
        "h1",
        "h2",
        "h3",
        "h4",
    ),
    *("h5", "ul", "li", "dl", "dt", "dd", "figure", "figcaption", "details", "summary", "label", "input", "select"),
    *("option", "output", "button", "table", "thead", "tbody", "tr", "th", "td"),
    *("svg", "g", "path", "defs", "use", "text", "clippath", "rect"),
}


class Markup(HTMLParser):
    """What a browser would see: tags, attributes, and the text of scripts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script" and self.cdata_elem == "script":
            self.scripts.append(data)


@pytest.fixture(scope="module")
def whole() -> str:
    return runs_html(report(), [comparison()], title="t", now=NOW)


def evil_report() -> list[RunReport]:
    hostile = evaluation(60, 100)
    systems = tuple(row.model_copy(update={"system": EVIL + row.system}) for row in hostile.systems)
    hostile = hostile.model_copy(
        update={
            "systems": systems,
            "signature": EVIL,
            "sections": hostile.sections | {EVIL: (share(EVIL, 1, 2, EVIL),)},
        }
    )
    case = Case.model_validate(
        {
            "id": EVIL,
            "query": EVIL,
            "history": [{"role": "system", "text": EVIL}],
            "candidates": [{"text": EVIL, "system": EVIL}, {"text": EVIL}],
            "profile": {"kind": "persona", "features": {EVIL: EVIL}, "text": EVIL},
            "aspect": EVIL,
            "label": {"value": "a"},
        }
    )
    findings = [Finding(criterion=EVIL, guideline=EVIL, member=EVIL, order="ab", scores=(1, 2), explanation=EVIL)]
    findings.append(Finding(criterion=EVIL, guideline=EVIL))
    fix = {"candidate": 0, "text": EVIL, "criteria": [EVIL]}
    judged = Judged.model_validate(
        {"case_id": EVIL, "winner": "b", "findings": findings, "notes": [EVIL], "corrections": [fix], "group": EVIL}
    )
    return [RunReport(EVIL, hostile, [Disagreement(judged, case)]), RunReport("plain", scores_alone())]


def test_no_text_becomes_markup_or_script() -> None:
    html = runs_html(evil_report(), [comparison(EVIL, "plain")], title=EVIL, now=NOW)
    markup = Markup(html)
    assert {tag for tag, _ in markup.tags} <= TAGS
    assert not any(name.startswith("on") for _, attributes in markup.tags for name in attributes)
    assert sum(tag == "script" for tag, _ in markup.tags) == 1
    assert "alert" not in "".join(markup.scripts)
    assert "onerror=alert(2)&gt;" in html  # the text itself is there to be read


def test_the_policy_allows_the_one_script_and_nothing_else(whole: str) -> None:
    markup = Markup(whole)
    policy = next(
        attributes["content"] or ""
        for tag, attributes in markup.tags
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    digest = b64encode(hashlib.sha256("".join(markup.scripts).encode()).digest()).decode()
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}';" in policy
    assert "unsafe-inline" not in policy.replace("style-src 'unsafe-inline'", "")


def test_nothing_is_loaded_from_anywhere(whole: str) -> None:
    assert not re.search(r"https?://|@import|url\((?!#)", whole)
    links = [
        value
        for _, attributes in Markup(whole).tags
        for name, value in attributes.items()
        if name in ("src", "href", "xlink:href", "action", "data", "srcset", "poster")
    ]
    assert links
    assert all(link == "data:," or (link or "").startswith("#") for link in links)


def test_the_same_runs_give_the_same_bytes(whole: str) -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    assert runs_html(report(), [comparison()], title="t", now=NOW) == whole
    assert dict(matplotlib.rcParams) == before


def test_no_two_elements_share_an_id_and_every_link_has_a_target(whole: str) -> None:
    tags = Markup(whole).tags
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    named = [one for one in ids if one and not re.fullmatch(r"[mp][0-9a-f]{10}", one)]
    assert len(named) == len(set(named))
    targets = {value for _, attributes in tags for name, value in attributes.items() if name.endswith("href")}
    assert {(target or "").removeprefix("#") for target in targets if target != "data:,"} <= set(ids)


FIELDS = ("confusion", "labels", "reliability", "curve", "histograms", "systems", "branches", "strata")


@pytest.mark.parametrize("part", [*evaluation().sections, *FIELDS])
def test_any_part_may_be_there_alone(part: str) -> None:
    whole = evaluation()
    bare = Evaluation(signature="s", judge="fennec", cases=9, scored=9, labelled=9, groups=9)
    section: dict[str, Any] = {"sections": {part: whole.sections[part]}} if part in whole.sections else {}
    alone = bare.model_copy(update=section or {part: getattr(whole, part)})
    html = runs_html([RunReport("r", alone)], title="t", now=NOW)
    questions = re.findall(r'<section id="(?!cases|figures)', html)
    assert len(questions) + html.count('<h3 class="over"') in (1, 2)  # its drawing, its tables or both, and no other
    assert len(html) > len(runs_html([RunReport("r", bare)], title="t", now=NOW)) + 500


def test_an_evaluation_without_labels_says_so() -> None:
    bare = Evaluation(signature="s", judge="direct", cases=3, scored=2, labelled=0, groups=3, unscored={"refusal": 1})
    html = runs_html([RunReport("r", bare)], title="t", now=NOW)
    assert "No human labels to compare with" in html
    assert "refusal: 1" in html


def test_no_run_is_a_page_too() -> None:
    assert "Nothing to report" in runs_html([], title="t", now=NOW)
    assert "Nothing to report" in runs_markdown([], title="t", now=NOW)


def test_a_section_that_nobody_knows_is_shown() -> None:
    whole = evaluation()
    strange = whole.model_copy(update={"sections": whole.sections | {"moon_phase": (share("waxing", 3, 9),)}})
    for text in (
        runs_html([RunReport("r", strange)], title="t", now=NOW),
        runs_markdown([RunReport("r", strange)], title="t", now=NOW),
    ):
        assert "Moon phase" in text
        assert "waxing" in text


def test_every_script_of_the_world_is_written_as_it_is() -> None:
    text = "漢字 עברית 🐙 naïve\u202e"
    run = RunReport(text, evaluation(), [disagreement(1, text)])
    whole = run.evaluation
    systems = tuple(row.model_copy(update={"system": f"{text}{n} $x$"}) for n, row in enumerate(whole.systems))
    html = runs_html(
        [RunReport(text, whole.model_copy(update={"systems": systems}), run.disagreements)], title=text, now=NOW
    )
    assert html.count(text) > 5
    assert "$x$" in html


def test_a_case_whose_texts_are_gone_is_shown_without_them() -> None:
    lost = Disagreement(disagreement(1).judged, None)
    assert "The texts of this case are not on this page; only its verdict is shown." in runs_html(
        [RunReport("r", scores_alone(), [lost])], title="t", now=NOW
    )


def test_unscored_and_choices_and_single_texts_have_rows() -> None:
    unscored = Judged(
        case_id="u", status="unscored", reason="refusal", detail="declined to judge", label={"value": "tie"}
    )
    choice = Case(id="c", query="q", candidates=[{"text": str(n)} for n in range(4)], label={"value": 2})
    chosen = Judged(case_id="c", winner=0, scores=(9, 1, 2, 3), certainty=0.4, label=choice.label)
    text = Case.model_validate(
        {"id": "t", "query": "q", "candidates": [{"text": ""}], "label": {"values": [3.5], "lo": 0, "hi": 4}}
    )
    scored = Judged(case_id="t", scores=(0.25,), label=text.label)
    found = [Disagreement(unscored, None), Disagreement(chosen, choice), Disagreement(scored, text)]
    html = runs_html([RunReport("r", scores_alone(), found)], title="t", now=NOW)
    assert "declined to judge" in html
    assert 'data-human="2" data-judge="0"' in html
    assert 'data-human="3.5" data-judge="0.25"' in html
    assert "human scale: 0 to 4" in html


def test_a_page_of_two_hundred_long_cases_stays_under_five_megabytes() -> None:
    found = [disagreement(n, words=700, certainty=n / 200) for n in range(1, 201)]
    html = runs_html([RunReport("r", scores_alone(), found)], title="t", now=NOW)
    assert html.count('<li class="case"') == 200
    assert len(html.encode()) < 5_000_000


def test_a_missing_package_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(module: str) -> None:
        raise ModuleNotFoundError(module)

    monkeypatch.setattr(chart, "import_module", absent)
    with pytest.raises(DeclarationError, match="pip install '"):
        runs_html(report(), title="t", now=NOW)
    assert "72.4 %" in runs_markdown(report(), title="t", now=NOW)  # it needs neither


def lead_with(margin: Measure, n: int = 540, **changed: Any) -> RunReport:
    whole = evaluation(round(0.7 * n), n)
    baselines = (share("longer", round(0.6 * n), n), margin)
    return RunReport("r", whole.model_copy(update={"sections": whole.sections | {"baselines": baselines} | changed}))


@pytest.mark.parametrize(
    ("margin", "n", "tone", "words"),
    [
        (gap("above longer", 0.1, 0.05), 540, "good", "Better than every baseline"),
        (gap("above longer", 0.1, 0.11), 540, "warn", "Not shown to be better than the baseline “longer”"),
        (gap("above longer", -0.1, 0.05), 540, "bad", "Worse than the baseline “longer”"),
        (gap("above longer", 0.1, 0.05), 20, "warn", "Too few labelled cases for a conclusion"),
    ],
)
def test_the_headline_never_says_more_than_the_interval(margin: Measure, n: int, tone: str, words: str) -> None:
    run = lead_with(margin, n)
    if n < 30:  # as few groups as cases
        figures = (run.evaluation.sections["agreement"][0].model_copy(update={"groups": None}),)
        run = lead_with(margin, n, agreement=figures)
    top = headline([run], lead_measure(run))
    assert (top.tone, top.words) == (tone, words)


def test_better_than_the_best_baseline_alone_is_not_better_than_every_one() -> None:
    run = lead_with(gap("above longer", 0.1, 0.05))
    weak = (share("majority", 200, 540), gap("above majority", 0.3, 0.4))  # the interval holds 0
    sections = run.evaluation.sections
    both = run.evaluation.model_copy(update={"sections": sections | {"baselines": (*sections["baselines"], *weak)}})
    assert headline([RunReport("r", both)], lead_measure(RunReport("r", both))).tone == "warn"


def test_the_first_run_leads_and_a_higher_one_is_named() -> None:
    runs = [RunReport("mine", evaluation(358)), RunReport("other", evaluation(391))]
    said = " ".join(headline(runs, lead_measure(runs[0])).sentences)
    assert said.startswith(
        "The judge mine agrees with the human label on 66.3\u202f% of 540 labelled cases in 170 independent groups"
    )
    assert "other has the highest accuracy, 72.4\u202f%" in said


def test_the_headline_of_labels_without_ties_is_the_mean_of_the_orders() -> None:
    # 400 pairs: right in both orders 232, in one 116, in none 52; the sum is a tie in 116
    orders = [("a", "a")] * 232 + [("a", "b")] * 58 + [("b", "a")] * 58 + [("b", "b")] * 52
    rows: list[Any] = [
        {"id": n, "prediction": ab, "prediction_swapped": ba, "label": "a"} for n, (ab, ba) in enumerate(orders)
    ]
    run = RunReport("guessing", dicast.evaluate(rows))
    lead = lead_measure(run)
    assert lead is not None
    assert (lead.measure.name, lead.measure.value) == ("mean of orders", 0.725)
    assert [baseline.name for baseline in lead.baselines] == ["chance"]
    top = headline([run], lead)
    assert (top.tone, top.words) == ("good", "Better than every baseline")
    assert top.sentences[0].startswith(
        "The judge guessing agrees with the human label on 72.5\u202f%, in the mean of both orders"
    )
    assert "compare the mean of orders, not the accuracy, with chance" in " ".join(top.sentences)
    halves = RunReport("guessing", dicast.evaluate(rows, merge="half"))
    assert (measured := lead_measure(halves)) is not None
    assert (measured.measure.name, measured.measure.value) == ("accuracy", 0.725)


def test_the_headline_of_scores_is_a_correlation() -> None:
    run = RunReport("implicit", scores_alone())
    top = headline([run], lead_measure(run))
    assert top.sentences[0].startswith(
        "The judge implicit reaches spearman 0.410 with the human labels on 120 labelled cases"
    )
    assert [one.question for one in answers(run)] == ["Can I trust it?"]


@pytest.mark.parametrize(
    ("measure", "value", "ends"),
    [
        (Measure(name="accuracy", value=0.7241, low=0.685, high=0.76, kind="proportion"), "72.4\u202f%", "68.5–76.0"),
        (
            Measure(name="gap", value=-0.031, low=-0.07, high=0.008, kind="proportion", null_value=0),
            "\u22123.1\u202fpoints",
            "\u22127.0 to +0.8",
        ),
        (Measure(name="kappa", value=1, low=0.921, high=1), "1.000", "0.921–1.000"),
        (Measure(name="calls", value=11), "11", ""),
        (Measure(name="tokens", value=4212.4), "4,212", ""),
        (Measure(name="leniency", value=0.5, low=-0.5, high=1.5, null_value=0), "+0.50", "\u22120.50 to +1.50"),
        (Measure(name="none"), "—", ""),
    ],
)
def test_figures_are_shown_with_their_unit(measure: Measure, value: str, ends: str) -> None:
    assert (format_measure(measure), format_interval(measure)) == (value, ends)


def test_small_values_are_never_shown_as_nothing() -> None:
    assert (format_p_value(0.00001), format_p_value(0.04), format_p_value(None)) == ("< 0.001", "0.040", "—")
    assert (format_value(0.0), format_value(-0.0, "change"), format_value(float("nan"))) == ("0", "0", "—")


def test_markdown_has_every_figure_in_tables_of_equal_width() -> None:
    text = runs_markdown(report(), [comparison()], title="Pairs", now=NOW)
    assert text.startswith("# Pairs\n")
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1
    assert "| accuracy | fennec | 72.4 % |" in text
    assert text.splitlines()[2].startswith(
        "**The judge fennec is better than direct.** On the 540 labelled cases that both judged"
    )
    assert "+6.1 points" in text
    assert "| same verdict | 75.9 % | 72.3–79.5 | — | — |" in text  # a share, and no difference
    assert "< 0.001" not in text


def test_markdown_of_evil_names_has_no_markup() -> None:
    evil = "a|b\n<script>`x`[l](http://x)"
    text = runs_markdown([RunReport(evil, evaluation()), RunReport("plain", evaluation())], title=evil, now=NOW)
    outside_code = re.sub(r"(`+).*?\1", "", text.replace("\\`", ""))
    assert "<script" not in outside_code
    assert not re.search(r"(?<!\\)\[l", outside_code)
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1
