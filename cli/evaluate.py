"""`dicast evaluate`: every metric of a run, and its difference to other runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import RunError
from . import FAIL, INCONCLUSIVE, options

if TYPE_CHECKING:
    from ..workflows import Requirement

EXIT = {"holds": 0, "inconclusive": INCONCLUSIVE, "fails": FAIL}
WORST_FIRST = (FAIL, INCONCLUSIVE, 0)


@click.command("evaluate")
@click.argument("path", type=options.RUN, metavar="RUN")
@click.option(
    "--against",
    multiple=True,
    type=options.RUN,
    metavar="RUN",
    help="Another run over the same cases: paired tests. May be given more than once.",
)
@options.measuring_options
@click.option("--cases", "cases_source", help="For --texts and --by: where the cases are, if outside of this project.")
@options.data_option
@click.option(
    "--require",
    "requirements",
    multiple=True,
    metavar="NAME>=VALUE",
    callback=options.parse_requirements,
    help="Exit 0 when the whole interval is at or above the value, 1 when all of it is below, else 2; of a subgroup as "
    "in accuracy[subset=hard]>=0.6.",
)
@options.min_coverage_option
@click.option("--all", "is_whole", is_flag=True, help="Print every figure, by section.")
@options.json_option
def command(
    path: str, against: tuple[str, ...], where: dict[str, str], requirements: "list[Requirement]",
    min_coverage: float, cases_source: str | None, root: Path | None, is_whole: bool, as_json: bool, **values: Any,
) -> int:  # fmt: skip
    """Measure a run against people: what it shows in a sentence, and the main figures with their 95 % intervals.

    --all prints every figure, with n and meaning; --json holds all of them too. The sentence is that of the page.

    RUN is a run folder of `dicast judge`, or a .jsonl file of another tool's verdicts (docs/measuring.md has the
    fields), of several judges as in FILE.jsonl:judge=NAME. Exit 0, or as --require says; 3 when no case is scored, or
    fewer than --min-coverage.

    \b
    Example:
      dicast evaluate runs/first
      dicast evaluate runs/fennec --against runs/first
      dicast evaluate verdicts.jsonl:judge=gpt-4o --against verdicts.jsonl:judge=haiku
      dicast evaluate runs/first --require "accuracy>=0.7"
    """
    from .. import workflows
    from ..pages import RunReport
    from ..workflows.run_checks import check_where
    from ..workflows.run_subjects import page_names, run_subject
    from . import render

    runs = [workflows.open_run(run, where) for run in (path, *against)]
    check_where(runs)
    named = workflows.CaseSource(cases_source, root=root) if cases_source else None
    fields = [requirement.subgroup[1] for requirement in requirements if requirement.subgroup]
    by = tuple(dict.fromkeys([*values["by"], *fields]))
    evaluation = workflows.evaluate(runs[0], cases=named, **values | {"by": by})
    comparisons = workflows.compare(runs, **{name: values[name] for name in ("seed", "merge", "unreadable", "by")})
    for other, comparison in zip(against, comparisons, strict=True):
        if not comparison.cases:
            raise RunError(f"{other}: no labelled case has a verdict here and in {path}. Give a run of the same cases.")
    checked = [requirement.check(evaluation) for requirement in requirements]
    if as_json:
        dumped: dict[str, Any] = {"evaluation": evaluation.model_dump(mode="json")}
        if comparisons:
            dumped["comparisons"] = [comparison.model_dump(mode="json") for comparison in comparisons]
        if checked:
            dumped["requirements"] = [
                {"requirement": str(check.requirement), "outcome": check.outcome, "text": check.text}
                for check in checked
            ]
        options.print_json(dumped)
    else:
        of_run = runs[0].path.is_dir()
        if is_whole:
            parts = [*render.evaluation(evaluation, of_run=of_run)]
        else:
            others = [workflows.evaluate(run, cases=named, **values | {"by": by}) for run in runs[1:]]
            reports = [
                RunReport(name, result, subject=run_subject(run))
                for name, result, run in zip(page_names(runs), (evaluation, *others), runs, strict=True)
            ]
            parts = [*render.brief(reports, comparisons, also=_asked_for(values), of_run=of_run)]
        for part in (*parts, *(part for pair in comparisons for part in render.comparison(pair))):
            render.console.print(part, soft_wrap=isinstance(part, str))
        for check in checked:
            render.console.print(f"{check.requirement}: {check.text}")
    runs[0].require_coverage(min_coverage)
    codes = [EXIT[check.outcome] for check in checked]
    return next((code for code in WORST_FIRST if code in codes), 0)


def _asked_for(values: dict[str, Any]) -> list[str]:
    """The measures and sections that options of this call are about; they are shown in short too."""
    source = click.get_current_context().get_parameter_source("threshold")
    choices = {
        "explanations": bool(values["texts"]),
        "self-preference": bool(values["judge_systems"]),
        "selective accuracy": source is click.core.ParameterSource.COMMANDLINE,
        "coverage at threshold": source is click.core.ParameterSource.COMMANDLINE,
    }
    return [name for name, is_asked in choices.items() if is_asked]
