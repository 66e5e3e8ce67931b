"""How and why people saw a case differently, in words that an optimizer's model can learn from.

Feedback for one stage tells what concerns that stage: the findings of the criterion and of the order that it was asked
about, with A and B as they were shown to it.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ...data import Case, Finding, Verdict
from ...data.case import Scores
from ...engines.adapter import words_for
from ...judging.delimiters import defuse

REASONS = ("reason", "explanation", "review", "comment")  # of a case's meta, where people wrote why
MOST_CHARACTERS = 600  # of one text
MOST_FINDINGS = 12
LETTERS = {"a": "A", "b": "B", "tie": "a tie"}


def feedback(case: Case, verdict: Verdict, stage: tuple[Any, Mapping[str, Any]] | None = None) -> str:
    """People's view, the judge's, and what the judge found on the way.

    Args:
        stage: a predictor and the inputs that it was given, when the feedback is for it alone.
    """
    predictor, inputs = stage if stage else (None, {})
    order, alone = _shown(case, inputs) if stage else (None, None)
    if order == "ba":
        case, verdict = case.swapped(), verdict.swapped()
    lines = [people(case, alone)]
    if verdict.status != "scored":
        lines.append(_no_verdict(verdict, predictor))
    else:
        lines += [_said(case, verdict), _orders(verdict), *_findings(verdict, inputs.get("criterion"), order, alone)]
    return "\n".join([*filter(None, lines), *_why(case)])


def people(case: Case, alone: int | None = None) -> str:
    """What people said, with the shares of their votes.

    Args:
        alone: the candidate of a pair that the stage was shown by itself.
    """
    told = [_label(case)]
    if alone is not None and case.is_pair and case.label is not None:
        which = "AB"[alone]
        told.insert(0, f"The response shown is {which} of a pair.")
    shares = case.soft_label() or {}
    if len(case.votes) > 1 and shares:
        votes = ", ".join(f"{_name(label)} {share:.0%}" for label, share in sorted(shares.items()))
        told.append(f"Their votes: {votes}.")
    ratings = [vote.values[0] for vote in case.votes if isinstance(vote, Scores) and len(vote.values) == 1]
    if len(ratings) > 1:
        told.append(f"Their scores: {', '.join(f'{rating:g}' for rating in ratings)}.")
    return " ".join(told)


def summary(case: Case) -> str:
    """A case with people's label, shortened: what a model that looks for trends in the data is shown."""
    texts = {"request": case.query} | {
        f"response {'AB'[index] if case.is_pair else index}": candidate.text
        for index, candidate in enumerate(case.candidates)
    }
    told = [f"{name}: {json.dumps(_short(text), ensure_ascii=False)}" for name, text in texts.items() if text]
    return "; ".join([*told, *([f"aspect: {case.aspect}"] if case.aspect else []), people(case), *_why(case)])


def _label(case: Case) -> str:
    match case.label:
        case None:
            return "People gave no label."
        case Scores(values=(one,), lo=lo, hi=hi):
            return f"People gave {one:g} on the scale {lo:g} to {hi:g}."
        case Scores(values=values, lo=lo, hi=hi):
            scores = ", ".join(f"{_place(index, len(values))} {value:g}" for index, value in enumerate(values))
            return f"People gave, on the scale {lo:g} to {hi:g}: {scores}."
        case winner if winner.winner == "tie":
            return "People call it a tie."
        case winner:
            return f"People prefer {_name(str(winner.winner))}."


def _no_verdict(verdict: Verdict, predictor: Any) -> str:
    if verdict.status == "abstained":
        return "The judge abstained: it was not sure enough."
    told = f"The judge gave no verdict ({(verdict.reason or '').replace('_', ' ')}): {verdict.detail}"
    if predictor is not None and verdict.reason == "parse_failure":
        fields = predictor.signature.output_fields.items()
        form = ", ".join(f'"{name}": {words_for(field.annotation, field.metadata)}' for name, field in fields)
        told += f" The answer must have just this form: {form}."
    return told


def _said(case: Case, verdict: Verdict) -> str:
    if verdict.winner is None:
        return _scored(case, verdict)
    right = case.label is not None and verdict.winner == case.label.winner
    shares = sorted((verdict.distribution or {}).items(), key=lambda pair: -pair[1])
    told = ", ".join(f"{_name(label)} {share:.0%}" for label, share in shares)
    sure = f" ({told})" if told else f" ({verdict.certainty:.0%} sure)" if verdict.certainty is not None else ""
    return f"The judge said {_name(str(verdict.winner))}{sure}, which is {'right' if right else 'wrong'}."


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


def _findings(verdict: Verdict, criterion: str | None, order: str | None, alone: int | None) -> Iterable[str]:
    """A line a finding, at most MOST_FINDINGS; those of another criterion or order than the stage's are left out."""
    told = [finding for finding in verdict.findings if not finding.is_factor]
    told = [finding for finding in told if criterion in (None, finding.criterion)]
    if order is not None or alone is not None:  # the verdict was turned to the order shown
        wanted = None if order is None else "ab"
        told = [finding for finding in told if finding.order == wanted] or told
    return [_line(finding) for finding in told[:MOST_FINDINGS]]


def _line(finding: Finding) -> str:
    scores = finding.scores or ()
    told = [f"{_place(index, len(scores))} {score:.3g}".strip() for index, score in enumerate(scores)]
    told += [f"{_name(label)} {share:.0%}" for label, share in (finding.distribution or {}).items()]
    shown = {"ab": ", A shown first", "ba": ", B shown first", None: ""}[finding.order]
    why = f" Its words: {_short(finding.explanation)}" if finding.explanation else ""
    return f"- {finding.criterion}{shown}: {', '.join(told)}.{why}"


def _why(case: Case) -> list[str]:
    given = [case.meta[name] for name in REASONS if isinstance(case.meta.get(name), str) and case.meta[name].strip()]
    return [f"A person wrote: {json.dumps(_short(text), ensure_ascii=False)}" for text in given]


def _shown(case: Case, inputs: Mapping[str, Any]) -> tuple[str | None, int | None]:
    """The order in which a stage was shown a pair, or the one candidate that it was shown alone; None for neither."""
    told = "\0".join(str(value) for value in inputs.values())
    places = [told.find(f"<\n{defuse(candidate.text)}\n>") for candidate in case.candidates]
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
    text = " ".join(text.split())
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 3] + "..."
