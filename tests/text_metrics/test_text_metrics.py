"""What a judge writes against what a person wrote: BLEU, ROUGE, BERTScore, BARTScore.

BLEU and ROUGE are always tested. BERTScore and BARTScore are tested on tiny random models, built here, where torch and
transformers are installed; the figures of BERTScore are checked against its authors' package where that is there too.
"""

import json
import math
import sys
from collections import Counter
from functools import cache

import numpy as np
import pytest
from pydantic import ValidationError

import dicast
from dicast import catalog
from dicast.data import Case, Finding, Judged
from dicast.errors import DeclarationError, ModelError
from dicast.text_metrics.overlap import bleu, generated, measures, pairs, rouge, written

VOCABULARY = "the a dog cat bit man sat on mat it was not ran fast film plot dull fine hero dies watch of and in"
WORDS = VOCABULARY.split()


def texts(seed: int, n: int = 12, longest: int = 15) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, size=rng.integers(1, longest))) for _ in range(n)]


# ---- where the texts are


def case_with(**meta: object) -> Case:
    return Case(id="1", query="", candidates=[{"text": "a plot"}], meta=meta)


def judged(*explanations: str, **more: object) -> Judged:
    findings = [Finding(criterion="as the reviewer would", explanation=text) for text in explanations]
    return Judged(**{"case_id": "1", "scores": (5,), "findings": findings} | more)


def test_a_person_s_words_are_the_review_else_the_comment_else_the_explanation():
    assert written(case_with(review=" dull ", comment="c", explanation="e")) == "dull"
    assert written(case_with(review=" ", comment="c", explanation="e")) == "c"
    assert written(case_with(review=None, explanation="e")) == "e"
    assert written(case_with(review=3)) is None
    assert written(case_with()) is None


def test_a_judge_s_words_are_its_explanations_without_their_criteria():
    assert generated(judged("Dull.", rationale="as the reviewer would: Dull.")) == "Dull."
    assert generated(judged("Dull.", " ", "Long.")) == "Dull.\nLong."
    assert generated(judged(rationale="It is dull.")) == "It is dull."
    assert generated(judged("")) is None
    assert generated(Judged(case_id="1", status="unscored", reason="refusal")) is None


def test_pairs_are_of_the_cases_with_both_texts_in_the_order_of_ids():
    cases = [case_with(review=f"review {i}").model_copy(update={"id": i}) for i in "123"] + [
        case_with().model_copy(update={"id": "4"})
    ]
    verdicts = [judged(f"said {i}", case_id=i, group=None if i == "1" else "anna") for i in "3145"]
    verdicts.append(judged(case_id="2"))  # a judge that wrote nothing
    assert pairs(verdicts, cases) == ([("said 1", "review 1"), ("said 3", "review 3")], ["id 1", "anna"])


def test_the_reviews_of_perse_are_found(public_sets):
    cases = list(catalog.read("perse-mpst", public_sets))
    assert all(len((written(case) or "").split()) > 100 for case in cases)


# ---- BLEU


def test_the_figures_of_sacrebleu_s_own_tests_come_out():
    # sacrebleu 2.6, test/test_sentence_bleu.py (smoothing exp, 13a, effective order) and test/test_bleu.py
    scores = bleu(
        ["Producția de zahăr primă va fi exprimată în ceea ce privește zahărul alb;", "this is a cat"],
        ["producţia de zahăr brut se exprimă în zahăr alb;", "okay thanks"],
    )
    assert scores.sentences == pytest.approx([8.493, 0.0], abs=1e-3)
    counted = bleu(["am I am a character sequence"], ["I am a symbol string sequence a a"])
    assert counted.counts.tolist() == [[6, 8, 4, 2, 1, 0, 6, 5, 4, 3]]
    assert scores.signature.startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")


@pytest.mark.parametrize("seed", range(5))
def test_bleu_is_that_of_nltk(seed):
    from nltk.translate import bleu_score as translate  # nltk comes with rouge-score

    ours, theirs = [text + " end of it all" for text in texts(seed)], [text + " and so on" for text in texts(seed + 50)]
    scores = bleu(ours, theirs)
    smooth = translate.SmoothingFunction().method3  # the same as sacrebleu's exp
    split = [[text.split()] for text in theirs], [text.split() for text in ours]
    assert scores.corpus() == pytest.approx(100 * translate.corpus_bleu(*split, smoothing_function=smooth), abs=1e-9)
    each = [100 * translate.sentence_bleu(a, b, smoothing_function=smooth) for a, b in zip(*split, strict=True)]
    assert scores.sentences == pytest.approx(each, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_corpus_bleu_of_some_texts_is_sacrebleu_s_own(seed):
    from sacrebleu import corpus_bleu

    ours, theirs = texts(seed), texts(seed + 50)
    index = np.random.default_rng(seed).integers(len(ours), size=20)
    picked = [ours[i] for i in index], [[theirs[i] for i in index]]
    assert bleu(ours, theirs).corpus(index) == pytest.approx(corpus_bleu(*picked).score, abs=1e-9)
    assert bleu(ours, theirs).corpus() == pytest.approx(corpus_bleu(ours, [theirs]).score, abs=1e-9)


def test_bleu_of_degenerate_texts():
    scores = bleu(["", "a dog", "", "a dog"], ["a dog", "", "", "a dog"])
    assert scores.sentences == pytest.approx([0, 0, 0, 100])
    assert math.isclose(bleu(texts(1) * 2, texts(1) * 2).sentences.min(), 100)
    nothing = bleu([], [])
    assert nothing.counts.shape == (0, 10)
    assert nothing.corpus() == 0


# ---- ROUGE


def by_hand(ours: list[str], theirs: list[str], kind: str) -> float:
    """ROUGE F1 from its definition (Lin 2004), on words."""
    if kind == "rougeL":
        longest = [[0] * (len(theirs) + 1) for _ in range(len(ours) + 1)]
        for i, left in enumerate(ours):
            for j, right in enumerate(theirs):
                step = longest[i][j] + 1 if left == right else max(longest[i][j + 1], longest[i + 1][j])
                longest[i + 1][j + 1] = step
        return f1(longest[-1][-1], len(ours), len(theirs))
    n = int(kind[-1])
    grams = [Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1)) for words in (ours, theirs)]
    return f1((grams[0] & grams[1]).total(), grams[0].total(), grams[1].total())


def f1(shared: int, ours: int, theirs: int) -> float:
    return 2 * shared / (ours + theirs) if shared else 0.0


def test_the_figures_of_rouge_score_s_own_tests_come_out():
    # google-research, rouge/rouge_scorer_test.py: against the target "testing one two"
    scores = rouge(["testing", "testing one", "testing two", ""], ["testing one two"] * 4)
    assert scores["rouge1"] == pytest.approx([1 / 2, 4 / 5, 4 / 5, 0])
    assert scores["rouge2"] == pytest.approx([0, 2 / 3, 0, 0])
    assert scores["rougeL"] == pytest.approx([1 / 2, 4 / 5, 4 / 5, 0])


@pytest.mark.parametrize("seed", range(5))
def test_rouge_is_what_its_definition_says(seed):
    ours, theirs = texts(seed), texts(seed + 50)
    for kind, values in rouge(ours, theirs).items():
        expected = [by_hand(a.split(), b.split(), kind) for a, b in zip(ours, theirs, strict=True)]
        assert values == pytest.approx(expected, abs=1e-12), kind


def test_rouge_f1_is_symmetric_and_1_for_the_same_words():
    ours, theirs = texts(1), texts(2)
    there, back = rouge(ours, theirs), rouge(theirs, ours)
    assert all(there[kind] == pytest.approx(back[kind]) for kind in there)
    assert rouge(["The dog!"], ["the DOG"])["rougeL"] == [1.0]
    assert rouge(["", "собака"], ["", "собака"])["rouge1"].tolist() == [0, 0]  # no letters a..z
    assert rouge([], [])["rouge1"].shape == (0,)


def test_stems_are_compared_only_when_asked():
    assert rouge(["watching"], ["watched"], ["rouge1"])["rouge1"] == [0.0]
    assert rouge(["watching"], ["watched"], ["rouge1"], stemmer=True)["rouge1"] == [1.0]


# ---- measures


def test_measures_tell_value_interval_groups_and_settings():
    ours, theirs = texts(1, n=40), texts(2, n=40)
    groups = [i % 8 for i in range(40)]
    result = {one.name: one for one in measures(list(zip(ours, theirs, strict=True)), groups)}
    assert list(result) == ["bleu", "bleu_sentence", "rouge1", "rouge2", "rougeL"]
    assert result["bleu"].value == pytest.approx(bleu(ours, theirs).corpus())
    assert result["rougeL"].value == pytest.approx(rouge(ours, theirs)["rougeL"].mean())
    assert all((one.n, one.groups) == (40, 8) for one in result.values())
    assert all(one.low < one.value < one.high for one in result.values())
    assert "tok:13a" in result["bleu"].description
    assert "no stemming" in result["rouge1"].description


def test_the_interval_of_the_corpus_bleu_repeats_with_its_seed():
    rows = list(zip(texts(1, n=30), texts(2, n=30), strict=True))
    first, again, other = (measures(rows, which=["bleu"], seed=seed)[0] for seed in (0, 0, 1))
    assert first == again
    assert first.value == other.value
    assert first.low != other.low


def test_copies_of_one_text_do_not_narrow_an_interval():
    rows = list(zip(texts(1, n=15), texts(2, n=15), strict=True))
    once = measures(rows, which=["rouge"])
    thrice = measures(rows * 3, list(range(15)) * 3, which=["rouge"])
    for one, other in zip(once, thrice, strict=True):
        assert (one.low, one.high) == pytest.approx((other.low, other.high))


def test_degenerate_measures():
    assert measures([]) == ()
    same = {one.name: one for one in measures([("a dog", "a dog")])}
    assert same["rouge1"].value == 1
    assert same["rouge1"].low is None
    with pytest.raises(DeclarationError, match=r"'blue' is not one of bleu, rouge"):
        measures([("a", "b")], which=["blue"])
    with pytest.raises(ValidationError):
        same["rouge1"].value = 2


class Fixed:
    """A measure of given values."""

    signature, cut = "Fixed|1", 0

    def __init__(self, *values: float) -> None:
        self.values = np.array(values)

    def __call__(self, generated, written):
        return {"fixed": self.values}


def test_measures_by_models_are_listed_with_the_others():
    rows = [("a", "b"), ("c", "d")]
    (result,) = measures(rows, which=[], models=[Fixed(0.25, 0.75)])
    assert (result.name, result.value, result.n, result.note) == ("fixed", 0.5, 2, "")
    assert "Fixed|1" in result.description
    (missing,) = measures(rows, which=[], models=[Fixed(0.25, math.nan)])
    assert (missing.value, missing.note) == (None, "a text has no words")


@pytest.mark.parametrize(("package", "call"), [("sacrebleu.metrics.bleu", bleu), ("rouge_score.rouge_scorer", rouge)])
def test_a_missing_package_is_named_with_the_extra_that_holds_it(monkeypatch, package, call):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(DeclarationError, match=r"needs (sacrebleu|rouge-score)\. .*pip install '"):
        call(["a"], ["b"])


# ---- BERTScore and BARTScore on tiny random models


@pytest.fixture(scope="module")
def network():
    """torch and transformers, or a skip that says what is missing."""
    for package in ("torch", "transformers"):
        pytest.importorskip(package, reason=f"BERTScore and BARTScore need {package} (the extra `train`)")
    import torch
    import transformers

    torch.manual_seed(0)
    transformers.utils.logging.disable_progress_bar()
    yield transformers
    transformers.utils.logging.enable_progress_bar()


def word_tokenizer(transformers):
    """Lower-case words and a few endings, with [CLS] and [SEP] around them."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    words = {word: index for index, word in enumerate([*special, *WORDS, "##ing", "##s", ".", ","])}
    pieces = Tokenizer(models.WordPiece(words, unk_token="[UNK]"))
    pieces.normalizer = normalizers.BertNormalizer()
    pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [("[CLS]", words["[CLS]"]), ("[SEP]", words["[SEP]"])]
    pieces.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), special, strict=True))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=pieces, model_max_length=24, **names), len(words)


@pytest.fixture(scope="module")
def bert(network, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert")
    tokenizer, size = word_tokenizer(network)
    tokenizer.save_pretrained(folder)
    shape = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 32}
    config = network.BertConfig(vocab_size=size, max_position_embeddings=24, initializer_range=0.5, **shape)
    network.BertModel(config).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def bart(network, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bart")
    tokenizer, size = word_tokenizer(network)
    tokenizer.save_pretrained(folder)
    layers = {f"{side}_{name}": n for side in ("encoder", "decoder") for name, n in (("layers", 2), ("ffn_dim", 32))}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    ends = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "decoder_start_token_id": 3}
    config = network.BartConfig(
        vocab_size=size, d_model=16, max_position_embeddings=24, init_std=0.5, **layers, **heads, **ends
    )
    network.BartForConditionalGeneration(config).save_pretrained(folder)
    return str(folder)


@cache
def bert_score_of(folder: str, layer: int | None = None, batch: int = 16):
    from dicast.text_metrics.embedding import BertScore

    return BertScore(folder, layer, batch=batch)


@cache
def bart_score_of(folder: str, batch: int = 4):
    from dicast.text_metrics.embedding import BartScore

    return BartScore(folder, batch=batch)


def stacked(scores: dict[str, np.ndarray]) -> np.ndarray:
    return np.array(list(scores.values()))


@pytest.mark.parametrize("layer", [0, 1, 2, 3])
def test_bertscore_is_that_of_its_authors_package(bert, layer):
    authors = pytest.importorskip("bert_score", reason="the authors' package is not installed")
    ours, theirs = texts(1), texts(2)
    result = authors.score(ours, theirs, model_type=bert, num_layers=layer, nthreads=0, device="cpu", batch_size=5)
    assert stacked(bert_score_of(bert, layer)(ours, theirs)) == pytest.approx(
        np.array([x.numpy() for x in result]), abs=2e-6
    )


@pytest.mark.parametrize("layer", [0, 2])
def test_bertscore_is_what_its_definition_says(network, bert, layer):
    """Token by token, one text at a time, from the model's hidden states."""
    tokenizer, model = network.AutoTokenizer.from_pretrained(bert), network.AutoModel.from_pretrained(bert).eval()

    def vectors(text: str) -> list[np.ndarray]:
        result = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states[layer]
        return [row / np.linalg.norm(row) for row in result[0].detach().numpy().astype(float)]

    def best(left: list[np.ndarray], right: list[np.ndarray]) -> float:
        return float(np.mean([max(float(one @ other) for other in right) for one in left[1:-1]]))  # no [CLS], no [SEP]

    ours, theirs = texts(3, n=6), texts(4, n=6)
    result = bert_score_of(bert, layer)(ours, theirs)
    for row, (left, right) in enumerate(zip(map(vectors, ours), map(vectors, theirs), strict=True)):
        precision, recall = best(left, right), best(right, left)
        expected = [precision, recall, 2 * precision * recall / (precision + recall)]
        assert stacked(result)[:, row] == pytest.approx(expected, abs=1e-6)


def test_bertscore_of_the_same_texts_is_1(bert):
    assert stacked(bert_score_of(bert)(texts(1), texts(1))) == pytest.approx(1, abs=1e-6)
    assert bert_score_of(bert)(["The DOG ."], ["  the dog."])["bertscore_f1"] == pytest.approx(1)  # the same tokens
    assert bert_score_of(bert)(["the dog"], ["the cat"])["bertscore_f1"][0] < 0.999


def test_exchanged_texts_exchange_precision_and_recall(bert):
    there, back = (bert_score_of(bert)(*sides) for sides in ((texts(1), texts(2)), (texts(2), texts(1))))
    assert there["bertscore_precision"] == pytest.approx(back["bertscore_recall"], abs=1e-6)
    assert there["bertscore_f1"] == pytest.approx(back["bertscore_f1"], abs=1e-6)


@pytest.mark.parametrize("measure", ["bert", "bart"])
def test_neither_batches_nor_the_order_of_texts_change_a_score(bert, bart, measure):
    made, folder = (bert_score_of, bert) if measure == "bert" else (bart_score_of, bart)
    ours, theirs = texts(5), texts(6)
    whole = stacked(made(folder, batch=12)(ours, theirs))
    assert stacked(made(folder, batch=1)(ours, theirs)) == pytest.approx(whole, abs=1e-5)
    assert stacked(made(folder, batch=5)(ours[::-1], theirs[::-1])) == pytest.approx(whole[:, ::-1], abs=1e-5)


def test_a_text_without_words_has_bertscore_0_and_no_bartscore(bert, bart):
    ours, theirs = ["", "the dog", " ", "the dog"], ["the dog", "\n", "", "the dog"]
    assert stacked(bert_score_of(bert)(ours, theirs)).T[:3] == pytest.approx(0)
    assert stacked(bert_score_of(bert)(["\u200b"], ["the dog"])) == pytest.approx(0)  # no token at all
    log_probability = stacked(bart_score_of(bart)(ours, theirs))
    assert np.isnan(log_probability).tolist() == [[True, True, True, False]] * 3
    assert stacked(bert_score_of(bert)([], [])).shape == stacked(bart_score_of(bart)([], [])).shape == (3, 0)


def test_bartscore_is_the_mean_log_probability_of_the_target_token_by_token(network, bart):
    """The target is fed one token at a time, as in generation; the authors count the special tokens as well."""
    import torch

    tokenizer = network.AutoTokenizer.from_pretrained(bart)
    model = network.AutoModelForSeq2SeqLM.from_pretrained(bart).eval()

    def by_hand(source: str, target: str) -> float:
        encoded, tokens = tokenizer(source, return_tensors="pt"), tokenizer(target).input_ids
        fed, total = [model.config.decoder_start_token_id], 0.0
        for token in tokens:
            inputs = {"input_ids": encoded.input_ids, "attention_mask": encoded.attention_mask}
            logits = model(**inputs, decoder_input_ids=torch.tensor([fed])).logits[0, -1].detach().double()
            total += float(logits[token] - torch.logsumexp(logits, 0))
            fed.append(token)
        return total / len(tokens)

    ours, theirs = texts(7, n=5), texts(8, n=5)
    result = bart_score_of(bart)(ours, theirs)
    precision = [by_hand(b, a) for a, b in zip(ours, theirs, strict=True)]
    recall = [by_hand(a, b) for a, b in zip(ours, theirs, strict=True)]
    assert result["bartscore_precision"] == pytest.approx(precision, abs=1e-5)
    assert result["bartscore_recall"] == pytest.approx(recall, abs=1e-5)
    assert result["bartscore_f1"] == pytest.approx(np.mean([precision, recall], axis=0), abs=1e-5)
    assert bart_score_of(bart).log_probability(ours, theirs) == pytest.approx(recall, abs=1e-5)
    assert (stacked(result) < 0).all()


def test_texts_that_fill_what_the_model_reads_are_counted(bert, bart):
    long, short = "the dog " * 20, "the dog"
    for scorer, name in ((bert_score_of(bert), "bertscore_f1"), (bart_score_of(bart), "bartscore_f1")):
        result = {one.name: one for one in measures([(long, short), (short, short)], which=[], models=[scorer])}
        assert result[name].note == "texts that fill what the model reads, and may be cut at their end: 1"
        assert scorer.signature in result[name].description
        scorer([short], [short])
        assert scorer.cut == 0


def test_a_byte_level_tokenizer_reads_the_first_word_as_any_other(network, tmp_path):
    """As the authors do for RoBERTa: without the space, a first word would be another token."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    end = "<|end|>"  # the one special token: a tokenizer with none of its own to pad with
    pieces = Tokenizer(models.BPE())
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, special_tokens=[end])
    pieces.train_from_iterator(texts(1, n=200), trainer)
    tokenizer = network.PreTrainedTokenizerFast(tokenizer_object=pieces, eos_token=end)
    tokenizer.save_pretrained(tmp_path)
    shape = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64, "bos_token_id": 0, "eos_token_id": 0}
    model = network.GPT2Model(network.GPT2Config(vocab_size=len(tokenizer), **shape))
    model.save_pretrained(tmp_path)

    (vectors, counted), _ = bert_score_of(str(tmp_path), 0)._embedded(["dog", "the dog sat on the mat"])
    (inside,), (first,) = tokenizer(" dog").input_ids, tokenizer("dog").input_ids
    assert inside != first
    expected = (model.wte.weight[inside] + model.wpe.weight[0]).detach().double().numpy()
    assert vectors == pytest.approx(expected[None] / np.linalg.norm(expected), abs=1e-6)
    assert counted.tolist() == [True]  # neither the padding after it


def test_the_encoder_of_an_encoder_decoder_is_read(bart):
    assert bert_score_of(bart)(texts(1), texts(1))["bertscore_f1"] == pytest.approx(1, abs=1e-6)


def test_a_layer_that_is_not_there_or_a_model_that_cannot_be_read_is_refused(bert, tmp_path):
    with pytest.raises(DeclarationError, match=r"has layers 0\.\.3, not 4"):
        bert_score_of(bert, 4)
    with pytest.raises(ModelError, match=r"BERTScore: '.*nowhere\.gguf' cannot be loaded"):
        bert_score_of(str(tmp_path / "nowhere.gguf"))
    with pytest.raises(ModelError, match="BARTScore: .* cannot be loaded"):
        bart_score_of(bert)  # an encoder alone
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(ModelError, match="BERTScore: .* cannot be loaded"):
        bert_score_of(str(tmp_path))


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_without_torch_the_extra_is_named(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(DeclarationError, match=r"needs torch and transformers\. .*pip install '"):
        bert_score_of.__wrapped__("anywhere")


@pytest.mark.model
@pytest.mark.slow
def test_a_gguf_file_can_be_the_model(network, small_model):
    pytest.importorskip("gguf", reason="reading a .gguf file needs the package gguf")
    pytest.importorskip("accelerate", reason="reading a .gguf file needs accelerate")
    from dicast.engines.weights import get_weights

    scorer = bert_score_of(str(get_weights("smollm2-135m")), 5)
    same, other = scorer(["A dull film."] * 2, ["A dull film.", "The dog ran fast."])["bertscore_f1"]
    assert same == pytest.approx(1, abs=1e-5)
    assert other < 0.9


@pytest.mark.parametrize("use", ["all", "first"])
def test_the_judges_score_with_the_reference_that_fits_best(bert, bart, use):
    ours, references = texts(1, n=1)[0], texts(2, n=3)
    case = Case(id="1", query="", candidates=[{"text": ours}], references=references)
    read = references if use == "all" else references[:1]
    by_bert = bert_score_of(bert, 2)([ours] * len(read), read)["bertscore_f1"]
    assert dicast.judge("bertscore", model=bert, layer=2, use=use)(case).scores == pytest.approx([by_bert.max()])
    by_bart = bart_score_of(bart)([ours] * len(read), read)
    for direction in ("f1", "precision", "recall"):
        judge = dicast.judge("bartscore", model=bart, direction=direction, use=use)
        assert judge(case).scores == pytest.approx([by_bart[f"bartscore_{direction}"].max()])


def test_a_name_of_the_hub_fails_at_once_where_the_hub_does_not_answer(network, monkeypatch):
    def no_hub() -> None:
        raise OSError("no route")

    monkeypatch.setattr("dicast.text_metrics.embedding.reach_hub", no_hub)
    with pytest.raises(ModelError, match=r"'no/such-model' cannot be loaded \(the Hugging Face hub does not answer"):
        bert_score_of("no/such-model")
