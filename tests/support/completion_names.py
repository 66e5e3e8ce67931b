"""The names that a shell completes, from registries; `python tests/support/completion_names.py` writes them anew."""

import json
from pathlib import Path
from typing import Any

from dicast.catalog import DATA_SETS
from dicast.cli import compile, distill
from dicast.distillation.bridging.judgment import SETS
from dicast.distillation.presets import PRESETS
from dicast.engines.weights import CATALOG
from dicast.judging import PROGRAMS
from dicast.optimizers import OBJECTIVES
from dicast.preparation.registry import PREPARATIONS
from dicast.registry import Registry
from dicast.reproduction import TABLES

FILE = Path(__file__).parents[2] / "cli" / "known_names.json"
REGISTRIES: dict[str, Registry[Any]] = {
    "judges": PROGRAMS, "preparations": PREPARATIONS, "sets": DATA_SETS, "tables": TABLES, "objectives": OBJECTIVES,
    "presets": PRESETS, "formats": SETS,
}  # fmt: skip


def registered() -> dict[str, list[str]]:
    """The built-in names by kind, those of registries first."""
    others = {
        "models": CATALOG, "prompts": compile._prompt_optimizers(), "preferences": compile._preferences(),
        "cost units": compile._cost_units(), "modes": distill._modes(), "targets": distill._targets(),
    }  # fmt: skip
    return {
        **{kind: list(registry.built_in()) for kind, registry in REGISTRIES.items()},
        **{kind: list(names) for kind, names in others.items()},
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(registered(), indent=1) + "\n")
