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


def requests_of(case: Case, profile: str = "") -> list[StateRequest]:
    """A request for each candidate; the text that is averaged is "Answer: " and the candidate's.

    Args:
        profile: what the person said or is, read before the query; empty: nothing.

    Example:
        >>> from dicast.data import Candidate
        >>> case = Case(id="1", query="Why?", candidates=[Candidate(text="So."), Candidate(text="")])
        >>> [request.text for request in requests_of(case)]
        ['\\n\\nAnswer: So.', '\\n\\nAnswer: ']
        >>> requests_of(case, "I dislike riddles.")[0].before
        'Earlier: I dislike riddles.\\n\\nQuery: Why?'
    """
    before = "\n\n".join(filter(None, [profile and f"Earlier: {profile}", before_text(case)]))
    return [StateRequest(before, f"\n\nAnswer: {candidate.text}") for candidate in case.candidates]
