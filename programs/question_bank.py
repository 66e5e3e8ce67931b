"""`questions`: a bank of questions of one token each, about every text and, where the bank has such, about the pair.

The texts come first in a prompt and the question last, under one system prompt, so that all questions of a text share
their prompt's beginning: a server or a local model reads the text once. Each answer is a finding of its question. A
head learns a weight for each; without one all count the same.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Self

from dspy.predict.parameter import Parameter

from ..data import Case, Finding, Verdict
from ..data.question_bank import DEFAULT_BANK, MOST_QUESTIONS, BankQuestion, QuestionBank, question_bank, ready_banks
from ..data.verdict import Order
from ..engines.parallel import concurrently
from ..errors import DeclarationError
from ..judging.delimiters import Shown, constant
from ..judging.evidence import ScoreReading, rescaled, side_by_side
from ..judging.hparam import HParam
from ..judging.judge import Judge, in_case_order, orders, present, verdict_of
from ..judging.question import READOUTS, Answer, Question
from ..judging.reading_floor import min_mass_parameter
from ..judging.registry import register
from ..signatures import questions as signatures

SCALE = (0.0, 1.0)  # of every answer about a text: 1 speaks for it
POINTS = 4.0  # log-odds of a difference of mean answers from end to end, as of 1..5 points elsewhere


class LearntQuestions(Parameter):
    """Questions that `dicast compile --criteria learn` wrote, asked after those of the bank; saved with the judge."""

    def __init__(self) -> None:
        self.questions: tuple[BankQuestion, ...] = ()

    def reset(self) -> None:
        """Keep what was learned: DSPy's demo optimizers reset copies of a program."""

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        return {"questions": [question.model_dump(mode="json") for question in self.questions]}

    def load_state(self, state: dict[str, Any], **_: Any) -> None:
        listed = state["questions"]
        self.questions = QuestionBank.model_validate({"questions": listed}).questions if listed else ()


@register(
    "questions",
    summary="a bank of yes-no questions, degrees and comparisons, one token each",
    source="FLASK, arXiv 2307.10928; HelpSteer, arXiv 2311.09528",
    inputs="pairs, single texts",
    calls="a pair: 38, of one token each; a text: 16",
)
class BankJudge(Judge):
    """Asks the questions of a bank, and those that it learnt.

    An answer about a text is a number in [0, 1]: the probability of yes, or the mean degree; of a question with sign -1
    it is turned over, so that 1 always speaks for the text. Without a head the score of a text is the mean of its
    answers, and a pair's margin the difference of the means in points of 1..5 plus the mean log-odds of the answers
    about the pair. Where a case has an aspect that questions of the bank name, the others do not count, but a head
    reads all. Calls: one a text and question about a text; one an order and question about the pair.

    Args:
        bank: a name of data/question_banks.yaml, a YAML file, or "none" for learnt questions alone.
        about: "texts" asks no question about the pair, "pairs" no other, "both" all.
        readout: "probability" (one token's probabilities are read) or "generate" (the model writes the answer).
        order: "one" or "both", of the questions about a pair.
        tie_threshold: margins up to this many log-odds are ties.
    """

    name = "questions"
    scores_only = True
    score_scale = SCALE

    def __init__(
        self,
        *,
        bank: str = DEFAULT_BANK,
        about: str = "both",
        readout: str = "probability",
        order: str = "both",
        tie_threshold: float = 0.0,
    ) -> None:
        super().__init__()
        self.bank = HParam(bank)
        self.about = HParam(about, ("texts", "pairs", "both"), search=("texts", "both"))
        self.readout = HParam(readout, READOUTS, search=("probability",))
        self.min_mass = min_mass_parameter()
        self.order = HParam(order, ("one", "both"), idle_when={"about": "texts"})
        self.tie_threshold = HParam(tie_threshold, least=0.0)
        self.learnt = LearntQuestions()
        self.ask_yes_no = Question(signatures.YesNoOfText, "judgment", max_tokens=16)
        self.ask_degree = Question(signatures.DegreeOfText, "judgment", max_tokens=16)
        self.ask_pair = Question(signatures.ChoiceOfPair, "judgment", max_tokens=16)

    def set(self, **values: Any) -> Self:
        super().set(**values)
        question_bank(self.bank.value)  # a bank that cannot be read is refused now rather than at the first case
        return self

    @property
    def questions(self) -> tuple[BankQuestion, ...]:
        """The questions of the bank and the learnt ones, in the order in which they are put.

        Raises:
            DeclarationError: there is none, a learnt one has the name of one of the bank, or they are too many.
        """
        bank = question_bank(self.bank.value)
        every = (*(bank.questions if bank else ()), *self.learnt.questions)
        if not every:
            raise DeclarationError(
                f"judge {self.name!r}: bank=none and nothing was learnt, so there is no question. Name a bank, or "
                "compile with --criteria learn."
            )
        names = [question.name.casefold() for question in every]
        if len(set(names)) < len(names) or len(names) > MOST_QUESTIONS:
            raise DeclarationError(
                f"judge {self.name!r}: bank and learnt questions need different names, {MOST_QUESTIONS} at most. "
                "Use the bank that they were learnt with."
            )
        return every

    def assess(self, case: Case) -> Verdict:
        bank = question_bank(self.bank.value)
        task = constant(bank.task) if bank else Shown()
        of_texts, of_pair = self._put_to(case)
        shown, several = present(case), len(case.candidates)
        asks: list[Callable[[], list[Any]]] = [
            partial(self._about_text, task, shown.request, text, of_texts) for text in shown.responses
        ]
        if of_pair:
            asks += [partial(self._about_pair, task, case, order, of_pair) for order in orders(self.order.value)]
        answers = concurrently(lambda ask: ask(), asks)
        findings = [
            side_by_side(question.name, readings, guideline=question.ask)
            for question, readings in zip(of_texts, zip(*answers[:several], strict=True), strict=True)
        ]
        findings += [finding for in_order in answers[several:] for finding in in_order]
        counted = counts_for(case.aspect, (*of_texts, *of_pair))
        findings = [f.model_copy(update={"weight": float(counted[f.criterion])}) for f in findings]
        summed = sum(counted[question.name] for question in of_texts) if case.is_pair else 1
        points = POINTS / max(1, summed)  # differences of a pair are summed over the questions
        verdict = verdict_of(case, findings, tie_threshold=self.tie_threshold.value, score_weight=points)
        if several == 1:  # the levels are those of answers, not of a score
            return verdict.model_copy(update={"distribution": None, "certainty": None})
        return verdict

    def _put_to(self, case: Case) -> tuple[list[BankQuestion], list[BankQuestion]]:
        """The questions about each text, and those about the pair."""
        about = self.about.value
        of_texts = [question for question in self.questions if question.about == "text" and about != "pairs"]
        of_pair = [q for q in self.questions if q.about == "pair" and about != "texts" and case.is_pair]
        if not of_texts and not of_pair:
            raise DeclarationError(f"judge {self.name!r}: {self._nothing_to_ask(case)}")
        return of_texts, of_pair

    def _nothing_to_ask(self, case: Case) -> str:
        """Why no question can be put to the case, and what to do."""
        about, bank = self.about.value, self.bank.value
        offered = {question.about for question in self.questions}
        count = len(case.candidates)
        several = "a single text" if count == 1 else "a pair" if case.is_pair else f"{count} options"
        subject = "the pair" if about == "pairs" else "single texts"
        if about != "both" and len(offered) == 2:
            return f"about={about} asks only about {subject}, and case {case.id!r} is {several}. Set about=both."
        fitting = [name for name, ready in ready_banks().items() if any(q.about == "text" for q in ready.questions)]
        lacks = "about a pair, none about a single text" if "pair" in offered else "about a text, none about the pair"
        return (
            f"all questions of bank {bank} are {lacks}, and case {case.id!r} is {several}"
            f"{f', asked with about={about}' if about != 'both' else ''}. "
            f"Use a bank with questions about texts: {', '.join(fitting)}"
            f"{' (with about=both)' if about == 'pairs' else ''}; or add one without `about: pair` to yours."
        )

    def _about_text(
        self, task: str, request: str, text: str, questions: Sequence[BankQuestion]
    ) -> list[ScoreReading]:  # fmt: skip
        def answer(question: BankQuestion) -> ScoreReading:
            ask = self.ask_yes_no if question.answer == "yes-no" else self.ask_degree
            said: Answer = ask(
                readout=self.readout.value, task=task, request=request, response=text, question=question.ask
            )
            reading = said.reading("answer")
            ends = SCALE if question.answer == "yes-no" else (1.0, 5.0)
            score = rescaled(reading.score, ends, SCALE)
            if question.sign > 0:
                return ScoreReading(score, reading.levels, reading.mass_read)
            return ScoreReading(1 - score, reading.levels[::-1], reading.mass_read)

        return self._in_turn(answer, questions)

    def _about_pair(
        self, task: str, case: Case, order: Order, questions: Sequence[BankQuestion]
    ) -> list[Finding]:  # fmt: skip
        shown = present(case, order)

        def answer(question: BankQuestion) -> Finding:
            said: Answer = self.ask_pair(
                readout=self.readout.value,
                task=task,
                request=shown.request,
                response_a=shown.responses[0],
                response_b=shown.responses[1],
                question=question.ask,
            )
            first, second = (said.preference("answer")[letter] for letter in ("a", "b"))
            shares = {"a": first, "b": second} if question.sign > 0 else {"a": second, "b": first}
            finding = Finding(
                criterion=question.name, guideline=question.ask, distribution=shares, mass_read=said.mass_read
            )
            return in_case_order(finding, order)

        return self._in_turn(answer, questions)

    def _in_turn(self, answer: Callable[[BankQuestion], Any], questions: Sequence[BankQuestion]) -> list[Any]:
        """The answers about the same texts: the first before the others, which then share what was read for it; of a
        model of this machine one after the other, as its parallel slots would each read the texts again."""
        if any(stage.model.startswith("local/") for stage in self.stages()):
            return [answer(question) for question in questions]
        return [*map(answer, questions[:1]), *concurrently(answer, questions[1:])]


def counts_for(aspect: str | None, questions: Iterable[BankQuestion]) -> dict[str, bool]:
    """By name, whether a question counts without a head for cases of an aspect: of an aspect that some questions name,
    those that do; of any other, all.

    Example:
        >>> bank = [BankQuestion(name="a", ask="?", aspects=["fluency"]), BankQuestion(name="b", ask="??")]
        >>> counts_for("Fluency", bank), counts_for(None, bank)
        ({'a': True, 'b': False}, {'a': True, 'b': True})
    """
    listed = list(questions)
    names = {question.name for question in listed if (aspect or "").casefold() in map(str.casefold, question.aspects)}
    return {question.name: question.name in names or not names for question in listed}
