"""The table of docs/results/programs.md: every program has a row, every row is a command, the figures add up."""

import shlex
from pathlib import Path

import pytest

from dicast.benchmarks import programs
from dicast.catalog import DATA_SETS
from dicast.cli.judge import command
from dicast.judging import PROGRAMS, build

ROOT = Path(__file__).parents[2]


def test_every_program_has_a_row() -> None:
    assert {shlex.split(arguments)[1] for arguments in programs.ROWS.values()} == set(PROGRAMS.built_in())


@pytest.mark.parametrize("arguments", programs.ROWS.values(), ids=programs.ROWS)
def test_every_row_names_a_known_set_and_known_parameters(arguments: str) -> None:
    context = command.make_context("judge", shlex.split(arguments))
    given = context.params
    assert given["source"] in DATA_SETS
    settings = given["settings"] | {
        name: given[name] for name in ("readout", "order", "branches") if given[name] is not None
    }
    assert build(given["name"], **settings).settings().items() >= settings.items()


def test_a_run_of_a_baseline_becomes_a_line_of_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(programs.ROWS, "authored-longer", "--judge longer --cases authored")
    programs.run("authored-longer", programs.ROWS["authored-longer"], tmp_path, "no/model")
    row = programs.measured("authored-longer", tmp_path / "authored-longer")
    assert (row["judge"], row["n"], row["scored"], row["calls"], row["mass"]) == ("longer", 48, 48, 0, None)
    line = programs.table([row]).splitlines()[2]
    assert line.startswith("| authored-longer | `longer` | 48 | 48 | 0.")
    assert line.endswith("| - | - | 0.0 | 0.0 | 0.0 |")
    assert not programs.has_verdicts(tmp_path / "nothing")
