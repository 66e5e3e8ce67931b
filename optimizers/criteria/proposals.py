"""Questions that an LM proposes from the train part: where the judge disagrees with people, and why people say so.

A proposal that quotes a case is refused: it would recognise the case rather than its quality, and could only look good
on the labels that it comes from. So is a proposal that says nearly the same as a known question.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import dspy
from pydantic import ValidationError

from ...data import Case, Verdict
from ...data.question_bank import LONGEST_QUESTION, BankQuestion
from ...data.text_digest import normalised
from ...errors import ContextOverflow, ParseFailure, Refusal
from ...judging.delimiters import constant
from ...judging.judge import fenced
from ...judging.stage import Stage
from ...signatures.criteria import ProposedQuestion, ProposeQuestions
from ..prompts.feedback import REASONS, summary

PER_CALL = 4  # cases that one call shows: with texts of 600 characters they fit a context of 4,096 tokens
QUESTIONS_PER_CALL = 4
CALLS = 6
LONGEST_NAME = 60
SHARED_WORDS = 5  # consecutive words that a question may not share with a case
ALIKE = 0.6  # Jaccard similarity of content words from which two questions are nearly equal
LEARNT = "proposed by an LM from labels"
WORD = re.compile(r"[^\W_]+(?:'\w+)?")
IN_QUOTES = re.compile(r"[\"“”„«»]")
# They are in most questions about a response and say nothing of what is asked.
WORDS = """
    a an the is are was were be been does do did has have had of in on to for from with by at as and or not no any all
    it its this that these those which what how there their they response responses request text answer reply summary
    story than also can could would should will without into about every
"""
FILLER = frozenset(WORDS.split())


@dataclass
class Proposals:
    """What came of the proposals.

    Attributes:
        questions: that may be asked.
        refused: the text of each refused proposal, with the reason.
    """

    questions: list[BankQuestion] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)


def proposer() -> Stage:
    """The stage that proposes; its model is bound by the caller."""
    return Stage(ProposeQuestions, "criteria", max_tokens=700, temperature=0.7, top_p=0.95, check=_some_question)


def propose(
    stage: Stage,
    cases: Sequence[Case],
    verdicts: Sequence[Verdict],
    *,
    disagreement: Callable[[Case, Verdict], float],
    known: Sequence[BankQuestion],
    task: str = "",
    stopped: Callable[[], bool] = lambda: False,
) -> Proposals:
    """The questions that the LM of `stage` proposes, without those that leak a case or repeat another.

    Args:
        cases: of the train part, labelled.
        verdicts: of the judge, one per case.
        disagreement: how far a verdict is from people's label, 0 where they agree.
        known: questions that are asked already.
        stopped: says whether no further call is to be made.

    Raises:
        Infrastructure, BudgetSpent, ModelError: as `Stage`. An answer that cannot be used counts as refused.
    """
    result = Proposals()
    chosen = instructive(cases, verdicts, disagreement)[: CALLS * PER_CALL]
    texts = [text for case in cases for text in (case.query, *(c.text for c in case.candidates)) if text]
    runs = word_runs(texts)
    for start in range(0, len(chosen), PER_CALL):
        if stopped():
            break
        batch = chosen[start : start + PER_CALL]
        listed = [question.ask for question in (*known, *result.questions)]
        try:
            answer = stage(
                task=constant(task),
                asked_already="\n".join(listed) or "none",
                cases=fenced("\n\n".join(f"Case {n}. {shown_case(*pair)}" for n, pair in enumerate(batch, start=1))),
                count=QUESTIONS_PER_CALL,
            )
        except (ParseFailure, Refusal, ContextOverflow) as error:
            result.refused.append(("", str(error)))
            continue
        names = set(WORD.findall(" ".join(text for case, _ in batch for text in _texts(case))))
        for proposal in answer.questions[: 2 * QUESTIONS_PER_CALL]:
            question, reason = checked(proposal, (*known, *result.questions), runs, names)
            if question is None:
                result.refused.append((proposal.ask[:LONGEST_QUESTION], reason))
            else:
                result.questions.append(question)
    return result


def instructive(
    cases: Sequence[Case], verdicts: Sequence[Verdict], disagreement: Callable[[Case, Verdict], float]
) -> list[tuple[Case, Verdict]]:
    """The scored cases that teach most, the first of each group before its others: where the judge is far from people,
    and of equally far ones those with people's reasons."""
    scored = [
        (case, verdict)
        for case, verdict in zip(cases, verdicts, strict=True)
        if case.label is not None and verdict.status == "scored"
    ]
    order = sorted(scored, key=lambda pair: (-disagreement(*pair), not has_reason(pair[0]), pair[0].id))
    seen: set[str] = set()
    first: list[tuple[Case, Verdict]] = []
    later: list[tuple[Case, Verdict]] = []
    for case, verdict in order:
        (later if case.split_key in seen else first).append((case, verdict))
        seen.add(case.split_key)
    return first + later


def has_reason(case: Case) -> bool:
    return any(isinstance(case.meta.get(name), str) and case.meta[name].strip() for name in REASONS)


def shown_case(case: Case, verdict: Verdict) -> str:
    """A case in quoted lines, with what people say, their reasons, and what the judge says."""
    if verdict.winner is not None:
        names = {"a": "response A", "b": "response B", "tie": "a tie"}
        said = f"The judge says {names.get(str(verdict.winner), f'response {verdict.winner}')}."
    else:
        said = f"The judge gives {', '.join(f'{score:.3g}' for score in verdict.scores or ()) or 'nothing'}."
    return f"{summary(case)} {said}"


def checked(
    proposal: ProposedQuestion, known: Iterable[BankQuestion], runs: set[tuple[str, ...]], names: set[str]
) -> tuple[BankQuestion | None, str]:
    """The proposal as a question, or why it is refused.

    Args:
        runs: the runs of `SHARED_WORDS` words of the cases.
        names: the words of the cases that the proposal was written from, as they are spelt there.
    """
    ask = " ".join(proposal.ask.split())
    ask = ask if ask.endswith("?") else ask.rstrip(".!:; ") + "?"
    if reason := leak(ask, runs, names):
        return None, reason
    listed = list(known)
    if near := next((question.ask for question in listed if nearly_equal(ask, question.ask)), None):
        return None, f"says nearly the same as: {near}"
    sign = 1 if proposal.yes_is == "good" else -1
    name = _free_name(proposal.name, {question.name.casefold() for question in listed})
    try:
        return BankQuestion(name=name, ask=ask, sign=sign, source=LEARNT), ""
    except ValidationError as error:
        return None, f"is no question of a bank: {error.errors()[0]['msg']}"


def leak(ask: str, runs: set[tuple[str, ...]], names: set[str]) -> str:
    """How a question gives away a case: words that it quotes, or a name or number of the case; empty if it does not.

    Example:
        >>> leak("Does it mention Paris?", set(), {"Paris"})
        'names Paris, which a case is about'
    """
    if shared := next((run for run in word_runs([ask]) if run in runs), None):
        return f"quotes a case: {' '.join(shared)}"
    if IN_QUOTES.search(ask):
        return "quotes something"
    words = WORD.findall(ask)
    for place, word in enumerate(words):
        is_name = place > 0 and word[0].isupper() and word not in ("A", "B", "I")
        if (is_name or any(map(str.isdigit, word))) and word in names:
            return f"names {word}, which a case is about"
    return ""


def word_runs(texts: Iterable[str]) -> set[tuple[str, ...]]:
    """All runs of `SHARED_WORDS` consecutive words of the texts, normalised."""
    runs: set[tuple[str, ...]] = set()
    for text in texts:
        words = WORD.findall(normalised(text))
        runs.update(zip(*(words[start:] for start in range(SHARED_WORDS)), strict=False))
    return runs


def nearly_equal(first: str, second: str) -> bool:
    """Whether two questions ask nearly the same: their content words are mostly equal.

    Example:
        >>> nearly_equal("Is the response easy to read?", "Is this response easy to read")
        True
    """
    words, other_words = _content(first), _content(second)
    if not words or not other_words:
        return normalised(first) == normalised(second)
    return len(words & other_words) >= ALIKE * len(words | other_words)


def _content(text: str) -> set[str]:
    return {word.removesuffix("s") for word in WORD.findall(normalised(text))} - FILLER


def _free_name(proposed: str, taken: set[str]) -> str:
    """A name of the form that a bank takes, not used yet."""
    name = " ".join(re.sub(r"[^\w\s'-]", " ", proposed).split())[: LONGEST_NAME - 4].strip() or "question"
    numbered = (f"{name} {number}" for number in range(2, 10_000))
    return name if name.casefold() not in taken else next(n for n in numbered if n.casefold() not in taken)


def _texts(case: Case) -> list[str]:
    return [case.query, *(candidate.text for candidate in case.candidates)]


def _some_question(prediction: dspy.Prediction) -> None:
    if not prediction.questions:
        raise ValueError("no question was proposed")
