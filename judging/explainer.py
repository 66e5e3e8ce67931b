"""The reason for a verdict, asked after it: the model is shown the texts and the verdict, never a label of people.

Most judges read one token and say nothing of why. The reason argues for their verdict; it is no evidence that the
verdict is right, and reading it changes no verdict.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..data import Case, Finding, Verdict
from ..data.reason import Reason
from ..engines.ledger import Ledger, charge_to, current_ledger
from ..signatures.reasons import ExplainVerdict
from .category_question import fitting
from .delimiters import Shown, constant, labelled, shown, unfenced
from .judge import present
from .module_base import StagedModule
from .reason_check import ReasonCheck, agrees
from .reason_content import fault_of
from .stage import Stage
from .verdict_words import VerdictWords, candidate_names, verdict_words

MOST_CRITERIA = 12  # shown, of a verdict with more


@dataclass(frozen=True)
class Attempt:
    """A reason as the model wrote it; `fault`: why it says nothing, else empty; `spoken_for` as of `ReasonCheck`."""

    text: str
    fault: str
    spoken_for: str | None


class Explainer(StagedModule):
    """Writes the reason for a verdict, and notices a reason that speaks for another verdict or says nothing.

    Calls: 1 a reason, and 2 of one token where the reason does not say clearly which verdict it speaks for; as many
    again where that is another one, or the reason says nothing.
    """

    name = "why"
    kind = "explainer"

    def __init__(self) -> None:
        super().__init__()
        self.write = Stage(ExplainVerdict, "reason", max_tokens=300)
        self.check = ReasonCheck()

    def explain(
        self, case: Case, verdict: Verdict, digest: str = "", scale: Sequence[float] | None = None
    ) -> Reason | None:
        """The reason; None for a verdict that says nothing. Its text is empty, with the cause, where the second try
        says nothing either.

        Args:
            digest: of the verdict (`data.reason.verdict_digest`).
            scale: of the judge's scores, where it is known.

        Raises:
            ExecutionError, ModelError: see `Stage`.
            BudgetSpent: the budget is used up.
        """
        words = verdict_words(case, verdict, scale)
        if words is None:
            return None
        ledger = Ledger(parent=current_ledger())
        with charge_to(ledger):
            inputs = _inputs(case, verdict, words)
            first = second = self._tried(case, inputs, words)
            if first.fault or agrees(first.spoken_for, words) is False:
                inputs["correction"] = _correction(first, words)
                second = self._tried(case, inputs, words)
        text, spoken_for = ("", None) if second.fault else (second.text, second.spoken_for)
        return Reason(
            case_id=case.id,
            case_digest=case.digest,
            verdict_digest=digest,
            verdict=words.sentence,
            text=text,
            cause=_cause(first, second) if second.fault else "",
            speaks_for=_said(spoken_for, words) if spoken_for is not None else "",
            agrees=agrees(spoken_for, words),
            tries=1 if second is first else 2,
            usage=ledger.total,
        )

    def _tried(self, case: Case, inputs: dict[str, Shown], words: VerdictWords) -> Attempt:
        form = fitting(self.write.ask.signature, tuple(inputs))
        text = unfenced(str(self.write.call(inputs, form).reason))
        question: list[str] = [value for name, value in inputs.items() if name not in ("responses", "verdict")]
        question += [case.query, str(form.instructions), *_descriptions(form)]
        responses = [candidate.text for candidate in case.candidates]
        fault = fault_of(text, words, aspect=case.aspect or "", question=question, responses=responses)
        return Attempt(text, fault, None if fault else self.check.spoken_for(text, words))


def _cause(first: Attempt, second: Attempt) -> str:
    """Why neither reason is kept."""
    before = first.fault or "speaks for another verdict"
    return f"the second reason {second.fault}; the first {before}"


def _correction(attempt: Attempt, words: VerdictWords) -> Shown:
    """What was wrong with the first reason, for the model."""
    if attempt.fault:
        return constant(
            f"An earlier reason {attempt.fault}. Name a detail of the texts, in words of yours, that speaks for: "
            f"{words.sentence}."
        )
    return constant(f"An earlier reason spoke for {_said(attempt.spoken_for, words)}. Speak for: {words.sentence}.")


def _descriptions(form: Any) -> list[str]:
    """The descriptions of the question's fields."""
    return [str((field.json_schema_extra or {}).get("desc", "")) for field in form.fields.values()]


def _inputs(case: Case, verdict: Verdict, words: VerdictWords) -> dict[str, Shown]:
    """What the question shows: neither label nor votes nor other columns of the case, and no empty field."""
    seen = present(case)
    names = candidate_names(len(case.candidates))
    inputs = {
        "request": seen.request,
        "context": seen.context,
        "reference": seen.reference,
        "profile": seen.profile,
        "responses": labelled(
            (f"{name}. " if name else "", text) for name, text in zip(names, seen.responses, strict=True)
        ),
        "aspect": Shown(shown(seen.aspect)),
        "evidence": _evidence(verdict.findings, names),
        "verdict": words.sentence,
    }
    return {name: text for name, text in inputs.items() if text or name == "request"}


def _evidence(findings: Sequence[Finding], names: Sequence[str]) -> Shown:
    """How the judge read each of several criteria: the mean over orders and members; empty for a single criterion."""
    numbers: dict[str, list[dict[str, float]]] = defaultdict(list)
    for finding in findings:
        if finding.distribution:
            numbers[finding.criterion].append(dict(finding.distribution))
        elif finding.scores and len(finding.scores) == len(names):
            numbers[finding.criterion].append(dict(zip(names, finding.scores, strict=True)))
    if len(numbers) < 2:
        return Shown()
    lines = []
    for criterion, rows in list(numbers.items())[:MOST_CRITERIA]:
        keys = dict.fromkeys(key for row in rows for key in row)
        means = {key: sum(row.get(key, 0.0) for row in rows) / len(rows) for key in keys}
        said = ", ".join(f"{_key(key)}{value:.2g}" for key, value in means.items())
        lines.append(f"{shown(criterion)}: {said}")
    return Shown("\n".join(lines))


def _key(key: str) -> str:
    """The name of a candidate or category before its number."""
    if key.lower() in ("a", "b", "tie") or key.isdigit():
        return f"{key.upper() if len(key) == 1 else key} "
    return f"{shown(key)} " if key else ""


def _said(spoken_for: str | None, words: VerdictWords) -> str:
    option = None if spoken_for is None else words.options.get(spoken_for)
    return f"the score {spoken_for}" if option is None else str(option)
