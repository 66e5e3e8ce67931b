"""Whether a reason says anything: more than the verdict, in other words than the question's.

Small models repeat the verdict, the name of the aspect, the request or a whole response. Words are compared, not
meanings, so that a reason of empty praise passes.
"""

import re
from collections.abc import Iterable, Sequence

from .verdict_words import VerdictWords

LEAST = 2  # different words beside those of the verdict
COPIED = 0.8  # of a reason's words, from here on it is a copy
OF_QUESTION, OF_RESPONSE = 4, 6  # words in a row that are copied and not met by chance
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
EMPTY = frozenset(  # words that say nothing of a text beside which one is better
    """
    a an the is are was were be been it its this that these those there here of to in on at for from and or but not
    no as by with than then because since so therefore thus hence due more most much very too also both each other
    one two which what who i we you they he she my your their our do does did can could will would should has have
    had b c d first second third response responses answer answers text texts option options candidate candidates
    verdict verdicts reason reasons judge judged judgment settled say says said speak speaks favor favour favors
    favours support supports better best worse worst good bad stronger strongest weaker weakest superior inferior
    preferable prefer preferred winner wins win chosen choose choice correct right wrong score scores scored rating
    scale point points neither tie tied equal equally same quality overall category clearly simply just
    """.split()  # noqa: SIM905
)


def fault_of(
    reason: str, words: VerdictWords, *, aspect: str, question: Iterable[str], responses: Sequence[str]
) -> str:
    """What is wrong with a reason that says nothing, as the end of a sentence about it; empty where it says something.

    Args:
        words: the verdict that is explained.
        aspect: what was judged.
        question: what the model was shown beside the responses: request, instructions, profile.
        responses: what was judged.

    Example:
        >>> from dicast.judging.delimiters import Shown
        >>> verdict = VerdictWords(Shown("response A is better"), "a", {"a": Shown("response A is better")})
        >>> fault_of("Response A is better.", verdict, aspect="", question=(), responses=())
        'says nothing but the verdict'
    """
    written = words_of(reason)
    if not written:
        return "is empty"
    verdict = {word for text in (words.sentence, *words.options.values()) for word in words_of(text)}
    content = set(written) - EMPTY - verdict
    if len(content) < LEAST:
        return "says nothing but the verdict"
    if len(content - set(words_of(aspect))) < LEAST:
        return "only names what was judged"
    shown = list(question)
    if _copied(written, shown, OF_QUESTION) >= COPIED:
        return "repeats the question"
    if _copied(written, [*shown, *responses], OF_RESPONSE) >= COPIED:
        return "is copied from the texts"
    return ""


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without marks; of scripts without spaces the characters."""
    return WORD.findall(text.casefold())


def _copied(written: Sequence[str], sources: Iterable[str], run: int) -> float:
    """The part of the words that are in runs of so many words, or the whole of a shorter text, as in a source."""
    run = min(run, len(written))
    known = set[tuple[str, ...]]()
    for source in sources:
        words = words_of(source)
        known.update(tuple(words[start : start + run]) for start in range(len(words) - run + 1))
    taken = [False] * len(written)
    for start in range(len(written) - run + 1):
        if tuple(written[start : start + run]) in known:
            taken[start : start + run] = [True] * run
    return sum(taken) / len(written)
