"""How verdicts and evaluations show themselves in a notebook: readable, and no text of theirs becomes markup."""

from html.parser import HTMLParser

import dicast
from dicast.data import Finding, Judged, Verdict, Winner
from dicast.data.html import html_table

EVIL = '<script>alert("x")</script><img src=x onerror=alert(1)>&amp;"\'><!--'
TAGS = {"table", "caption", "thead", "tbody", "tr", "th", "td"}


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.texts, self.comments = [], set(), [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attributes}

    def handle_data(self, text):
        self.texts.append(text)

    def handle_comment(self, text):
        self.comments.append(text)


def assert_only_text(page):
    assert set(page.tags) <= TAGS
    assert page.attributes <= {"style"}
    assert page.comments == []


def test_a_verdict_shows_its_winner_evidence_and_reason():
    finding = Finding(criterion="accuracy", order="ab", explanation="a is right", scores=(4, 2))
    verdict = Verdict(
        case_id="17", winner="a", scores=(4, 2), distribution={"a": 0.9, "b": 0.1}, certainty=0.9, findings=(finding,)
    )
    page = Page(verdict._repr_html_())
    assert page.texts[0] == "verdict of case 17"
    rows = dict(zip(page.texts[1::2], page.texts[2::2], strict=True))
    assert rows == {
        "status": "scored", "winner": "a", "scores": "4, 2", "probabilities": "a 0.90, b 0.10", "certainty": "0.90",
        "accuracy (ab)": "a is right",
    }  # fmt: skip


def test_a_choice_of_the_first_option_has_its_winner_shown():
    assert "<td" in (text := Verdict(case_id="c", winner=0)._repr_html_())
    assert Page(text).texts[-2:] == ["winner", "0"]


def test_an_unscored_verdict_says_why():
    verdict = Verdict(case_id="1", status="unscored", reason="refusal", detail="It declined.")
    assert "unscored: refusal It declined." in Page(verdict._repr_html_()).texts


def test_no_text_of_a_verdict_becomes_markup():
    finding = Finding(criterion=EVIL, explanation=EVIL)
    verdict = Verdict(
        case_id=EVIL, winner="a", distribution={EVIL: 1.0}, rationale=EVIL, notes=(EVIL,), findings=(finding,)
    )
    page = Page(verdict._repr_html_())
    assert_only_text(page)
    assert page.texts.count(EVIL) >= 4


def test_an_evaluation_shows_value_interval_and_n_and_no_text_becomes_markup():
    verdicts = [
        Judged(case_id=str(n), winner="a", label=Winner(value="ab"[n % 3 == 0]), group=f"{n}", systems=(EVIL, "s"))
        for n in range(20)
    ]
    page = Page(dicast.evaluate(verdicts)._repr_html_())
    assert_only_text(page)
    start = page.texts.index("accuracy")
    value, interval, n = page.texts[start + 1 : start + 4]
    assert (value, n) == ("0.650", "20")
    assert interval.startswith("[0.")


def test_captions_and_headings_are_escaped_too():
    page = Page(html_table(EVIL, [EVIL], [[EVIL]]))
    assert_only_text(page)
    assert page.texts == [EVIL] * 3
