"""Options that several commands share, and what they are parsed into."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..parsing import JsonError, load_json
from . import completion as completion
from .case_options import case_options as case_options
from .case_options import data_option as data_option
from .case_options import find_case_source as find_case_source
from .case_options import source_like as source_like
from .case_options import take_case_source as take_case_source
from .dotenv_file import load_environment as load_environment
from .model_choice import find_lm as find_lm
from .option_types import FOLDER as FOLDER
from .option_types import RUN as RUN
from .option_types import FloatRange as FloatRange
from .option_types import Function, together
from .option_types import NameChoice as NameChoice
from .option_types import NameList as NameList
from .option_types import OutPath as OutPath
from .output import print_json as print_json

if TYPE_CHECKING:
    from ..engines.ledger import Budget
    from ..workflows import JudgeSpec, Requirement


def parse_settings(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> dict[str, Any]:
    """NAME=VALUE pairs; a value that is JSON (3, 0.5, true) is read as such, any other is text."""
    settings = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise click.BadParameter(f"--set {text!r}: write NAME=VALUE.")
        try:
            settings[name] = load_json(value)
        except JsonError:
            settings[name] = value
    return settings


def parse_budget(_: click.Context, __: click.Parameter, text: str | None) -> "Budget":
    from ..engines.ledger import Budget

    try:
        return Budget.parse(text or "")
    except ValueError as error:
        raise click.BadParameter(f"--budget {error}") from None


def parse_where(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    for name, equals, value in pairs:
        if not (name and equals):
            raise click.BadParameter(f"{name + equals + value!r}: write FIELD=VALUE, as in judge=gpt-4o.")
    return {name.strip(): value for name, _, value in pairs}


def parse_requirements(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> "list[Requirement]":
    from ..workflows import Requirement

    try:
        return [Requirement.parse(text) for text in texts]
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _set_refusals(context: click.Context, _: click.Parameter, flag: bool) -> None:
    """Earlier name of --refusals opening."""
    if flag:
        context.params["refusals"] = "opening"


def _add_judge_systems(context: click.Context, _: click.Parameter, names: tuple[str, ...]) -> None:
    """Earlier name of --judge-system."""
    context.params["judge_systems"] = (*context.params.get("judge_systems", ()), *names)


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON to standard output.")
lm_option = click.option(
    "--lm",
    shell_complete=completion.lms,
    help="provider/model for all stages, or role=provider/model,...  [default: $DICAST_LM, else of dicast.toml, else "
    "local/qwen2.5-coder-1.5b]",
)
no_ties_option = click.option("--no-ties", is_flag=True, help="Leave out cases whose human label is a tie.")
_refusals_option = click.option(
    "--refusals",
    type=click.Choice(["keep", "opening", "ai-words"]),
    help="Leave out cases with a response that opens as a refusal does, or that names an AI, a language model or a "
    "chatbot (arXiv 2406.11657).  [default: as the judge asks for: persona ai-words, others keep]",
)
_not_by_option = click.option(
    "--not-by",
    multiple=True,
    metavar="SYSTEM",
    help="Leave out cases with a response by this system, such as the judge's own model; gpt* names several.",
)
workers_option = click.option(
    "--workers", type=click.IntRange(1, 256), help="Cases at once [default: 2 local, 16 for a server]."
)
timeout_option = click.option(
    "--timeout",
    type=FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Give a request up when no byte of the answer came for so long, or the whole answer takes twice as long "
    "[default: 120, a local model 1800].",
)
in_flight_option = click.option(
    "--in-flight",
    type=click.IntRange(1, 4096),
    help="Requests to one model at once, at most [default: 4 for each worker, at least 32].",
)
budget_option = click.option(
    "--budget",
    metavar="LIMITS",
    callback=parse_budget,
    help="Stop at limits, as in calls=1000,tokens=2e6,cost=5,minutes=30.",
)
trust_option = click.option(
    "--trust",
    is_flag=True,
    help="Send texts to an address that only a judge file names; "
    "needed once for each server that you have not named yourself on this machine.",
)
min_coverage_option = click.option(
    "--min-coverage",
    type=FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Exit 3 where a smaller proportion of the cases is scored.",
)
seed_option = click.option(
    "--seed", type=click.IntRange(0), help="Sample the cases of --limit, or the groups, at random with this seed."
)
limit_groups_option = click.option(
    "--limit-groups",
    type=click.IntRange(1),
    metavar="N",
    help="In place of --limit: so many inputs (or persons), each with all its cases, such as every system's text.",
)
where_option = click.option(
    "--where",
    multiple=True,
    callback=parse_where,
    metavar="FIELD=VALUE",
    help="Of a .jsonl file of another tool's verdicts: only rows whose field has this value. For one run alone: "
    "FILE.jsonl:FIELD=VALUE.",
)
resampling_seed_option = click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of everything that is resampled."
)


def set_option(text: str) -> Callable[[Function], Function]:
    """--set with this help."""
    return click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", callback=parse_settings, help=text)


limit_options = together(
    click.option(
        "--limit", type=click.IntRange(1), help="Use this many cases: the first, or with --seed a random sample."
    ),
    limit_groups_option,
)
selection_options = together(
    no_ties_option,
    _refusals_option,
    _not_by_option,
    click.option("--no-refusals", is_flag=True, hidden=True, expose_value=False, callback=_set_refusals),
)
pace_options = together(workers_option, in_flight_option, timeout_option)


measuring_options = together(
    where_option,
    click.option(
        "--by",
        multiple=True,
        metavar="FIELD",
        help="The main figure for each value of a field, such as subset, and where the judge is worst. May be given "
        "more than once.",
    ),
    click.option(
        "--threshold",
        type=FloatRange(0, 1),
        default=0.8,
        show_default=True,
        help="The certainty from which a verdict is sure.",
    ),
    click.option(
        "--merge",
        type=click.Choice(["tie", "sum", "half"]),
        help="How the two orders of a pair make a verdict: a tie where they differ, the sum of their letters, or each "
        "order counts by one half.  [default: as the run has it; of another tool sum]",
    ),
    click.option(
        "--unreadable",
        type=click.Choice(["out", "wrong"]),
        default="out",
        show_default=True,
        help="A verdict without an answer is left out of every measure but coverage, or is wrong.",
    ),
    click.option(
        "--judge-system",
        "judge_systems",
        multiple=True,
        is_eager=True,  # before --own, which adds to it
        metavar="SYSTEM",
        help="A system that is the judge: does it prefer its own texts?",
    ),
    click.option("--own", multiple=True, hidden=True, expose_value=False, callback=_add_judge_systems),
    click.option(
        "--texts",
        metavar="KINDS",
        help="Measure generated against written reviews: bleu,rouge,bertscore=MODEL,bartscore=MODEL.",
    ),
    resampling_seed_option,
)
judge_options = together(
    lm_option,
    click.option(
        "--readout",
        type=click.Choice(["generate", "probability", "auto", "sampled", "stated"]),
        help="How verdicts are read from the model; auto: from token probabilities where it gives them.",
    ),
    click.option("--order", type=click.Choice(["one", "both"]), help="Show pairs in one order or in both."),
    click.option(
        "--branches", type=click.IntRange(1, 10), help="Criteria at most, of judges that have this parameter."
    ),
    set_option(
        "Any other parameter of the judge; also temperature, top_p, max_tokens and seed of written answers, of all "
        "roles or of one, as in judgment.temperature=0.8; of a member of a panel, members[1].temperature=0.8."
    ),
    click.option(
        "--learn",
        type=click.Path(path_type=Path, exists=True),
        metavar="RUN|LABELS",
        help="Learn from a labelled run which criteria decide, or from labelled cases of people what they prefer, with "
        "judges that can.",
    ),
    click.option(
        "--panel",
        multiple=True,
        metavar="LM",
        shell_complete=completion.lms,
        help="A member of a panel of this judge, perhaps as in LM,temperature=0.8; give it more than once.",
    ),
    click.option(
        "--samples", type=click.IntRange(1, 100), default=1, help="Judge each case this often; a panel as well."
    ),
    click.option(
        "--pool",
        type=click.Choice(["mean", "median", "majority", "probability"]),
        default="majority",
        show_default=True,
        help="How a panel's verdicts are combined.",
    ),
)


def take_judge_spec(values: dict[str, Any]) -> "JudgeSpec":
    """The judge of these option values, which are taken out."""
    from ..workflows import JudgeSpec

    structure = {name: values.pop(name) for name in ("readout", "order", "branches")}
    settings = {name: value for name, value in structure.items() if value is not None} | values.pop("settings")
    names = ("name", "lm", "learn", "panel", "samples", "pool")
    if not values["panel"]:
        values["lm"] = find_lm(values["lm"], values["name"])
    return JudgeSpec(**{name: values.pop(name) for name in names}, settings=settings)
