"""`personal-state`: the mean state of a candidate's tokens, read after what is known of the person, and the query.

A model reads an answer differently after "I avoid seafood" than by itself, and a probe finds in which direction. The
label-free questions to the same model know far less of it: docs/results/rotations.md.
"""

from ..data import Case
from ..data.profile_text import profile_text
from ..engines.states.reader import StateRequest
from .layout import requests_of
from .source import register
from .state import StateSource


@register
class PersonalStateSource(StateSource):
    """As `state`, with the profile of the case read first; without a profile it is `state`."""

    kind = "personal-state"
    summary = "as state, read after what is known of the person"

    def requests(self, case: Case) -> list[StateRequest]:
        return requests_of(case, profile_text(case.profile))
