"""The judge: a `dspy.Module` from a Case to a Verdict, with its structure as saved parameters and an LM per role.

A failed judgment is a verdict too: `unscored`, with the reason, whatever failed. Candidates are shown in one order or
both; what is shown as A is mapped back before anything is merged, so the merged verdict turns over exactly when the
pair does.
"""

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ..data import Case, EarlierConversation, Finding, Judged, Verdict
from ..data.case import Profile, Turn
from ..data.profile_text import profile_text
from ..data.refusal_detection import RefusalFilter
from ..data.task_descriptions import OVERALL, Task
from ..data.verdict import Order
from ..engines.answers_used import answers_of_judgment
from ..engines.ledger import Ledger, charge_to, current_ledger
from ..engines.parallel import concurrently
from ..errors import BudgetSpent, DeclarationError
from ..evidence.source import EvidenceSource
from .aggregate import aggregate_findings
from .block_base import Vectors
from .case_fit import check_case
from .case_in_hand import judging
from .delimiters import CONVERSATION, EARLIER, Fence, Shown, constant, labelled
from .evidence_parameter import EvidenceParameter
from .evidence_reading import (
    ROLE,
    charge_estimate,
    check_blocks,
    is_estimate,
    items_of,
    open_sources,
    read_sources,
    with_scalars,
)
from .firewall import FORGOTTEN, as_failure, sound, unscored
from .hparam import HParam
from .module_base import StagedModule
from .reading_floor import LEAST_MASS, reading_from
from .reading_ways import letters_parameter, reading_in_way, way_parameter, with_ways
from .seat import Seat

if TYPE_CHECKING:
    from .heads import Head


@dataclass(frozen=True)
class PresentedCase:
    """A case as the judge sees it: fenced texts, in the order in which they are shown, and the case's aspect.

    `context` and `reference`, the right answers, are empty where the case has none.
    """

    request: Shown
    responses: tuple[Shown, ...]
    aspect: str
    profile: Shown
    context: Shown
    reference: Shown


class Judge(StagedModule):
    """Base of all judges. A subclass builds its stages in `__init__` and returns findings from `assess`.

    Attributes:
        name: the registry's name of the program.
        pairs_only: whether it can judge nothing but pairs.
        reads_history: whether it judges by what the reviewer of a case said before.
        score_scale: of the verdict's scores, where it is always the same.
        symmetric: whether exchanging the candidates exchanges the verdict; not for a baseline that ignores the texts.
        asks_about_task: whether a parameter `task` says what the texts are (data/tasks.yaml); public sets bring theirs.
        scores_only: whether, without a head, it names no category of a text that has some.
        rewrites: whether its verdicts may hold corrections, texts that it rewrote.
        evidence: which sources are read beside the questions, as in "state"; see docs/evidence.md.
        reading: how distributions are read (see `reading_ways`), with `letters` answers where they are sampled.
        min_mass: the probability that the options of a question must hold (see `reading_floor`); None: the usual one.
        head: makes calibrated scores and probabilities of a verdict's evidence; None leaves the judge's own.
        threshold: verdicts of a certainty below it, or without any, are abstained; None abstains never.
    """

    name: str
    score_scale: tuple[float, float] | None = None
    symmetric: ClassVar[bool] = True
    asks_about_task: ClassVar[bool] = False
    scores_only: ClassVar[bool] = False
    rewrites: bool = False
    evidence: HParam | None = None
    evidence_seats: Sequence[Seat] = ()
    min_mass: HParam | None = None
    head: "Head | None" = None
    threshold: float | None = None

    def __init__(self) -> None:
        super().__init__()
        self.evidence, self.evidence_seats = EvidenceParameter(), []
        self.reading, self.letters = way_parameter(), letters_parameter()

    @property
    def pairs_only(self) -> bool:
        return False

    @property
    def categories(self) -> tuple[str, ...]:
        """What a single text without categories is judged to be one of: what the head was fitted to; () for a score."""
        return tuple(getattr(self.head, "categories", ()))

    @property
    def refusals(self) -> RefusalFilter:
        """Which cases a run leaves out for a response that declines, unless its user says (data.refusal_detection)."""
        return "keep"

    @property
    def reads_history(self) -> bool:
        return False

    def lacks(self, case: Case) -> str:
        """A sentence on what the judge reads and the case has not; "" where nothing is missing."""
        return ""

    def __call__(self, case: Case) -> Any:
        """The verdict of one case, with its usage. Whatever fails in `forward` becomes an unscored verdict.

        Raises:
            DeclarationError: the case is not of the judge's kind or lacks what it reads, or a model cannot be used.
            BudgetSpent: the run's budget is used up; the case stays unjudged.
        """
        check_case(self.name, case, self.lacks, pairs_only=self.pairs_only)
        case = self._with_categories(case)
        ledger = Ledger(parent=current_ledger())
        least = self.min_mass.value if self.min_mass is not None else LEAST_MASS
        with (
            charge_to(ledger),
            answers_of_judgment() as answers,
            reading_from(least),
            reading_in_way(str(self.reading.value), int(self.letters.value)) as notes,
            judging(case, self.sources),
        ):
            try:
                verdict = sound(super().__call__(case), case)
            except (BudgetSpent, DeclarationError):
                raise
            except Exception as error:
                failure = as_failure(error, f"judge {self.name!r}", type(self).__module__)
                if failure.reason in FORGOTTEN and not failure.answers_forgotten:
                    answers.forget()  # or the next run would be given the same answers
                verdict = unscored(case, failure)
        said = tuple(dict.fromkeys([*verdict.notes, *notes]))
        return verdict.model_copy(update={"usage": ledger.total, "notes": said})

    def set(self, **values: Any) -> Self:
        """As of any module; `readout` may also be auto, sampled or stated (see `reading_ways`)."""
        return super().set(**with_ways(values))

    def _with_categories(self, case: Case) -> Case:
        """The case with the judge's own categories, where it names none or only some of them."""
        names = self.categories
        if case.kind not in ("texts", "categories") or not names or not set(case.categories) < set(names):
            return case
        return case.model_copy(update={"categories": names, "label": None, "votes": ()})

    def forward(self, case: Case) -> Verdict:
        """The verdict of one case, without usage; the judge is called, not this."""
        if not self.evidence_text:
            return self.decide(case, self.assess(case))
        if is_estimate():
            charge_estimate(self.evidence_text, case)
            return self.assess(case)
        self.check_evidence()
        asks: list[Callable[[Case], Any]] = [self.read_vectors, self.assess]
        vectors, verdict = concurrently(lambda ask: ask(case), asks)
        return self.decide(case, verdict, vectors)

    async def aforward(self, case: Case) -> Verdict:
        """`forward` in a thread."""
        return await asyncio.to_thread(self, case)

    def assess(self, case: Case) -> Verdict:
        """The verdict, without usage, before head and threshold."""
        raise NotImplementedError

    def decide(self, case: Case, verdict: Verdict, vectors: Mapping[str, Vectors] | None = None) -> Verdict:
        """The scored verdict after head and threshold, in this order; any other verdict stays as it is.

        An abstained verdict keeps its winner, scores and distribution.

        Args:
            vectors: what was read of the case, as of `read_vectors`.
        """
        if verdict.status != "scored":
            return verdict
        if vectors:
            verdict = with_scalars(verdict, vectors)
        if self.head is not None:
            if notes := self.check_evidence():
                verdict = verdict.model_copy(update={"notes": tuple(dict.fromkeys([*verdict.notes, *notes]))})
            verdict = self.head(case, verdict, vectors)
        if self.threshold is not None and (verdict.certainty is None or verdict.certainty < self.threshold):
            verdict = verdict.model_copy(update={"status": "abstained"})
        return verdict

    @property
    def evidence_text(self) -> str:
        """The value of the parameter `evidence`."""
        return str(self.evidence.value) if self.evidence is not None else ""

    def sources(self) -> tuple[EvidenceSource, ...]:
        """The sources of evidence that the judge reads.

        Raises:
            DeclarationError: a source without a model, where the judge has none whose states can be read.
            ModelError: a model at an address that only a judge file names.
        """
        if not self.evidence_text:
            return ()
        seats = self.seats()
        named, others = self.evidence_seats, [seat for seat in seats if not seat.is_fixed]
        return open_sources(f"judge {self.name!r}", self.evidence_text, named, others)

    def check_evidence(self) -> list[str]:
        """Whether what is read is what the head was fitted to: notes on what is not quite the same.

        Raises:
            DeclarationError: a source of the head is not read, or of other weights, another layer, layout or width.
        """
        if self.head is None or not self.head.blocks:
            return []
        return check_blocks(f"judge {self.name!r}", self.head, self.sources())

    def check_demos(self) -> None:
        """Raises DeclarationError where demos of this judge are chosen by evidence that it does not read."""
        names = {item.name for item in items_of(self.evidence_text)}
        of_members = {
            id(stage) for _, part in self.named_sub_modules(Judge) if part is not self for stage in part.stages()
        }
        for stage in self.stages():
            if stage.nearest is not None and id(stage) not in of_members and stage.nearest.reads not in names:
                raise DeclarationError(
                    f"judge {self.name!r}: its demos are chosen by nearness in the evidence {stage.nearest.reads!r}, "
                    f"which is not read. Set it: --set evidence={stage.nearest.reads}"
                )

    def read_vectors(self, case: Case) -> dict[str, Vectors]:
        """What the sources say of a case, float32 (candidates, width), by the source's name.

        Raises:
            ExecutionError: a source could not be read.
            DeclarationError, ModelError: see `sources`.
        """
        return read_sources(self.sources(), case)

    def settle_seats(self) -> None:
        models = [item.model for item in items_of(self.evidence_text) if item.model]
        seats = {seat.model: seat for seat in self.evidence_seats}
        # A seat is kept when it is not in use: a model that only a judge file named is not trusted later.
        seats |= {model: Seat(ROLE, model, is_fixed=True) for model in models if model not in seats}
        for model, seat in seats.items():
            seat.in_use = model in models
        self.evidence_seats = list(seats.values())

    def hparams(self) -> dict[str, HParam]:
        """As of any module; a judge without an LM has no parameter `evidence`."""
        judges = {path.removeprefix("self").lstrip("."): judge for path, judge in self.named_sub_modules(Judge)}
        idle = {
            f"{path}.evidence" if path else "evidence"
            for path, judge in judges.items()
            if not any(not seat.is_fixed for _, seat in judge.named_sub_modules(Seat))
        }
        for path, judge in judges.items():
            if judge.min_mass is None and getattr(judge, "readout", None) is None:
                idle |= {f"{path}.{name}" if path else name for name in ("reading", "letters")}
        return {name: hparam for name, hparam in super().hparams().items() if name not in idle}


class FittedJudge(Judge):
    """Base of judges that are fitted to the cases of a run before they judge them."""

    @property
    def is_fitted_to_cases(self) -> bool:
        """Whether it is, as it is set; a judge that is not judges each case by itself."""
        return True

    def fit(self, cases: Iterable[Case]) -> Self:
        """Learn from the cases."""
        raise NotImplementedError


class LearningJudge(Judge):
    """Base of judges that learn from labelled verdicts of an earlier run of the same program (`--learn RUN`)."""

    def learn(self, judged: Iterable[Judged]) -> Self:
        """Learn from the verdicts and their labels."""
        raise NotImplementedError

    def has_seen(self, case: Case) -> bool:
        """Whether it learned from this case."""
        raise NotImplementedError


def learned_from(judge: Judge) -> Callable[[Case], bool]:
    """Whether the judge, or a member of it, learned from a case of a labelled run."""
    parts = [part for _, part in judge.named_sub_modules(LearningJudge)]
    return lambda case: any(part.has_seen(case) for part in parts)


def present(case: Case, order: Order = "ab") -> PresentedCase:
    """The case as shown in `order`; the responses share a fence, which is the same in both orders."""
    texts = [candidate.text for candidate in case.candidates]
    fence = Fence(texts)
    return PresentedCase(
        request=request_text(case),
        responses=tuple(fence(text) for text in (texts if order == "ab" else texts[::-1])),
        aspect=case.aspect or constant(OVERALL),
        profile=shown_profile(case.profile),
        context=fenced(case.context),
        reference=fenced("\n\n".join(case.references)),
    )


def request_text(case: Case) -> Shown:
    """The query in its own fence, so that cases with the same request ask the same questions; empty without a query.

    A conversation is shown turn by turn, with the sentence that its last turn is what the responses answer.
    """
    if not case.history:
        return fenced(case.query)
    return _shown_turns((*case.history, Turn(role="user", text=case.query)), CONVERSATION)


def shown_profile(profile: Profile | None) -> Shown:
    """The profile in a fence; an earlier conversation turn by turn, each in a fence. Empty without a profile."""
    if isinstance(profile, EarlierConversation):
        return _shown_turns(profile.turns, EARLIER)
    return fenced(profile_text(profile))


def _shown_turns(turns: Sequence[Turn], intro: str) -> Shown:
    fence = Fence(turn.text for turn in turns)
    return labelled(((f"{turn.role.capitalize()}: ", fence(turn.text)) for turn in turns), intro)


def fenced(text: str) -> Shown:
    """One text in its own fence; an empty text stays empty."""
    return Fence([text])(text) if text else Shown()


def aspect_text(described: Task, name: str | None) -> str:
    """The aspect of a case as a task describes it: a constant where the task knows it, else the case's own words."""
    text = described.describe(name)
    return constant(text) if name is None or described.knows(name) else text


def orders(setting: str) -> tuple[Order, ...]:
    return ("ab", "ba") if setting == "both" else ("ab",)


def shuffled_orders(case: Case, seed: int) -> tuple[Order, ...]:
    """One order, drawn by seed and texts so that a swapped pair is shown the same way round; both for equal texts."""
    first, second = (candidate.text for candidate in case.candidates)
    if first == second:
        return ("ab", "ba")
    drawn = sorted((first, second))
    random.Random("\0".join([str(seed), case.query, *drawn])).shuffle(drawn)
    return ("ab",) if drawn[0] == first else ("ba",)


def in_case_order(finding: Finding, order: Order) -> Finding:
    """The finding of texts shown in `order`, mapped to the case's own order and labelled with the order shown.

    An explanation keeps its letters: a note says that its A is b.
    """
    shown_as_ab = finding.model_copy(update={"order": "ab"})
    if order == "ab":
        return shown_as_ab
    note = " [shown in the other order: its A is b]" if finding.explanation else ""
    return shown_as_ab.swapped().model_copy(update={"explanation": finding.explanation + note})


def rationale_of(findings: Iterable[Finding]) -> str:
    """The findings' explanations, one a line."""
    return "\n".join(
        dict.fromkeys(f"{f.criterion}: {f.explanation}" for f in findings if f.explanation and not f.is_factor)
    )


def verdict_of(case: Case, findings: Iterable[Finding], *, notes: Iterable[str] = (), **rules: float) -> Verdict:
    """The verdict that the findings give; the rationale is the explanations, one a line."""
    evidence = tuple(findings)
    fields = aggregate_findings(evidence, len(case.candidates), **rules)
    return Verdict(
        case_id=case.id,
        findings=evidence,
        rationale=rationale_of(evidence),
        notes=tuple(dict.fromkeys(notes)),
        **fields,
    )
