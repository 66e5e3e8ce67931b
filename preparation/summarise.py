"""Long texts are summarised before they are judged, against contamination: the model may know the text by heart.

PerSE, arXiv 2310.03304, section 4. Comments stay as their reviewer wrote them.
"""

import copy
from functools import partial

import dspy

from ..data import Case
from ..data.profiles import count_words
from ..data.refusal_detection import is_refusal
from ..engines.parallel import concurrently
from ..judging.delimiters import unfenced
from ..judging.hparam import HParam
from ..judging.judge import fenced
from ..judging.stage import Stage
from ..signatures import preparation as signatures
from .base import Preparation, rewritten, texts_of
from .registry import register

TOKENS_A_WORD = 4  # room for long words and other scripts
DAMAGED = "\N{REPLACEMENT CHARACTER}"


@register(
    "summarise",
    summary="texts of more than 150 words are summarised",
    source="PerSE, arXiv 2310.03304",
    inputs="any case",
    calls="1 a long text",
)
class Summarise(Preparation):
    """Summarises each text that is longer than `words`; a shorter one stays verbatim.

    `meta["summarised"]` counts the different texts summarised and their words before and after. Calls: 1 a long text.

    Args:
        words: how long a text may stay, and about how long a summary is.
    """

    name = "summarise"

    def __init__(self, *, words: int = 150) -> None:
        super().__init__()
        self.words = HParam(words, least=1)
        self.summarise = Stage(signatures.SummariseText, "summary")

    def prepare(self, case: Case) -> Case:
        long = [text for text in texts_of(case) if count_words(text) > self.words.value]
        summaries = dict(zip(long, concurrently(self._summary, long), strict=True))
        record = {
            "texts": len(long),
            "words_before": sum(map(count_words, long)),
            "words_after": sum(map(count_words, summaries.values())),
        }
        return rewritten(case, lambda text: summaries.get(text, text), summarised=record)

    def _summary(self, text: str) -> str:
        stage = copy.copy(self.summarise)  # what makes a summary usable depends on the text
        stage.check = partial(_check, text)
        stage.max_tokens = TOKENS_A_WORD * int(self.words.value) + 64
        return unfenced(stage(text=fenced(text), words=int(self.words.value)).summary)


def _check(text: str, prediction: dspy.Prediction) -> None:
    """Raises ValueError for a summary that cannot stand for the text."""
    summary = unfenced(prediction.summary)
    if not summary:
        raise ValueError("the summary is empty")
    if DAMAGED in summary and DAMAGED not in text:
        raise ValueError(f"the summary holds a damaged character ({summary!r})")
    if count_words(summary) >= count_words(text):
        raise ValueError(f"the summary has {count_words(summary)} words, the text {count_words(text)}")
    if is_refusal(summary) and not is_refusal(text):
        raise ValueError(f"the model declined ({summary!r})")
