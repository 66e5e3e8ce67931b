"""`dicast check`: is everything there, does a saved judge still agree with people, and if not, what to do."""

from dataclasses import asdict
from typing import Any

import click

from . import ERROR, FAIL, INCONCLUSIVE, STOPPED, options

EXIT = {"agrees": 0, "worse": FAIL, "unknown": INCONCLUSIVE, "stopped": STOPPED}


@click.command("check")
@click.option(
    "--lm",
    shell_complete=options.completion.lms,
    help="Ask each model three short questions [default: $DICAST_LM, else of dicast.toml]; with --judge, it judges.",
)
@options.case_options
@options.selection_options
@click.option(
    "--judge",
    metavar="FILE",
    shell_complete=options.completion.judge_files,
    help="Check a .judge.json file for drift on new labels, and nothing else.",
)
@options.limit_options
@options.seed_option
@click.option(
    "--margin",
    type=options.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="The loss of accuracy that would matter, with --judge.",
)
@options.timeout_option
@options.trust_option
@options.json_option
def command(lm: str | None, source: str | None, judge: str | None, as_json: bool, **values: Any) -> int:
    """Check the environment, and if given a model and a data file; exit 3 when something is to be fixed.

    With --judge: whether a judge file still agrees with people as its training record says, on labels that it was not
    compiled from. Exit 0 when a loss of the margin is excluded, 1 when it agrees significantly worse (each at 5 %, on
    one side), 2 when neither is shown; then it says how many labels would show it. 3 when no case could be judged.

    \b
    Example:
      dicast check
      dicast check --lm openai/gpt-4o-mini --cases pairs.jsonl
      dicast check --judge tone.judge.json --cases fresh.jsonl --limit 200 --seed 1
    """
    from . import render
    from .interrupt import end_on_interrupt, stop_on_interrupt
    from .render.checks import print_items

    options.load_environment()
    cases = options.find_case_source({"source": source, **values}) if source or not judge else None
    if judge is None:
        from ..workflows.checks import check

        lm = options.find_lm(lm)
        with render.RunProgress(quiet=as_json) as progress, end_on_interrupt():
            items = check(cases=cases, lm=lm, timeout=values["timeout"], progress=progress)
        assert isinstance(items, tuple)
        if as_json:
            options.print_json([asdict(item) for item in items])
        else:
            print_items(items)
        return 0 if all(item.ok or not item.is_needed for item in items) else ERROR
    if cases is None:
        raise click.UsageError("--judge needs --cases with new labels; dicast show FILE prints what the file contains.")
    from .. import workflows
    from ..workflows.judge_checks import check_judge
    from .render.drift import drift_lines

    sampling = {
        name: values[name] for name in ("limit", "limit_groups", "seed", "margin", "skip_bad", "timeout", "trust")
    }
    with render.RunProgress(quiet=as_json) as progress, stop_on_interrupt(progress) as stop:
        report = check_judge(judge, cases, lm=lm, progress=progress, stop=stop, **sampling)
    if report.result is not None and as_json:
        options.print_json(report.to_json())
    elif report.result is not None:
        for text, style in drift_lines(report):
            render.console.print(text, style=style, soft_wrap=True)
    if (evaluated := report.evaluation) is not None:
        workflows.Coverage(evaluated.cases, evaluated.scored, evaluated.unscored).require(0, judge)
    return EXIT[report.outcome]
