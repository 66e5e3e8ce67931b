"""Metrics that compare a text with what people wrote: baselines that are judged and measured like any judge.

They read the `references` of a case and ask no LM. The metrics are those of `dicast evaluate --texts`.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

from ..data import Case, Finding, Verdict
from ..errors import DeclarationError, Unreadable
from ..judging.hparam import HParam
from ..judging.judge import Judge, verdict_of
from ..judging.registry import register

INPUTS = "single texts, pairs; references"
FULL_SCALE = 4.0  # log-odds of a difference from one end of a metric's scale to the other, as of 1..5


class TextScore(Judge):
    """What the metrics share: a number for each candidate; the greater one wins a pair."""

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
    """A metric that needs references: `use` says whether all of them count, or the first alone.

    Raises (when it judges):
        DeclarationError: a case has no reference.
    """

    def __init__(self, use: str = "all") -> None:
        super().__init__()
        self.use = HParam(use, ("all", "first"), search=())

    def references(self, case: Case) -> list[str]:
        if not case.references:
            raise DeclarationError(
                f"judge {self.name!r}: case {case.id!r} has no reference. Give rows with `reference` or `references`, "
                "or use a judge that needs none."
            )
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


class ModelMetric(TextScore):
    """What metrics by a pretrained model share: the parameter `model`, which is part of a run's identity."""

    model: HParam

    def resolved_models(self) -> dict[str, str]:
        from ..text_metrics.embedding import model_identity

        return {"metric": model_identity(self._model())}

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
class BertScoreF1(ModelMetric, ReferenceMetric):
    """BERTScore F1 with the reference that fits best; without idf weights and rescaling.

    Args:
        model: an encoder: a Hugging Face name, a folder or a .gguf file, such as roberta-large.
        layer: whose output is read; -1 is the last one.
        use: "all" references, or the "first" alone.
    """

    name = "bertscore"

    def __init__(self, *, model: str = "", layer: int = -1, use: str = "all") -> None:
        super().__init__(use)
        self.model = HParam(model)
        self.layer = HParam(layer, range(-1, 200), search=())

    def scores(self, case: Case, texts: Sequence[str]) -> list[float]:
        from ..text_metrics.embedding import loaded_bert_score

        metric = loaded_bert_score(self._model(), None if self.layer.value < 0 else self.layer.value)
        references = self.references(case)
        pairs = [(text, reference) for text in texts for reference in references]
        f1 = metric([text for text, _ in pairs], [reference for _, reference in pairs])["bertscore_f1"]
        return [float(row.max()) for row in f1.reshape(len(texts), len(references))]


@register(
    "perplexity",
    summary="baseline: how probable a local LM finds the text",
    source="-",
    inputs="single texts, pairs",
    calls="0",
)
class Perplexity(ModelMetric):
    """Minus the perplexity of each text under a causal LM, so that the more probable text has the higher score.

    The perplexity is exp of the mean negative log-probability of the text's tokens; the first one counts where the
    request, or the tokenizer's own first token, stands before it.

    Args:
        model: a causal LM: a Hugging Face name, a folder, or a .gguf file, such as gpt2.
        context: "request" reads the case's request before the text, "none" the text alone.
    """

    name = "perplexity"
    weight = 0.01  # log-odds per point: perplexities of fluent texts lie tens of points apart

    def __init__(self, *, model: str = "", context: str = "none") -> None:
        super().__init__()
        self.model = HParam(model)
        self.context = HParam(context, ("none", "request"), search=())

    def scores(self, case: Case, texts: Sequence[str]) -> list[float]:
        from ..text_metrics.embedding import loaded_perplexity

        before = case.query if self.context.value == "request" else ""
        return [-float(value) for value in loaded_perplexity(self._model())([before] * len(texts), texts)]
