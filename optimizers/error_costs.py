"""What errors cost, where they do not cost the same: the name of an objective, and the costs of a head.

A cost is of the category that people give: fail=5,pass=1 says that passing what people fail is five times as bad as the
other error. A head with calibrated probabilities then says the category of the least expected cost (Elkan 2001, The
foundations of cost-sensitive learning), and the objective is the mean cost of a verdict. Its name holds the costs, as
in "cost fail=5,pass=1", so that a record of it can be read anywhere.
"""

import math
from collections.abc import Mapping, Sequence

from ..data.case import MOST_SCORE
from ..errors import DeclarationError

COST = "cost "  # begins the names of objectives that hold costs


def parse_costs(text: str) -> dict[str, float]:
    """The cost of an error by the category that people give, of `fail=5,pass=1`.

    Raises:
        DeclarationError: another form, a category twice, a number that is not positive, or no cost.
    """
    costs: dict[str, float] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, number = part.rpartition("=")
        try:
            cost = float(number)
        except ValueError:
            cost = math.nan
        if not name.strip() or name.strip() in costs or not 0 < cost <= MOST_SCORE:
            raise DeclarationError(f"costs {text!r}: {part!r} is none. Write CATEGORY=COST, as in fail=5,pass=1.")
        costs[name.strip()] = cost
    if not costs:
        raise DeclarationError(f"costs {text!r}: name no category. Write CATEGORY=COST, as in fail=5,pass=1.")
    return costs


def objective_name(costs: Mapping[str, float]) -> str:
    """The name of the objective of these costs."""
    return COST + ",".join(f"{name}={cost:g}" for name, cost in sorted(costs.items()))


def costs_in(name: str) -> dict[str, float]:
    """The costs that the name of an objective holds; empty for any other objective."""
    return parse_costs(name.removeprefix(COST)) if name.startswith(COST) else {}


def check_costs(costs: Mapping[str, float], categories: Sequence[str]) -> None:
    """Raises DeclarationError for costs of what the cases are not labelled with."""
    if unknown := sorted(costs.keys() - set(categories)):
        named = ", ".join(categories) or "no categories"
        raise DeclarationError(f"costs: {unknown[0]!r} is not a category of these cases, which have {named}.")


def costs_of_head(costs: Mapping[str, float], categories: Sequence[str]) -> dict[str, dict[str, float]]:
    """The costs as a head has them: right category -> other category -> cost; 1 where none is named."""
    check_costs(costs, categories)
    return {
        right: {said: costs[right] for said in categories if said != right} for right in categories if right in costs
    }
