"""A judge by its name: a program of ours or of another package, a `.yaml` file, or a `.judge.json` file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import DeclarationError
from .judge import Judge
from .judge_file import load
from .panel import Panel
from .registry import JUDGE_SUFFIX, is_judge_file, new_judge
from .yaml_judge import read_judge


def build(name: str | Path, **settings: Any) -> Judge:
    """A new judge of a registered program, of another package's, of a YAML file, or of a judge file.

    Args:
        settings: structural parameters, as in `branches=3, readout="probability"`.

    Raises:
        DeclarationError: an unknown program, a file that holds no judge, an unknown parameter, or a value that it
            cannot take.
    """
    if not isinstance(name, str | Path):
        raise DeclarationError(f"judge: {name!r} is no judge. Give a name of dicast list, or a file.")
    name = str(name)
    if not is_judge_file(name):
        return new_judge(name).set(**settings)
    judge = load(name) if name.endswith(JUDGE_SUFFIX) else read_judge(name)
    return judge.set(**settings)


def build_panel(
    name: str, models: Sequence[str] = (), *, samples: int = 1, pool: str = "majority", **settings: Any
) -> Panel:
    """A panel of one program with a member for each model string; without any, one member that is bound later.

    Args:
        models: `provider/model`, or `role=provider/model,...`, one for each member.
        samples: how often each member judges.
        pool: "mean", "median", "majority" or "probability".
    """
    members = [build(name, **settings).bind(model) for model in models] or [build(name, **settings)]
    return Panel(members, pool=pool, samples=samples)
