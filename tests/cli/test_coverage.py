"""No case, nothing scored and too little scored are 3 with one line, and an error in Python; the verdicts are kept."""

import gzip
import json

import pytest

import dicast
from dicast.cli import run
from dicast.data import Judged
from dicast.errors import DataError, DeclarationError, RunError
from dicast.testing import MockServer
from dicast.workflows import Coverage

HEADER = "query,response_a,response_b,label\n"
EMPTY = {"empty.jsonl": "", "blank.jsonl": "\n\n  \n", "header.csv": HEADER, "empty.csv": ""}
NO_ROW = "there is no row. Export it again, with a header and a row for each case."


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    rows = [{"query": f"q{n}", "response_a": "longer", "response_b": "short", "label": "a"} for n in range(4)]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.parametrize(
    "command",
    [
        ["judge", "--judge", "longer"],
        ["judge", "--judge", "direct", "--dry-run"],
        ["prepare", "--with", "summarise", "--out", "p.jsonl", "--lm", "openai/m"],
    ],
    ids=["judge", "dry run", "prepare"],
)
def test_no_case_is_one_line_and_three(folder, capsys, name, command):
    (folder / name).write_text(EMPTY[name])
    assert run([*command, "--cases", name]) == 3
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert err == f"dicast: --cases {name}: {NO_ROW}\n"


@pytest.mark.parametrize("name", EMPTY)
def test_check_says_that_a_file_has_no_row_and_what_to_do(folder, capsys, name):
    (folder / name).write_text(EMPTY[name])
    assert run(["check", "--cases", name, "--json"]) == 3
    data = json.loads(capsys.readouterr().out)[-1]
    assert (data["name"], data["ok"]) == (f"data {name}", False)
    assert data["text"] == f"--cases {name}: {NO_ROW}"


def test_check_says_that_the_options_leave_no_case(folder, capsys):
    assert run(["check", "--cases", "pairs.jsonl", "--max-chars", "1", "--json"]) == 3
    text = json.loads(capsys.readouterr().out)[-1]["text"]
    assert text == "--cases pairs.jsonl: holds no case, or none that the options leave. Give others."


def test_an_empty_parquet_file_is_one_line_and_three(folder, capsys):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {name: arrow.array([], arrow.string()) for name in HEADER.strip().split(",")}
    parquet.write_table(arrow.table(columns), folder / "empty.parquet")
    assert run(["judge", "--judge", "longer", "--cases", "empty.parquet"]) == 3
    assert "empty.parquet: there is no row. Export it again" in capsys.readouterr().err


def test_a_truncated_gzip_file_is_no_interrupt(folder, capsys):
    (folder / "cut.jsonl.gz").write_bytes(gzip.compress((folder / "pairs.jsonl").read_bytes())[:-12])
    assert run(["judge", "--judge", "longer", "--cases", "cut.jsonl.gz"]) == 3
    assert "stopped." not in capsys.readouterr().err


def test_python_raises_for_no_case(folder):
    (folder / "empty.jsonl").write_text("")
    with pytest.raises(DataError, match="there is no row"):
        dicast.run("longer", "empty.jsonl", out="out")
    with pytest.raises(DataError, match="there is no row"):
        dicast.run("longer", [], out="out2")


def test_nothing_scored_is_three_with_the_most_frequent_reason(folder, capsys):
    with MockServer(faults={"400": 1.0}) as server:
        arguments = ["judge", "--cases", "pairs.jsonl", "--out", "out", "--lm", f"openai/m@{server.url}"]
        assert run(arguments) == 3
    out, err = capsys.readouterr()
    assert "coverage  0.000" in out
    assert err.startswith(
        "dicast: out: none of 4 cases is scored (4 infrastructure; the first infrastructure: stage 'j"
    )
    assert len(err.splitlines()) == 1
    assert run(["evaluate", "out"]) == 3
    assert "none of 4 cases is scored" in capsys.readouterr().err
    with pytest.raises(RunError, match="none of 4 cases is scored"):
        dicast.workflows.open_run("out").require_coverage()


def test_coverage_below_the_minimum_is_three(folder, capsys):
    assert run(["judge", "--judge", "longer", "--cases", "pairs.jsonl", "--out", "out", "--min-coverage", "1"]) == 0
    lines = [json.loads(line) for line in (folder / "out" / "verdicts.jsonl").read_text().splitlines()]
    lines[0] |= {"status": "unscored", "reason": "parse_failure", "detail": "half an answer", "winner": None}
    lines[0] |= {"scores": None, "distribution": None, "certainty": None, "consistent": None}
    (folder / "out" / "verdicts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    capsys.readouterr()
    assert run(["evaluate", "out", "--min-coverage", "0.75"]) == 0
    assert run(["evaluate", "out", "--min-coverage", "0.8"]) == 3
    error = capsys.readouterr().err
    assert error.startswith("dicast: out: 3 of 4 cases are scored, a coverage of 0.750, and 0.8 is required")
    assert "(1 parse_failure; the first parse_failure: half an answer)" in error


def test_coverage_counts_reasons_and_shows_the_most_frequent():
    def judged(status: str, reason: str | None = None, detail: str = "") -> Judged:
        winner = "a" if status == "scored" else None
        return Judged.model_validate(
            {"case_id": "1", "status": status, "reason": reason, "detail": detail, "winner": winner}
        )

    verdicts = [judged("unscored", "refusal", "no"), judged("scored"), judged("abstained")]
    verdicts += [judged("unscored", "infrastructure", "x" * 1000)] * 2
    coverage = Coverage.of(verdicts)
    assert (coverage.cases, coverage.scored, coverage.proportion) == (5, 1, 0.2)
    assert coverage.reasons == {"infrastructure": 2, "refusal": 1, "abstained": 1}
    coverage.require(0.2, "x")
    with pytest.raises(RunError, match="x{300} \\.\\.\\."):
        coverage.require(0.21, "x")
    with pytest.raises(DeclarationError, match=r"min_coverage: 1\.5"):
        coverage.require(1.5, "x")
    Coverage.of([judged("abstained")]).require(0, "x")  # a judge may abstain from all


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["judge", "--judge", "longer", "--min-coverage", "nan"], "'nan' is not a number"),
        (["judge", "--judge", "longer", "--timeout", "NaN"], "'NaN' is not a number"),
        (["judge", "--judge", "longer", "--out", ""], "'--out': the name is empty"),
        (["prepare", "--with", "anonymise", "--out", ""], "'--out': the name is empty"),
        (["cascade", "longer", "--out", ""], "'--out': the name is empty"),
    ],
)
def test_no_number_and_no_name_are_refused_before_anything_is_read(folder, capsys, options, message):
    before = set(folder.iterdir())
    assert run([*options, "--cases", "pairs.jsonl"]) == 3
    assert message in " ".join(capsys.readouterr().err.split())
    assert set(folder.iterdir()) == before


def test_one_case_is_a_case():
    with pytest.raises(RunError, match=r"^x: none of 1 case is prepared \(1 refusal\)"):
        Coverage(1, 0, {"refusal": 1}).require(0, "x", done="prepared")
    with pytest.raises(RunError, match=r"^x: 1 of 8 cases is scored, a coverage"):
        Coverage(8, 1, {"refusal": 7}).require(0.5, "x")
