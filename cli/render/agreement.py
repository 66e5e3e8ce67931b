"""Agreement between judges on a terminal."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from rich.text import Text

from ...data.counting import cases_text, groups_text
from ...evaluation.agreement_results import JudgeAgreement
from .columns import FittingTable
from .evaluation import measures_table
from .measures import column_table, interval_text


def judge_agreement(result: JudgeAgreement) -> Iterator[Any]:
    """What to print of judges that judged the same cases, in order."""
    groups = f", in {groups_text(result.groups)} (intervals take whole groups)" if result.groups < result.cases else ""
    yield Text(f"{len(result.judges)} judges on {cases_text(result.cases)} that all of them scored{groups}")
    for judge, count in result.unshared.items():
        if count:
            yield Text(f"{judge} scored {cases_text(count)} that another did not; they are left out")
    for warning in result.warnings:
        yield Text(f"warning: {warning}", style="yellow")
    yield Text("\nAll judges", style="bold")
    yield measures_table(result.measures)
    if len(result.pairs) > 1:
        yield Text("\nEvery two judges", style="bold")
        yield _measures_by_name([(f"{pair.first} and {pair.second}", pair.measures) for pair in result.pairs], "judges")
    yield Text("\nEach judge among the others", style="bold")
    yield _judges(result)
    if len(result.judges) > 2:
        yield Text(_odd_one_out(result))
    for field, parts in groupby(result.by_field, key=lambda part: part.field):
        yield Text(f"\nBy {field}, the least agreement first", style="bold")
        yield _measures_by_name([(part.value, part.measures) for part in parts], field)
    if result.disputed:
        yield Text("\nThe most disputed cases", style="bold")
        yield _disputed(result)
    if result.labelled:
        yield Text("\nAgainst people's labels of the sample", style="bold")
        yield _measures_by_name([(row.judge, row.measures) for row in result.labelled], "judge")


def _measures_by_name(rows: list[tuple[str, Any]], head: str) -> FittingTable:
    """A line per name, a column per measure; the first name may have fewer of them."""
    names = [measure.name for measure in rows[-1][1]]
    table = column_table(head, *names, "n")
    for name, measures in rows:
        values = [Text(interval_text(measure)) for measure in measures]
        table.add_row(Text(name), *values, *[Text("")] * (len(names) - len(values)), f"{measures[0].n:,}")
    return table


def _judges(result: JudgeAgreement) -> FittingTable:
    names = [measure.name for measure in result.by_judge[0].measures]
    table = column_table("judge", *names, *result.by_judge[0].answers)
    for row in result.by_judge:
        answers = [f"{value:.3g}" if result.of_scores else f"{value:.3f}" for value in row.answers.values()]
        table.add_row(Text(row.judge), *(Text(interval_text(measure)) for measure in row.measures), *answers)
    return table


def _odd_one_out(result: JudgeAgreement) -> str:
    if result.odd_one_out is None:
        return "odd one out: no judge is clearly apart from the others"
    return (
        f"odd one out: {result.odd_one_out} agrees least with the others. It may err, or be the only judge that "
        "does not share an error: labels decide (--sample)"
    )


def _disputed(result: JudgeAgreement) -> FittingTable:
    table = column_table("case", *result.judges, "disagreement")
    for case in result.disputed:
        name = case.id if case.aspect is None or case.id.endswith(f"#{case.aspect}") else f"{case.id} ({case.aspect})"
        answers = [answer if isinstance(answer, str) else f"{answer:g}" for answer in case.answers]
        table.add_row(Text(name), *answers, f"{case.disagreement:.3f}")
    return table
