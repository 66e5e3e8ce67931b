"""Every script of benchmarks/ starts: it is imported, and `--help` shows its options."""

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py"))
SCRIPTS = [name for name in NAMES if "__main__" in (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", NAMES)
def test_every_module_is_imported(name: str) -> None:
    assert importlib.import_module(f"dicast.benchmarks.{name}")


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_shows_its_help(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--help"])
    with pytest.raises(SystemExit) as ended:
        importlib.import_module(f"dicast.benchmarks.{name}").main()
    assert ended.value.code == 0
    assert f"usage: {name}.py" in capsys.readouterr().out
