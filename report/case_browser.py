"""A disagreement as the page shows it: one row to scan, and the whole judgment behind it.

Texts are told as they are; the template escapes them.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..data import Correction, Finding, Judged, Scores
from ..data.case import Case, Label
from .drawing import shortened
from .formatting import MINUS, MISSING, THIN, told
from .run_report import Disagreement, RunReport

ORDERS = {"ab": "A shown first", "ba": "B shown first"}


@dataclass(frozen=True)
class Share:
    """One bar: `percent` is its length."""

    label: str
    percent: float
    told: str


@dataclass(frozen=True)
class Text:
    """One candidate beside what people and the judge think of it."""

    letter: str
    system: str | None
    text: str
    score: str
    people: bool
    judge: bool


@dataclass(frozen=True)
class Reading:
    """One criterion read in one order; `levels` has a candidate's letter and the heights of its levels in percent."""

    order: str
    scores: tuple[tuple[str, str], ...]
    levels: tuple[tuple[str, tuple[float, ...]], ...]
    distribution: tuple[Share, ...]
    facts: tuple[str, ...]
    explanation: str


@dataclass
class Criterion:
    """All readings of one criterion by one judge."""

    member: str
    name: str
    guideline: str
    weight: float
    readings: list[Reading] = field(default_factory=list)


@dataclass(frozen=True)
class Row:
    """One disagreement; `people` and `judge` are words, and what the filters compare."""

    number: int
    run: str
    judged: Judged
    case: Case | None
    kind: str
    people: str
    judge: str
    certainty: str
    percent: float
    snippet: str
    texts: tuple[Text, ...]
    distribution: tuple[Share, ...]
    votes: tuple[Share, ...]
    factors: tuple[Finding, ...]
    criteria: tuple[Criterion, ...]
    rationale: str
    corrections: tuple[tuple[str, str, Correction], ...]
    facts: tuple[str, ...]

    @property
    def swayed(self) -> bool:
        """Whether the two orders name different winners."""
        return self.judged.consistent is False


def rows(runs: Sequence[RunReport]) -> list[Row]:
    """Every run's disagreements, the surest first: those are the mistakes that certainty does not catch."""
    found = [(run.name, one) for run in runs for one in run.disagreements]
    found.sort(key=lambda each: -(each[1].judged.certainty if each[1].judged.certainty is not None else -1.0))
    return [_row(number, run, one) for number, (run, one) in enumerate(found, start=1)]


def choices(found: Sequence[Row]) -> dict[str, list[str]]:
    """What the menus of the filters offer: only words that occur."""
    return {
        "run": list(dict.fromkeys(row.run for row in found)),
        "people": sorted({row.people for row in found if _is_word(row.people)}),
        "judge": sorted({row.judge for row in found if _is_word(row.judge)}),
    }


def _row(number: int, run: str, one: Disagreement) -> Row:
    judged, case = one.judged, one.case
    certainty = judged.certainty
    return Row(
        number=number,
        run=run,
        judged=judged,
        case=case,
        kind=_kind(judged, case),
        people=_label(judged.label),
        judge=_verdict(judged),
        certainty=f"{100 * certainty:.0f}{THIN}%" if certainty is not None else MISSING,
        percent=100 * certainty if certainty is not None else 0.0,
        snippet=shortened(case.query, 160) if case else "",
        texts=tuple(_texts(judged, case)) if case else (),
        distribution=_shares(judged.distribution or {}),
        votes=_votes(judged.votes),
        factors=tuple(finding for finding in judged.findings if finding.is_factor),
        criteria=_criteria(judged),
        rationale="" if any(f.explanation for f in judged.findings if not f.is_factor) else judged.rationale,
        corrections=tuple(
            (letter(fix.candidate, _count(judged, case)), _change(fix), fix) for fix in judged.corrections
        ),
        facts=tuple(_facts(judged, case)),
    )


def letter(index: int, count: int) -> str:
    """What a candidate is called: A or B of a pair, its index among more."""
    return "text" if count == 1 else "AB"[index] if count == 2 else str(index)


def _count(judged: Judged, case: Case | None) -> int:
    if case is not None:
        return len(case.candidates)
    told_of = [judged.scores or (), *(finding.scores or () for finding in judged.findings)]
    return max((len(scores) for scores in told_of if scores), default=2)


def _kind(judged: Judged, case: Case | None) -> str:
    count = _count(judged, case)
    return "text" if count == 1 else "pair" if count == 2 else "choice"


def _word(winner: object) -> str:
    return str(winner).upper() if winner in ("a", "b") else str(winner)


def _label(label: Label | None) -> str:
    if label is None:
        return MISSING
    return " : ".join(_score(value) for value in label.values) if isinstance(label, Scores) else _word(label.value)


def _verdict(judged: Judged) -> str:
    if judged.status != "scored":
        return judged.status
    if judged.winner is not None:
        return _word(judged.winner)
    return " : ".join(_score(score) for score in judged.scores) if judged.scores else MISSING


def _is_word(said: str) -> bool:
    """Menus offer verdicts, not every score that occurs."""
    return said != MISSING and not ("." in said or ":" in said or (said.isdigit() and int(said) > 20))


def _texts(judged: Judged, case: Case) -> Iterator[Text]:
    count = len(case.candidates)
    human = judged.human_winner
    for index, candidate in enumerate(case.candidates):
        key = "ab"[index] if count == 2 else index
        score = _score(judged.scores[index]) if judged.scores and len(judged.scores) == count else ""
        yield Text(letter(index, count), candidate.system, candidate.text, score, human == key, judged.winner == key)


def _shares(distribution: dict[str, float]) -> tuple[Share, ...]:
    return tuple(Share(_word(label), 100 * p, told(p, "percent")) for label, p in distribution.items())


def _votes(votes: Sequence[Label]) -> tuple[Share, ...]:
    counts = Counter(_label(vote) for vote in votes)
    return tuple(Share(said, 100 * n / len(votes), str(n)) for said, n in sorted(counts.items()))


def _criteria(judged: Judged) -> tuple[Criterion, ...]:
    found: dict[tuple[str, str, str], Criterion] = {}
    for finding in judged.findings:
        if not finding.is_factor:
            key = (finding.member, finding.criterion, finding.guideline)
            one = found.setdefault(key, Criterion(*key, finding.weight))
            one.readings.append(_reading(finding))
    return tuple(found.values())


def _reading(finding: Finding) -> Reading:
    scores, levels = finding.scores or (), finding.levels or ()
    facts = []
    if finding.coverage is not None:
        facts.append(f"options cover {told(finding.coverage, 'percent')} of the model's probability")
    if finding.certainty is not None:
        facts.append(f"stated certainty {told(finding.certainty, 'percent')}")
    return Reading(
        ORDERS[finding.order] if finding.order else _alone(finding),
        tuple((letter(index, len(scores)), _score(score)) for index, score in enumerate(scores)),
        tuple((letter(index, len(levels)), tuple(100 * p for p in one)) for index, one in enumerate(levels)),
        _shares(finding.distribution or {}),
        tuple(facts),
        finding.explanation,
    )


def _score(value: float) -> str:
    """On any scale: at most two decimals, as people write them."""
    return f"{value:,.2f}".rstrip("0").rstrip(".").replace("-", MINUS)


def _alone(finding: Finding) -> str:
    return (
        "shown together" if finding.scores is None else "read alone" if len(finding.scores) == 1 else "each read alone"
    )


def _change(fix: Correction) -> str:
    return "" if fix.before is None or fix.after is None else f"{_score(fix.before)} → {_score(fix.after)}"


def _facts(judged: Judged, case: Case | None) -> Iterator[str]:
    aspect = case.aspect if case and case.aspect else judged.aspect
    if aspect:
        yield f"aspect: {aspect}"
    if isinstance(judged.label, Scores):
        yield f"people's scale: {judged.label.lo:g} to {judged.label.hi:g}"
    if judged.group:
        yield f"group: {judged.group}"
    if judged.order_winners:
        told_orders = (f"{ORDERS[order]}: {_word(winner)}" for order, winner in judged.order_winners.items())
        yield "; ".join(told_orders)
    usage = judged.usage
    if usage.calls:
        calls = f"{usage.calls} {'call' if usage.calls == 1 else 'calls'}"
        yield f"{calls}, {usage.prompt_tokens + usage.completion_tokens:,} tokens, {told(usage.seconds)}{THIN}s"
    if usage.cached:
        yield f"{usage.cached} {'answer' if usage.cached == 1 else 'answers'} from the cache"
