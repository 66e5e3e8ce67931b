"""Three first users, from the file that they have to what they want, with nothing but what the documentation says.

The model is a server on loopback that sees the quality of a reply, with noise and a liking for the first place.
"""

import csv
import io
import json
import sys
from pathlib import Path

import pytest
from support_desk import desk_server, pair_rows, save_csv, save_xlsx, score_rows, verdict_rows

from dicast.cli import run


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("DICAST_LM", raising=False)


class Shell:
    """Runs commands as a user types them, and keeps what they said.

    Attributes:
        typed: every command so far.
        out: standard output of the last one, as one line.
        err: standard error of the last one.
    """

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys
        self.typed: list[str] = []
        self.out = self.err = ""

    def __call__(self, command: str) -> int:
        self.typed.append(command)
        self.capsys.readouterr()
        words = command.split()
        assert words[0] == "dicast"
        code = run(words[1:])
        out, self.err = self.capsys.readouterr()
        self.out = " ".join(out.split())
        assert "Traceback" not in self.err
        return code


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.mark.slow
def test_a_support_desk_goes_from_its_export_to_a_judge_it_can_trust(shell: Shell) -> None:
    """300 pairs, three colleagues' columns, semicolons, cp1252; a month later 60 with labels and 20 without."""
    rows = pair_rows(380)
    save_csv(Path("support.csv"), rows[:300], mark=";", encoding="cp1252")
    save_csv(Path("march.csv"), rows[300:360], mark=";", encoding="cp1252")
    unlabelled = [{k: v for k, v in row.items() if k not in ("anna", "ben", "chloe")} for row in rows[360:]]
    save_csv(Path("new.csv"), unlabelled)
    with desk_server() as server:
        assert shell(f"dicast init support.csv --lm {server.model_string('desk')}") == 0
        assert 'support.csv: 300 rows, 8 columns, cp1252 (as in "Zürich")' in shell.out
        assert "people: 300 cases have several votes; all agree in" in shell.out
        assert shell("dicast check") == 0
        assert "to be shown with an 80 % chance" in shell.out
        assert shell("dicast compile direct") == 0
        assert shell.out.startswith("Same verdicts; its certainty can now be trusted: log-loss ")
        assert "labels, each judged by a head that was fitted without its group: accuracy" in shell.out
        assert "human ceiling" in shell.out
        assert "Next: " in shell.out
        asked = len(server.requests)
        judge = "compiled/direct-support/direct.judge.json"
        assert shell(f"dicast judge --judge {judge} --cases march.csv --out runs/march") == 0
        assert "march.csv has the columns of support.csv and is read in the same way" in shell.err
        assert shell(f"dicast judge --judge {judge} --cases new.csv --out runs/new") == 0
        assert len(server.requests) == asked + 4 * 80
    assert shell("dicast evaluate runs/march") == 0
    assert "accuracy" in shell.out
    assert "human ceiling" in shell.out
    assert shell("dicast report runs/march --out march.html") == 0
    assert shell("dicast export runs/new --out new-verdicts.csv") == 0
    with Path("new-verdicts.csv").open(encoding="utf-8-sig", newline="") as file:
        table = list(csv.DictReader(file))
    assert [row["case_id"] for row in table] == [row["ticket"] for row in unlabelled]
    assert all(0.5 <= float(row["certainty"]) <= 1 for row in table if row["winner"] != "tie")
    assert {path.name for path in Path("compiled/direct-support").iterdir()} >= {"direct.judge.json", "report.html"}
    assert Path("march.html").stat().st_size > 10_000
    assert len(shell.typed) == 8
    assert not any(option in command for command in shell.typed for option in ("--fields", "--values", "--encoding"))


def test_a_researcher_gets_a_table_of_scores_from_a_workbook_with_a_row_a_rater(shell: Shell) -> None:
    """60 texts, three raters; a table of two judges, and the same project from Python."""
    pytest.importorskip("openpyxl")
    save_xlsx(Path("ratings.xlsx"), score_rows(60))
    Path("table.yaml").write_text(
        "title: two judges of replies\n"
        "sets:\n  replies: {cases: ratings.xlsx}\n"
        "runs:\n"
        "  one question: {judge: direct, sets: [replies]}\n"
        "  longer text: {judge: longer, sets: [replies]}\n"
        "measures: [spearman, kendall]\n"
    )
    with desk_server() as server:
        assert shell(f"dicast init ratings.xlsx --lm {server.model_string('paper')}") == 0
        assert "180 rows are 60 cases, by rater (3 annotators); joined by item_id" in shell.out
        assert "scale: 1..5" in shell.out
        assert shell("dicast experiment run table.yaml --dry-run") == 0
        assert server.requests == []
        assert shell("dicast experiment run table.yaml") == 0
        assert len(server.requests) == 60
    experiment = json.loads(Path("runs/experiments/table/experiment.json").read_text())
    assert "cell measure printed (by system) ours [95 % CI] n" in shell.out
    for cell in ("one question spearman", "one question kendall", "longer text spearman", "longer text kendall"):
        assert f"{cell} - 0." in shell.out
    assert experiment["name"] == "table"
    assert len(shell.typed) == 3
    import dicast

    run_of_python = dicast.run("longer", "ratings.xlsx", out="runs/python")
    assert len(list(run_of_python)) == 60  # read as dicast.toml says
    assert run_of_python.evaluate().measure("human ceiling") is not None


@pytest.mark.slow
def test_a_platform_engineer_gets_a_gate_from_pass_and_fail_in_a_pipe(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """120 replies that one person passed or failed; rows on standard input, exit codes, a table for others."""
    text = save_csv(Path("passfail.csv"), verdict_rows(120)).read_text()

    def pipe() -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    with desk_server() as server:
        monkeypatch.setenv("DICAST_LM", server.model_string("gate"))
        assert shell("dicast init passfail.csv") == 0
        assert "Pass is the positive one" in shell.out
        pipe()
        assert shell("dicast judge --judge direct --cases - --out runs/piped") == 0
        assert "standard input has the columns of passfail.csv and is read in the same way" in shell.err
        asked = len(server.requests)
        assert shell("dicast judge --judge direct --out runs/gate --min-coverage 0.95 --budget calls=1000") == 0
        assert len(server.requests) == asked  # the same questions cost nothing
        for required, code in (("accuracy>=0.7", 0), ("accuracy>=0.99", 1), ("accuracy>=0.88", 2)):
            assert shell(f"dicast evaluate runs/gate --require {required} --min-coverage 0.95") == code
            assert shell.out.endswith(": holds") == (code == 0)
    save_csv(Path("new.csv"), verdict_rows(5, seed=9))
    assert shell("dicast judge --judge direct --cases new.csv --out runs/gone --min-coverage 0.95") == 3
    assert "nothing answers at" in shell.err  # the server has gone: no green build
    assert shell("dicast report runs/gate --out report.html") == 0
    assert shell("dicast export runs/gate --out verdicts.jsonl") == 0
    lines = [json.loads(line) for line in Path("verdicts.jsonl").read_text().splitlines()]
    assert (len(lines), {line["label"] for line in lines}) == (120, {"Pass", "Fail"})
    assert Path("report.html").is_file()
