"""The personalised judge: which text one person would prefer, wrote or would answer, and how sure (arXiv 2406.11657).

What is asked is the parameter `question`, what of the persona is shown `features`. Without a persona an impartial
question is asked that names nobody. Positions are drawn by seed from the texts themselves, so a
swapped pair is shown the same way round and gets the swapped verdict. A refusal or an answer of the wrong form is asked
again at most four times, then the judgment is unscored with the reason.
"""

import math
from typing import Any, Self

from ..data import Case, Finding, Persona, Verdict
from ..data.profiles import features
from ..data.refusal_detection import RefusalFilter
from ..data.verdict import Order
from ..engines.parallel import concurrently
from ..errors import DeclarationError
from ..judging.hparam import HParam
from ..judging.judge import Judge, in_case_order, orders, present, shown_profile, shuffled_orders, verdict_of
from ..judging.question import READOUTS, Question
from ..judging.reading_floor import min_mass_parameter
from ..judging.registry import register
from ..judging.sampling import SAMPLING_TEMPERATURE, SAMPLING_TOP_P
from ..judging.stage import Stage
from ..signatures import persona as signatures

# Section 4: sampled, and asked again at most four times.
DRAWN: dict[str, Any] = {"temperature": SAMPLING_TEMPERATURE, "top_p": SAMPLING_TOP_P, "attempts": 1 + 4}
STAGES = {"standard": "", "certainty": "_sure", "tie": "_or_tie"}  # how the stages of a question are called
CRITERIA = {
    "prefers": "as the person would",
    "wrote": "written by the person",
    "wrote-answer": "answer written by the person",
    "would-answer": "as the person would answer",
    "better": "better",
    "most-reasonable": "more reasonable",
    "answer": "the answer",
}


@register(
    "persona",
    summary="which response a person of these features would prefer or wrote, and how surely",
    source="arXiv 2406.11657",
    inputs="pairs; a persona",
    calls="1",
)
class PersonaJudge(Judge):
    """Says which of two responses the person of the case would prefer, or wrote. Calls: one an order.

    Args:
        question: "prefers"; "wrote", which response they wrote; "wrote-answer", of two questions with an answer each;
            "would-answer", which answer they would give; or, of nobody, "better", "most-reasonable" and "answer".
        setting: "standard", "certainty" (the model states 1..100 with its choice) or "tie" (C is allowed).
        features: "all", "key" (education, location, ethnicity), "least" (religion), "none", names ("age,education"),
            "first:N", or "drawn:N", which draws N by seed for each person.
        readout: "generate", or "probability", which takes the certainty from the letters.
        order: "shuffled" (one order, drawn by seed), "both" or "one".
        seed: of the shuffle, and of drawn features.
        tie_threshold: margins up to this many log-odds are ties.

    Written answers are sampled at temperature 0.7 with top-p 0.95 (section 4); `temperature=0` is greedy.
    """

    name = "persona"

    def __init__(
        self,
        *,
        question: str = "prefers",
        setting: str = "standard",
        features: str = "all",
        readout: str = "generate",
        order: str = "shuffled",
        seed: int = 0,
        tie_threshold: float = 0.0,
    ) -> None:
        super().__init__()
        self.question = HParam(question, tuple(signatures.QUESTIONS), search=(), implied=True)
        self.setting = HParam(setting, ("standard", "certainty", "tie"))
        self.features = HParam(features)
        self.readout = HParam(readout, READOUTS)
        self.min_mass = min_mass_parameter()
        self.order = HParam(order, ("shuffled", "both", "one"))
        self.seed = HParam(seed)
        self.tie_threshold = HParam(tie_threshold, least=0.0)
        for name, signature in signatures.QUESTIONS.items():
            stated, tied = signatures.asks_for_certainty(signature), signatures.allows_tie(signature)
            forms = {
                "standard": Question(signature, "judgment", max_tokens=16, **DRAWN),
                "certainty": Stage(stated, "judgment", max_tokens=32, **DRAWN),
                "tie": Question(tied, "judgment", max_tokens=16, **DRAWN),
            }
            for setting, stage in forms.items():
                if name != "prefers":
                    stage.imply()
                setattr(self, _stage_name(name) + STAGES[setting], stage)

    @property
    def pairs_only(self) -> bool:
        return True

    @property
    def refusals(self) -> RefusalFilter:
        """Responses of assistants that decline are left out, as in the paper; what people wrote is kept."""
        return "ai-words" if self.question.value in ("prefers", "better") else "keep"

    def set(self, **values: Any) -> Self:
        super().set(**values)
        features(Persona(), self.features.value)  # a list that cannot be read is refused now
        return self

    def assess(self, case: Case) -> Verdict:
        person, notes = self._person(case)
        shown_orders = (
            shuffled_orders(case, self.seed.value) if self.order.value == "shuffled" else orders(self.order.value)
        )
        findings = concurrently(lambda order: self._prefer(case, person, order), shown_orders)
        verdict = verdict_of(case, findings, notes=notes, tie_threshold=self.tie_threshold.value)
        return verdict.model_copy(update=_stated(findings, verdict))

    def _person(self, case: Case) -> tuple[str, list[str]]:
        """The description of the person, fenced, and notes on what is unknown."""
        which = self.features.value
        if case.profile is None or which == "none":
            unknown = [] if which == "none" else ["persona: nothing is known of the person"]
            return "", unknown
        if not isinstance(case.profile, Persona):
            if which != "all":
                raise DeclarationError(
                    f"judge 'persona': case {case.id!r} has a {case.profile.kind} without features. Use features=all."
                )
            return shown_profile(case.profile), []
        shown_persona, notes = features(case.profile, which, seed=self.seed.value)
        return shown_profile(shown_persona), notes

    def _prefer(self, case: Case, person: str, order: Order) -> Finding:
        shown = present(case, order)
        question = self.question.value if person else signatures.IMPARTIAL[self.question.value]
        inputs: dict[str, str] = {
            "question": shown.request,
            "response_a": shown.responses[0],
            "response_b": shown.responses[1],
        }
        if "person" in signatures.QUESTIONS[question].input_fields:
            inputs["person"] = person
        stated = self.setting.value == "certainty" and self.readout.value == "generate"
        fields = self._stated_choice(question, inputs) if stated else self._choice(question, inputs)
        return in_case_order(Finding(criterion=CRITERIA[question], **fields), order)

    def _choice(self, question: str, inputs: dict[str, str]) -> dict[str, Any]:
        setting = "tie" if self.setting.value == "tie" else "standard"
        answer = self._stage(question, setting)(readout=self.readout.value, **inputs)
        return {"distribution": answer.preference("preferred"), "mass_read": answer.mass_read}

    def _stated_choice(self, question: str, inputs: dict[str, str]) -> dict[str, Any]:
        """The choice with the certainty that the model states, 1..100."""
        answer = self._stage(question, "certainty")(**inputs)
        certainty = answer.certainty / 100
        chosen, other = ("a", "b") if answer.preferred == "A" else ("b", "a")
        shares = {chosen: 0.5 + certainty / 2, other: 0.5 - certainty / 2}
        return {"distribution": {label: shares[label] for label in "ab"}, "certainty": certainty}

    def _stage(self, question: str, setting: str) -> Any:
        return getattr(self, _stage_name(question) + STAGES[setting])


def _stage_name(question: str) -> str:
    return "prefer" if question == "prefers" else question.replace("-", "_")


def _stated(findings: list[Finding], verdict: Verdict) -> dict[str, float]:
    """The certainty that the model stated for the winner, averaged over the orders that named it."""
    stated = [
        finding.certainty
        for finding in findings
        if finding.certainty is not None and finding.distribution and isinstance(verdict.winner, str)
        if finding.distribution.get(verdict.winner, 0) > 0.5
    ]
    return {"certainty": math.fsum(stated) / len(stated)} if stated else {}
