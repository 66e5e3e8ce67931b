"""Similarity of a judge's text to an annotator's: BLEU and ROUGE (PerSE, arXiv 2310.03304, section 5).

    BLEU      Papineni et al. 2002, by sacrebleu: of all texts together, and text by text
    ROUGE     Lin 2004, by rouge-score: F1 of shared words (1), word pairs (2), longest common subsequence (L)

BERTScore and BARTScore read texts with a pretrained model; they are in embedding.py. All four compare wording: a good
review that makes another point than the annotator scores low, so they rank judges and do not grade a single review.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..data import Case, Judged
from ..errors import DeclarationError, install_hint
from ..evaluation.measure_factories import clip_interval, to_measure
from ..evaluation.results import Measure
from ..stats.resampling import bootstrap, mean

Floats = NDArray[np.float64]
Texts = Sequence[str]
References = Sequence[str | Sequence[str]]  # one text or several for each generated text
Groups = Sequence[Hashable] | None
WRITTEN_IN = ("review", "comment", "explanation")  # columns of an annotator's text; the first with a text counts
KINDS = ("rouge1", "rouge2", "rougeL")
ORDERS = 4  # the longest n-gram of BLEU


class Scorer(Protocol):
    """A measure by a pretrained model: `BertScore` or `BartScore`."""

    signature: str
    cut: int

    def __call__(self, generated: Texts, written: Texts) -> dict[str, Floats]: ...


def generated(judged: Judged) -> str | None:
    """The judge's text for a case: its explanations, one a line, without their criteria; None when there are none.

    For `perse` this is the review, the explanation of its only finding.
    """
    said = [finding.explanation.strip() for finding in judged.findings if finding.explanation.strip()]
    return "\n".join(said) or judged.rationale.strip() or None


def written(case: Case) -> str | None:
    """An annotator's text about a case, from its `meta`: a review, a comment or an explanation; None without any."""
    texts = (case.meta.get(column) for column in WRITTEN_IN)
    return next((text.strip() for text in texts if isinstance(text, str) and text.strip()), None)


def pairs(verdicts: Iterable[Judged], cases: Iterable[Case]) -> tuple[list[tuple[str, str]], list[str]]:
    """(generated, written) and the group of every case that has both, in the order of ids.

    A case without one of the texts is left out, not taken as 0.
    """
    references = {case.id: text for case in cases if (text := written(case))}
    rows = sorted(
        (judged.case_id, text, references[judged.case_id], judged.group_name)
        for judged in verdicts
        if judged.case_id in references and (text := generated(judged))
    )
    return [(ours, theirs) for _, ours, theirs, _ in rows], [group for *_, group in rows]


@dataclass(frozen=True)
class Bleu:
    """BLEU of n texts with their references, 0..100.

    `counts` holds what any corpus BLEU is a function of, one row a text: tokens generated, tokens written (of several
    references of the one whose length is nearest), shared n-grams of order 1..4, n-grams generated of order 1..4.
    `sentences` is each text's own BLEU, whose orders end where a text has no more n-grams. A text without words, or
    without a word of its references, has 0.
    """

    counts: NDArray[np.int64]  # (n, 10)
    sentences: Floats  # (n,)
    signature: str

    def corpus(self, index: NDArray[np.intp] | None = None) -> float:
        """Of all texts together, or of the texts of `index` (m,), repeated as often as they are named."""
        from sacrebleu.metrics.bleu import BLEU

        rows = self.counts if index is None else self.counts[index]
        lengths, shared, total = np.split(rows.sum(axis=0), [2, 2 + ORDERS])
        ours, theirs = lengths.tolist()
        return float(BLEU.compute_bleu(shared.tolist(), total.tolist(), ours, theirs, smooth_method="exp").score)


def bleu(generated: Texts, written: References) -> Bleu:
    """BLEU by sacrebleu's defaults (13a tokens, exponential smoothing); a bootstrap resamples `Bleu.corpus`.

    Raises:
        DeclarationError: sacrebleu is not installed.
    """
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError:
        raise DeclarationError(f"BLEU needs sacrebleu. {install_hint('text')}") from None

    metric, whole = BLEU(effective_order=True), BLEU()
    references = [_several(theirs) for theirs in written]
    scores = [metric.sentence_score(ours, theirs) for ours, theirs in zip(generated, references, strict=True)]
    rows = [[score.sys_len, score.ref_len, *score.counts, *score.totals] for score in scores]
    most = max(map(len, references), default=1)
    whole.corpus_score([""], [[""]] * most)  # its signature has the number of references, which it learns from a call
    return Bleu(
        counts=np.array(rows, dtype=np.int64).reshape(-1, 2 + 2 * ORDERS),
        sentences=np.array([score.score for score in scores], dtype=np.float64),
        signature=str(whole.get_signature()),
    )


def rouge(
    generated: Texts, written: References, kinds: Sequence[str] = KINDS, *, stemmer: bool = False
) -> dict[str, Floats]:
    """ROUGE F1 in [0, 1] by kind, (n,) each; 0 for a text without words; of several references the greatest.

    rouge-score reads the letters a..z and digits alone, in lower case: texts in other scripts score 0.

    Args:
        kinds: rouge1..rouge9 and rougeL.
        stemmer: compare Porter stems of words longer than three letters, as `ROUGE-1.5.5 -m` does; rouge-score and
            Hugging Face's `evaluate` leave it off.

    Raises:
        DeclarationError: rouge-score is not installed.
    """
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError:
        raise DeclarationError(f"ROUGE needs rouge-score. {install_hint('text')}") from None

    scorer = RougeScorer(list(kinds), use_stemmer=stemmer)
    scores = [scorer.score_multi(_several(theirs), ours) for ours, theirs in zip(generated, written, strict=True)]
    return {kind: np.array([score[kind].fmeasure for score in scores], dtype=np.float64) for kind in kinds}


def _several(references: str | Sequence[str]) -> list[str]:
    return [references] if isinstance(references, str) else list(references)


def measures(
    pairs: Sequence[tuple[str, str]],
    groups: Groups = None,
    which: Sequence[str] = ("bleu", "rouge"),
    *,
    models: Sequence[Scorer] = (),
    seed: int = 0,
) -> tuple[Measure, ...]:
    """The measures of (generated, written) texts with 95 % intervals over groups; none without texts.

    Args:
        groups: (n,) the annotator of each text; texts of one annotator are not independent.
        which: of "bleu" and "rouge".
        models: measures by pretrained models to take as well.
        seed: of the resamples behind the interval of the corpus BLEU.

    Raises:
        DeclarationError: an unknown name, or a package that is not installed.
    """
    unknown = [name for name in which if name not in MEASURED]
    if unknown:
        raise DeclarationError(f"text measures: {unknown[0]!r} is not one of {', '.join(MEASURED)}.")
    if not pairs:
        return ()
    ours, theirs = [text for text, _ in pairs], [text for _, text in pairs]
    results = [measure for name in which for measure in MEASURED[name](ours, theirs, groups, seed)]
    for model in models:
        results += _by_model(model, ours, theirs, groups)
    return tuple(results)


def _bleu(ours: Texts, theirs: Texts, groups: Groups, seed: int) -> list[Measure]:
    scores = bleu(ours, theirs)
    corpus = bootstrap(scores.corpus, len(ours), groups, seed=seed, bounds=(0.0, 100.0))
    sentences = clip_interval(mean(scores.sentences, groups), 0, 100)
    return [
        to_measure("bleu", corpus, f"BLEU of all texts together, 0..100 ({scores.signature})"),
        to_measure("bleu_sentence", sentences, "mean of the texts' own BLEU, 0..100, effective order"),
    ]


def _rouge(ours: Texts, theirs: Texts, groups: Groups, seed: int) -> list[Measure]:
    return [
        to_measure(
            kind,
            clip_interval(mean(values, groups), 0, 1),
            f"mean F1 of ROUGE-{kind.removeprefix('rouge')}, 0..1, no stemming",
        )
        for kind, values in rouge(ours, theirs).items()
    ]


def _by_model(model: Scorer, ours: Texts, theirs: Texts, groups: Groups) -> list[Measure]:
    scores = model(ours, theirs)
    note = f"texts that fill what the model reads, and may be cut at their end: {model.cut}" if model.cut else ""
    return [
        to_measure(
            name,
            mean(values, groups),
            f"mean over texts ({model.signature})",
            "a text has no words" if np.isnan(values).any() else note,
        )
        for name, values in scores.items()
    ]


MEASURED: dict[str, Callable[[Texts, Texts, Groups, int], list[Measure]]] = {"bleu": _bleu, "rouge": _rouge}
