"""Any arguments: a verb works, or says in clear words what is wrong; no argument is an unexpected error."""

import json
import random
from pathlib import Path

import click
import pytest

from dicast.cli import COMMANDS, group, run

ROW = {"query": "q", "response_a": "longer", "response_b": "x", "label": "a"}
FILES = (
    "bin",
    "bin.judge.json",
    "bin.yaml",
    "bin.csv",
    "bin.jsonl",
    "bin.jsonl.gz",
    "bin.gguf",
)  # bytes of every value
VALUES = (
    *("", "\udcff", "x" * 5000, "é" * 300, "/", "/dev/null", "d", "d/p", "pairs.jsonl/x", "../..", "~nobody/x"),
    *("-1", "0", "1e999", "nan", "[/x]", "[", "{", "{}", "[" * 200, "a=b", "=", "a=", "=b", "judge=", ">="),
    *("1..5", "5..1", "nan..nan", "1e999..2e999", "calls=1", "calls=x", "accuracy>=0.5", "accuracy>=nan"),
    *("longer", "local/", "openai/", "openai/m@http://127.0.0.1:9/v1", "missing.yaml", "pairs.jsonl", *FILES),
)
RUNS = 300


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_odd_arguments_are_no_unexpected_error(tmp_path, monkeypatch, capsys, seed):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    for source in ("reach_hub", "unzip_wheel"):  # else a judge without --lm fetches the default model, 1.1 GB
        monkeypatch.setattr(f"dicast.engines.weights.{source}", no_network)
    Path("pairs.jsonl").write_text((json.dumps(ROW) + "\n") * 3)
    Path("d").mkdir()
    for name in FILES:
        Path(name).write_bytes(bytes(range(256)) * 4)
    sample = random.Random(seed)
    for _ in range(RUNS):
        arguments = arguments_of(sample)
        code = run(arguments)
        out, error = capsys.readouterr()
        assert code in (0, 1, 2, 3), arguments
        assert "unexpected error" not in error, (arguments, error)
        assert "Traceback" not in error, (arguments, error)
        assert code != 3 or error or out, arguments
    assert not (tmp_path / "home" / "crashes").exists()


def no_network(*_: object) -> None:
    raise OSError("no network in this test")


def arguments_of(sample: random.Random) -> list[str]:
    """A verb with odd values; some options have usual ones, so that the verb comes as far as it can."""
    name = sample.choice([name for name in COMMANDS if name != "demo"])
    command, arguments = group.get_command(click.Context(group), name), [name]
    if isinstance(command, click.Group):
        arguments.append(sample.choice([verb for verb in command.commands if verb != "get"]))
        command = command.commands[arguments[-1]]
    assert command is not None
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            arguments.append(sample.choice(VALUES))
        elif isinstance(parameter, click.Option) and (parameter.required or sample.random() < 0.12):
            arguments.append(max(parameter.opts, key=len))
            arguments += [] if parameter.is_flag else [sample.choice(VALUES)]
    if "--cases" in arguments and sample.random() < 0.7:
        arguments[arguments.index("--cases") + 1] = "pairs.jsonl"
    return [*arguments, "--judge", "longer"] if name == "judge" and sample.random() < 0.7 else arguments
