"""The report page in a real Chromium: it asks for nothing, complains of nothing, and its filters and keys work."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from evaluated import comparison, evaluation, report

from dicast.pages import RunReport, runs_html

pytestmark = pytest.mark.slow
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next((found for name in names if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("no chromium, chromium-browser or google-chrome is installed")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(
        runs_html(report(12), [comparison()], title=f"Report {EVIL}", now="21 November 2026"), encoding="utf-8"
    )
    return Path(path).as_uri()


@pytest.fixture
def opened(chromium: Any, address: str) -> Iterator[Any]:
    """A function that opens the page; at the end nothing may have been complained of, or asked for besides the file."""
    troubles: list[str] = []
    contexts: list[Any] = []

    def open_page(fragment: str = "", **options: Any) -> Any:
        context = chromium.new_context(**options)
        contexts.append(context)
        view = context.new_page()
        view.on("console", lambda message: troubles.append(message.text))
        view.on("pageerror", lambda error: troubles.append(str(error)))
        view.on("request", lambda asked: None if asked.url.split("#")[0] == address else troubles.append(asked.url))
        view.on("dialog", lambda dialog: troubles.append(dialog.message))
        view.goto(address + fragment)
        return view

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []


def shown(view: Any) -> list[str]:
    if view.is_visible("#all"):
        view.click("#all")
    cases: list[str] = view.eval_on_selector_all("li.case:not([hidden])", "all => all.map(one => one.dataset.id)")
    assert view.inner_text("#shown") == f"{len(cases)} of 13 cases"
    return cases


def test_the_page_renders_with_its_drawings(opened: Any) -> None:
    view = opened()
    assert view.title().startswith("Report </script>")
    assert view.locator(".plot svg").count() > 10
    assert view.locator(".plot svg >> visible=true").first.bounding_box()["height"] > 50
    assert len(shown(view)) == 13


def test_filters_change_what_is_shown_and_how_many(opened: Any) -> None:
    view = opened()
    view.fill("#find", "question 12 linen")
    assert shown(view) == ["pairs/12"]
    view.click("#reset")
    view.select_option("#human", "tie")
    assert shown(view) == [
        "pairs/11",
        "pairs/8",
        "pairs/2",
        "pairs/5",
    ]  # the surest first; the last one has no certainty
    view.locator("#human").select_option("")
    view.check("#orders")
    assert shown(view) == ["pairs/12", "pairs/9", "pairs/6", "pairs/3"]
    view.uncheck("#orders")
    view.select_option("#run", "direct")
    assert shown(view) == ["pairs/1"]
    view.click("#reset")
    view.focus("#least")
    for _ in range(9):
        view.keyboard.press("PageUp")  # a tenth each
    assert view.inner_text("#least-value") == "90 %"
    assert shown(view) == ["pairs/12", "pairs/11", "pairs/10"]
    view.fill("#find", "nowhere to be found")
    assert shown(view) == []
    assert view.is_visible("#none")


def test_twelve_cases_are_shown_until_all_are_asked_for(opened: Any) -> None:
    view = opened()
    visible = "li.case:not([hidden])"
    assert view.locator(visible).count() == 12
    assert view.inner_text("#all") == "Show all 13 cases"
    assert view.inner_text("#shown") == "13 of 13 cases"
    view.click("#all")
    assert view.locator(visible).count() == 13
    assert not view.is_visible("#all")
    assert view.evaluate("document.activeElement.closest('li').dataset.id") == "pairs/5"  # the first of the others


def test_a_link_to_a_case_opens_it_whatever_is_hidden(opened: Any) -> None:
    view = opened("#case-13")
    view.wait_for_selector("#case-13 > details[open]")
    view.fill("#find", "question 12")
    view.evaluate("location.hash = '#case-2'")
    view.wait_for_selector("#case-2 > details[open]")
    assert view.input_value("#find") == ""


def test_figures_unfold_where_a_link_leads_to_them(opened: Any) -> None:
    view = opened()
    figures = "#figures > details"
    assert not view.evaluate(f"document.querySelector('{figures}').open")
    view.click("nav .links >> text=All figures")
    view.wait_for_selector(f"{figures}[open]")
    assert view.is_visible("#all-trust")


def test_on_a_phone_the_sections_and_the_filters_are_drawers(opened: Any) -> None:
    view = opened(viewport={"width": 400, "height": 800}, reduced_motion="reduce")
    assert not view.is_visible("#find")
    assert not view.is_visible("nav .links")
    view.click("nav summary")
    view.click("nav .drawer >> text=Bias")
    assert not view.is_visible("nav .drawer a")
    assert view.evaluate("document.getElementById('bias').getBoundingClientRect().top") < 200
    view.click("#filters > summary")
    view.fill("#find", "question 12 linen")
    assert view.inner_text("#set") == "1 set"
    assert shown(view) == ["pairs/12"]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_print_is_one_sheet_of_a4(chromium: Any, tmp_path: Path, count: int) -> None:
    runs = [*report(12), RunReport("longer", evaluation(320))][:count]
    found = [comparison("fennec", run.name) for run in runs[1:]]
    path = tmp_path / "page.html"
    path.write_text(
        runs_html(runs, found, title="Judges fennec and direct on pairs.jsonl", now="today"), encoding="utf-8"
    )
    view = chromium.new_page()
    view.goto(path.as_uri())
    printed = view.pdf(prefer_css_page_size=True)
    view.emulate_media(media="print")
    assert view.is_visible(".hero")
    assert view.is_visible("#trust .chart svg >> nth=0")
    assert view.is_visible(".references")
    assert not view.is_visible("#cases")
    view.close()
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1
    assert re.search(rb"/MediaBox \[0 0 59[45]\S* 84[12]", printed)


def test_order_of_the_list_can_be_turned(opened: Any) -> None:
    view = opened()
    view.select_option("#sort", "uncertain")
    assert shown(view)[:2] == ["pairs/1", "pairs/2"]
    view.select_option("#sort", "id")
    assert shown(view)[-2:] == ["pairs/11", "pairs/12"]


def test_keys_move_open_and_search(opened: Any) -> None:
    view = opened()
    focused = "document.activeElement.closest('li').dataset.id"
    view.keyboard.press("j")
    assert view.evaluate(focused) == "pairs/12"
    view.keyboard.press("Enter")
    assert view.locator("li.case details[open]").count() == 1
    view.keyboard.press("j")
    view.wait_for_function("document.querySelectorAll('li.case > details[open]').length === 1")
    assert view.evaluate(focused) == "pairs/11"
    view.keyboard.press("k")
    assert view.evaluate(focused) == "pairs/12"
    view.keyboard.press("Escape")
    assert view.locator("li.case > details[open]").count() == 0
    view.keyboard.press("/")
    view.keyboard.type("jk")
    assert view.input_value("#find") == "jk"


def test_the_address_brings_the_same_view_back(opened: Any) -> None:
    view = opened()
    view.fill("#find", "bread")
    view.select_option("#judge", "B")
    view.check("#orders")
    before = shown(view)
    view.locator("li.case:not([hidden]) summary").first.click()
    view.wait_for_function("location.hash.includes('case=')")
    again = opened(view.evaluate("location.hash"))
    assert shown(again) == before
    assert again.input_value("#find") == "bread"
    assert again.is_checked("#orders")
    assert again.locator("li.case > details[open]").count() == 1


def test_an_opened_case_shows_both_texts_and_the_whole_judgment(opened: Any) -> None:
    view = opened()
    view.locator("li.case summary").first.click()
    inside = view.locator("li.case > details[open] .inside")
    assert inside.locator(".candidate").count() == 2
    assert "human choice" in inside.locator(".candidate.chosen").inner_text()
    assert inside.locator(".reading").count() == 4  # two criteria, each in both orders
    assert inside.locator(".columns").count() == 8
    assert "rewritten: 2 → 4.5" in inside.inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_have_text_that_can_be_read(opened: Any, scheme: str) -> None:
    view = opened(color_scheme=scheme)
    luminance = """colour => {
        const probe = document.createElement("i"); probe.style.color = `var(${colour})`; document.body.append(probe);
        const rgb = getComputedStyle(probe).color.match(/\\d+/g).slice(0, 3).map(v => v / 255);
        probe.remove();
        const [r, g, b] = rgb.map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b; }"""
    grounds = [view.evaluate(luminance, name) for name in ("--bg", "--card", "--sunk")]
    assert all((ground > 0.5) == (scheme == "light") for ground in grounds)
    for name in ("--ink", "--soft", "--judge", "--people", "--third", "--good", "--warn", "--bad"):
        ink = view.evaluate(luminance, name)
        for ground in grounds:  # WCAG 2 AA, contrast of small text
            assert (max(ink, ground) + 0.05) / (min(ink, ground) + 0.05) >= 4.5, name
    drawn = view.evaluate("getComputedStyle(document.querySelector('.plot svg text')).fill")
    assert drawn == view.evaluate("getComputedStyle(document.querySelector('.note')).color")


@pytest.mark.parametrize("width", [400, 700, 1280])
def test_nothing_scrolls_sideways(opened: Any, width: int) -> None:
    view = opened(viewport={"width": width, "height": 800})
    view.locator("li.case summary").first.click()
    view.wait_for_selector("li.case > details[open]")
    assert view.evaluate("document.documentElement.scrollWidth") <= width


def test_three_runs_are_side_by_side_on_a_phone(chromium: Any, tmp_path: Path) -> None:
    runs = [*report(12), RunReport("a-judge-with-a-rather-long-name", evaluation(320))]
    found = [comparison("fennec", run.name) for run in runs[1:]]
    path = tmp_path / "page.html"
    path.write_text(runs_html(runs, found, title="Judges", now="today"), encoding="utf-8")
    view = chromium.new_page(viewport={"width": 400, "height": 800})
    view.goto(path.as_uri())
    view.evaluate("document.querySelector('.folded').open = true")
    assert view.evaluate("document.documentElement.scrollWidth") <= 400
    tops = view.eval_on_selector_all(".versus tbody tr:first-child td", "all => all.map(cell => cell.offsetTop)")
    assert len(tops) == 3
    assert len(set(tops)) == 1
    view.close()


def test_without_scripts_every_case_can_still_be_read(opened: Any) -> None:
    view = opened(java_script_enabled=False)
    view.locator("li.case summary").first.click()
    assert view.locator("li.case > details[open] .candidate").count() == 2
