"""`dicast evaluate --by` and `dicast report --by`: terminal, JSON and pages show the same figures."""

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from dicast.cli import run


@pytest.fixture
def verdicts(tmp_path: Path) -> Path:
    """120 verdicts of three subsets; in one of them the judge is right in 12 of 40, elsewhere in 32 of 40."""
    rows = [
        {"id": n, "prediction": "a" if n // 3 % 10 < (3 if n % 3 == 0 else 8) else "b", "label": "a"}
        | {"subset": ("<i>hard</i>", "easy", "other")[n % 3]}
        for n in range(120)
    ]
    path = tmp_path / "verdicts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


SUMMARY = "Worst on subset=<i>hard</i>: accuracy 0.300 [0.181, 0.454], 0.500 below the other cases, p < 0.001 (Holm)"


def evaluated(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run(["evaluate", str(path), *options, "--json"]) == 0
    result: dict[str, Any] = json.loads(capsys.readouterr().out)["evaluation"]
    return result


def test_the_terminal_has_a_line_for_each_value(verdicts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["evaluate", str(verdicts), "--by", "subset"]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("By subset")
    table = [line.split() for line in lines[start + 2 : start + 5]]
    assert [row[0] for row in table] == ["<i>hard</i>", "easy", "other"]
    assert table[0][1:6] == ["40", "40", "0.300", "[0.181,", "0.454]"]
    assert lines[start + 6] == SUMMARY


def test_json_has_the_same_figures(verdicts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    subgroups = evaluated(verdicts, capsys, "--by", "subset")["subgroups"]
    (table,) = subgroups["tables"]
    hard = table["rows"][0]
    assert (table["field"], hard["value"], hard["cases"], hard["figure"]["value"]) == ("subset", "<i>hard</i>", 40, 0.3)
    assert hard["difference"]["value"] == pytest.approx(-0.5)
    assert hard["p"] <= hard["p_holm"] < 0.001
    assert subgroups["summary"] == SUMMARY
    assert evaluated(verdicts, capsys)["subgroups"] is None


def test_a_field_that_is_not_there_is_one_line(verdicts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["evaluate", str(verdicts), "--by", "source"]) == 3
    assert capsys.readouterr().err == "dicast: --by source: the run has no such field. It has: subset.\n"


class Texts(HTMLParser):
    """The texts of a page, and its tags."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts, self.tags = list[str](), set[str]()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_pages_have_the_same_figures(verdicts: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name in ("page.html", "page.md"):
        assert run(["report", str(verdicts), "--by", "subset", "--out", str(tmp_path / name)]) == 0
    html = Texts((tmp_path / "page.html").read_text())
    assert f"{SUMMARY}." in html.texts
    assert "Accuracy by subset" in html.texts
    assert "30.0\u202f%" in html.texts
    markdown = (tmp_path / "page.md").read_text()
    assert "| &lt;i>hard&lt;/i> | 30.0 % | 18.1–45.4 | 40 | −50.0 points |" in markdown


def test_a_page_without_fields_has_no_such_part(verdicts: Path, tmp_path: Path) -> None:
    assert run(["report", str(verdicts), "--out", str(tmp_path / "page.md")]) == 0
    assert "Where is it worst?" not in (tmp_path / "page.md").read_text()


@pytest.mark.parametrize(("value", "code"), [("easy", 0), ("<i>hard</i>", 1), ("other", 0)])
def test_a_subgroup_decides_the_exit_code(
    verdicts: Path, capsys: pytest.CaptureFixture[str], value: str, code: int
) -> None:
    requirement = f"accuracy[subset={value}]>=0.6"
    assert run(["evaluate", str(verdicts), "--require", requirement]) == code
    assert f"accuracy[subset={value}] >= 0.6: " in capsys.readouterr().out


def test_a_column_that_was_added_later_is_read_from_the_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As for runs of earlier versions, whose verdicts have no attributes."""
    monkeypatch.chdir(tmp_path)
    rows: list[dict[str, Any]] = [
        {"id": str(n), "query": f"q{n}", "response_a": "long" * (n % 4), "response_b": "short", "label": "a"}
        for n in range(40)
    ]
    cases = tmp_path / "pairs.jsonl"
    cases.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run(["judge", "--judge", "longer", "--cases", "pairs.jsonl", "--out", "runs/longer"]) == 0
    assert run(["evaluate", "runs/longer", "--by", "source"]) == 3
    assert "the run has no such field. It has none" in capsys.readouterr().err
    cases.write_text("".join(json.dumps(row | {"source": "xy"[n % 2]}) + "\n" for n, row in enumerate(rows)))
    (table,) = evaluated(Path("runs/longer"), capsys, "--by", "source")["subgroups"]["tables"]
    assert [(row["value"], row["figure"]["n"]) for row in table["rows"]] == [("x", 20), ("y", 20)]


def test_two_runs_are_compared_on_each_value(
    verdicts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other judge is always right: 28 wrong of 40, 8 of 40, 8 of 40."""
    rows = [json.loads(line) | {"prediction": "a"} for line in verdicts.read_text().splitlines()]
    other = tmp_path / "other.jsonl"
    other.write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ["evaluate", str(verdicts), "--against", str(other), "--by", "subset"]
    capsys.readouterr()
    assert run([*arguments, "--json"]) == 0
    (comparison,) = json.loads(capsys.readouterr().out)["comparisons"]
    tests = {test["name"]: test for test in comparison["subgroups"]}
    assert {name: test["discordant"] for name, test in tests.items()} == {
        "accuracy (subset=<i>hard</i>)": [0, 28], "accuracy (subset=easy)": [0, 8], "accuracy (subset=other)": [0, 8],
    }  # fmt: skip
    easy = tests["accuracy (subset=easy)"]
    assert easy["p"] == pytest.approx(2 / 2**8)  # McNemar's
    assert easy["p_holm"] == pytest.approx(2 * easy["p"])
    assert run(arguments) == 0
    assert "accuracy (subset=easy)         -0.200 [" in capsys.readouterr().out
    page = tmp_path / "page.md"
    assert run(["report", str(verdicts), str(other), "--by", "subset", "--out", str(page)]) == 0
    assert "### Comparisons by field" in page.read_text()
