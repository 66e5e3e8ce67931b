"""Adapters that torch runs beside their base, compared with peft's own forward pass on tiny random models."""

import json
import logging
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from dspy.lm15 import Config, Message, Request
from tiny_adapter import QUESTION, save_adapter
from tiny_torch import save_model, torch_or_skip

from dicast.engines import models
from dicast.engines.model_string import ModelString
from dicast.engines.states.reader import StateRequest
from dicast.engines.states.transformers_reader import TransformersReader
from dicast.engines.torch_models import low_rank
from dicast.engines.torch_models.chat import Chat
from dicast.engines.torch_models.network import open_network
from dicast.engines.torch_models.weights import write_base
from dicast.errors import ModelError

TEXTS = [f"Request: {text}{QUESTION}" for text in ("Say yes.", "A fine answer. " * 9, "A fine answer. " * 9 + "poor")]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """(folder, model) of a random Llama."""
    _, transformers = torch_or_skip()
    folder = save_model(tmp_path_factory.mktemp("tiny") / "llama", "Llama")
    return folder, transformers.AutoModelForCausalLM.from_pretrained(folder).eval()


@pytest.fixture(autouse=True)
def in_fp32(monkeypatch):
    monkeypatch.setenv("DICAST_TORCH_DTYPE", "float32")
    monkeypatch.setattr("dicast.engines.torch_models.network._networks", {})
    monkeypatch.setattr(models, "_lms", {})


def dialogue(text):
    return [{"role": "system", "content": "Judge."}, {"role": "user", "content": text}]


def marker_of(folder):
    """The tokens of the question's words and what the template puts after them."""
    _, transformers = torch_or_skip()
    chat = Chat(transformers.AutoTokenizer.from_pretrained(folder))
    ends = [chat.prompt(dialogue(text)).ids for text in TEXTS]
    length = next(n for n in range(1, len(ends[0])) if len({ids[-n - 1] for ids in ends}) > 1)
    return list(ends[0][-length:])


def asked(model, texts=TEXTS, **config):
    lm = models.get_lm(f"transformers/{model}", cache=False)
    settings = Config(**{"max_tokens": 1, "temperature": 0.0, "logprobs": 20} | config)
    requests = [Request(model=lm.model, system="Judge.", messages=(Message.user(t),), config=settings) for t in texts]
    with ThreadPoolExecutor(len(texts)) as pool:
        return list(pool.map(lm, requests))


def first_token(replies):
    return [[top.logprob for top in reply.logprobs[0].top] for reply in replies]


def peft_module(folder, base):
    """The base with the adapter, as peft runs it."""
    peft = pytest.importorskip("peft", reason="needs peft: `make test-torch` installs it")
    _, transformers = torch_or_skip()
    model = transformers.AutoModelForCausalLM.from_pretrained(base)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft uses names that transformers 6 has not
        return peft.PeftModel.from_pretrained(model, folder).eval()


def with_peft(folder, base, texts=TEXTS):
    """By peft's own module, a whole prompt alone; the 20 highest log-probabilities."""
    torch, transformers = torch_or_skip()
    module = peft_module(folder, base)
    chat, results = Chat(transformers.AutoTokenizer.from_pretrained(base)), []
    for text in texts:
        ids = torch.tensor([chat.prompt(dialogue(text)).ids])
        with torch.no_grad():
            log_p = torch.log_softmax(module(input_ids=ids).logits[0, -1].double(), -1)
        results.append(log_p.topk(20).values.tolist())
    return results


@pytest.mark.torch
@pytest.mark.parametrize("acts_on", ["the end", "every token", "every token, scaled by the root"])
def test_served_probabilities_are_those_of_pefts_own_module(acts_on, base, tmp_path):
    torch, _ = torch_or_skip()
    folder, model = base
    marker = marker_of(folder) if acts_on == "the end" else None
    settings = {"use_rslora": acts_on.endswith("root")}
    adapter = save_adapter(torch, tmp_path / "student", folder, model, marker=marker, **settings)
    unadapted = first_token(asked(folder))
    for reply, golden, plain in zip(first_token(asked(adapter)), with_peft(adapter, folder), unadapted, strict=True):
        assert reply == pytest.approx(golden, abs=2e-4)
        assert np.abs(np.subtract(plain, reply)).max() > 0.1


@pytest.mark.torch
def test_written_answers_go_on_with_the_adapter(base, tmp_path):
    """Token by token after the keys and values of a batch, or each as the next token of a longer prompt by peft."""
    torch, _ = torch_or_skip()
    folder, model = base
    adapter = save_adapter(torch, tmp_path / "student", folder, model, marker=marker_of(folder))
    module = peft_module(adapter, folder)
    network = open_network(folder)
    for text, reply in zip(TEXTS, asked(adapter, max_tokens=6, logprobs=1), strict=True):
        ids = list(network.chat.prompt(dialogue(text)).ids)
        for written in reply.logprobs:
            with torch.no_grad():
                log_p = torch.log_softmax(module(input_ids=torch.tensor([ids])).logits[0, -1].double(), -1)
            ids.append(int(log_p.argmax()))
            assert written.logprob == pytest.approx(float(log_p.max()), abs=2e-4)


@pytest.mark.torch
def test_the_base_beside_an_adapter_answers_bit_for_bit_as_without(base, tmp_path):
    torch, _ = torch_or_skip()
    folder, model = base
    before = [asked(folder, [text]) for text in TEXTS]
    adapter = save_adapter(torch, tmp_path / "student", folder, model, marker=marker_of(folder))
    asked(adapter)
    open_network(folder)._prefixes.clear()
    assert [first_token(asked(folder, [text])) for text in TEXTS] == [first_token(replies) for replies in before]


@pytest.mark.torch
def test_a_prompt_without_the_question_is_the_bases_and_is_reported_once(base, tmp_path, caplog):
    torch, _ = torch_or_skip()
    folder, model = base
    adapter = save_adapter(torch, tmp_path / "student", folder, model, marker=marker_of(folder))
    other = ["Another question?"]
    with caplog.at_level(logging.WARNING):
        assert first_token(asked(adapter, other)) == first_token(asked(folder, other))
        asked(adapter, other)
    assert sum("its adapter acts on" in record.message for record in caplog.records) == 1


@pytest.mark.torch
def test_adapters_that_act_on_the_end_share_the_bases_prefixes(base, tmp_path):
    torch, _ = torch_or_skip()
    folder, model = base
    marker = marker_of(folder)
    adapter = save_adapter(torch, tmp_path / "student", folder, model, marker=marker)
    asked(adapter)
    network = open_network(folder)
    shared = list(network._prefixes)
    assert shared
    assert all(low_rank.last_place(ids, tuple(marker)) == len(ids) for ids in shared)
    every = save_adapter(torch, tmp_path / "every", folder, model)
    asked(every)
    assert list(network._prefixes) == shared


@pytest.mark.torch
def test_states_with_an_adapter_on_the_end_are_the_bases(base, tmp_path):
    torch, _ = torch_or_skip()
    folder, model = base
    tail = save_adapter(torch, tmp_path / "tail", folder, model, marker=marker_of(folder))
    every = save_adapter(torch, tmp_path / "every", folder, model)
    readers = [TransformersReader(ModelString("transformers", str(path)), 3) for path in (folder, tail, every)]
    plain, of_tail, of_every = (reader.read([StateRequest("q", "a text")])[0].mean for reader in readers)
    assert np.array_equal(plain, of_tail)
    assert readers[0].digest == readers[1].digest != readers[2].digest
    assert np.abs(plain - of_every).max() > 0.01


@pytest.mark.torch
def test_the_identity_changes_with_the_adapter_and_with_its_base(base, tmp_path):
    torch, _ = torch_or_skip()
    folder, model = base
    adapters = [
        save_adapter(torch, tmp_path / f"{seed} {marker}" / "student", folder, model, seed=seed, marker=marker)
        for seed, marker in ((0, None), (0, [5, 6]), (1, None))
    ]
    other = save_model(tmp_path / "other", "Llama", initializer_range=0.3)
    adapters.append(save_adapter(torch, tmp_path / "on-other" / "student", other, model))
    identities = {models.resolved_identity(f"transformers/{path}") for path in adapters}
    assert len(identities) == 4
    assert all(identity.startswith("transformers/student-") for identity in identities)


def broken(change, base, tmp_path):
    """The message for a folder that `change` breaks."""
    torch, _ = torch_or_skip()
    folder, model = base
    adapter = save_adapter(torch, tmp_path / "student", folder, model)
    write_base(adapter, str(folder))
    change(adapter)
    with pytest.raises(ModelError) as error:
        models.get_lm(f"transformers/{adapter}", cache=False)
    return str(error.value)


def with_setting(**settings):
    def change(adapter):
        config = json.loads((adapter / "adapter_config.json").read_text())
        (adapter / "adapter_config.json").write_text(json.dumps(config | settings))

    return change


def with_base(**settings):
    return lambda adapter: (adapter / "base.json").write_text(json.dumps(settings))


@pytest.mark.torch
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_setting(peft_type="IA3"), "peft_type 'IA3' is not read"),
        (with_setting(use_dora=True), "use_dora is not read"),
        (with_setting(bias="all"), "bias is not read"),
        (with_setting(r=0), "must be positive numbers, got 0"),
        (with_setting(alora_invocation_tokens="A"), "must be a list of token ids"),
        (with_base(name="no/such/model"), "the base of this adapter is missing"),
        (lambda adapter: (adapter / "adapter_model.safetensors").unlink(), "has adapter_config.json and no adapter_m"),
        (lambda adapter: (adapter / "adapter_model.safetensors").write_bytes(b"half"), "cannot be read"),
        (lambda adapter: (adapter / "adapter_config.json").write_text("{"), "is not JSON"),
    ],
)
def test_a_broken_folder_says_what_is_wrong(change, message, base, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert message in broken(change, base, tmp_path)


@pytest.mark.torch
def test_a_base_with_other_weights_is_refused(base, tmp_path):
    folder, _ = base
    message = broken(with_base(name=str(folder), digest="0" * 64), base, tmp_path)
    assert "with the digest 000000000000, and the one on this machine has" in message


@pytest.mark.torch
def test_a_base_of_other_sizes_is_refused(base, tmp_path):
    small = save_model(tmp_path / "small", "Llama", hidden_size=16, intermediate_size=24)
    message = broken(with_base(name=str(small)), base, tmp_path)
    assert "the adapter changes a layer 'model.layers.1.mlp.down_proj' of (32, 48)" in message


def test_a_marker_counts_at_its_last_place():
    assert low_rank.last_place((7, 1, 2, 8, 1, 2, 9), (1, 2)) == 4
    assert low_rank.last_place((7, 1), (1, 2)) == 2
