"""Names of people and places are replaced before a text is judged, so that a model cannot know it by its names.

PerSE, arXiv 2310.03304, section 4: the model makes a mapping for each text, and code applies it. The mapping is not
kept, because it would undo the work.
"""

from collections import Counter

from ..data import Case
from ..engines.parallel import concurrently
from ..judging.hparam import HParam
from ..judging.judge import fenced
from ..judging.stage import Stage
from ..signatures import preparation as signatures
from .base import Preparation, rewritten, texts_of
from .pseudonymise import WORD, Names
from .registry import register

MOST_IN_DOUBT = 20  # words of one question; more wait for the next round


@register(
    "anonymise",
    summary="names of people and places are replaced, by code, through a mapping the model makes",
    source="PerSE, arXiv 2310.03304",
    inputs="any case",
    calls="1 a text, and 1 or 2 more where words look like names",
)
class Anonymise(Preparation):
    """Replaces the names in each text, in the comments on it, and in the query or premise that it answers.

    `meta["anonymised"]` holds how many names of each kind were `replaced`, summed over the different texts, and the
    `suspects`: words left that still look like names. Calls: 1 a text, and 1 a round where words look like names.

    Args:
        rounds: how often at most the model is asked about words that look like names, 0..2.
    """

    name = "anonymise"

    def __init__(self, *, rounds: int = 2) -> None:
        super().__init__()
        self.rounds = HParam(rounds, range(3))
        self.propose = Stage(signatures.ProposeNames, "names", max_tokens=1500)
        self.review = Stage(signatures.ReviewWords, "suspects", max_tokens=900)

    def prepare(self, case: Case) -> Case:
        passages = texts_of(case)
        replacements = concurrently(lambda passage: self._names(*passage), passages.items())
        names = dict(zip(passages, replacements, strict=True))
        record = {
            "replaced": dict(sorted(sum((text.replaced for text in replacements), Counter[str]()).items())),
            "suspects": sorted({word for text in replacements for word in text.suspects()}),
        }
        return rewritten(
            case,
            lambda text: names[text].apply(text),
            lambda text, comment: names[text].apply(comment),
            anonymised=record,
        )

    def _names(self, text: str, comments: list[str]) -> Names:
        names = Names(text, comments)
        if any(word[0].isupper() for word in WORD.findall(text)):
            for proposed in self.propose(text=fenced(text)).names:
                names.add(proposed.name, proposed.kind, proposed.replacement)
        for _ in range(self.rounds.value):
            doubtful = dict(list(names.suspects().items())[:MOST_IN_DOUBT])
            if not doubtful:
                break
            self._review(names, doubtful)
        return names

    def _review(self, names: Names, doubtful: dict[str, str]) -> None:
        """Ask what the words are; what is said of any other word is passed over."""
        pieces = fenced("\n".join(dict.fromkeys(doubtful.values())))
        for answer in self.review(pieces=pieces, words=", ".join(doubtful)).answers:
            words = WORD.findall(answer.word)  # two listed words may be answered as one name
            if not words or not doubtful.keys() >= set(words):
                continue
            if answer.kind == "no_name":
                names.clear(words)
            else:
                names.add(answer.word, answer.kind, answer.replacement)
