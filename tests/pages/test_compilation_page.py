"""The page of a compilation: what it says of pairs, texts and choices, of steps left out, and of hostile texts."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from known_judge import SPACE, Known, known_cases

from dicast.cli import run
from dicast.data import Case, Finding, Judged, Usage, Verdict
from dicast.engines.ledger import charge
from dicast.errors import DeclarationError, RunError
from dicast.evaluation.compare import compare
from dicast.evaluation.minimum_detectable_effect import Sensitivity, sensitivity
from dicast.evaluation.results import Measure, PairedTest
from dicast.evaluation.run_arrays import run_arrays
from dicast.judging import build
from dicast.judging.heads import PairHead
from dicast.judging.judge import Judge, verdict_of
from dicast.optimizers.compile import Compiler
from dicast.optimizers.compile_folder import Compilation, PromptSearch, is_compilation, read_compilation
from dicast.optimizers.prompts.prompt_state import Wording
from dicast.optimizers.recipe import Recipe
from dicast.pages import compilation_html, compilation_markdown
from dicast.pages.compile_headline import compile_answers, compile_facts, compile_headline
from dicast.pages.compile_page import PromptChange, commands, prompt_changes
from dicast.pages.plots import chart
from dicast.pages.prompt_diff import pieces
from dicast.stats.power import detectable_difference
from dicast.workflows.reports import write_compilation_page

NOW = "21 November 2026"
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


class Noisy(Judge):
    """Reads the truth with noise, at 2 calls a verdict: scores of texts, or one score an option."""

    name = "noisy"

    def assess(self, case: Case) -> Verdict:
        charge(Usage(calls=2, prompt_tokens=20, completion_tokens=2))
        read = tuple(case.meta["read"])
        return verdict_of(case, [Finding(criterion="overall", scores=read)])


def texts(n: int, seed: int = 0) -> list[Case]:
    rng = np.random.default_rng(seed)
    truth = rng.uniform(1, 5, n)
    return [
        Case.model_validate(
            {
                "id": f"{number:04}",
                "query": f"q{number}",
                "candidates": [{"text": "x" * int(rng.integers(5, 50))}],
                "label": {"values": [float(value)], "lo": 1, "hi": 5},
                "meta": {"read": [float(np.clip(value + rng.normal(), 1, 5))]},
            }
        )
        for number, value in enumerate(truth)
    ]


def choices(n: int, seed: int = 0) -> list[Case]:
    rng = np.random.default_rng(seed)
    found = []
    for number in range(n):
        worth = rng.normal(size=4)
        read = (worth + 0.7 * rng.normal(size=4)).tolist()
        candidates = [{"text": f"{number} option {index}"} for index in range(4)]
        label = {"value": int(worth.argmax())}
        case = {"id": f"{number:04}", "query": f"q{number}", "candidates": candidates, "label": label}
        found.append(Case.model_validate({**case, "meta": {"read": read}}))
    return found


class Markup(HTMLParser):
    """What a browser would see."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A folder of a compilation of each kind, made once: it is only read."""
    made: dict[str, Path] = {}
    space = {name: tuple(values) for name, values in SPACE.items()}
    kinds: dict[str, tuple[Callable[[], Judge], Callable[[], Sequence[Case]], dict[str, Any]]] = {
        "pairs": (Known, lambda: known_cases(160), {"trials": 10, "space": space, "head": False, "risk": 0.4}),
        "bare": (Known, lambda: known_cases(80), {"trials": 0, "head": False, "parts": {
            "train": 0.3, "select": 0.2, "certify": 0, "test": 0.5}}),
        "texts": (Noisy, lambda: texts(80), {"trials": 0, "estimate": "split"}),
        "texts out of fold": (Noisy, lambda: texts(80), {"trials": 0}),
        "choices": (Noisy, lambda: choices(100), {"trials": 0, "risk": 0.5, "estimate": "split"}),
    }  # fmt: skip

    def get(kind: str) -> Path:
        if kind not in made:
            judge, cases, recipe = kinds[kind]
            made[kind] = tmp_path_factory.mktemp(kind)
            given = Recipe.model_validate({"baseline": None, **recipe})
            Compiler(judge(), cases(), made[kind], given).run()
        return made[kind]

    return get


def page_of(one: Compilation) -> str:
    return compilation_html(one, title="t", now=NOW)


def sections(html: str) -> list[str]:
    return re.findall(r'<section id="(\w+)"', html)


def with_prompts(folder: Path, to: Path, instructions: str = "Say which is better, and why.") -> Path:
    """A copy of a compilation whose prompts were searched too, as the step writes it."""
    for path in folder.glob("*.json"):
        (to / path.name).write_bytes(path.read_bytes())
    before = {"instructions": "Say which is better.", "demos": []}
    after = {"instructions": instructions, "demos": [{"text": EVIL}]}
    trials = [
        {"number": number, "stages": {"judge": one}, "judged": 36, "unscored": number, "value": value, "mean": 0.5}
        for number, one, value in ((0, before, 0.6), (1, before, 0.55), (2, after, 0.7), (3, after, None))
    ]
    record = {"chosen": 2, "before": 0.6, "after": 0.7, "stopped": "", "wordings": {"judge": after}, "trials": trials}
    (to / "prompts.json").write_text(json.dumps(record))
    return to


@pytest.mark.slow
def test_a_page_of_pairs_answers_every_question_in_order(folder: Callable[[str], Path]) -> None:
    html = compilation_html(read_compilation(folder("pairs")), title="", now="")
    assert sections(html) == ["test", "calibration", "learnt", "tried", "certificate", "recipe", "cases"]
    assert "Better than the uncompiled judge" in html
    for words in ("uncompiled", "majority", "longer", "Structure trials", "on the Pareto front"):
        assert words in html
    assert html.count('class="marked"') == 2  # the compiled judge, and the structure that was taken


def test_the_verdict_and_the_cost_are_those_of_the_record(folder: Callable[[str], Path]) -> None:
    tested = json.loads((folder("pairs") / "test.json").read_text())
    spent = json.loads((folder("pairs") / "spent.json").read_text())
    figure = tested["comparisons"][0]["tests"][0]["difference"]
    said = " ".join(compile_headline(read_compilation(folder("pairs"))).sentences)
    assert f"On {figure['n']} untouched test cases" in said
    assert f"+{100 * figure['value']:.1f}" in said
    assert f"+{100 * figure['low']:.1f} to +{100 * figure['high']:.1f}" in said
    said = " ".join(compile_facts(read_compilation(folder("pairs"))))
    assert f"{spent['usage']['calls']:,} calls" in said
    assert f"A verdict takes {tested['judges'][-1]['calls']:g} call" in said


def test_texts_are_summarised_by_their_correlation(folder: Callable[[str], Path]) -> None:
    html = compilation_html(read_compilation(folder("texts")), title="", now="")
    assert sections(html) == ["next", "test", "learnt", "recipe"]  # scores have no certainty, and so no certificate
    assert "Spearman of the runs" in html
    assert "What the head weighs" in html
    assert "accuracy" not in re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
    assert "untouched test cases spearman is" in html


@pytest.mark.parametrize(("kind", "times"), [("texts out of fold", 1), ("texts", 1), ("choices", 0), ("pairs", 0)])
def test_only_where_scores_are_out_of_fold_their_order_may_be_that_of_the_folds(
    kind: str, times: int, folder: Callable[[str], Path]
) -> None:
    one = read_compilation(folder(kind))
    words = (
        "The heads of different folds have different intercepts, so Spearman out of fold may fall where the delivered "
        "judge orders the texts as before."
    )
    html = page_of(one)
    assert html.count(words) == compilation_markdown(one, title="t", now=NOW).count(words) == times
    if times:
        title = "What improved" if one.result.estimate == "cross-fitted" else "labels, out of fold"
        assert title in html[: html.index(words)]


def test_choices_have_certainty_and_certificate(folder: Callable[[str], Path]) -> None:
    html = compilation_html(read_compilation(folder("choices")), title="", now="")
    assert sections(html) == ["next", "test", "calibration", "learnt", "certificate", "recipe"]
    assert "nDCG" in html
    threshold = json.loads((folder("choices") / "certificate.json").read_text())["threshold"]
    assert f"threshold {threshold:g} covers" in html  # marked on its curve


def test_a_certificate_of_groups_says_that_they_count_alike(folder: Callable[[str], Path]) -> None:
    one = read_compilation(folder("choices"))
    assert one.certificate is not None
    for groups in (0, 1):
        cases = one.certificate.n + groups  # as many more cases than were used: one of each group is
        changed = replace(one, certificate=one.certificate.model_copy(update={"cases": cases}))
        lines = [answer.line for answer in compile_answers(changed) if answer.question == "What is certified?"]
        assert lines[0].endswith("groups weighted equally") == bool(groups)


def test_steps_that_were_left_out_leave_no_trace(folder: Callable[[str], Path]) -> None:
    html = compilation_html(read_compilation(folder("bare")), title="", now="")
    assert sections(html) == ["next", "test", "calibration", "recipe"]
    assert "Not shown to be better" in html
    assert {one.question for one in compile_answers(read_compilation(folder("bare")))} == {
        "Is it better?",
        "What changed?",
        "Is its certainty to be trusted?",
        "What does it cost?",
    }


def test_prompts_are_shown_with_what_changed(folder: Callable[[str], Path], tmp_path: Path) -> None:
    one = read_compilation(with_prompts(folder("pairs"), tmp_path))
    assert prompt_changes(one) == (PromptChange("judge", "Say which is better.", "Say which is better, and why.", 1),)
    html = page_of(one)
    assert re.search(r"Say which is <del>better\.</del><ins>better, and why\.</ins>", html)
    assert ">1 demo<" in html
    assert "4 prompts were tried" in html
    assert html.count('class="marked"') == 3
    text = compilation_markdown(one, title="t", now=NOW)
    assert "```diff\n-Say which is better.\n+Say which is better, and why.\n```" in text


def test_searches_that_the_budget_left_out_say_so(folder: Callable[[str], Path], tmp_path: Path) -> None:
    for path in folder("bare").glob("*.json"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "structure.json").write_text('{"trials": [], "settings": {}, "summary": [["ended", "budget"]]}')
    (tmp_path / "prompts.json").write_text('{"chosen": 0, "trials": [], "stopped": "budget", "wordings": {}}')
    html = compilation_html(read_compilation(tmp_path), title="", now="")
    assert html.count("search was not started: the test needed the rest of the budget") == 2
    assert sections(html) == ["next", "test", "calibration", "tried", "recipe"]


def test_no_text_becomes_markup(folder: Callable[[str], Path], tmp_path: Path) -> None:
    one = read_compilation(with_prompts(folder("pairs"), tmp_path, instructions=EVIL))
    assert one.structure is not None
    assert isinstance(one.prompts, PromptSearch)
    start, *others = (trial.model_copy(update={"detail": EVIL}) for trial in one.structure.trials)
    start = start.model_copy(update={"settings": start.settings | {EVIL: "b"}})
    others = [trial.model_copy(update={"settings": trial.settings | {EVIL: EVIL}}) for trial in others]
    first, *rest = one.prompts.trials
    first = first.model_copy(update={"stages": first.stages | {EVIL: Wording(instructions=EVIL + "a")}})
    after = {EVIL: Wording(instructions=EVIL + " b", demos=({"text": EVIL},))}
    rest = [trial.model_copy(update={"stages": trial.stages | after}) for trial in rest]
    wordings = one.prompts.wordings | after
    evil = replace(
        one,
        identity={**one.identity} | {"judge": EVIL, "lm": EVIL, "settings": {EVIL: EVIL}},
        head=PairHead(fitted=EVIL, n=9, weights={EVIL: 1.0}, intercept=0.0, threshold={EVIL: -1.0}),
        structure=one.structure.model_copy(update={"trials": (start, *others)}),
        prompts=one.prompts.model_copy(update={"trials": (first, *rest), "wordings": wordings}),
        judge_path=Path(EVIL),
    )
    html = compilation_html(evil, title=EVIL, now=NOW)
    tags = Markup(html).tags
    assert "script" not in {tag for tag, _ in tags}
    assert "img" not in {tag for tag, _ in tags}
    assert not any(name.startswith("on") for _, attributes in tags for name in attributes)
    assert html.count("onerror=alert(2)&gt;") > 8  # the texts themselves are there to be read
    text = re.sub(r"(`+)[^`].*?\1", "", compilation_markdown(evil, title=EVIL, now=NOW), flags=re.DOTALL)
    assert "<img" not in text
    assert "<script" not in text


@pytest.mark.parametrize("kind", ["pairs", "texts", "choices", "bare"])
def test_the_page_opens_offline(folder: Callable[[str], Path], kind: str) -> None:
    html = compilation_html(read_compilation(folder(kind)), title="", now="")
    tags = Markup(html).tags
    assert not re.search(r"https?://|@import|url\((?!#)", html)
    links = [value for _, attributes in tags for name, value in attributes.items() if name in ("src", "href")]
    assert all(link == "data:," or (link or "").startswith("#") for link in links)
    policy = next(a["content"] or "" for _, a in tags if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy
    assert ("script-src 'sha256-" in policy) == (kind == "pairs")  # where verdicts changed
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    targets = {value for _, attributes in tags for name, value in attributes.items() if name.endswith("href")}
    named = {(target or "").removeprefix("#").partition("?")[0] for target in targets if target != "data:,"}
    assert named <= set(ids)


def test_the_same_folder_gives_the_same_bytes(folder: Callable[[str], Path]) -> None:
    one = read_compilation(folder("pairs"))
    assert page_of(one) == page_of(read_compilation(folder("pairs")))


def test_markdown_has_tables_of_equal_width(folder: Callable[[str], Path]) -> None:
    for kind in ("pairs", "texts", "choices", "bare"):
        text = compilation_markdown(read_compilation(folder(kind)), title="t", now=NOW)
        assert text.startswith("# t\n")
        for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_the_judge_file_gives_head_versions_and_commands(folder: Callable[[str], Path], tmp_path: Path) -> None:
    from dicast.judging.judge_file import save

    for path in folder("pairs").glob("*.json"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    judge = build("longer")
    judge.head = PairHead(fitted="letters", n=9, weights={"letters": 2.0}, intercept=-1.0, threshold={"spread": 0.5})
    save(judge, tmp_path / "longer.judge.json")
    one = read_compilation(tmp_path)
    assert one.head is not None
    html = page_of(one)
    assert "how far the model&#39;s letters lean to A, averaged over both orders" in html
    assert "9 to 1 counts as 81 to 1" in html
    assert "Ties: 18.2\u202f% of cases where the evidence leans to neither side whose other evidence" in html
    assert re.search(r"versions</span></th>\s*<td.*dicast \d", html)
    assert any(command.startswith("dicast judge --judge") for command, _ in commands(one))
    assert "ties by spread" in html


# the command


def test_report_takes_a_compilation(folder: Callable[[str], Path], tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "page.html"
    assert run(["report", str(folder("texts")), "--out", str(out), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record == {"out": str(out), "compilation": str(folder("texts")), "bytes": out.stat().st_size}
    assert "<h1 dir=\"auto\">noisy, compiled</h1>" in out.read_text()  # fmt: skip
    assert run(["report", str(folder("texts")), "--out", str(tmp_path / "page.md"), "--title", "Mine"]) == 0
    assert (tmp_path / "page.md").read_text().startswith("# Mine\n")


def test_a_mixture_of_runs_and_compilations_is_refused(folder: Callable[[str], Path], capsys: Any) -> None:
    evidence = next((folder("texts") / "evidence").glob("test-*"))
    assert run(["report", str(evidence), str(folder("texts"))]) == 3
    assert "is a compilation, and 1 more were given with it. Give it alone" in capsys.readouterr().err


def test_a_compilation_that_was_stopped_says_how_to_go_on(folder: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "compile.json").write_bytes((folder("texts") / "compile.json").read_bytes())
    assert is_compilation(tmp_path)
    with pytest.raises(RunError, match="has not reached its test. Give the same dicast compile to continue it"):
        read_compilation(tmp_path)
    (tmp_path / "test.json").write_text('{"objective": ')
    with pytest.raises(RunError, match=r"test.json: is not JSON"):
        read_compilation(tmp_path)
    (tmp_path / "test.json").write_text('{"objective": "accuracy"}')
    with pytest.raises(RunError, match=r"test.json: is damaged"):
        read_compilation(tmp_path)


def test_a_folder_of_another_version_says_what_still_works(folder: Callable[[str], Path], tmp_path: Path) -> None:
    for path in folder("texts").glob("*.json"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    content = json.loads((tmp_path / "compile.json").read_text())
    (tmp_path / "compile.json").write_text(json.dumps(content | {"format": 1}))
    message = r"another version of dicast compiled this \(format 1; this version reads format 2\). Its judge file can"
    with pytest.raises(RunError, match=message):
        read_compilation(tmp_path)
    with pytest.raises(RunError, match=message + " still be used. Give another --out, or delete the folder"):
        Compiler(Noisy(), texts(80), tmp_path, Recipe(baseline=None, trials=0, estimate="split"))


def test_the_page_is_written_into_the_folder_or_an_error_says_what_is_missing(
    folder: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in folder("texts").glob("*.json"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    assert write_compilation_page(tmp_path).path == tmp_path / "report.html"
    assert "<!doctype html>" in (tmp_path / "report.html").read_text()

    def absent(module: str) -> None:
        raise ModuleNotFoundError(module)

    monkeypatch.setattr(chart, "import_module", absent)
    with pytest.raises(DeclarationError, match=r"pip install '"):
        write_compilation_page(tmp_path)


# what a test could have shown


def runs(counts: tuple[int, int, int, int], each: int = 1) -> PairedTest:
    """The accuracy test of two runs: both right, the first alone, the second alone, neither; `each` of one group."""
    sides = [(True, True), (True, False), (False, True), (False, False)]
    result = [side for side, n in zip(sides, counts, strict=True) for _ in range(n)]
    judged = [[], []]  # type: ignore[var-annotated]
    for number, rights in enumerate(result):
        for side, right in zip(judged, rights, strict=True):
            winner = "a" if right else "b"
            side.append(
                {"case_id": str(number), "winner": winner, "label": {"value": "a"}, "group": f"g{number // each}"}
            )
    taken = [run_arrays([Judged.model_validate(one) for one in side]) for side in judged]
    return compare([("first", taken[0]), ("second", taken[1])])[0].tests[0]


def test_sensitivity_is_that_of_mcnemars_test() -> None:
    # 20 of 100 discordant: McNemar's exact test has 80 % power at a difference of .135 (tests/stats/test_power.py).
    found = sensitivity(runs((60, 15, 5, 20)))
    assert found is not None
    assert found.detectable == pytest.approx(detectable_difference(100, 0.2))
    assert found.detectable == pytest.approx(0.135, abs=0.02)


def test_groups_of_copies_show_what_their_number_shows() -> None:
    alone, fourfold = sensitivity(runs((60, 15, 5, 20))), sensitivity(runs((240, 60, 20, 80), each=4))
    assert alone is not None
    assert fourfold is not None
    assert fourfold.detectable == pytest.approx(alone.detectable, rel=0.06)  # 400 labels are worth 100


def test_sensitivity_of_a_correlation_is_that_of_its_interval() -> None:
    figure = Measure(name="spearman", value=0.05, low=-0.05, high=0.15, n=100, null_value=0.0)
    found = sensitivity(PairedTest(name="spearman", difference=figure, p=0.33))
    assert found is not None
    error = 0.1 / 1.9842  # Student's quantile of 99 degrees of freedom; of 80 % power 0.8453
    assert found.detectable == pytest.approx((1.9842 + 0.8453) * error, abs=1e-4)
    # Groups of unequal size, worth 10: 9 degrees of freedom have 2.2622 and 0.8834.
    few = figure.model_copy(update={"groups": 50, "effective_groups": 10.0})
    found = sensitivity(PairedTest(name="spearman", difference=few, p=0.33))
    assert found is not None
    assert found.detectable == pytest.approx((2.2622 + 0.8834) * 0.1 / 2.2622, abs=1e-4)


def test_five_groups_can_show_nothing_and_six_little() -> None:
    """However many cases they have: exchanged whole, five groups have no p-value below 1/16, six none below 1/32."""
    five = runs((120, 30, 10, 40), each=40)
    assert five.p is not None
    assert five.p >= 1 / 16
    assert sensitivity(five) == Sensitivity(None, 6)
    assert five.note.endswith("5 groups are too few to show any difference, 6 the fewest that can")
    six = runs((120, 40, 35, 45), each=40)
    assert sensitivity(six) == Sensitivity(None)  # enough for a p-value of 1/32, not for a power of 80 %
    assert six.note.endswith("these labels are too few to show any difference")


def test_no_number_of_labels_is_said_to_show_an_uncertain_difference() -> None:
    """With a true .04 in 45 groups the number ran from 640 to 15,600 labels (10 to 90 %)."""
    inconclusive = runs((120, 15, 12, 53))
    assert inconclusive.p is not None
    assert inconclusive.p > 0.05
    found = sensitivity(inconclusive)
    assert found is not None
    assert found.detectable is not None
    words = f"these labels show a difference of {found.detectable:.3f} or more, with 80 % power"
    assert inconclusive.note == f"McNemar, exact; {words}"


def test_what_cannot_be_counted_is_left_out() -> None:
    assert sensitivity(runs((60, 0, 0, 40))) is None  # never differed
    few = sensitivity(runs((0, 3, 0, 1)))
    assert few is not None
    assert few.detectable is None
    same = Measure(name="same verdict", value=0.9, low=0.8, high=0.95, n=100)
    assert sensitivity(PairedTest(name="same verdict", difference=same)) is None


# wordings


def test_a_change_is_marked_word_by_word_and_nothing_is_lost() -> None:
    before, after = "Compare A and B.\nSay which is better.", "Compare A with B.\nSay which is better, briefly."
    result = pieces(before, after)
    assert "".join(one.text for one in result if one.kind != "added") == before
    assert "".join(one.text for one in result if one.kind != "removed") == after


def test_texts_that_have_little_in_common_are_shown_one_after_the_other() -> None:
    assert [one.kind for one in pieces("Say which is better.", "Grade both, then subtract.")] == ["removed", "added"]
    assert pieces("", "New.")[0].kind == "added"
