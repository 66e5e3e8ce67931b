"""Options that say which cases are read and how, and the source that they make with the project's dicast.toml."""

import dataclasses
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from ..data import category_words, rows
from ..data.layout import Layout
from ..data.rows import Scale
from . import completion, output
from .option_types import FOLDER, Function, together

if TYPE_CHECKING:
    from ..workflows import CaseSource
    from ..workflows.memory_rows import StoredRows
    from ..workflows.project import Project

data_option = click.option("--data", "root", type=FOLDER, help="Folder of public sets [default: $DICAST_DATA].")


def parse_scale(_: click.Context, __: click.Parameter, text: str) -> Scale:
    try:
        return rows.parse_scale(text)
    except ValueError as error:
        raise click.BadParameter(f"{error}.") from None


def parse_categories(_: click.Context, __: click.Parameter, text: str) -> tuple[str, ...]:
    try:
        return category_words.parse_categories(text) if text else ()
    except ValueError as error:
        raise click.BadParameter(f"{error}.") from None


def parse_fields(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """`query=prompt,votes=anna+ben` as our field -> theirs; `votes=anna,ben` says the same."""
    fields: dict[str, str] = {}
    for text in texts:
        last = ""
        for part in text.split(","):
            ours, equals, theirs = map(str.strip, part.partition("="))
            if last == "votes" and ours and not equals:
                fields[last] += f"+{ours}"
            elif not (ours and equals and theirs):
                several = "; several columns as in query=title+body" if last else ""
                raise click.BadParameter(f"{part!r}: write OURS=THEIRS, as in response_a=chosen{several}.")
            else:
                last, fields[ours] = ours, theirs
    return fields


def parse_values(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """`answer_A=a,both good=tie` as their word -> ours; nothing behind the last = is no label."""
    values = {}
    for pair in (pair for text in texts for pair in text.split(",")):
        theirs, equals, ours = pair.rpartition("=")
        if not (theirs.strip() and equals):
            raise click.BadParameter(f"{pair!r}: write THEIRS=OURS, as in answer_A=a; THEIRS= is no label.")
        values[theirs.strip()] = ours.strip()
    return values


def case_options_of() -> Callable[[Function], Function]:
    """--cases, --data, --fields, --values, --scale, --categories, --aspect, --max-chars, --skip-bad."""
    return together(
        click.option(
            "--cases",
            "source",
            shell_complete=completion.cases,
            help="A .jsonl, .json, .csv, .tsv, .xlsx or .parquet file (.gz too), - for stdin, hf:NAME[:SPLIT], "
            "or a set of `dicast data list`.  [default: of dicast.toml, which `dicast init FILE` writes]",
        ),
        data_option,
        click.option("--fields", multiple=True, callback=parse_fields, help="Other column names: OURS=THEIRS,..."),
        click.option(
            "--values",
            multiple=True,
            callback=parse_values,
            help="Other words of labels: THEIRS=OURS,... as in 1=a,2=b.",
        ),
        click.option(
            "--scale", default="1..5", callback=parse_scale, show_default=True, help="Scale of scores that name none."
        ),
        click.option(
            "--categories",
            default="",
            callback=parse_categories,
            metavar="NAMES",
            help="What texts are labelled with, of two the positive one last: fail,pass.  [default: the labels' words]",
        ),
        click.option("--aspect", help="Only cases of this aspect."),
        click.option("--max-chars", type=click.IntRange(1), help="Only cases of at most so many characters in all."),
        click.option("--skip-bad", is_flag=True, help="Write bad rows to a rejects file and go on."),
    )


case_options = case_options_of()


def take_case_source(values: dict[str, Any]) -> "CaseSource | StoredRows":
    """The case source of these option values, which are taken out, and of dicast.toml for what they do not say.

    Raises:
        click.MissingParameter: neither --cases nor a project file.
    """
    source = find_case_source(values)
    if source is None:
        advice = "Or run `dicast init FILE` once: the file that it writes names the cases."
        raise click.MissingParameter(advice, param_hint="'--cases'", param_type="option")
    return source


def find_case_source(values: dict[str, Any]) -> "CaseSource | StoredRows | None":
    """As `take_case_source`; None where no cases are named."""
    from ..workflows import CaseSource
    from ..workflows.piped_cases import piped_file, piped_rows
    from ..workflows.project import read_project

    names = [field.name for field in dataclasses.fields(CaseSource) if field.name in values]
    options = {name: values.pop(name) for name in names} | {"values": values.pop("values", {})}
    source, project = options.pop("source", None), read_project()
    if source is None and project is None:
        return None
    if source == "-":
        with piped_file(sys.stdin.buffer) as path:
            _, options, layout = _as_project(path, options, project, shown="standard input")
            return piped_rows(path, options, layout)
    source, options, layout = _as_project(source, options, project, shown=str(source))
    return CaseSource(source, **options, layout=layout)


def _as_project(
    source: str | None, options: dict[str, Any], project: "Project | None", *, shown: str
) -> tuple[str, dict[str, Any], Layout]:
    """The source, and how it is read: as the options say, and as the project does what they do not."""
    words, of_project = options.pop("values"), None
    if project is not None and source in (None, project.data):
        of_project = project.source()
        output.error(f"dicast.toml: --cases {project.data}")
    elif project is not None:
        of_project = project.reading_of(str(source))
        if of_project is not None:
            output.error(f"dicast.toml: {shown} has the columns of {project.data} and is read in the same way")
    if of_project is None:
        return str(source), options, Layout(values=words)
    options["fields"] = {**of_project.fields, **options.get("fields", {})}
    for name in ("scale", "categories"):
        if not _is_given(name):
            options[name] = getattr(of_project, name)
    layout = dataclasses.replace(of_project.layout, values={**of_project.layout.values, **words})
    return of_project.source, options, layout


def source_like(source: "CaseSource | StoredRows", name: str) -> "CaseSource":
    """Other cases, read as these."""
    from ..workflows import CaseSource

    if isinstance(source, CaseSource):
        return dataclasses.replace(source, source=name)
    return CaseSource(name, **source.options)


def _is_given(name: str) -> bool:
    """Whether an option is on the command line."""
    context = click.get_current_context(silent=True)
    return context is not None and context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
