"""A judge: which of two replies has better manners."""

from typing import Literal

import dspy

from dicast.data import Case, Finding, Verdict
from dicast.data.verdict import Order
from dicast.judging import (
    READOUTS,
    HParam,
    Judge,
    Question,
    concurrently,
    in_case_order,
    orders,
    present,
    register,
    verdict_of,
)


class Politer(dspy.Signature):
    """Say which of two replies has better manners."""

    request: str = dspy.InputField()
    response_a: str = dspy.InputField()
    response_b: str = dspy.InputField()
    better: Literal["A", "B"] = dspy.OutputField(desc="Which reply has better manners, A or B?")


@register("manners", summary="which of two replies has better manners", source="-", inputs="pairs", calls="2")
class Manners(Judge):
    """Compares the manners of two replies, in one order or both."""

    name = "manners"

    def __init__(self, *, order: str = "one", readout: str = "generate") -> None:
        super().__init__()
        self.order = HParam(order, ("one", "both"))
        self.readout = HParam(readout, READOUTS, search=())
        self.compare = Question(Politer, "judgment", max_tokens=20)

    @property
    def pairs_only(self) -> bool:
        return True

    def assess(self, case: Case) -> Verdict:
        return verdict_of(case, concurrently(lambda order: self.comparison(case, order), orders(self.order.value)))

    def comparison(self, case: Case, order: Order) -> Finding:
        shown = present(case, order)
        first, second = shown.responses
        answer = self.compare(readout=self.readout.value, request=shown.request, response_a=first, response_b=second)
        finding = Finding(criterion="manners", distribution=answer.preference("better"), mass_read=answer.mass_read)
        return in_case_order(finding, order)
