"""The programs by name: what each does, where it comes from, what it judges and what it costs."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..errors import DeclarationError
from .baselines import Longer, Majority
from .direct import Direct
from .fennec import Fennec
from .judge import Judge
from .pref import Pref


@dataclass(frozen=True)
class Program:
    """One registered program; `calls` is for one case with the default settings."""

    name: str
    build: Callable[..., Judge]
    summary: str
    source: str
    judges: str
    calls: str


PROGRAMS: dict[str, Program] = {
    program.name: program
    for program in (
        Program(
            name="direct",
            build=Direct,
            summary="one plain question: which is better, how good is each, or both",
            source="arXiv 2306.05685",
            judges="pairs, single texts",
            calls="a pair: 4, of one token each",
        ),
        Program(
            name="fennec",
            build=Fennec,
            summary="N criteria, a guideline each, a judgment each in both orders, summed",
            source="arXiv 2405.12163",
            judges="pairs",
            calls="1 + N + 2N",
        ),
        Program(
            name="fennec-single",
            build=partial(Fennec, single=True),
            summary="the same chain, each text scored alone",
            source="arXiv 2405.12163",
            judges="pairs, single texts",
            calls="1 + N + N a text",
        ),
        Program(
            name="fennec-correct",
            build=partial(Fennec, correct=True),
            summary="fennec, then weak texts are rewritten",
            source="arXiv 2405.12163",
            judges="pairs, single texts",
            calls="fennec + 1 a weak text",
        ),
        Program(
            name="pref",
            build=Pref,
            summary="general factors, weighted for one person, a score 0..10 per answer",
            source="arXiv 2508.10028",
            judges="choices, pairs, single texts; with a profile or without",
            calls="2 + 1 an answer",
        ),
        Program(
            name="longer",
            build=Longer,
            summary="baseline: the longer text wins",
            source="-",
            judges="anything",
            calls="0",
        ),
        Program(
            name="majority",
            build=Majority,
            summary="baseline: the most frequent label of the same cases",
            source="-",
            judges="anything with labels",
            calls="0",
        ),
    )
}


def build(name: str, **settings: Any) -> Judge:
    """A new judge of a registered program.

    Args:
        settings: structural parameters, as in `branches=3, readout="probability"`.

    Raises:
        DeclarationError: an unknown program, an unknown parameter, or a value that it cannot take.
    """
    if name not in PROGRAMS:
        close = difflib.get_close_matches(name, PROGRAMS, n=1)
        hint = f"Did you mean {close[0]!r}?" if close else f"Use one of {', '.join(PROGRAMS)}."
        raise DeclarationError(f"judge {name!r}: there is no such program. {hint}")
    return PROGRAMS[name].build().set(**settings)
