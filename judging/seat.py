"""A seat: the place of a model in a judge, with its role, and whether texts may go to it."""

from typing import Any

import dspy

from .trust import admitted


class Seat(dspy.Module):
    """Holds the model string of a role.

    Args:
        role: which entry of the judge's LMs is bound to it, and the name its usage is counted under.
        model: the model string; empty until one is bound.
        is_fixed: `bind` leaves its model, which a setting names.
    """

    def __init__(self, role: str, model: str = "", *, is_fixed: bool = False) -> None:
        super().__init__()
        self.role, self.model, self.trusted, self.is_fixed = role, model, True, is_fixed
        self.in_use = True  # a setting names its model now
        self.named_by, self.admitted = "", True  # the judge file that names the model; whether texts may go there

    def use(self, model: str, *, trusted: bool = True) -> None:
        """Be answered by this model.

        Args:
            trusted: the user has named the model, and not only a judge file; see `get_lm` and `admit`.
        """
        self.model, self.trusted, self.admitted, self.named_by = model, trusted, trusted, ""

    def use_model_of(self, other: "Seat") -> None:
        """Be answered by the model of another seat, with what the user allows there."""
        self.model, self.trusted, self.admitted, self.named_by = (
            other.model, other.trusted, other.admitted, other.named_by,
        )  # fmt: skip

    def admit(self, *, trust: bool = False) -> str:
        """Let texts go to the model: a line that says where, where only a judge file names it; see `judging.trust`."""
        if self.admitted or not self.model:
            return ""
        line = admitted(self.model, self.named_by or "the judge file", trust=trust)
        self.admitted = True
        return line

    def forward(self, **inputs: Any) -> Any:
        """A seat asks nothing; a stage does."""
        raise NotImplementedError
