"""Learn criteria: propose questions, put them to the recorded cases, choose by people's labels, write the rubric.

The proposals and the choice are checkpoints, and the answers are evidence like any other, so that a step that was
interrupted goes on where it ended.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from ...data import Case, Judged, Verdict
from ...data.case import Record, Scores
from ...data.question_bank import BankQuestion, question_bank
from ...engines.jsonl import write_whole
from ...engines.model_string import ModelString
from ...errors import DeclarationError
from ...judging.features_by_name import QUESTION, answers_by_name, criterion_head
from ...judging.judge import Judge
from ...programs.question_bank import BankJudge
from ..checkpoints import Checkpoints
from ..evidence import Evidence, Interrupted, ProgressCallbacks, without_head
from .proposals import Proposals, propose, proposer
from .rubric import bank_yaml, rubric_markdown
from .selection import MOST_CHOSEN, Answers, Selection, select

PROPOSED, RUBRIC, BANK = "criteria-proposed", "rubric.md", "rubric.yaml"


class LearntCriteria(Record):
    """What the step found, as its checkpoint holds it."""

    questions: tuple[BankQuestion, ...] = Field(default=(), description="the chosen ones")
    selection: Selection | None = Field(default=None, description="how they were chosen; None: nothing was to choose")
    stopped: str = Field(default="", description="why nothing was chosen from")


def check_criteria(judge: Judge, criteria: str, criteria_lm: str | None) -> None:
    """Raise DeclarationError for a judge that cannot ask learnt questions, or a model string that is none."""
    if criteria == "none":
        return
    if not isinstance(judge, BankJudge):
        raise DeclarationError(
            f"criteria: judge {judge.name!r} asks no bank of questions, so none can be added. Compile `questions`: "
            "dicast compile questions --criteria learn."
        )
    _ = judge.questions  # refused now where there is none
    if criteria_lm:
        ModelString.parse(criteria_lm)


def learn_criteria(
    judge: Judge,
    headed: Judge,
    train: Sequence[Case],
    select_part: Sequence[Case],
    *,
    checkpoints: Checkpoints,
    evidence: Evidence,
    progress: ProgressCallbacks,
    writer: str | None,
    seed: int,
) -> LearntCriteria:
    """The questions that people's labels choose among those that an LM proposes from the train part.

    Args:
        judge: `questions` without a head; its bank and earlier learnt questions stay.
        headed: the same with a head, whose disagreement with people is shown to the LM.
        select_part: further labelled cases, which choose questions and are not shown to the LM.
        writer: the model that proposes; None: the judge's own.

    Raises:
        Interrupted: the compilation was stopped.
        BudgetSpent, TooFewVerdicts, Infrastructure: see `Evidence.of` and `select`.
    """
    assert isinstance(judge, BankJudge)
    proposals = _proposals(judge, headed, train, checkpoints, evidence, progress, writer)
    cases = [*train, *select_part]
    if not proposals.questions:
        return LearntCriteria(selection=None, stopped="no usable question was proposed")
    candidates_judge = without_head(judge)
    assert isinstance(candidates_judge, BankJudge)
    candidates_judge.set(bank="none", about="texts")
    candidates_judge.learnt.questions = tuple(proposals.questions)
    new, known = evidence.of(candidates_judge, cases, "learn"), evidence.of(judge, cases, "learn")
    rows = [
        row
        for row in zip(cases, new, known, strict=True)
        if row[1].status == row[2].status == "scored" and _is_labelled(row[0])
    ]
    names = {criterion_head(question.name): question for question in proposals.questions}
    candidates, base = _answers([(case, v) for case, v, _ in rows]), _answers([(case, v) for case, _, v in rows])
    selection = select([case for case, *_ in rows], candidates, base, seed=seed)
    chosen = tuple(names[worth.name] for worth in selection.chosen)
    named = [worth.model_copy(update={"name": q.name}) for worth, q in zip(selection.chosen, chosen, strict=True)]
    selection = selection.model_copy(update={"chosen": tuple(named)})
    model = writer or next((stage.model for stage in judge.stages() if stage.model), "an LM")
    text = rubric_markdown(chosen, selection, refused=len(proposals.refused), writer=model)
    write_whole(checkpoints.folder / RUBRIC, text)
    if chosen:
        bank = question_bank(judge.bank.value)
        write_whole(checkpoints.folder / BANK, bank_yaml(chosen, bank.task if bank else ""))
    return LearntCriteria(questions=chosen, selection=selection)


def with_criteria(judge: Judge, questions: Sequence[BankQuestion]) -> Judge:
    """A copy of the judge that asks these questions too; the judge itself where there are none."""
    if not questions:
        return judge
    taught = without_head(judge)
    assert isinstance(taught, BankJudge)
    taught.learnt.questions = (*taught.learnt.questions, *questions)
    return taught


def summary_of(learnt: LearntCriteria, folder: Path) -> str:
    """What the step found, in a line."""
    selection = learnt.selection
    if selection is None:
        return f"left out: {learnt.stopped}"
    if not learnt.questions:
        p = "" if selection.stopped_at is None else f" (the best one: p = {selection.stopped_at:.2f})"
        return f"none of {selection.candidates} questions lowers the cross-fitted loss more than chance does{p}"
    gain = selection.loss_before - selection.loss_after
    names = ", ".join(question.name for question in learnt.questions)
    return (
        f"{len(learnt.questions)} of {selection.candidates} questions: {names}; cross-fitted loss "
        f"{selection.loss_before:.4f} -> {selection.loss_after:.4f} ({-gain:+.4f}); {folder / RUBRIC}"
    )


def _proposals(
    judge: BankJudge,
    headed: Judge,
    train: Sequence[Case],
    checkpoints: Checkpoints,
    evidence: Evidence,
    progress: ProgressCallbacks,
    writer: str | None,
) -> Proposals:
    def proposed() -> dict[str, Any]:
        stage = proposer()
        if writer:
            stage.use(writer)
        else:
            first = judge.stages()[0]
            stage.use_model_of(first)
            stage.ask.lm = first.ask.lm
        bank = question_bank(judge.bank.value)
        known = (*(bank.questions if bank else ()), *judge.learnt.questions)
        verdicts = evidence.with_head(headed, train, "learn")
        result = propose(
            stage, train, verdicts, disagreement=_disagreement, known=known, task=bank.task if bank else "",
            stopped=progress.stop.is_set,
        )  # fmt: skip
        if progress.stop.is_set():
            raise Interrupted
        questions = [question.model_dump(mode="json") for question in result.questions]
        return {"questions": questions, "refused": [list(pair) for pair in result.refused]}

    content = checkpoints.once(PROPOSED, proposed)
    with checkpoints.reading(PROPOSED):
        questions = [BankQuestion.model_validate(question) for question in content["questions"]]
        refused = [(str(ask), str(reason)) for ask, reason in content["refused"]]
    progress.step("criteria", f"{len(questions)} questions were proposed, {len(refused)} more were refused")
    return Proposals(questions, refused)


def _disagreement(case: Case, verdict: Verdict) -> float:
    """How far a verdict is from people: the probability that it does not give their winner, or the distance of scores
    as a proportion of their scale."""
    if len(case.candidates) == 1:
        if not isinstance(case.label, Scores) or not verdict.scores:
            return 0.0
        return abs(verdict.scores[0] - case.label.values[0]) / (case.label.hi - case.label.lo)
    if not verdict.distribution or case.label is None:
        return 0.0
    return 1 - verdict.distribution.get(str(case.label.answer), 0.0)


def _is_labelled(case: Case) -> bool:
    if len(case.candidates) == 1:
        return isinstance(case.label, Scores)
    return case.label is not None and case.label.answer is not None


def _answers(rows: Sequence[tuple[Case, Judged]]) -> Answers:
    """By question, the numbers of every case; a case without an answer has zeros."""
    said = [
        answers_by_name([f for f in verdict.findings if not f.is_factor], len(case.candidates), least=1)
        for case, verdict in rows
    ]
    zeros = [(0.0,) * len(case.candidates) for case, _ in rows]
    return {
        name.removeprefix(QUESTION): [row.get(name, zero) for row, zero in zip(said, zeros, strict=True)]
        for name in dict.fromkeys(name for row in said for name in row)
    }


def most_expensive(judge: Judge) -> float:
    """The price of a verdict with as many learnt questions as can be chosen, relative to the judge's."""
    assert isinstance(judge, BankJudge)
    return 1 + MOST_CHOSEN / len(judge.questions)
