"""The record that the demo reads: no question of the demo's compilation is missing, whatever the prompts are today."""

import pytest

from dicast import catalog
from dicast.cli import demo
from dicast.engines import models
from dicast.engines.gguf import ModelShape
from dicast.engines.lm import Transport
from dicast.engines.model_string import DEFAULT_MODEL
from dicast.engines.providers.local import LocalEngine
from dicast.engines.states import kept, llama_cpp
from dicast.workflows.recorded_evidence import answers_in, record_of

STALE = "the record lacks an answer. Make it again, as CONTRIBUTING.md says"


class NoModel:
    def complete(self, *_):
        pytest.fail(STALE)


@pytest.fixture
def no_weights(monkeypatch, tmp_path):
    """The model of the demo without its weights: its identity, and nothing that answers."""

    def connect(self, model, *, trusted):
        return Transport(NoModel(), wire_model=model.model, pricing=None, schema=True)

    monkeypatch.setattr(LocalEngine, "connect", connect)
    monkeypatch.setattr(LocalEngine, "prepare", lambda *_: None)
    monkeypatch.setattr(models, "_lms", {})
    monkeypatch.setattr(kept, "_readers", {})
    monkeypatch.setattr(llama_cpp, "weights_file", lambda model: tmp_path / "no-weights")
    monkeypatch.setattr(llama_cpp, "model_shape", lambda path: ModelShape("qwen2", 28, 1536, 32768))
    monkeypatch.setattr(llama_cpp.LlamaReader, "prepare", lambda self: None)
    monkeypatch.setattr(llama_cpp.LlamaReader, "read", lambda *_: pytest.fail(STALE))


def test_the_compilation_of_the_demo_asks_nothing_and_improves(no_weights, tmp_path):
    with answers_in(tmp_path / "answers", record_of(demo.SET)):
        run = demo.compilation_of(DEFAULT_MODEL, tmp_path / "compiled")
    assert run.compiled is not None
    spent = run.compiled.training["spent"]["usage"]
    assert spent["calls"] == 0
    assert spent["cached"] > 0
    test = run.compiled.result.test_against(demo.asked_once().title)
    assert test.difference.low > 0
    assert test.p < 0.05
    compiled = run.compiled.result.compiled.evaluation.measure("accuracy")
    longer = next(measure for measure in run.compiled.result.reference_measures if measure.name == "longer")
    assert compiled.value > longer.value


def test_the_record_is_small_and_of_the_packaged_pairs():
    files = {path.name: path.stat().st_size for path in record_of(demo.SET).iterdir()}
    assert set(files) == {"README.md", "answers.sqlite", "states.sqlite"}
    assert sum(files.values()) < 6e6
    assert len(list(catalog.read(demo.SET))) == catalog.DATA_SETS.find(demo.SET).size
