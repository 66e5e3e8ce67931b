"""Text measures by pretrained models: BERTScore and BARTScore. The one module that imports torch.

    BERTScore  (Zhang et al. 2020, arXiv 1904.09675): every token is matched with the most similar token of the other
               text by the cosine of their contextual embeddings; precision is the mean over the generated text's
               tokens, recall over the written one's
    BARTScore  (Yuan et al. 2021, arXiv 2106.11520): the mean log-probability of a text's tokens given another text

A model is a Hugging Face name, a local folder or a local .gguf file. Scores of different models, or of different
layers of a model, cannot be compared.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engines.quick_digest import quick_digest
from ..engines.weights import reach_hub
from ..errors import DeclarationError, ModelError, install_hint

Floats = NDArray[np.float64]
Texts = Sequence[str]
NO_HUB = "the Hugging Face hub does not answer, and its folder on this machine has no such model"
FEWEST_TOKENS = 512  # what a model without a stated limit is taken to read


class BertScore:
    """BERTScore without idf weights and without rescaling, as the authors' bert-score computes it.

    The special tokens that a tokenizer adds have no weight; as there, another token may be matched with one. A text
    without words has 0 in all three. F1 is symmetric, and exchanging the texts exchanges precision and recall.

    Args:
        model: an encoder such as "roberta-large" or "bert-base-uncased"; of an encoder-decoder the encoder is read. A
            decoder's embeddings know the text before a token alone, and most are similar to all others.
        layer: whose output is read, from 0 (the input embeddings); None is the last one. The authors chose 17 for
            roberta-large, 9 for bert-base-uncased and 40 for microsoft/deberta-xlarge-mnli.
        batch: pairs of texts read at once; the scores do not depend on it.

    Raises:
        DeclarationError: torch or transformers is not installed, or the model has no such layer.
        ModelError: the model cannot be loaded.
    """

    def __init__(self, model: str, layer: int | None = None, *, batch: int = 16) -> None:
        self._reader = _load("BERTScore", model, "AutoModel")
        network = self._reader.network
        self._encoder = network.get_encoder() if network.config.is_encoder_decoder else network
        layers = network.config.num_hidden_layers
        self.layer = layers if layer is None else layer
        if not 0 <= self.layer <= layers:
            raise DeclarationError(f"BERTScore: {model!r} has layers 0..{layers}, not {layer}. Choose one of them.")
        self.batch = batch
        self.cut = 0  # texts of the last call that fill what the model can read, so that their end may be missing
        self.signature = f"BERTScore|{self._reader.name}|layer={self.layer}|no idf|{self._reader.version}"

    def __call__(self, generated: Texts, written: Texts) -> dict[str, Floats]:
        """The scores bertscore_precision, bertscore_recall and bertscore_f1, (n,) each."""
        self.cut = 0
        scores = np.zeros((len(generated), 3))
        for index in _batches(generated, written, self.batch):
            ours = self._embedded([generated[row] for row in index])
            theirs = self._embedded([written[row] for row in index])
            scores[index] = [_matched(*pair) for pair in zip(ours, theirs, strict=True)]
        precision, recall, f1 = scores.T
        return {"bertscore_precision": precision, "bertscore_recall": recall, "bertscore_f1": f1}

    def _embedded(self, texts: Texts) -> list[tuple[Floats, NDArray[np.bool_]]]:
        """Of each text the tokens' unit vectors, (tokens, d), and which of them count, (tokens,)."""
        import torch

        # Byte-level tokenizers read a word at the start as another one than inside; the authors put a space before it.
        ids, mask, special, full = self._reader.read([f" {text.strip()}" for text in texts])
        self.cut += full
        with torch.inference_mode():
            output = self._encoder(input_ids=ids, attention_mask=mask, output_hidden_states=True)
            vectors = torch.nn.functional.normalize(output.hidden_states[self.layer].double(), dim=-1).cpu().numpy()
        real = mask.bool().cpu().numpy()
        return [
            (vector[keep], ~skip[keep]) for vector, keep, skip in zip(vectors, real, special.cpu().numpy(), strict=True)
        ]


class BartScore:
    """BARTScore with uniform weights and no prompt, as the authors' code computes it.

    A log-probability is at most 0, in nats a token, the special tokens at a text's ends among them. A text without
    words has NaN: no text to predict, or nothing to predict it from.

    Args:
        model: an encoder-decoder; the authors used "facebook/bart-large-cnn", also trained on ParaBank2.
        batch: pairs of texts read at once; the scores do not depend on it.

    Raises:
        DeclarationError: torch or transformers is not installed.
        ModelError: the model cannot be loaded, or is no encoder-decoder.
    """

    def __init__(self, model: str, *, batch: int = 4) -> None:
        self._reader = _load("BARTScore", model, "AutoModelForSeq2SeqLM")
        self.batch = batch
        self.cut = 0  # texts of the last call that fill what the model can read, so that their end may be missing
        self.signature = f"BARTScore|{self._reader.name}|{self._reader.version}"

    def __call__(self, generated: Texts, written: Texts) -> dict[str, Floats]:
        """The scores bartscore_precision, bartscore_recall and bartscore_f1, (n,) each.

        Precision is of the generated text given the written one, recall of the written text given the generated one,
        F1 their mean. The paper's fourth direction, faithfulness, is `log_probability(sources, generated)`.
        """
        precision, recall = self.log_probability(written, generated), self.log_probability(generated, written)
        return {"bartscore_precision": precision, "bartscore_recall": recall, "bartscore_f1": (precision + recall) / 2}

    def log_probability(self, sources: Texts, targets: Texts) -> Floats:
        """The mean log-probability of each target's tokens given its source, (n,)."""
        import torch

        self.cut = 0
        scores = np.full(len(targets), np.nan)
        for index in _batches(sources, targets, self.batch):
            source, mask, _, long_sources = self._reader.read([sources[row] for row in index])
            target, counted, _, long_targets = self._reader.read([targets[row] for row in index])
            self.cut += long_sources + long_targets
            with torch.inference_mode():
                logits = self._reader.network(input_ids=source, attention_mask=mask, labels=target).logits
                chosen = torch.log_softmax(logits, dim=-1).gather(-1, target.unsqueeze(-1)).squeeze(-1).double()
                scores[index] = ((chosen * counted).sum(dim=1) / counted.sum(dim=1)).cpu().numpy()
        return scores


_loading = Lock()


def loaded_bert_score(model: str, layer: int | None) -> BertScore:
    """The metric of this model and layer, loaded once in a process."""
    with _loading:
        return _bert_score(model, layer)


def loaded_bart_score(model: str) -> BartScore:
    """The metric of this model, loaded once in a process."""
    with _loading:
        return _bart_score(model)


@lru_cache(maxsize=2)
def _bert_score(model: str, layer: int | None) -> BertScore:
    return BertScore(model, layer)


@lru_cache(maxsize=2)
def _bart_score(model: str) -> BartScore:
    return BartScore(model)


def model_identity(model: str) -> str:
    """The model's name; of a file its name, size and digest."""
    path = Path(model)
    if not path.is_file():
        return model
    return f"{path.name}-{path.stat().st_size}-{quick_digest(path)[:12]}"


@dataclass(frozen=True)
class _Reader:
    """A model with its tokenizer: texts in, tensors of token ids (texts, tokens) out."""

    name: str
    version: str
    tokenizer: Any
    network: Any
    most_tokens: int

    def read(self, texts: Texts) -> tuple[Any, Any, Any, int]:
        """Token ids, the mask of true tokens, the mask of special ones, and how many texts fill `most_tokens`."""
        tokens = self.tokenizer(
            list(texts),
            padding=True,
            truncation=True,
            max_length=self.most_tokens,
            return_special_tokens_mask=True,
            return_tensors="pt",
        ).to(self.network.device)
        full = int((tokens["attention_mask"].sum(dim=1) >= self.most_tokens).sum())
        return tokens["input_ids"], tokens["attention_mask"], tokens["special_tokens_mask"].bool(), full


def _load(measure: str, model: str, kind: str) -> _Reader:
    try:
        import torch
        import transformers
    except ImportError:
        raise DeclarationError(f"{measure} needs torch and transformers. {install_hint('train')}") from None

    path = Path(model)
    gguf = path.suffix == ".gguf"
    place: str = str(path.parent) if gguf else model
    options: dict[str, Any] = {"gguf_file": path.name} if gguf else {}
    offline = not (gguf or path.exists() or path.is_absolute()) and _without_hub()
    if offline:
        options["local_files_only"] = True
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, **options)
        network = getattr(transformers, kind).from_pretrained(place, **options)
    except (OSError, ValueError, ImportError) as error:  # ImportError: gguf or accelerate, for a .gguf file
        reason = NO_HUB if offline else str(error).strip().split("\n")[0]
        raise ModelError(
            f"{measure}: {model!r} cannot be loaded ({reason}). Give a Hugging Face name, a folder or a .gguf file."
        ) from None
    tokenizer.padding_side = "right"
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    most = min(tokenizer.model_max_length, getattr(network.config, "max_position_embeddings", FEWEST_TOKENS))
    network = network if gguf else network.float()  # a .gguf file is read as float32, and refuses to be cast
    network = network.eval().to("cuda" if torch.cuda.is_available() else "cpu")
    name = path.name if path.exists() else model
    return _Reader(name, f"transformers {transformers.__version__}", tokenizer, network, int(most))


def _without_hub() -> bool:
    try:
        reach_hub()
    except OSError:
        return True
    return False


def _batches(left: Texts, right: Texts, size: int) -> Iterator[list[int]]:
    """Indices of the pairs with words on both sides, short ones first, so that little is padding."""
    both = [index for index, pair in enumerate(zip(left, right, strict=True)) if all(map(str.strip, pair))]
    both.sort(key=lambda index: len(left[index]) + len(right[index]))
    return (both[start : start + size] for start in range(0, len(both), size))


def _matched(
    generated: tuple[Floats, NDArray[np.bool_]], written: tuple[Floats, NDArray[np.bool_]]
) -> tuple[float, float, float]:
    """Precision, recall and F1 of greedy matching; 0 where a text has no token that counts."""
    (ours, our_tokens), (theirs, their_tokens) = generated, written
    if not (our_tokens.any() and their_tokens.any()):
        return 0.0, 0.0, 0.0
    similarity = ours @ theirs.T
    precision = float(similarity.max(axis=1)[our_tokens].mean())
    recall = float(similarity.max(axis=0)[their_tokens].mean())
    return precision, recall, 2 * precision * recall / (precision + recall) if precision + recall else 0.0
