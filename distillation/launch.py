"""A training as a program, for `accelerate launch` on several GPUs.

accelerate launch --config_file "$(python -m dicast.distillation.launch --config)" --num_processes 4 \\
  -m dicast.distillation.launch --recipe recipe.yaml --set SET --out OUT
"""

import argparse
import os
import sys
from importlib.resources import files
from pathlib import Path

from ..errors import DeclarationError, DicastError
from .base_model import open_base
from .memory import check_memory
from .progress import TrainingProgress
from .train import shards, train
from .training_recipe import read_recipe
from .training_set import read_set


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 0, or 3 where the training cannot run."""
    parser = argparse.ArgumentParser(prog="dicast.distillation.launch", description="Train a student.")
    parser.add_argument("--config", action="store_true", help="print the path of the shipped FSDP configuration")
    parser.add_argument("--recipe", type=Path, help="a YAML file with a training recipe")
    parser.add_argument("--set", type=Path, dest="rows", help="the folder of the training set")
    parser.add_argument("--out", type=Path, help="a new folder, or that of the same training")
    parser.add_argument("--dry-run", action="store_true", help="check everything and estimate memory; train nothing")
    options = parser.parse_args(arguments)
    if options.config:
        print(files(__package__) / "fsdp.yaml")  # noqa: T201
        return 0
    if not options.recipe or not options.rows or not options.out:
        parser.error("give --recipe, --set and --out")
    is_main = os.environ.get("RANK", "0") == "0"
    try:
        recipe, processes = read_recipe(options.recipe), os.environ.get("WORLD_SIZE", "1")
        if recipe.method == "tail" and processes != "1":
            raise DeclarationError(
                f"{options.recipe}: the method tail trains in one process, and there are {processes}. Use "
                "--num_processes 1, or method lora."
            )
        if options.dry_run:
            needed = check_memory(recipe, open_base(recipe.base, recipe.template), devices=shards())
            count = read_set(options.rows).card.train.rows
            _say(is_main, f"{count} rows, {recipe.method} of {recipe.base}, {processes} processes: {needed.sentence}")
            return 0
        trained = train(recipe, options.rows, options.out, on_progress=lambda step: _say(is_main, line(step)))
    except DicastError as error:
        sys.stderr.write(f"{error}\n")
        return 3
    _say(is_main, f"{trained.folder}")
    return 0


def line(step: TrainingProgress) -> str:
    """A step in words."""
    speed, left = f"{step.tokens_per_second:,.0f} tokens/s", f"{step.seconds_left / 60:.1f} minutes left"
    return f"step {step.step} of {step.steps}, loss {step.loss:.4f}, {speed}, {left}"


def _say(is_main: bool, text: str) -> None:
    if is_main:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
