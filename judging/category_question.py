"""Ask which category a text belongs to, as a choice among letters.

Models like some letters better than others, so the categories are shown in their order and in the reverse one. A server
lists at most 20 alternatives of a token: more categories are asked in parts, then the best of each part against each
other. The probability of a category is then that of its part, by its best one, times that within the part.
"""

import math
import string
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

import dspy

from ..data import Case, Finding
from ..data.task_descriptions import OVERALL
from ..engines.parallel import concurrently
from .answer_types import MOST_OPTIONS
from .delimiters import Shown, constant, defuse
from .judge import PresentedCase, orders, present
from .question import Answer, Question

STOP = ". "  # between a letter and its category
Shares = tuple[dict[str, float], float | None]  # of the categories; the least probability mass on the letters


def ask_category(question: Question, case: Case, *, readout: str, order: str) -> list[Finding]:
    """A finding for each order in which the categories are shown.

    Args:
        question: of a signature with the fields of `signatures.categories.Classify`.
        order: "one" or "both".
    """
    shown = present(case)

    def finding(turned: bool) -> Finding:
        names = case.categories[::-1] if turned else case.categories
        shares, mass_read = _shares(question, shown, names, readout)
        distribution = {name: shares[name] for name in case.categories}
        return Finding(criterion=case.aspect or OVERALL, distribution=distribution, mass_read=mass_read)

    return concurrently(finding, [way == "ba" for way in orders(order)])


def _shares(question: Question, shown: PresentedCase, names: Sequence[str], readout: str) -> Shares:
    if len(names) <= MOST_OPTIONS:
        return _asked(question, shown, names, readout)
    count = math.ceil(len(names) / MOST_OPTIONS)
    parts = [names[place::count] for place in range(count)]
    said = concurrently(lambda part: _asked(question, shown, part, readout), parts)
    best = {max(shares, key=lambda name: shares[name]): shares for shares, _ in said}
    final, mass_read = _shares(question, shown, list(best), readout)
    whole = {name: final[winner] * share for winner, shares in best.items() for name, share in shares.items()}
    return whole, min((mass for mass in (mass_read, *(mass for _, mass in said)) if mass is not None), default=None)


def _asked(question: Question, shown: PresentedCase, names: Sequence[str], readout: str) -> Shares:
    letters = string.ascii_uppercase[: len(names)]
    inputs = one_response(shown) | {
        "aspect": shown.aspect,
        "categories": constant("\n".join(f"{a}{STOP}{_line(name)}" for a, name in zip(letters, names, strict=True))),
    }
    fitted: Any = fitting(question.ask.signature, tuple(inputs))
    form = with_letters(fitted, letters)
    answer: Answer = question(readout=readout, signature=form, **inputs)
    shares = answer.shares("category")
    return dict(zip(names, (shares[letter] for letter in letters), strict=True)), answer.mass_read


def categories_of_letters(listed: str, categories: Sequence[str]) -> dict[str, str]:
    """The category that each letter stood for.

    Args:
        listed: the input `categories` of a question.
        categories: of the case.

    Example:
        >>> categories_of_letters("A. fail\\nB. pass", ("pass", "fail"))
        {'A': 'fail', 'B': 'pass'}
    """
    names = {_line(name): name for name in categories}
    lines = (line.partition(STOP) for line in listed.splitlines())
    return {letter: names[name] for letter, _, name in lines if name in names}


def _line(name: str) -> str:
    """A category's name as one line without fences."""
    return defuse(" ".join(name.split()))


def one_response(shown: PresentedCase, place: int = 0) -> dict[str, Shown]:
    """What every question about one text shows: without context and reference where the case has none."""
    inputs = {"request": shown.request, "context": shown.context, "reference": shown.reference}
    return {name: text for name, text in inputs.items() if text or name == "request"} | {
        "response": shown.responses[place]
    }


@lru_cache(maxsize=512)
def fitting(signature: Any, inputs: tuple[str, ...]) -> type[dspy.Signature]:
    """The signature without the inputs that are not among these."""
    for name in signature.input_fields:
        if name not in inputs:
            signature = signature.delete(name)
    fitted: type[dspy.Signature] = signature
    return fitted


@lru_cache(maxsize=512)
def with_letters(signature: Any, letters: str) -> type[dspy.Signature]:
    """The signature with these letters as categories."""
    changed: type[dspy.Signature] = signature.with_updated_fields("category", type_=Literal[tuple(letters)])
    return changed
