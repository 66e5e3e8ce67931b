"""The programs by name: what each does, where it comes from, what it judges and what it costs.

Judges of other packages are found by the entry-point group `dicast.judges`.
"""

import difflib
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib.metadata import entry_points
from pathlib import Path

from ..errors import DeclarationError
from ..programs.baselines import Longer, Majority, MatrixFactorisation, ReviewerAverage, ThirdPerson
from ..programs.direct import Direct
from ..programs.fennec import Fennec
from ..programs.multiple_choice import Choose
from ..programs.perse import Perse, PersePairwise
from ..programs.persona import PersonaJudge
from ..programs.pref import Pref
from ..programs.reference_free import Explicit, Implicit, Pairwise
from .judge import Judge
from .program import Program

GROUP = "dicast.judges"
YAML, SAVED = (".yaml", ".yml"), ".judge.json"
FENNEC, PREF, PERSE = "Fennec, arXiv 2405.12163", "PREF, arXiv 2508.10028", "PerSE, arXiv 2310.03304"
PERSONA, SCORING = "arXiv 2406.11657", "arXiv 2304.00723"


_BUILT_IN = (
    Program(
        "direct", Direct, "one plain question: which is better, how good is each, or both", "arXiv 2306.05685",
        "pairs, single texts", "a pair: 4, of one token each; a text: 1",
    ),
    Program(
        "fennec", Fennec, "N criteria, a guideline each, a judgment each in both orders, summed", FENNEC,
        "pairs", "1 + N + 2N",
    ),
    Program(
        "fennec-single", partial(Fennec, single=True), "the same chain, each text scored alone", FENNEC,
        "pairs, single texts", "1 + N + N a text",
    ),
    Program(
        "fennec-correct", partial(Fennec, correct=True), "fennec, and weak texts are rewritten and judged anew", FENNEC,
        "pairs, single texts", "fennec + 1 + 2N a weak text",
    ),
    Program(
        "pref", Pref, "general factors, weighted for one person, a score 0..10 per answer", PREF,
        "choices, pairs, single texts; a profile", "2 + 1 an answer",
    ),
    Program(
        "zero-shot", Choose, "baseline: the model chooses the answer itself", PREF,
        "choices, pairs; a profile", "1",
    ),
    Program(
        "reminder", partial(Choose, remind=True), "baseline: the same, reminded of what the person said", PREF,
        "choices, pairs; a profile", "1",
    ),
    Program(
        "perse", Perse, "the review that one reviewer would write, then the score 1..10", PERSE,
        "single texts, pairs; a reviewer's reviews", "1 a text",
    ),
    Program(
        "perse-pairwise", PersePairwise, "which of two texts one reviewer prefers, by an aspect", PERSE,
        "pairs; a reviewer's choices", "2",
    ),
    Program(
        "persona", PersonaJudge, "which response a person of these features would prefer, and how surely", PERSONA,
        "pairs; a persona", "1",
    ),
    Program(
        "explicit", Explicit, "a score 0..100 by an aspect, in five forms V1..V5", SCORING,
        "single texts, pairs; an aspect", "1 a text (V5: 5)",
    ),
    Program(
        "implicit", Implicit, "how probable Yes is, asked whether the text is good", SCORING,
        "single texts, pairs; an aspect", "1 a text, of one token",
    ),
    Program(
        "pairwise", Pairwise, "A, B or equal by an aspect, in four forms V1..V4", SCORING,
        "pairs; an aspect", "2 (V4: 10)",
    ),
    Program("longer", Longer, "baseline: the longer text wins", "-", "anything", "0"),
    Program("majority", Majority, "baseline: the most frequent label of the cases", "-", "anything with labels", "0"),
    Program(
        "reviewer-average", ReviewerAverage, "baseline: the mean of the reviewer's history, or the usual choice", PERSE,
        "anything; a reviewer's history", "0",
    ),
    Program(
        "matrix-factorisation", MatrixFactorisation, "baseline: the rating predicted from everybody's histories", PERSE,
        "single texts, pairs; a reviewer's reviews", "0",
    ),
    Program(
        "third-person", ThirdPerson, "people: the majority of the annotators who judged for the person", PERSONA,
        "anything with votes", "0",
    ),
)  # fmt: skip
PROGRAMS: dict[str, Program] = {program.name: program for program in _BUILT_IN}


@cache
def plugins() -> Mapping[str, Program | Exception]:
    """The judges of other packages by name; one that cannot be loaded is its error."""
    found: dict[str, Program | Exception] = {}
    for point in entry_points(group=GROUP):
        if point.name in PROGRAMS:
            found[point.name] = DeclarationError(f"{point.value} has the name of one of ours; rename it")
            continue
        try:
            loaded = point.load()
            found[point.name] = loaded if isinstance(loaded, Program) else _described(point.name, loaded)
        except Exception as error:  # another package's import may fail in any way, and must not break ours
            found[point.name] = error
    return found


def fresh(name: str) -> Judge:
    """A new judge of a program, ours or another package's, as it comes; raises as `find`, or when it is no judge."""
    judge = find(name).build()
    if not isinstance(judge, Judge):
        raise DeclarationError(
            f"judge {name!r}: its package gives a {type(judge).__name__}, not a judge. Return a dicast.Judge."
        )
    return judge


def is_file(name: str) -> bool:
    """Whether the name is that of a YAML or a judge file."""
    return name.endswith((*YAML, SAVED))


def title(name: str) -> str:
    """What the judge is called: its name, or the stem of its file."""
    if not is_file(name):
        return name
    return Path(name).name.removesuffix(SAVED) if name.endswith(SAVED) else Path(name).stem


def find(name: str) -> Program:
    """The program of this name, of ours or of another package.

    Raises:
        DeclarationError: there is none, or its package cannot be loaded.
    """
    program = PROGRAMS.get(name) or plugins().get(name)
    if isinstance(program, Exception):
        raise DeclarationError(f"judge {name!r}: its package cannot be loaded ({program}). Mend or remove the package.")
    if program is None:
        known = [*PROGRAMS, *plugins()]
        close = difflib.get_close_matches(name, known, n=1)
        others = f"Use one of {', '.join(known)}, or a .yaml or a {SAVED} file."
        hint = f"Did you mean {close[0]!r}?" if close else others
        raise DeclarationError(f"judge {name!r}: there is no such program. {hint}")
    return program


def _described(name: str, make: Callable[..., Judge]) -> Program:
    """The program of an entry point that is a plain judge class or function."""
    summary = (make.__doc__ or "").strip().partition("\n")[0]
    return Program(name, make, summary or "a judge of another package", str(make.__module__), "see its package", "-")
