"""What a model reads of a candidate: the conversation and the query first, then the text, as one turn of a user.

All candidates of a query share the beginning, and a text that is in several pairs is read once. The wording is that of
the measurements in docs/evidence.md; another wording is another version.
"""

from ..data import Case
from ..engines.states.reader import StateRequest

LAYOUT = 1


def before_text(case: Case) -> str:
    """What every candidate of the case is read after; empty for a case without a query and a conversation.

    Example:
        >>> from dicast.data import Candidate
        >>> before_text(Case(id="1", query="Why?", candidates=[Candidate(text="So.")]))
        'Query: Why?'
    """
    turns = [f"{turn.role.capitalize()}: {turn.text}" for turn in case.history]
    return "\n\n".join([*turns, *([f"Query: {case.query}"] if case.query else [])])


def requests_of(case: Case) -> list[StateRequest]:
    """A request for each candidate; the text that is averaged is "Answer: " and the candidate's.

    Example:
        >>> from dicast.data import Candidate
        >>> case = Case(id="1", query="Why?", candidates=[Candidate(text="So."), Candidate(text="")])
        >>> [request.text for request in requests_of(case)]
        ['\\n\\nAnswer: So.', '\\n\\nAnswer: ']
    """
    before = before_text(case)
    return [StateRequest(before, f"\n\nAnswer: {candidate.text}") for candidate in case.candidates]
