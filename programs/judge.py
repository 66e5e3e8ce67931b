"""The judge: a `dspy.Module` from a Case to a Verdict, with its structure as saved parameters and an LM per role.

A failed judgment is a verdict too: `unscored`, with the reason. Candidates are shown in one order or both; what is
shown as A is mapped back before anything is merged, so the merged verdict turns over exactly when the pair does.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import dspy

from ..data import Case, Finding, Persona, Preference, Verdict
from ..data.verdict import Order
from ..engines.ledger import Ledger, charge_to, current_ledger
from ..engines.models import Roles
from ..errors import BudgetSpent, DeclarationError, ExecutionError
from .fence import Fence
from .hparam import HParam
from .merge import conclude
from .stage import Stage

OVERALL = "overall quality"


@dataclass(frozen=True)
class Shown:
    """A case as the judge sees it: fenced texts, in the order in which they are shown."""

    request: str
    responses: tuple[str, ...]
    aspect: str
    profile: str


class Judge(dspy.Module):
    """Base of all judges. A subclass builds its stages in `__init__` and returns findings from `assess`.

    Attributes:
        name: the registry's name of the program.
        pairs_only: whether it can judge nothing but pairs.
    """

    name: str

    @property
    def pairs_only(self) -> bool:
        return False

    def forward(self, case: Case) -> Verdict:
        """The verdict of one case; an execution error becomes an unscored verdict.

        Raises:
            DeclarationError: the case is not of the judge's kind, or a model cannot be used at all.
            BudgetSpent: the run's budget is used up; the case stays unjudged.
        """
        if self.pairs_only and not case.is_pair:
            raise DeclarationError(
                f"judge {self.name!r}: case {case.id!r} has {len(case.candidates)} candidates, not two. "
                "Use a judge of single texts (dicast list)."
            )
        ledger = Ledger(parent=current_ledger())
        with charge_to(ledger):
            try:
                verdict = self.assess(case)
            except BudgetSpent:
                raise
            except ExecutionError as error:
                verdict = Verdict(case_id=case.id, status="unscored", reason=error.reason, detail=str(error))
        return verdict.model_copy(update={"usage": ledger.total})

    async def aforward(self, case: Case) -> Verdict:
        """`forward` in a thread: sync and async calls then share DSPy's cache, whose keys differ between the two."""
        return await asyncio.to_thread(self.forward, case)

    def assess(self, case: Case) -> Verdict:
        """The verdict, without usage."""
        raise NotImplementedError

    def stages(self) -> list[Stage]:
        return [stage for _, stage in self.named_sub_modules(Stage)]

    def bind(self, roles: Mapping[str, str] | str) -> Self:
        """Answer each stage by the model string of its role. A lone string answers all of them.

        Raises:
            DeclarationError: a role that no stage of this judge has.
        """
        models = Roles.parse(roles) if isinstance(roles, str) else roles
        known = {stage.role for stage in self.stages()} | {"judge"}
        unknown = set(models) - known
        if unknown and known != {"judge"}:
            raise DeclarationError(
                f"judge {self.name!r} has no role {sorted(unknown)[0]!r}. Its roles: {', '.join(sorted(known))}."
            )
        for stage in self.stages():
            stage.model = models[stage.role]
        return self

    def hparams(self) -> dict[str, HParam]:
        return {name: value for name, value in self.named_parameters() if isinstance(value, HParam)}

    def settings(self) -> dict[str, Any]:
        """The structural parameters' values, by name."""
        return {name: hparam.value for name, hparam in self.hparams().items()}

    def set(self, **values: Any) -> Self:
        """Change structural parameters.

        Raises:
            DeclarationError: a name that this judge does not have, or a value that it cannot take.
        """
        hparams = self.hparams()
        for name, value in values.items():
            if name not in hparams:
                known = ", ".join(sorted(hparams)) or "none"
                raise DeclarationError(f"judge {self.name!r} has no parameter {name!r}. It has: {known}.")
            try:
                hparams[name].set(value)
            except ValueError as error:
                raise DeclarationError(f"judge {self.name!r}, {name}: {error}.") from None
        return self


def show(case: Case, order: Order = "ab") -> Shown:
    """The case as shown in `order`; the responses share a fence, which is the same in both orders."""
    profile = profile_text(case)
    texts = [candidate.text for candidate in case.candidates]
    fence = Fence(texts)
    return Shown(
        request=Fence([case.query])(case.query),  # of its own, so that cases of one request ask the same questions
        responses=tuple(fence(text) for text in (texts if order == "ab" else texts[::-1])),
        aspect=case.aspect or OVERALL,
        profile=Fence([profile])(profile) if profile else "",
    )


def profile_text(case: Case) -> str:
    """The profile in words; empty when the case has none."""
    match case.profile:
        case Preference(text=text):
            return text
        case Persona(features=features, text=text):
            unsaid = [f"{name}: {value}" for name, value in features.items() if value not in text]
            return "\n".join([*unsaid, *([text] if text else [])])
        case None:
            return ""
        case reviewer:
            reviews = [f"Text: {r.text}\nReview: {r.comment}\nScore: {r.score:g}" for r in reviewer.reviews]
            choices = [
                f"A: {c.response_a}\nB: {c.response_b}\nPreferred: {c.label.upper()}" for c in reviewer.comparisons
            ]
            return "\n\n".join([*reviews, *choices])


def orders(setting: str) -> tuple[Order, ...]:
    return ("ab", "ba") if setting == "both" else ("ab",)


def in_case_order(finding: Finding, order: Order) -> Finding:
    """A finding made in what was shown, mapped to the case's own order and labelled with the order shown."""
    shown_as_ab = finding.model_copy(update={"order": "ab"})
    return shown_as_ab if order == "ab" else shown_as_ab.swapped()


def verdict_of(case: Case, findings: list[Finding], **rules: float) -> Verdict:
    """The verdict that the findings give; the rationale is the explanations, one a line."""
    lines = dict.fromkeys(f"{f.criterion}: {f.explanation}" for f in findings if f.explanation)
    fields = conclude(findings, len(case.candidates), **rules)
    return Verdict(case_id=case.id, findings=tuple(findings), rationale="\n".join(lines), **fields)
