"""Metrics that compare a text with what people wrote: baselines that are judged and measured like any judge.

They read the `references` of a case and ask no LM. The metrics are those of `dicast evaluate --texts`.
"""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from ..data import Case, Finding, Verdict
from ..engines.models import resolved_identity
from ..errors import DeclarationError, Unreadable
from ..judging.hparam import HParam
from ..judging.judge import Judge, verdict_of
from ..judging.registry import register

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SMALLEST = "local/smollm2-135m"
INPUTS = "single texts, pairs; references"
FULL_SCALE = 4.0  # log-odds of a difference from one end of a metric's scale to the other, as of 1..5


class TextScore(Judge):
    """What the metrics share: a number for each candidate; the greater one wins a pair."""

    scores_only = True

    weight: ClassVar[float] = FULL_SCALE  # log-odds per point of difference

    def assess(self, case: Case) -> Verdict:
        scores = self.scores(case, [candidate.text for candidate in case.candidates])
        missing = [index for index, score in enumerate(scores) if score != score]
        if missing:
            raise Unreadable(f"judge {self.name!r}: candidate {missing[0]} has no words to score. Leave it out.")
        return verdict_of(case, [Finding(criterion=self.name, scores=tuple(scores))], score_weight=self.weight)

    def scores(self, case: Case, texts: Sequence[str]) -> list[float]:
        """A score for each text of the case, NaN where it has none."""
        raise NotImplementedError


class ReferenceMetric(TextScore):
    """A metric that needs references: `use` says whether all of them count, or the first alone."""

    def __init__(self, use: str = "all") -> None:
        super().__init__()
        self.use = HParam(use, ("all", "first"), search=())

    def lacks(self, case: Case) -> str:
        if case.references:
            return ""
        return (
            f"judge {self.name!r}: case {case.id!r} has no reference. Give rows with `reference` or `references`, "
            "or use a judge that needs none."
        )

    def references(self, case: Case) -> list[str]:
        return list(case.references if self.use.value == "all" else case.references[:1])


class Rouge(ReferenceMetric):
    """ROUGE F1 in 0..1 with the reference that fits best, without stemming (Lin 2004, by rouge-score).

    Args:
        use: "all" references, or the "first" alone.
    """

    kind: ClassVar[str]
    score_scale = (0.0, 1.0)

    def scores(self, case: Case, texts: Sequence[str]) -> list[float]:
        from ..text_metrics.overlap import rouge

        references = self.references(case)
        return [float(score) for score in rouge(texts, [references] * len(texts), (self.kind,))[self.kind]]


def _rouge(shared: str, name: str) -> Callable[[type[Rouge]], type[Rouge]]:
    return register(
        name, summary=f"baseline: {shared} shared with a reference", source="Lin 2004", inputs=INPUTS, calls="0"
    )


@_rouge("words", "rouge-1")
class Rouge1(Rouge):
    """ROUGE-1 of each text and its references, in 0..1; `use=first` reads the first reference alone."""

    name, kind = "rouge-1", "rouge1"


@_rouge("word pairs", "rouge-2")
class Rouge2(Rouge):
    """ROUGE-2 of each text and its references, in 0..1; `use=first` reads the first reference alone."""

    name, kind = "rouge-2", "rouge2"


@_rouge("the longest sequence of words", "rouge-l")
class RougeL(Rouge):
    """ROUGE-L of each text and its references, in 0..1; `use=first` reads the first reference alone."""

    name, kind = "rouge-l", "rougeL"


@register(
    "bleu", summary="baseline: n-grams shared with references", source="Papineni et al. 2002", inputs=INPUTS, calls="0"
)
class BleuScore(ReferenceMetric):
    """BLEU of each text alone, 0..100, with effective order, by sacrebleu's defaults.

    Args:
        use: "all" references, as BLEU's definition counts several; or the "first" alone.
    """

    name = "bleu"
    score_scale = (0.0, 100.0)
    weight = FULL_SCALE / 100

    def scores(self, case: Case, texts: Sequence[str]) -> list[float]:
        from ..text_metrics.overlap import bleu

        references = self.references(case)
        return [float(score) for score in bleu(texts, [references] * len(texts)).sentences]


class ModelMetric(ReferenceMetric):
    """What metrics by a pretrained model share: the parameter `model`, which is part of a run's identity."""

    def __init__(self, model: str, use: str) -> None:
        super().__init__(use)
        self.model = HParam(model)

    def resolved_models(self) -> dict[str, str]:
        from ..text_metrics.embedding import model_identity

        return {"metric": model_identity(self._model())}

    def scores(self, case: Case, texts: Sequence[str]) -> list[float]:
        references = self.references(case)
        pairs = [(text, reference) for text in texts for reference in references]
        values = self.of_pairs([text for text, _ in pairs], [reference for _, reference in pairs])
        return [float(row.max()) for row in values.reshape(len(texts), len(references))]

    def of_pairs(self, texts: Sequence[str], references: Sequence[str]) -> "NDArray[np.float64]":
        """A score for each text with its reference, (n,)."""
        raise NotImplementedError

    def _model(self) -> str:
        if not self.model.value:
            raise DeclarationError(
                f"judge {self.name!r}: it has no model. Give --set model=NAME of Hugging Face, a folder or a .gguf."
            )
        return str(self.model.value)


@register(
    "bertscore",
    summary="baseline: tokens matched with a reference's by a pretrained encoder",
    source="arXiv 1904.09675",
    inputs=INPUTS,
    calls="0",
)
class BertScoreF1(ModelMetric):
    """BERTScore F1 with the reference that fits best; without idf weights and rescaling.

    Args:
        model: an encoder: a Hugging Face name, a folder or a .gguf file, such as roberta-large.
        layer: whose output is read; -1 is the last one.
        use: "all" references, or the "first" alone.
    """

    name = "bertscore"

    def __init__(self, *, model: str = "", layer: int = -1, use: str = "all") -> None:
        super().__init__(model, use)
        self.layer = HParam(layer, range(-1, 200), search=())

    def of_pairs(self, texts: Sequence[str], references: Sequence[str]) -> "NDArray[np.float64]":
        from ..text_metrics.embedding import loaded_bert_score

        metric = loaded_bert_score(self._model(), None if self.layer.value < 0 else self.layer.value)
        return metric(texts, references)["bertscore_f1"]


@register(
    "bartscore",
    summary="baseline: how probable an encoder-decoder finds the text given a reference, and the reverse",
    source="arXiv 2106.11520",
    inputs=INPUTS,
    calls="0",
)
class BartScoreF1(ModelMetric):
    """BARTScore with the reference that fits best: a mean log-probability, at most 0, in nats a token.

    Args:
        model: an encoder-decoder: a Hugging Face name or a folder, such as facebook/bart-large-cnn.
        direction: "precision" is of the text given the reference, "recall" the reverse, "f1" their mean.
        use: "all" references, or the "first" alone.
    """

    name = "bartscore"
    weight = 1.0

    def __init__(self, *, model: str = "", direction: str = "f1", use: str = "all") -> None:
        super().__init__(model, use)
        self.direction = HParam(direction, ("f1", "precision", "recall"), search=())

    def of_pairs(self, texts: Sequence[str], references: Sequence[str]) -> "NDArray[np.float64]":
        from ..text_metrics.embedding import loaded_bart_score

        return loaded_bart_score(self._model())(texts, references)[f"bartscore_{self.direction.value}"]


@register(
    "perplexity",
    summary="baseline: how probable a local LM finds the text",
    source="-",
    inputs="single texts, pairs",
    calls="0",
)
class Perplexity(TextScore):
    """Minus the log of each text's perplexity under a local LM: its tokens' mean log-probability, at most 0, in nats.

    The more probable text has the higher score; exp(-score) is the perplexity. The first token of a text counts where
    the request, or a token that the model puts before every text, is before it. A text longer than the model's context
    is read in windows.

    Args:
        model: `local/NAME` of `dicast models list`, or the path of a .gguf file.
        context: "request" reads the case's request before the text, "none" the text alone.
    """

    name = "perplexity"
    weight = 1.0

    def __init__(self, *, model: str = SMALLEST, context: str = "none") -> None:
        super().__init__()
        self.model = HParam(model)
        self.context = HParam(context, ("none", "request"), search=())

    def resolved_models(self) -> dict[str, str]:
        return {"metric": resolved_identity(self._model())}

    def scores(self, case: Case, texts: Sequence[str]) -> list[float]:
        from ..text_metrics.perplexity import perplexity

        context = case.query if self.context.value == "request" else ""
        return [-math.log(value) for value in perplexity(self._model(), texts, context)]

    def _model(self) -> str:
        model = str(self.model.value)
        return model if model.startswith("local/") else f"local/{model}"
