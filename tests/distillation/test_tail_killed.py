"""A training of prompts' ends that is killed by SIGKILL goes on with the same losses, wherever it was."""

import json
import os
import signal
import subprocess
import sys

import pytest
from tiny_students import label_rows, tiny_recipe, write_set
from tiny_torch import save_model, torch_or_skip

from dicast.distillation.train import train

pytestmark = [pytest.mark.torch, pytest.mark.fault, pytest.mark.slow]

KILLED = """
import os, signal, sys
from pathlib import Path
from dicast.distillation import kept_prefixes, tail, tail_method
from dicast.distillation.train import train
from dicast.distillation.training_recipe import read_recipe

place, recipe, rows, out = sys.argv[1], *map(Path, sys.argv[2:])

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

if place == "reading":  # keys and values are in their file, and it is not noted yet that they are
    kept_prefixes.KeptPrefixes._write = die
elif place == "saving":  # in the middle of the fourth checkpoint
    whole, saved = tail.TailTraining._save, []
    def save(self, done, optimizer):
        saved.append(done)
        if len(saved) == 4:
            self.torch.save = lambda state, file: (file.write(b"half"), file.flush(), die())
        whole(self, done, optimizer)
    tail.TailTraining._save = save
elif place == "writing":  # after the last step, before the student
    tail.TailStudent.save = die
else:  # the student is whole, its figures are not written
    tail_method.write_whole = die
train(read_recipe(recipe), rows, out)
"""
STEPS = {"reading": [1, 2, 3, 4, 5, 6], "saving": [4, 5, 6], "writing": [], "figures": []}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    torch_or_skip()
    return save_model(tmp_path_factory.mktemp("base") / "llama", "Llama", num_hidden_layers=2)


@pytest.fixture(scope="module")
def recipe(base):
    return tiny_recipe(base, method="tail", save_minutes=1e-9)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return write_set(tmp_path_factory.mktemp("rows") / "set", label_rows(24), label_rows(4, 1))


@pytest.fixture(scope="module")
def whole(recipe, rows, tmp_path_factory):
    """The training that nothing ended."""
    return train(recipe, rows, tmp_path_factory.mktemp("whole") / "out")


def curve(trained):
    """Losses of steps and of validation."""
    lines = map(json.loads, trained.log.read_text().splitlines())
    return [line.get("loss", line.get("log_loss")) for line in lines]


@pytest.mark.parametrize("place", STEPS)
def test_a_killed_training_goes_on_with_the_same_losses(place, recipe, rows, whole, tmp_path):
    (tmp_path / "recipe.yaml").write_text(json.dumps(recipe.model_dump()))
    out = tmp_path / "out"
    command = [sys.executable, "-P", "-c", KILLED, place, str(tmp_path / "recipe.yaml"), str(rows), str(out)]
    ended = subprocess.run(command, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()[-2000:]
    assert (out / "student").is_dir() == (place == "figures")
    steps = []
    trained = train(recipe, rows, out, on_progress=lambda progress: steps.append(progress.step))
    assert steps == STEPS[place]
    assert curve(trained) == pytest.approx(curve(whole), rel=1e-5)
    assert trained.figures.loss == pytest.approx(whole.figures.loss, rel=1e-5)
    assert trained.figures.steps == 6
    assert trained.figures.validation_loss == pytest.approx(whole.figures.validation_loss, rel=1e-5)
    assert not (out / "prefixes").exists()
    assert sorted(path.name for path in out.iterdir()) == sorted(path.name for path in whole.log.parent.iterdir())
