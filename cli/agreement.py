"""`dicast agreement`: how far judges agree with each other, and which cases people should label."""

from pathlib import Path
from typing import Any

import click

from . import options


@click.command("agreement")
@click.argument("runs", type=options.RUN, nargs=-1, required=True, metavar="RUN RUN...")
@click.option(
    "--by", multiple=True, metavar="FIELD", help="Agreement on each value of a field of the cases, such as subset."
)
@click.option("--sample", type=click.IntRange(1), metavar="N", help="Write N cases that people should label to --out.")
@click.option(
    "--out", type=options.OutPath(path_type=Path, dir_okay=False), metavar="FILE.jsonl", help="The sample; a new file."
)
@click.option(
    "--uniform",
    type=options.FloatRange(0, 1, min_open=True),
    default=0.5,
    show_default=True,
    help="The part of the sample that is drawn uniformly; the rest follows the disagreement.",
)
@click.option(
    "--labels",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE.jsonl",
    help="A sample with people's labels: measure each judge, weighted to be of all cases.",
)
@click.option("--cases", help="For --sample: where the texts are, if outside of this project.")
@click.option(
    "--merge", type=click.Choice(["sum", "tie"]), help="How the two orders of a pair make a verdict [default: sum]."
)
@click.option("--most", type=click.IntRange(0, 2000), default=20, show_default=True, help="Disputed cases listed.")
@options.where_option
@options.resampling_seed_option
@options.json_option
def command(runs: tuple[str, ...], as_json: bool, **values: Any) -> int:
    """Measure how far judges agree with each other, without any human label.

    RUN is as of `dicast evaluate`; all judged the same cases. Shown are kappa or Spearman of every two judges,
    Krippendorff's alpha of all, the judge that is apart from the others, where they disagree, and the most disputed
    cases. Agreement is not accuracy: label the cases of --sample, and give the file to --labels.

    \b
    Example:
      dicast agreement runs/first runs/fennec
      dicast agreement runs/first runs/fennec --sample 20 --out label-these.jsonl
      dicast agreement runs/first runs/fennec --labels label-these.jsonl
    """
    from .. import workflows
    from . import render

    result = workflows.agreement(runs, **values)
    if as_json:
        options.print_json(result.model_dump(mode="json"))
        return 0
    for part in render.judge_agreement(result):
        render.console.print(part, soft_wrap=isinstance(part, str))
    if result.sample:
        render.say(f"sample: {result.sample}: {values['sample']:,} cases. Write people's labels into the field label.")
    return 0
