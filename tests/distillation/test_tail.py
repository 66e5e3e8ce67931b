"""Adapters that are trained on the ends of prompts, compared with peft's own gradients on tiny random models."""

import json
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from dspy.lm15 import Config, Message, Request
from tiny_torch import save_model, torch_or_skip

from dicast.distillation.kept_prefixes import KeptPrefixes
from dicast.distillation.row import TrainingRow
from dicast.distillation.tail import TailTraining, train_tail
from dicast.distillation.tail_marker import ENDINGS, common_question, tail_marker
from dicast.distillation.tail_settings import TailSettings, rate_at
from dicast.distillation.tail_student import TailStudent
from dicast.engines import models
from dicast.engines.torch_models.chat import Chat
from dicast.engines.torch_models.network import open_network
from dicast.errors import DataError, DeclarationError, ModelError, RunError
from dicast.optimizers.evidence import Interrupted

QUESTION = "\n\nWhich response is better, A or B?\nAnswer with one letter."
WORDS = ("A", "fine", "answer", "poor,", "good!", "request:", "yes", "no?", "(better)", "which.", "of", "1", "2", "3")
ARCHITECTURES = {"Llama": {}, "Qwen2": {}, "Qwen3": {"head_dim": 8}, "Granite": {"embedding_multiplier": 3.0}}
SETTINGS = TailSettings(rank=4, alpha=8, layers=(1, 4), learning_rate=3e-3, epochs=2, batch=4)


def rows_of(cases, seed=0, question=QUESTION, soft=False):
    """Pairs of random words in both orders, labelled at random."""
    random, rows = np.random.default_rng(seed), []
    for case in range(cases):
        texts = [" ".join(random.choice(WORDS, size=random.integers(2, 12))) for _ in "ab"]
        p = float(random.uniform(0.1, 0.9)) if soft else float(random.integers(2))
        for order, (first, second) in (("ab", texts), ("ba", texts[::-1])):
            targets = {"A": p, "B": 1 - p} if order == "ab" else {"A": 1 - p, "B": p}
            user = f"Request:\nwhich of {case}\n\nResponse A:\n{first}\n\nResponse B:\n{second}{question}"
            answer = max(targets, key=lambda token: targets[token])
            messages = [("system", "Judge."), ("user", user), ("assistant", answer)]
            rows.append(
                TrainingRow(
                    task="judgment",
                    messages=tuple({"role": role, "content": content} for role, content in messages),
                    targets=targets,
                    case_id=f"case {seed} {case}",
                    group=f"group {case // 2}",
                    order=order,
                    source="labels",
                )
            )
    return rows


def dialogues(rows):
    return [[message.model_dump() for message in row.prompt] for row in rows]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """The folder of a random Llama."""
    return save_model(tmp_path_factory.mktemp("tiny") / "llama", "Llama")


@pytest.fixture(autouse=True)
def in_fp32(monkeypatch):
    monkeypatch.setenv("DICAST_TORCH_DTYPE", "float32")
    monkeypatch.setattr("dicast.engines.torch_models.network._networks", {})
    monkeypatch.setattr(models, "_lms", {})


def asked(model, rows):
    """For each row the served probabilities of A and B, which together have 1."""
    lm = models.get_lm(f"transformers/{model}", cache=False)
    config = Config(max_tokens=1, temperature=0.0, logprobs=400)
    requests = [
        Request(
            model=lm.model,
            system=row.messages[0].content,
            messages=(Message.user(row.prompt[-1].content),),
            config=config,
        )
        for row in rows
    ]
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lm, requests))
    results = []
    for reply in replies:
        log_p = {top.token: top.logprob for top in reply.logprobs[0].top}
        results.append(1 / (1 + np.exp(log_p["B"] - log_p["A"])))
    return results


def peft_module(folder, base):
    """The base with a trainable adapter, as peft runs it."""
    peft = pytest.importorskip("peft", reason="needs peft: `make test-torch` installs it")
    _, transformers = torch_or_skip()
    model = transformers.AutoModelForCausalLM.from_pretrained(base)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft uses names that transformers 6 has not
        return peft.PeftModel.from_pretrained(model, folder, is_trainable=True)


@pytest.mark.torch
@pytest.mark.parametrize("ending", [*ENDINGS, "poor\n\n", " \n", "A?", "…", "$", "x_"])
def test_the_marker_is_in_a_prompt_whatever_its_text_ends_with(ending, base):
    _, transformers = torch_or_skip()
    chat = Chat(transformers.AutoTokenizer.from_pretrained(base))
    marker = tail_marker(chat, dialogues(rows_of(2)))
    ids = chat.prompt([{"role": "system", "content": "J"}, {"role": "user", "content": f"A{ending}{QUESTION}"}]).ids
    assert ids[-len(marker) :] == marker
    assert chat.tokenizer.decode(marker).endswith(f"{QUESTION.strip()}<|im_end|>\n<|im_start|>assistant\n")


@pytest.mark.torch
def test_prompts_of_two_questions_share_what_follows_them(base):
    _, transformers = torch_or_skip()
    chat = Chat(transformers.AutoTokenizer.from_pretrained(base))
    other = "\n\nHow good is the response?\nAnswer with one letter."
    marker = tail_marker(chat, dialogues([*rows_of(2), *rows_of(2, question=other)]))
    assert chat.tokenizer.decode(marker).strip().startswith("Answer with one letter.")
    bare = tail_marker(chat, dialogues([*rows_of(2), *rows_of(2, question="!")]))
    assert chat.tokenizer.decode(bare) == "<|im_end|>\n<|im_start|>assistant\n"


def test_equal_prompts_do_not_show_where_texts_end():
    with pytest.raises(DataError, match="1 different prompts do not show where the texts end"):
        tail_marker(None, dialogues(rows_of(1)[:1] * 3))


def test_a_question_is_the_last_paragraph_or_the_last_lines():
    assert (
        common_question(["x y.\n\nAspect:\nfluency\n\nWhich?\nA or B.", "z.\n\nWhich?\nA or B."])
        == "\n\nWhich?\nA or B."
    )
    assert common_question(["x y.\n\nWhich?", "z y.\n\nWhich?"]) == "\n\nWhich?"
    assert common_question(["x y.\nWhich?", "z y.\nWhich?"]) == "\nWhich?"
    assert common_question(["x Which?", "z Which?"]) == ""


@pytest.mark.torch
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_gradients_are_those_of_pefts_whole_prompts(architecture, tmp_path):
    """peft computes each whole prompt with the adapter on its end; ours the end alone, after kept keys and values."""
    torch, _ = torch_or_skip()
    folder = save_model(tmp_path / architecture, architecture, **ARCHITECTURES[architecture])
    rows = rows_of(3, soft=True)
    training = TailTraining(str(folder), rows, [], tmp_path / "out", SETTINGS)
    generator = torch.Generator().manual_seed(3)
    for matrix in training.student.parameters:
        matrix.data = torch.randn(matrix.shape, generator=generator) * 0.3
    training.prefixes.read()
    loss = training._gradient(range(len(rows)))
    (tmp_path / "student").mkdir()
    training.student.save(tmp_path / "student", str(folder), training.marker)

    module = peft_module(tmp_path / "student", folder)
    total = 0.0
    for row, prompt in zip(rows, training.prompts, strict=True):
        log_p = torch.log_softmax(module(input_ids=torch.tensor([prompt.ids])).logits[0, -1], -1)
        tokens = [training.network.chat.text_ids(text)[0] for text in row.targets]
        total = total - sum(p * log_p[token] for p, token in zip(row.targets.values(), tokens, strict=True)) / len(rows)
    total.backward()
    assert loss == pytest.approx(float(total.detach()), abs=1e-5)
    golden = {name: parameter.grad for name, parameter in module.named_parameters() if parameter.requires_grad}
    assert len(golden) == len(training.student.parameters)
    for name, pair in training.student.low_rank.pairs.items():
        for end, matrix in zip("AB", pair, strict=True):
            expected = golden[f"base_model.model.{name}.lora_{end}.default.weight"]
            size = float(expected.abs().max())
            assert size > 1e-4
            assert float((matrix.grad - expected).abs().max()) < 1e-3 * size, name
    assert all(parameter.grad is None for parameter in training.network.model.parameters())


@pytest.mark.torch
def test_a_tiny_model_learns_fifty_rows_and_serves_what_it_learnt(base, tmp_path):
    rows = rows_of(25)
    before = asked(base, rows)
    settings = TailSettings(rank=8, layers=(1, 4), learning_rate=1e-2, epochs=24, batch=10)
    training = TailTraining(str(base), rows, rows, tmp_path / "out", settings)
    trained = training.train()
    assert trained.validation["agreement"] == 1.0
    assert trained.validation["log_loss"] < 0.1
    served = asked(trained.folder, rows)
    assert served == pytest.approx([p["A"] for p in training.probabilities(range(50))], abs=1e-4)
    assert [p > 0.5 for p in served] == [row.answer == "A" for row in rows]
    open_network(base)._prefixes.clear()
    assert asked(base, rows) == pytest.approx(before, abs=1e-6)
    assert trained == train_tail(str(base), rows, rows, tmp_path / "out", settings)


@pytest.mark.torch
def test_soft_targets_are_learnt_as_probabilities(tmp_path):
    base, rows = save_model(tmp_path / "llama", "Llama", initializer_range=0.8), rows_of(2, soft=True)
    settings = TailSettings(rank=8, layers=(2, 4), learning_rate=1e-2, epochs=60, batch=4)
    trained = train_tail(str(base), rows, [], tmp_path / "out", settings)
    assert trained.validation == {}
    assert asked(trained.folder, rows) == pytest.approx([row.targets["A"] for row in rows], abs=0.05)


def tensors(trained):
    return (trained.folder / "adapter_model.safetensors").read_bytes()


def losses(trained):
    lines = [json.loads(line) for line in trained.log.read_text().splitlines()]
    return [{name: value for name, value in line.items() if name not in ("seconds", "tokens")} for line in lines]


@pytest.mark.torch
@pytest.mark.parametrize("at", [1, 4, 6, 9])
@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_a_training_that_ends_early_goes_on_with_the_same_steps(how, at, base, tmp_path):
    rows, validation = rows_of(10), rows_of(2, seed=5)
    whole = train_tail(str(base), rows, validation, tmp_path / "whole", SETTINGS)
    stop = threading.Event()

    def on_step(step):
        if step.step == at and how == "killed":
            raise KeyboardInterrupt
        if step.step == at:
            stop.set()

    arguments = (str(base), rows, validation, tmp_path / "parts", SETTINGS)
    with pytest.raises((Interrupted, KeyboardInterrupt)):
        train_tail(*arguments, on_step=on_step, stop=stop)
    parts = train_tail(*arguments)
    assert tensors(parts) == tensors(whole)
    assert losses(parts) == losses(whole)
    assert parts.validation == whole.validation
    assert not (tmp_path / "parts" / "prefixes").exists()


@pytest.mark.torch
def test_prompts_that_were_read_are_not_read_again(base, tmp_path, monkeypatch):
    network = open_network(base)
    prompts = [network.chat.prompt(dialogue) for dialogue in dialogues(rows_of(12))]
    tail = len(tail_marker(network.chat, dialogues(rows_of(12))))
    monkeypatch.setattr("dicast.engines.torch_models.batches.ON_CPU.__class__.padded", 1, raising=False)
    stop, seen = threading.Event(), []
    first = KeptPrefixes(network, tmp_path, prompts, tail, 1, "digest")
    with pytest.raises(Interrupted):
        first.read(lambda done, total: (seen.append(done), stop.set()), stop)
    assert 0 < seen[0] < len(prompts)
    again = KeptPrefixes(network, tmp_path, prompts, tail, 1, "digest")
    again.read(lambda done, total: seen.append(done))
    assert seen[1] > seen[0]
    fresh = KeptPrefixes(network, tmp_path / "other", prompts, tail, 1, "digest")
    fresh.read()
    one, other = again.batch(range(24)), fresh.batch(range(24))
    torch, _ = torch_or_skip()
    for left, right in zip([one.states, *sum(one.layers, ())], [other.states, *sum(other.layers, ())], strict=True):
        assert torch.allclose(left, right, atol=1e-5)
    changed = KeptPrefixes(network, tmp_path, prompts, tail, 1, "another digest")
    changed.read(lambda done, total: seen.append(done), None)
    assert seen[-1] == len(prompts)


@pytest.mark.torch
def test_trainings_that_share_prefixes_learn_the_same_as_by_themselves(base, tmp_path):
    rows, validation = rows_of(8), rows_of(2, seed=5)
    alone = train_tail(str(base), rows[:12], validation, tmp_path / "alone", SETTINGS)
    every = TailTraining(str(base), [*rows, *validation], [], tmp_path / "every", SETTINGS)
    part = TailTraining(str(base), rows[:12], validation, tmp_path / "part", SETTINGS, shared=every)
    trained = part.train()
    for one, other in zip(losses(trained), losses(alone), strict=True):  # padding rounds otherwise
        assert one == pytest.approx(other, rel=1e-3)
    assert trained.validation == pytest.approx(alone.validation, rel=1e-3)
    assert (tmp_path / "every" / "prefixes").exists()


@pytest.mark.torch
def test_what_cannot_be_trained_is_refused(base, tmp_path, monkeypatch):
    rows = rows_of(3)
    words = rows[0].model_copy(update={"targets": {}})
    cases = [
        ([words, *rows], [], SETTINGS, DataError, "1 rows learn words"),
        ([], [], SETTINGS, DataError, "there are no training rows"),
        (rows, rows_of(1, question="\n\nWhy?"), SETTINGS, DataError, "another question than that of the training"),
        (rows, [], TailSettings(layers=(3, 9)), DeclarationError, "layers: 3 to 9 are not among the 4"),
    ]
    for train, validation, settings, error, message in cases:
        with pytest.raises(error, match=message):
            train_tail(str(base), train, validation, tmp_path / "out", settings)
    train_tail(str(base), rows, [], tmp_path / "first", SETTINGS)
    with pytest.raises(RunError, match="holds a training with other settings, rows"):
        train_tail(str(base), rows[:4], [], tmp_path / "first", TailSettings(layers=(1, 2)))
    with pytest.raises(DeclarationError, match="is an adapter"):
        train_tail(str(tmp_path / "first" / "student"), rows, [], tmp_path / "second", SETTINGS)
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 1000}))
    with pytest.raises(DeclarationError, match=r"take 0.0 GB, and 0.0 GB of the disk are free"):
        train_tail(str(base), rows, [], tmp_path / "third", SETTINGS)


@pytest.mark.torch
def test_labels_of_several_tokens_are_refused(base, tmp_path):
    row = rows_of(1)[0]
    targets = {"a fine response": 1.0, "B": 0.0}
    messages = (*row.prompt, row.messages[-1].model_copy(update={"content": "a fine response"}))
    wrong = row.model_copy(update={"targets": targets, "messages": messages})
    with pytest.raises(DataError, match="are not different single tokens"):
        train_tail(str(base), [*rows_of(2), wrong], [], tmp_path / "out", SETTINGS)


@pytest.mark.torch
def test_models_that_do_not_look_back_at_all_tokens_are_refused(tmp_path):
    folder = save_model(tmp_path / "gemma", "Gemma2", head_dim=8, query_pre_attn_scalar=8)
    with pytest.raises(ModelError, match="its layers do not look back at all tokens"):
        train_tail(str(folder), rows_of(2), [], tmp_path / "out", SETTINGS)


@pytest.mark.torch
def test_an_untrained_adapter_changes_nothing(base, tmp_path):
    network, rows = open_network(base), rows_of(3)
    student = TailStudent(network, (1, 4), rank=4, alpha=8, seed=0)
    tmp_path.joinpath("student").mkdir()
    student.save(tmp_path / "student", str(base), tail_marker(network.chat, dialogues(rows)))
    assert asked(tmp_path / "student", rows) == pytest.approx(asked(base, rows), abs=1e-5)


def test_the_rate_rises_and_falls_to_nothing():
    rates = [rate_at(step, 100, 0.1) for step in range(100)]
    assert np.argmax(rates) == 9
    assert rates[9] == 1.0
    assert rates[0] == pytest.approx(0.1)
    assert rates[-1] < 0.001
    assert all(np.diff(rates[:10]) > 0)
    assert all(np.diff(rates[10:]) < 0)
