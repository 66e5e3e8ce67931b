"""`dicast judge --explain CASE`: one case judged and its whole judgment printed."""

import difflib
from typing import Any

from ..errors import DataError
from . import options
from .running import prepare_models


def explain_case(judge: Any, source: options.CaseSource, wanted: str, as_json: bool) -> int:
    """Judge one case and print the whole judgment.

    Raises:
        DataError: no case has this id.
    """
    from ..engines.ledger import Ledger, charge_to
    from ..judging import FittedJudge
    from . import render

    known: list[str] = []
    found = None
    for case in source.cases():
        known.append(case.id)
        if case.id == wanted:
            found = case
            break
    if found is None:
        close = difflib.get_close_matches(wanted, known, n=1, cutoff=0.0) or ["none"]
        raise DataError(
            f"--explain {wanted}: no case of {source.source} has this id. One of {len(known):,} is {close[0]!r}."
        )
    if isinstance(judge, FittedJudge):
        judge.fit(source.cases())
    prepare_models(judge)
    ledger = Ledger()
    with charge_to(ledger), render.errors.status(f"judging {wanted}"):
        verdict = judge(found)
    if as_json:
        options.print_json(verdict.model_dump(mode="json"))
        return 0
    render.console.print(render.judgment(found, verdict))
    for stage, usage in ledger.stages.items():
        render.console.print(f"  {stage}: {render.spent(usage)}, {usage.seconds:.1f} s of model time", style="dim")
    return 0
