"""`dicast judge`: run a judge over cases."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import DeclarationError
from . import INCONCLUSIVE, STOPPED, options, output
from .estimates import print_judging
from .why import as_dict, print_reasons, shared_budget, take_why, why_options, write_reasons

if TYPE_CHECKING:
    from ..workflows import CaseJudgment, Run
    from ..workflows.reasons import WhyRun

EXIT = {"complete": 0, "failures": 0, "budget": INCONCLUSIVE, "stopped": STOPPED}


@click.command("judge")
@click.option(
    "--judge",
    "name",
    default="direct",
    show_default=True,
    shell_complete=options.completion.judges,
    help="A program of `dicast list`, a .yaml file of yours, or a .judge.json file.",
)
@options.case_options
@click.option("--out", type=options.FOLDER, help="Run folder [default: runs/JUDGE-CASES].")
@options.judge_options
@click.option(
    "--corrected",
    type=options.OutPath(path_type=Path, dir_okay=False),
    metavar="OUT.jsonl",
    help="Also write each text that the judge rewrote, and its original, as cases for another judge, into a file that "
    "is new or holds such texts.",
)
@why_options
@click.option("--explain", metavar="CASE", help="Judge the one case of this id and print the whole judgment.")
@options.limit_options
@options.seed_option
@options.selection_options
@click.option(
    "--retry",
    metavar="REASONS",
    help="Judge these unscored cases again too, as in parse_failure,refusal; or all [always: infrastructure, budget, "
    "internal, unreadable].",
)
@click.option("--dry-run", is_flag=True, help="Only estimate calls, tokens and cost; no model is called.")
@options.trust_option
@options.pace_options
@options.budget_option
@options.min_coverage_option
@options.json_option
def command(
    explain: str | None, corrected: Path | None, min_coverage: float, dry_run: bool, as_json: bool, **values: Any
) -> int:
    """Judge cases with a program and write a run folder; running again continues where it stopped.

    Exit 0 when every case has a verdict, if some are unscored too; 3 when none is scored, or fewer than --min-coverage;
    2 when the budget is used up.

    \b
    Example:
      dicast judge --judge direct --cases pairs.jsonl --out runs/first
      dicast judge --judge fennec --cases pandalm --no-ties --limit 50 --seed 1 \\
                   --lm openai/gpt-4o-mini --branches 3
      dicast judge --judge fennec --cases pairs.jsonl --explain 17
      dicast judge --judge fennec-correct --cases pairs.jsonl --out runs/fix --corrected corrected.jsonl
      dicast judge --judge tone.judge.json --cases pairs.jsonl --out runs/tone --why unsure
      dicast judge --judge direct --cases pairs.jsonl --panel openai/gpt-4o-mini --panel anthropic/claude-haiku-4-5
    """
    from .. import workflows
    from ..workflows.corrected_texts import check_rewrites, corrected_path
    from . import render
    from .interrupt import end_on_interrupt, stop_on_interrupt

    options.load_environment()
    chosen = take_why(values, explain)
    source, judge = options.take_case_source(values), options.take_judge_spec(values)
    if dry_run:
        if chosen or explain is not None:
            raise DeclarationError("--dry-run: counts what verdicts take, without --why and --explain. Leave them out.")
        counted = {name: values[name] for name in ("limit", "limit_groups", "seed")}
        with render.RunProgress(quiet=as_json) as progress:
            estimate = workflows.estimate_run(judge, source, progress=progress, **counted)
        options.print_json(estimate.model_dump(mode="json")) if as_json else print_judging(estimate)
        return 0
    if corrected:  # refused before anything is judged
        check_rewrites(judge.build())
        corrected_path(corrected, source.source if isinstance(source, workflows.CaseSource) else None)
    reasons: WhyRun | None = None
    with shared_budget(values, chosen):
        with render.RunProgress(quiet=as_json) as progress:
            if explain is not None:
                with render.status(f"judging {explain}"), end_on_interrupt():
                    shared = {name: values[name] for name in ("timeout", "trust")}
                    judgment = workflows.explain(judge, source, explain, progress=progress, **shared)
                return _print_judgment(judgment, as_json)
            with stop_on_interrupt(progress) as stop:
                run = workflows.run(judge, source, progress=progress, stop=stop, **values)
        if chosen and run.status == "complete":
            reasons = write_reasons(run, judge, source, chosen, values, as_json)
    rewritten = workflows.write_corrected(run, corrected) if corrected else None
    more: dict[str, Any] = {} if rewritten is None else {"corrected": str(corrected), "rewritten": rewritten}
    _print_run(run, as_json, more | ({} if reasons is None else {"why": as_dict(reasons)}))
    if reasons is not None and not as_json:
        print_reasons(reasons)
    if run.status == "budget":
        output.error(f"dicast: {run.message} The run continues where it stopped.")
    if reasons is not None and reasons.status == "budget":
        output.error(f"dicast: {reasons.message} The same command writes the other reasons.")
    if run.status == "complete":
        run.require_coverage(min_coverage)
    return EXIT[(run.status if reasons is None else reasons.status) or "complete"]


def _print_run(run: "Run", as_json: bool, more: dict[str, Any]) -> None:
    """Print the measures of the whole run, what each stage cost this time, and where the rewritten texts are."""
    from ..evaluation import evaluate
    from . import render

    evaluation, folder = evaluate(run.arrays, run.identity), run.path
    if as_json:
        summary: dict[str, Any] = {"out": str(folder), "rejected": run.rejected, "unlabelled": run.unlabelled}
        summary["evaluation"] = evaluation.model_dump(mode="json")
        options.print_json(
            summary | more | {"stages": {stage: usage.model_dump() for stage, usage in run.usage.items()}}
        )
        return
    render.console.print(evaluation.signature, style="dim", soft_wrap=True)
    render.console.print(render.summary(evaluation))
    for warning in render.warning_lines(evaluation):
        render.console.print(warning)
    render.console.print(f"usage: {render.spent(evaluation.usage)}")
    for line in render.stage_lines(run.usage) if len(run.usage) > 1 else ():
        render.console.print(line, style="dim")
    if run.rejected:
        render.console.print(f"{run.rejected:,} bad rows are in {folder / 'rejects.jsonl'}")
    render.console.print(f"verdicts: {folder / 'verdicts.jsonl'}")
    if more.get("rewritten") == 0:
        render.console.print(f"no text was rewritten, so {more['corrected']} is not written")
    elif more.get("rewritten"):
        render.console.print(f"rewritten texts, each with its original: {more['rewritten']:,} in {more['corrected']}")
    if evaluation.labelled:
        render.console.print(f"more: dicast evaluate {folder}   dicast report {folder}", style="dim")


def _print_judgment(judgment: "CaseJudgment", as_json: bool) -> int:
    """Print the whole judgment of one case."""
    from . import render

    if as_json:
        options.print_json(judgment.verdict.model_dump(mode="json"))
        return 0
    render.console.print(render.judgment(judgment.case, judgment.verdict))
    for line in render.stage_lines(judgment.usage):
        render.console.print(line, style="dim")
    return 0
