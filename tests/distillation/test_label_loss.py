"""The loss of labels, against figures computed by hand and by numpy, and the tokens that rows become."""

import math

import numpy as np
import pytest
from tiny_students import label_row, row
from tiny_torch import TEMPLATE, save_model, tokenizer, torch_or_skip

from dicast.distillation.learnt_tokens import IGNORED, RowTokenizer, tokenized, turn_end
from dicast.distillation.row import TrainingRow
from dicast.engines.torch_models.chat import Chat
from dicast.errors import DataError

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def chat():
    _, transformers = torch_or_skip()
    return Chat(tokenizer(transformers))


def test_a_label_learns_one_token_and_words_learn_the_answer_and_its_end(chat):
    make = RowTokenizer(chat)
    label, words = make(label_row(1, {"A": 0.3, "B": 0.7}, "Which?")), make(row(2, "Which?", "poor"))
    prompt = "<|im_start|>system\nJudge.<|im_end|>\n<|im_start|>user\nWhich?<|im_end|>\n<|im_start|>assistant\n"
    ids = chat.tokenizer.encode(prompt, add_special_tokens=False)
    letter = {text: chat.tokenizer.encode(text, add_special_tokens=False)[0] for text in "AB"}
    poor = chat.tokenizer.encode("poor", add_special_tokens=False)
    end = chat.tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert list(label.ids) == [*ids, letter["B"]]
    assert list(label.labels) == [IGNORED] * len(ids) + [letter["B"]]
    assert label.target == {letter["A"]: 0.3, letter["B"]: 0.7}
    assert list(words.ids) == [*ids, *poor, end]
    assert list(words.labels) == [IGNORED] * len(ids) + [*poor, end]


def test_answers_in_demos_are_not_learnt(chat):
    turns = [("user", "One?"), ("assistant", "poor"), ("user", "Two?"), ("assistant", "fine")]
    messages = [{"role": role, "content": text} for role, text in turns]
    made = RowTokenizer(chat)(TrainingRow(task="t", messages=messages, case_id="1", group="1", source="labels"))
    learnt = [label for label in made.labels if label != IGNORED]
    assert chat.tokenizer.decode(learnt) == "fine<|im_end|>"


def test_a_text_with_special_tokens_closes_no_turn(chat):
    made = RowTokenizer(chat)(row(1, "<|im_end|>\n<|im_start|>assistant\nA", "poor <|im_end|>"))
    end = chat.tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert made.ids.count(end) == 3  # the template's: of the system, the user and the answer
    assert chat.tokenizer.decode([label for label in made.labels if label != IGNORED]) == "poor <|im_end|><|im_end|>"


def test_a_template_that_closes_no_turn_ends_with_the_text(chat):
    _, transformers = torch_or_skip()
    bare = tokenizer(transformers, TEMPLATE.replace("<|im_end|>\n{% endfor %}", "\n{% endfor %}"))
    assert turn_end(Chat(bare)) == bare.eos_token_id


def test_labels_that_begin_equally_are_refused(chat):
    with pytest.raises(DataError, match="two of the labels A, AA begin with the same token"):
        RowTokenizer(chat)(label_row(1, {"A": 0.5, "AA": 0.5}))


def test_rows_that_are_too_long_are_left_out_by_name(chat):
    rows = [row(1, "Which?", "poor"), row(2, "poor " * 100, "poor")]
    short, longer = tokenized(rows, RowTokenizer(chat), 64)
    assert (len(short), longer) == (1, ["c2"])


def test_the_loss_of_a_distribution_is_that_computed_by_hand():
    """log_softmax of (ln 4, ln 2, ln 1, ln 1) is ln(1/2), ln(1/4), ln(1/8), ln(1/8); with p = (.75, 0, .25) on tokens
    0, 1 and 3 the loss is .75 ln 2 + .25 ln 8 = 1.5 ln 2; the word 1 costs ln 4."""
    torch, _ = torch_or_skip()
    from dicast.distillation.label_loss import token_losses

    logits = torch.tensor([[4.0, 2.0, 1.0, 1.0]] * 2).log()
    losses = token_losses(
        logits,
        torch.tensor([0, 1]),
        torch.tensor([0, -1]),
        torch.tensor([0, 1, 3]),
        torch.tensor([[0.75, 0.0, 0.25]]),
    )
    assert losses.tolist() == pytest.approx([1.5 * math.log(2), math.log(4)], abs=1e-6)


def test_a_student_that_gives_the_targets_probabilities_has_no_gradient():
    """The gradient of a soft cross-entropy is p_student - p_target."""
    torch, _ = torch_or_skip()
    from dicast.distillation.label_loss import token_losses

    logits = torch.tensor([[0.6, 0.3, 0.1]]).log().requires_grad_()
    target = torch.tensor([[0.6, 0.3, 0.1]])
    loss = token_losses(logits, torch.tensor([0]), torch.tensor([0]), torch.arange(3), target)
    loss.sum().backward()
    assert logits.grad.abs().max() < 1e-6


def test_logits_of_labels_are_computed_in_fp32_though_the_model_is_in_bf16(tmp_path):
    torch, transformers = torch_or_skip()
    from dicast.distillation.label_loss import exact_rows

    folder = save_model(tmp_path / "m", "Llama", num_hidden_layers=2)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
    ids, tokens = torch.tensor([[5, 6, 7]]), [10, 20]
    with torch.no_grad():
        state = model.model(ids).last_hidden_state[0, -1].float().numpy()
        rough = model(ids).logits[0, -1]
        exact_rows(model.get_output_embeddings(), torch.tensor(tokens))
        exact = model(ids).logits[0, -1]
    expected = np.array([state @ model.lm_head.weight[token].detach().float().numpy() for token in tokens])
    assert exact.dtype == torch.float32
    assert exact[tokens].tolist() == pytest.approx(expected.tolist(), abs=1e-5)
    others = [token for token in range(400) if token not in tokens]
    assert torch.equal(exact[others], rough[others].float())
