"""A disagreement as the page shows it: a summary row, and the whole judgment.

Texts are passed on unchanged; the template escapes them.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..data import Correction, Finding, Judged, Scores
from ..data.case import MOST_SCORE, Case, Category, Label
from .formatting import MINUS, MISSING, THIN, counted, format_value
from .plots.chart import shortened
from .run_report import Disagreement, RunReport

ORDERS = {"ab": "A shown first", "ba": "B shown first"}


@dataclass(frozen=True)
class Bar:
    """A horizontal bar: its length is in percent."""

    label: str
    percent: float
    text: str


@dataclass(frozen=True)
class Text:
    """One candidate. `is_human_choice` and `is_judge_choice`: it is the winner by the human label, by the judge."""

    letter: str
    system: str | None
    text: str
    score: str
    is_human_choice: bool
    is_judge_choice: bool


@dataclass(frozen=True)
class Reading:
    """One criterion in one order. `levels`: a candidate's letter and the probabilities of its levels in percent."""

    order: str
    scores: tuple[tuple[str, str], ...]
    levels: tuple[tuple[str, tuple[float, ...]], ...]
    distribution: tuple[Bar, ...]
    facts: tuple[str, ...]
    explanation: str


@dataclass
class CriterionEvidence:
    """All readings of one criterion by one judge."""

    member: str
    name: str
    guideline: str
    weight: float
    readings: list[Reading] = field(default_factory=list)


@dataclass(frozen=True)
class CaseRow:
    """One disagreement; `human` and `judge` are labels as text, which the filters compare, and so are `themes`.

    `rationale_note` is what a reader must know of a reason that was written after the verdict.
    """

    number: int
    run: str
    judged: Judged
    case: Case | None
    kind: str
    human: str
    judge: str
    certainty: str
    percent: float
    snippet: str
    texts: tuple[Text, ...]
    distribution: tuple[Bar, ...]
    votes: tuple[Bar, ...]
    factors: tuple[Finding, ...]
    criteria: tuple[CriterionEvidence, ...]
    rationale: str
    rationale_note: str
    themes: tuple[str, ...]
    corrections: tuple[tuple[str, str, Correction], ...]
    facts: tuple[str, ...]

    @property
    def orders_differ(self) -> bool:
        """Whether the two orders have different winners."""
        return self.judged.consistent is False and not self.judged.by_head


def rows(runs: Sequence[RunReport]) -> list[CaseRow]:
    """The disagreements of all runs, the most certain first: abstention does not remove these errors."""
    pairs = [(run, disagreement) for run in runs for disagreement in run.disagreements]
    pairs.sort(key=lambda pair: -(pair[1].judged.certainty if pair[1].judged.certainty is not None else -1.0))
    themes = {run.name: _themes_by_case(run) for run in runs}
    return [
        _row(number, run.name, disagreement, themes[run.name].get(disagreement.judged.case_id, ()))
        for number, (run, disagreement) in enumerate(pairs, start=1)
    ]


def menus(cases: Sequence[CaseRow]) -> dict[str, list[str]]:
    """The options of the filters by filter: only values that occur."""
    return {
        "run": list(dict.fromkeys(row.run for row in cases)),
        "human": sorted({row.human for row in cases if _is_label(row.human)}),
        "judge": sorted({row.judge for row in cases if _is_label(row.judge)}),
        "theme": sorted({theme for row in cases for theme in row.themes}),
    }


def _themes_by_case(run: RunReport) -> dict[str, tuple[str, ...]]:
    """The themes of each case, by their first words."""
    themes: dict[str, tuple[str, ...]] = {}
    for theme in (theme for table in run.themes.values() for theme in table):
        for case_id in theme.case_ids:
            themes[case_id] = (*themes.get(case_id, ()), ", ".join(theme.words[:3]))
    return themes


def _row(number: int, run: str, disagreement: Disagreement, themes: tuple[str, ...] = ()) -> CaseRow:
    judged, case, reason = disagreement.judged, disagreement.case, disagreement.reason
    rationale = "" if any(f.explanation for f in judged.findings if not f.is_factor) else judged.rationale
    certainty, n = judged.certainty, _candidates(judged, case)
    return CaseRow(
        number=number,
        run=run,
        judged=judged,
        case=case,
        kind="text" if n == 1 else "pair" if n == 2 else "choice",
        human=_label(judged.label),
        judge=_verdict(judged),
        certainty=f"{100 * certainty:.0f}{THIN}%" if certainty is not None else MISSING,
        percent=100 * certainty if certainty is not None else 0.0,
        snippet=shortened(case.query, 160) if case else "",
        texts=tuple(_texts(judged, case)) if case else (),
        distribution=_bars(judged.distribution or {}),
        votes=_votes(judged.votes),
        factors=tuple(finding for finding in judged.findings if finding.is_factor),
        criteria=_criteria(judged),
        rationale=rationale or (reason.text if reason else ""),
        rationale_note=reason.note if reason and not rationale else "",
        themes=themes,
        corrections=tuple((letter(c.candidate, n), _score_change(c), c) for c in judged.corrections),
        facts=tuple(_facts(judged, case)),
    )


def letter(index: int, count: int) -> str:
    """The name of a candidate: A or B of a pair, its index among more."""
    return "text" if count == 1 else "AB"[index] if count == 2 else str(index)


def _candidates(judged: Judged, case: Case | None) -> int:
    """The number of candidates; without the case, that of the scores."""
    if case is not None:
        return len(case.candidates)
    scores = [judged.scores or (), *(finding.scores or () for finding in judged.findings), *judged.measured.values()]
    return max((len(row) for row in scores if row), default=2)


def _label_text(winner: object) -> str:
    return str(winner).upper() if winner in ("a", "b") else str(winner)


def _label(label: Label | None) -> str:
    if label is None:
        return MISSING
    if isinstance(label, Category):
        return label.category
    return " : ".join(map(_score, label.values)) if isinstance(label, Scores) else _label_text(label.answer)


def _verdict(judged: Judged) -> str:
    if judged.status != "scored":
        return judged.status
    if judged.answer is not None:
        return judged.category or _label_text(judged.answer)
    return " : ".join(map(_score, judged.scores)) if judged.scores else MISSING


def _is_label(text: str) -> bool:
    """Whether a filter offers this text: labels, but not every score that occurs."""
    return text != MISSING and not ("." in text or ":" in text or (text.isdigit() and int(text) > 20))


def _texts(judged: Judged, case: Case) -> Iterator[Text]:
    n = len(case.candidates)
    human = judged.human_winner
    for index, candidate in enumerate(case.candidates):
        key = "ab"[index] if n == 2 else index
        score = _score(judged.scores[index]) if judged.scores and len(judged.scores) == n else ""
        yield Text(letter(index, n), candidate.system, candidate.text, score, human == key, judged.winner == key)


def _bars(distribution: dict[str, float]) -> tuple[Bar, ...]:
    return tuple(Bar(_label_text(label), 100 * p, format_value(p, "percent")) for label, p in distribution.items())


def _votes(votes: Sequence[Label]) -> tuple[Bar, ...]:
    counts = Counter(map(_label, votes))
    return tuple(Bar(label, 100 * n / len(votes), str(n)) for label, n in sorted(counts.items()))


def _criteria(judged: Judged) -> tuple[CriterionEvidence, ...]:
    criteria: dict[tuple[str, str, str], CriterionEvidence] = {}
    for finding in judged.findings:
        if not finding.is_factor:
            key = (finding.member, finding.criterion, finding.guideline)
            evidence = criteria.setdefault(key, CriterionEvidence(*key, finding.weight))
            evidence.readings.append(_reading(finding))
    return tuple(criteria.values())


def _reading(finding: Finding) -> Reading:
    scores, levels = finding.scores or (), finding.levels or ()
    facts = []
    if finding.mass_read is not None:
        facts.append(f"mass read {format_value(finding.mass_read, 'percent')}")
    if finding.certainty is not None:
        facts.append(f"stated certainty {format_value(finding.certainty, 'percent')}")
    return Reading(
        ORDERS[finding.order] if finding.order else _without_order(finding),
        tuple((letter(index, len(scores)), _score(score)) for index, score in enumerate(scores)),
        tuple((letter(index, len(levels)), tuple(100 * p for p in row)) for index, row in enumerate(levels)),
        _bars(finding.distribution or {}),
        tuple(facts),
        finding.explanation,
    )


def _score(value: float) -> str:
    """A score on any scale: at most two decimals, without trailing zeros."""
    return f"{value:,.2f}".rstrip("0").rstrip(".").replace("-", MINUS)


def _without_order(finding: Finding) -> str:
    if finding.scores is None:
        return "candidates shown together"
    return "the text" if len(finding.scores) == 1 else "every candidate separately"


def _score_change(correction: Correction) -> str:
    if correction.before is None or correction.after is None:
        return ""
    return f"{_score(correction.before)} → {_score(correction.after)}"


def _facts(judged: Judged, case: Case | None) -> Iterator[str]:
    aspect = case.aspect if case and case.aspect else judged.aspect
    if aspect:
        yield f"aspect: {aspect}"
    if isinstance(judged.label, Scores) and judged.label.hi < MOST_SCORE:
        yield f"human scale: {judged.label.lo:g} to {judged.label.hi:g}"
    if judged.group:
        yield f"group: {judged.group}"
    for name, numbers in judged.measured.items():
        values = (f"{letter(index, len(numbers))} {_score(number)}" for index, number in enumerate(numbers))
        yield f"{name}: {', '.join(values)}"
    if judged.order_winners:
        winners = (f"{ORDERS[order]}: {_label_text(winner)}" for order, winner in judged.order_winners.items())
        yield ("before the head: " if judged.by_head else "") + "; ".join(winners)
    usage = judged.usage
    if usage.calls:
        tokens = usage.prompt_tokens + usage.completion_tokens
        yield f"{counted(usage.calls, 'call')}, {tokens:,} tokens, {format_value(usage.seconds)}{THIN}s"
    if usage.cached:
        yield f"{counted(usage.cached, 'answer')} from the cache"
