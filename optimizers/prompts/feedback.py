"""Feedback in words for an optimizer's model: how and why people's view of a case differs from the judge's.

Feedback for a stage contains what concerns that stage: the findings of its criterion and order, with A and B as they
were presented to it.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ...data import Case, Finding, Verdict
from ...data.case import Category, Scores
from ...engines.adapter import words_for
from ...judging.delimiters import defuse, shown

REASONS = ("reason", "explanation", "review", "comment")  # columns of a case's meta with people's reasons
MOST_CHARACTERS = 600  # of one text
MOST_FINDINGS = 12
LETTERS = {"a": "A", "b": "B", "tie": "a tie"}


def feedback(case: Case, verdict: Verdict, stage: tuple[Any, Mapping[str, Any]] | None = None) -> str:
    """People's view, the judge's view, and the judge's findings.

    Args:
        stage: a predictor and its inputs, if the feedback is for this predictor only.
    """
    predictor, inputs = stage if stage else (None, {})
    order, single = _presented(case, inputs) if stage else (None, None)
    if order == "ba":
        case, verdict = case.swapped(), verdict.swapped()
    lines = [people(case, single)]
    if verdict.status != "scored":
        lines.append(_no_verdict(verdict, predictor))
    else:
        lines += [_said(case, verdict), _orders(verdict), *_findings(verdict, inputs.get("criterion"), order, single)]
    return "\n".join([*filter(None, lines), *_why(case)])


def people(case: Case, single: int | None = None) -> str:
    """People's label, votes and scores in words.

    Args:
        single: the candidate of a pair that was presented to the stage without the other.
    """
    sentences = [_label(case)]
    if single is not None and case.is_pair and case.label is not None:
        which = "AB"[single]
        sentences.insert(0, f"The response shown is {which} of a pair.")
    proportions = case.soft_label() or {}
    if len(case.votes) > 1 and proportions:
        votes = ", ".join(f"{_name(label)} {part:.0%}" for label, part in sorted(proportions.items()))
        sentences.append(f"Their votes: {votes}.")
    ratings = [vote.values[0] for vote in case.votes if isinstance(vote, Scores) and len(vote.values) == 1]
    if len(ratings) > 1:
        sentences.append(f"Their scores: {', '.join(f'{rating:g}' for rating in ratings)}.")
    return " ".join(sentences)


def summary(case: Case) -> str:
    """A case with people's label, shortened, for a model that summarises the data."""
    texts = {"request": case.query} | {
        f"response {'AB'[index] if case.is_pair else index}": candidate.text
        for index, candidate in enumerate(case.candidates)
    }
    parts = [f"{name}: {json.dumps(_short(text), ensure_ascii=False)}" for name, text in texts.items() if text]
    return "; ".join([*parts, *([f"aspect: {_short(case.aspect)}"] if case.aspect else []), people(case), *_why(case)])


def _label(case: Case) -> str:
    match case.label:
        case None:
            return "People gave no label."
        case Scores(values=(score,), lo=lo, hi=hi):
            return f"People gave {score:g} on the scale {lo:g} to {hi:g}."
        case Scores(values=values, lo=lo, hi=hi):
            scores = ", ".join(f"{_place(index, len(values))} {value:g}" for index, value in enumerate(values))
            return f"People gave, on the scale {lo:g} to {hi:g}: {scores}."
        case Category(category=category):
            return f"People call it {category!r}."
        case winner if winner.winner == "tie":
            return "People call it a tie."
        case winner:
            return f"People prefer {_name(str(winner.winner))}."


def _no_verdict(verdict: Verdict, predictor: Any) -> str:
    if verdict.status == "abstained":
        return "The judge abstained: it was not sure enough."
    text = f"The judge gave no verdict ({(verdict.reason or '').replace('_', ' ')}): {verdict.detail}"
    if predictor is not None and verdict.reason == "parse_failure":
        fields = predictor.signature.output_fields.items()
        form = ", ".join(f'"{name}": {words_for(field.annotation, field.metadata)}' for name, field in fields)
        text += f" The answer must have just this form: {form}."
    if predictor is not None and verdict.reason == "unreadable":
        text += " The answer must begin with the letter or digit of an option, and with nothing before it."
    return text


def _said(case: Case, verdict: Verdict) -> str:
    if verdict.answer is None:
        return _scored(case, verdict)
    right = case.label is not None and verdict.answer == case.label.answer
    probabilities = sorted((verdict.distribution or {}).items(), key=lambda pair: -pair[1])
    listed = ", ".join(f"{_name(label)} {probability:.0%}" for label, probability in probabilities)
    sure = f" ({listed})" if listed else f" ({verdict.certainty:.0%} sure)" if verdict.certainty is not None else ""
    return f"The judge said {_name(verdict.answer)}{sure}, which is {'right' if right else 'wrong'}."


def _scored(case: Case, verdict: Verdict) -> str:
    sure = f" ({verdict.certainty:.0%} sure)" if verdict.certainty is not None else ""
    return f"The judge gave {', '.join(f'{score:.3g}' for score in verdict.scores or ())}{sure}."


def _orders(verdict: Verdict) -> str:
    if verdict.consistent is not False or len(verdict.order_winners) < 2:
        return ""
    first, second = verdict.order_winners["ab"], verdict.order_winners["ba"]
    return (
        f"With A shown first it said {LETTERS[first]}, with B shown first {LETTERS[second]}: "
        "the place decided, not the texts."
    )


def _findings(verdict: Verdict, criterion: str | None, order: str | None, single: int | None) -> Iterable[str]:
    """A line per finding, at most MOST_FINDINGS, without those of another criterion or order than the stage's."""
    findings = [finding for finding in verdict.findings if not finding.is_factor]
    findings = [finding for finding in findings if criterion in (None, finding.criterion, shown(finding.criterion))]
    if order is not None or single is not None:  # the verdict was swapped to the order presented
        presented = None if order is None else "ab"
        findings = [finding for finding in findings if finding.order == presented] or findings
    return [_line(finding) for finding in findings[:MOST_FINDINGS]]


def _line(finding: Finding) -> str:
    scores = finding.scores or ()
    parts = [f"{_place(index, len(scores))} {score:.3g}".strip() for index, score in enumerate(scores)]
    parts += [f"{_name(label)} {probability:.0%}" for label, probability in (finding.distribution or {}).items()]
    shown = {"ab": ", A shown first", "ba": ", B shown first", None: ""}[finding.order]
    why = f" Its words: {_short(finding.explanation)}" if finding.explanation else ""
    return f"- {finding.criterion}{shown}: {', '.join(parts)}.{why}"


def _why(case: Case) -> list[str]:
    reasons = [case.meta[name] for name in REASONS if isinstance(case.meta.get(name), str) and case.meta[name].strip()]
    return [f"A person wrote: {json.dumps(_short(text), ensure_ascii=False)}" for text in reasons]


def _presented(case: Case, inputs: Mapping[str, Any]) -> tuple[str | None, int | None]:
    """The order in which a pair was presented to a stage, or the single candidate presented; None if neither."""
    text = "\0".join(str(value) for value in inputs.values())
    places = [text.find(f"<\n{defuse(candidate.text)}\n>") for candidate in case.candidates]
    seen = [index for index, place in enumerate(places) if place >= 0]
    if len(seen) == 1:
        return None, seen[0] if len(places) > 1 else None
    if len(seen) == 2 == len(places):
        return ("ab" if places[0] <= places[1] else "ba"), None
    return None, None


def _name(label: str) -> str:
    return LETTERS.get(label, f"option {label}")


def _place(index: int, count: int) -> str:
    return "" if count == 1 else "AB"[index] if count == 2 else f"option {index}"


def _short(text: str) -> str:
    text = defuse(" ".join(text.split()))
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 3] + "..."
