"""Swap augmentation: the same judgment of a pair, shown in the other order (Fennec, arXiv 2405.12163, section 3).

The two texts change places in the prompt, and so does what was answered of each: fields in pairs (`score_a` and
`score_b`), the letters of an answer, and the letters by which its words name the texts. Where words leave it open
which text they mean, there is no swapped judgment.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from ..data.verdict import OTHER
from ..engines.adapter import heading
from .row import ChatMessage, most_probable
from .trace import Trace

OTHER_LETTER = {"A": "B", "B": "A", "a": "b", "b": "a"}
OTHER_WORD = {"first": "second", "second": "first"}
NOUNS = r"(?:[Rr]esponses?|[Tt]exts?|[Aa]nswers?|[Oo]ptions?|[Cc]andidates?|[Aa]ssistants?|[Pp]lots?|[Ss]tor(?:y|ies))"
VERBS = (
    r"(?:(?:is|was|has|had|does|did|do)(?:n['’]t)?|gives?|gave|provides?|names?|says?|said|fails?|wins?|and|or|but|than"
    r"|scores?|makes?|lacks?|contains|offers|includes|mentions|covers|explains|addresses|answers|uses|lists|adds|shows"
    r"|describes|follows|focuses|ignores|misses|states|stays|tries|goes|seems|reads|sounds|repeats|ends|begins|starts)"
)
MENTION = re.compile(
    rf"(?P<before>{NOUNS} |[\"'(\[*])(?P<letter>[AB])\b"  # response A, (A), "A"
    rf"|\b(?P<alone>[AB])(?=(?:['’]s\b|[:,;)\].=<>]| *[<>=] *| {VERBS}\b)|$)"  # A's, A: ..., A is better
    rf"|(?<=[a-z,] )(?P<inside>[AB])\b"  # better than A
    rf"|\b(?P<word>[Ff]irst|[Ss]econd)(?= (?:one\b|{NOUNS}))"
)
IS_NAME = r"(?:(?<=[^s] a)|(?! (?!(?:and|or)\b)\w))"  # an a that is no article: "answers a question" has a verb
FOLLOWING = (  # words before which an A is a text, as it is before a verb
    r"(?:wrote|made|went|kept|left|got|took|chose|lost|won|came|began|led|met|put|built|found|(?:under)?sto{2}d|felt|meant|fell"
    r"|agreed|over|for|because|while|since|as|with|without|in|on|by|to|of|at|from|not|which|who|when|if|then)"
)
# What is left once the mentions are taken out, and may name a text: an A that is no article, or another name.
OPEN = re.compile(
    rf"\b(?:former|latter|B|{NOUNS} (?:#?[12]|b|a{IS_NAME})|[Tt]he (?:first|second))\b"
    r"|(?<![\w-])A(?![\w-])(?! [\w\"'“])"  # no word follows, as after an article
    r"|(?<![\w-])A (?=(?:can|could|would|should|will|may|might|must|also|only|still|never|just|(?:\w+n['’]t))\b)"
    rf"|(?<![\w-])A (?={FOLLOWING}\b(?!-))"
    r"|(?<![\w-])A (?=\w*(?:[^\Wsui]s|[^\We]ed|ly)\b)"  # contains, contained, clearly: a verb, or before one
)
NO_TEXT = re.compile(r"\b(?:[Vv]itamin|[Hh]epatitis|[Gg]rade|[Pp]lan|[Tt]ype|[Ss]ection|[Pp]art|[Cc]lass) [AB]\b")


def swapped(trace: Trace) -> Trace | None:
    """The trace of the same judgment with the texts shown in the other order; None where it cannot be had."""
    if trace.order is None or trace.messages[-1].role != "user":
        return None
    content = _swapped_prompt(trace.messages[-1].content, trace.shown)
    if content is None:
        return None
    messages = (*trace.messages[:-1], ChatMessage(role="user", content=content))
    shown = {**trace.shown, **{name: trace.shown[other] for name, other in pairs_of(trace.shown).items()}}
    changed: dict[str, Any] = {"messages": messages, "shown": shown, "order": OTHER[trace.order]}
    if trace.probabilities:
        if not set(trace.meanings.values()) <= {"a", "b", "tie"}:  # a score or a yes: of which text, no token says
            return None
        probabilities = _swapped_tokens(trace)
        return trace.model_copy(
            update=changed | {"probabilities": probabilities, "answer": most_probable(probabilities)}
        )
    outputs = swapped_outputs(trace.outputs)
    if outputs is None:
        return None
    return trace.model_copy(update=changed | {"outputs": outputs, "answer": json.dumps(outputs, ensure_ascii=False)})


def pairs_of(names: Mapping[str, Any]) -> dict[str, str]:
    """The fields that are of one text of the two, each with that of the other text.

    Example:
        >>> pairs_of({"request": "", "response_a": "", "response_b": ""})
        {'response_a': 'response_b', 'response_b': 'response_a'}
    """
    others = {name: f"{name[:-1]}{OTHER_LETTER[name[-1]]}" for name in names if name.endswith(("_a", "_b"))}
    return {name: other for name, other in others.items() if other in names}


def swapped_outputs(outputs: Mapping[str, Any]) -> dict[str, Any] | None:
    """A typed answer about the pair in the other order, its fields in their order; None where its words leave it open.

    Example:
        >>> swapped_outputs({"score_a": 4, "score_b": 2, "comparison": "Response A names more than B.", "better": "A"})
        {'score_a': 2, 'score_b': 4, 'comparison': 'Response B names more than A.', 'better': 'B'}
    """
    others = pairs_of(outputs)
    answer = {name: _swapped_value(outputs[others.get(name, name)]) for name in outputs}
    lost = any(answer[name] is None for name in outputs if outputs[others.get(name, name)] is not None)
    return None if lost else answer


def swapped_words(text: str) -> str | None:
    """The text with the two texts that it names exchanged; None where it names one in another way.

    Example:
        >>> swapped_words("A better start in A. Response B is vague.")
        'A better start in B. Response A is vague.'
        >>> swapped_words("The former is clearer.")
    """
    if NO_TEXT.search(text) or OPEN.search(MENTION.sub("", text)):
        return None
    return MENTION.sub(_exchanged, text)


def _exchanged(mention: re.Match[str]) -> str:
    if word := mention["word"]:
        other = OTHER_WORD[word.lower()]
        return other.capitalize() if word[0].isupper() else other
    letter = mention["letter"] or mention["alone"] or mention["inside"]
    return f"{mention['before'] or ''}{OTHER_LETTER[letter]}"


def _swapped_value(value: Any) -> Any:
    """An answer's value; None where it cannot be swapped."""
    if isinstance(value, str):
        return OTHER_LETTER.get(value) or swapped_words(value)
    if isinstance(value, Mapping):
        return swapped_outputs(value)
    if isinstance(value, list | tuple):
        parts = [_swapped_value(part) for part in value]
        return None if any(new is None for new, old in zip(parts, value, strict=True) if old is not None) else parts
    return value


def _swapped_prompt(content: str, shown: Mapping[str, str]) -> str | None:
    """The message with the texts of each pair of fields exchanged; None where a text is not where it should be."""
    for name, other in pairs_of(shown).items():
        if name.endswith("_b"):
            continue
        first, second = (f"{heading(field)}:\n{shown[field]}" for field in (name, other))
        start, after = content.rfind(first), content.rfind(second)
        if start < 0 or after < start + len(first):
            return None
        exchanged = f"{heading(name)}:\n{shown[other]}", f"{heading(other)}:\n{shown[name]}"
        between, rest = content[start + len(first) : after], content[after + len(second) :]
        content = "".join([content[:start], exchanged[0], between, exchanged[1], rest])
    return content


def _swapped_tokens(trace: Trace) -> dict[str, float]:
    """The probabilities with those of a and b exchanged."""
    token_of = {meaning: token for token, meaning in trace.meanings.items()}
    exchanged = {"a": "b", "b": "a"}
    return {
        token: trace.probabilities[token_of[exchanged.get(meaning, meaning)]]
        for token, meaning in trace.meanings.items()
    }
