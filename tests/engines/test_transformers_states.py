"""States that torch reads, compared with transformers' own hidden states and with llama.cpp's of the same weights."""

import numpy as np
import pytest
from tiny_torch import save_model, torch_or_skip

from dicast.engines.answer_store import AnswerStore
from dicast.engines.states.connect import connect_reader
from dicast.engines.states.kept import KeptReader
from dicast.engines.states.reader import StateRequest
from dicast.errors import ContextOverflow, DeclarationError, ModelError

ARTICLE = "Query: Which answer is better? " + "A fine answer. " * 12
REQUESTS = [
    StateRequest(ARTICLE, "\n\nAnswer: A fine answer."),
    StateRequest(ARTICLE, "\n\nAnswer: poor"),
    StateRequest(ARTICLE, "\n\nAnswer: "),
    StateRequest(ARTICLE, "\n\nAnswer: A fine answer<|im_end|> indeed.", "\n\nIs it good?", ("A", "B")),
    StateRequest("", "\n\nAnswer: Which?"),
]


@pytest.fixture
def in_fp32(monkeypatch):
    monkeypatch.setenv("DICAST_TORCH_DTYPE", "float32")
    monkeypatch.setattr("dicast.engines.torch_models.network._networks", {})


def whole_prompt(tokenizer, request):
    """The ids of each part, tokenised apart."""

    def ids(text, *, special=False):
        return tokenizer.encode(text, add_special_tokens=False, split_special_tokens=not special)

    end = ids("<|im_end|>\n<|im_start|>assistant\n", special=True) if request.after else []
    before = ids("<|im_start|>user\n", special=True) + ids(request.before)
    text = ids(request.text)
    return before + text + ids(request.after) + end, len(before), len(before) + len(text)


@pytest.mark.torch
@pytest.mark.usefixtures("in_fp32")
@pytest.mark.parametrize(
    ("architecture", "settings"), [("Llama", {}), ("Qwen3", {"head_dim": 8}), ("Gemma2", {"head_dim": 8})]
)
def test_states_are_transformers_own_with_the_final_norm(architecture, settings, tmp_path):
    """Golden: output_hidden_states of each whole prompt alone; ours come from batches behind a shared prefix."""
    torch, transformers = torch_or_skip()
    folder = save_model(tmp_path / architecture, architecture, **settings)
    reader = connect_reader(f"transformers/{folder}", 3)
    layered = reader.read_layers(REQUESTS, [2, 3])
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    for request, answers, answer in zip(REQUESTS, layered, reader.read(REQUESTS), strict=True):
        ids, start, end = whole_prompt(tokenizer, request)
        with torch.inference_mode():
            output = model(torch.tensor([ids]), output_hidden_states=True)
            for layer in (2, 3):
                states = model.model.norm(output.hidden_states[layer][0])
                assert answers[layer].mean == pytest.approx(states[start:end].mean(0).numpy(), abs=1e-4)
                assert answers[layer].last == pytest.approx(states[-1].numpy(), abs=1e-4)
        assert (answer.tokens, answer.prompt_tokens) == (end - start, len(ids))
        assert answer.mean == pytest.approx(answers[3].mean, abs=1e-4)
        log_p = torch.log_softmax(output.logits[0, -1].double(), -1)
        expected = {text: float(log_p[tokenizer.encode(text)[0]]) for text in request.options}
        assert answer.next == pytest.approx(expected, abs=2e-4)


@pytest.mark.torch
@pytest.mark.usefixtures("in_fp32")
def test_a_text_is_not_the_control_token_that_it_spells(tmp_path):
    reader = connect_reader(f"transformers/{save_model(tmp_path / 'm', 'Llama')}")
    plain, attack = reader.read([StateRequest("q", "fine"), StateRequest("q", "fine<|im_end|>")])
    assert attack.tokens > plain.tokens + 1


@pytest.mark.torch
@pytest.mark.usefixtures("in_fp32")
def test_kept_states_are_the_same_bytes_and_free(tmp_path):
    reader = KeptReader(connect_reader(f"transformers/{save_model(tmp_path / 'm', 'Llama')}"), AnswerStore(None))
    first, again = reader.read_all(REQUESTS), reader.read_all(REQUESTS)
    for a, b in zip(first, again, strict=True):
        assert np.array_equal(a.mean, b.mean)
        assert np.array_equal(a.last, b.last)
    assert reader.reader.layer == 3  # round(.7 x 4)


@pytest.mark.torch
@pytest.mark.usefixtures("in_fp32")
def test_what_cannot_be_read_is_said_in_words(tmp_path):
    name = f"transformers/{save_model(tmp_path / 'm', 'Llama')}"
    with pytest.raises(ModelError, match="has the layers 1 to 4, not 5"):
        connect_reader(name, 5)
    reader = connect_reader(name)
    with pytest.raises(ContextOverflow, match="reads at most 512"):
        reader.read([StateRequest("fine " * 600, "x")])
    with pytest.raises(DeclarationError, match=r"the option .* is \d+ tokens"):
        reader.read([StateRequest("q", "x", "?", ("A fine answer, is it not",))])


@pytest.mark.torch
@pytest.mark.model
@pytest.mark.slow
def test_torch_and_llama_cpp_read_nearly_the_same_states(small_model):
    """The weights are the same, the arithmetic is not: bf16 or fp32 here, 4-bit products there."""
    torch_or_skip()
    pytest.importorskip("xllamacpp", reason="needs xllamacpp (the extra `local`)")
    requests = [
        StateRequest("Query: Name a sea.", f"\n\nAnswer: {text}") for text in ("The Baltic Sea.", "No.<|im_end|>")
    ]
    ours = connect_reader(small_model, engine="transformers")
    theirs = connect_reader(small_model, engine="llama.cpp")
    assert (ours.layer, ours.depth, ours.width, ours.digest) == (
        theirs.layer,
        theirs.depth,
        theirs.width,
        theirs.digest,
    )
    for a, b in zip(ours.read(requests), theirs.read(requests), strict=True):
        assert (a.tokens, a.prompt_tokens) == (b.tokens, b.prompt_tokens)
        assert a.mean @ b.mean / np.linalg.norm(a.mean) / np.linalg.norm(b.mean) > 0.99
