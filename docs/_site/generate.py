"""The source of the documentation site: the pages of docs/, and reference pages made from the code.

python docs/_site/generate.py FOLDER    writes them there, for Sphinx to build

Generated are the commands (from click), the judges with every parameter, the preparations, the fields of rows, and the
public Python names with their docstrings.
"""

import inspect
import pkgutil
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import click
from pydantic import BaseModel

import dicast
from dicast.cli import group as commands
from dicast.data.case import Candidate, Case, Comparison, Persona, Review, Reviewer
from dicast.judging import PROGRAMS
from dicast.judging.parameter_help import parameter_help, values_of
from dicast.preparation.registry import PREPARATIONS

ROOT = Path(__file__).parents[2]
BESIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE")  # files beside docs/ that the site has too
FACES = {
    "": "The names of `import dicast`.",
    "workflows": "What the commands do, as functions: `dicast.workflows`.",
    "data": "Cases, labels and verdicts: `dicast.data`.",
    "judging": "The framework for judges, to write one: `dicast.judging`.",
    "evaluation": "A run measured against people: `dicast.evaluation`.",
    "optimizers": "Judges compiled against labels: `dicast.optimizers`.",
    "preparation": "Cases rewritten or built before they are judged: `dicast.preparation`.",
    "catalog": "Public data sets by name: `dicast.catalog`.",
    "testing": "A scripted LM and a mock server for tests: `dicast.testing`.",
}
SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields|Example|Examples):$")
ENTRY = re.compile(r"^    ([\w., *]+): (.*)$")


# Text to Markdown


def escaped(text: str) -> str:
    """Plain text as Markdown that shows the same; what is between backticks stays."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if n % 2 else re.sub(r"([<>*_\[\]{}|$\\#~])", r"\\\1", part) for n, part in enumerate(parts))


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table; its cells are Markdown without line breaks."""
    lines = [list(head)]
    lines += [["---"] * len(lines[0]), *map(list, rows)]
    return "".join(f"| {' | '.join(cell.replace(chr(10), ' ') for cell in line)} |\n" for line in lines) + "\n"


def code(text: str) -> str:
    """Inline code, in a table too."""
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}".replace("|", "\\|")


def docstring(text: str) -> str:
    """A docstring in Google's style as Markdown: sections as lists, examples as code."""
    output, section = [], ""
    for line in inspect.cleandoc(text).splitlines():
        if match := SECTION.match(line):
            section = match[1]
            output.append(f"\n**{section}**\n")
        elif line and not line.startswith(" ") and section:
            section = ""
            output += ["", escaped(line)]
        elif section.startswith("Example"):
            output.append(line.removeprefix("    "))
        elif entry := ENTRY.match(line) if section else None:
            output.append(f"- `{entry[1]}`: {escaped(entry[2])}")
        else:
            output.append(escaped(line.strip()) if section else line if line.startswith("    ") else escaped(line))
    return _examples_as_code("\n".join(output))


def _examples_as_code(text: str) -> str:
    """The text with its doctests and examples in code blocks."""
    head, *examples = re.split(r"^\*\*Examples?\*\*\n", text, flags=re.MULTILINE)
    return head + "".join(f"**Example**\n\n```python\n{example.strip()}\n```\n" for example in examples)


# The commands


def command_pages() -> Iterator[str]:
    """The reference of the commands, a section each."""
    yield "# The commands\n\nMade from the program itself: what `dicast VERB --help` prints.\n\n"
    context = click.Context(commands, info_name="dicast")
    for name in commands.list_commands(context):
        command = commands.get_command(context, name)
        assert command is not None
        yield from _command(command, click.Context(command, info_name=name, parent=context), "##")


def _command(command: click.Command, context: click.Context, heading: str) -> Iterator[str]:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"{heading} {context.command_path}\n\n```text\n{usage}\n```\n\n{help_text(command.help or '')}\n\n"
    rows = []
    for parameter in command.get_params(context):
        if record := parameter.get_help_record(context):
            rows.append((code(record[0]), escaped(" ".join(record[1].split()))))
    if rows:
        yield table(("option", "what it does"), rows)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            member = command.get_command(context, name)
            assert member is not None
            yield from _command(member, click.Context(member, info_name=name, parent=context), heading + "#")


def help_text(text: str) -> str:
    """A command's help as Markdown: paragraphs that click does not wrap are code."""
    paragraphs = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if paragraph.startswith("\b"):
            paragraphs.append(f"```text\n{paragraph.removeprefix(chr(8)).strip(chr(10))}\n```")
        else:
            paragraphs.append(escaped(paragraph))
    return "\n\n".join(paragraphs)


# The judges


def judge_pages() -> Iterator[str]:
    """Every judge and preparation: what it takes, what it asks, and each parameter."""
    yield (
        "# Judges and their parameters\n\n`--set NAME=VALUE` changes a parameter, `settings:` in a YAML file, or an "
        'argument of `dicast.judge("NAME", ...)`. `--trials N` of `dicast compile` '
        "tries the values of those that a search may change. `dicast list NAME` prints the questions too.\n\n"
    )
    for program in sorted(PROGRAMS.built_in().values(), key=lambda program: not program.build().seats()):
        yield from _program(program, program.build())
    yield "# Preparations\n\nOf `dicast prepare --with NAME` ([how](../preparing.md)).\n\n"
    for program in PREPARATIONS.built_in().values():
        yield from _program(program, program.build())


def _program(program: Any, built: Any) -> Iterator[str]:
    yield f"## {program.name}\n\n{escaped(program.summary[0].upper() + program.summary[1:])}.\n\n"
    roles = list(dict.fromkeys(seat.role for seat in built.seats() if not seat.is_fixed))
    facts = [f"takes {program.inputs}", f"calls a case: {program.calls}", f"source: {program.source}"]
    facts += [f"stages: {', '.join(f'`{role}`' for role in roles)}"] if roles else []
    yield "".join(f"- {escaped(fact)}\n" for fact in facts) + "\n"
    sentences, rows = parameter_help(built), []
    for name, hparam in built.hparams().items():
        default = code(str(hparam.value)) if hparam.value != "" else "none"
        rows.append((code(name), default, escaped(values_of(hparam)), escaped(sentences[name])))
    if rows:
        yield table(("parameter", "default", "values", "what it does"), rows)


# The records of cases


def record_pages() -> Iterator[str]:
    """The fields of a case as it is written, from the records."""
    yield (
        "# The fields of a case\n\nA row of any [format](../rows.md) becomes a case. `dicast.Case.model_dump()` writes "
        "one, and a row of this form is read as it is.\n\n"
    )
    for record in (Case, Candidate, Persona, Reviewer, Review, Comparison):
        yield f"## {record.__name__}\n\n{escaped(first_paragraph(record))}\n\n{fields_of(record)}"


def fields_of(record: type[BaseModel]) -> str:
    """A table of a record's fields."""
    rows = []
    for name, field in record.model_fields.items():
        required = "yes" if field.is_required() else ""
        rows.append((code(name), code(annotation(field.annotation)), required, escaped(field.description or "")))
    return table(("field", "type", "needed", "what it is"), rows)


def annotation(value: Any) -> str:
    """A type as it is written, without the modules of its parts."""
    if isinstance(value, type) and not get_args(value):
        return value.__name__
    text = re.sub(r"\b(?:[a-z_]\w*\.)+(\w+)", r"\1", str(value))
    text = re.sub(r"Annotated\[([^\[\],]+(?:\[[^\]]*\])?), .*?\]+(?=$| \||,)", r"\1", text)
    return text if len(text) < 90 else "nested"


def first_paragraph(thing: Any) -> str:
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())


# The Python names


def python_pages() -> Iterator[tuple[str, str]]:
    """File name and text of the reference of each public module."""
    for face, summary in FACES.items():
        module = import_module(f"dicast.{face}" if face else "dicast")
        names = [name for name in sorted(module.__all__, key=str.lower) if not name.startswith("_")]
        sections = "".join(python_name(name, getattr(module, name)) for name in names)
        yield f"{face or 'dicast'}.md", f"# {module.__name__}\n\n{summary}\n\n{sections}"
    yield "stats.md", "".join(statistics())


def python_name(name: str, value: Any) -> str:
    """The section of a function, class or other name."""
    if inspect.isclass(value):
        methods = [_method(member, value) for member in _members(value)]
        body = f"{signed(name, value)}{docstring(value.__doc__ or '')}\n\n{''.join(methods)}"
    elif callable(value) and not isinstance(value, ModuleType) and hasattr(value, "__name__"):
        body = f"{signed(name, value)}{docstring(value.__doc__ or '')}\n\n"
    else:
        body = f"A value of the type `{type(value).__name__}`. {escaped(first_paragraph(type(value)))}\n\n"
    return f"## {name}\n\n{body}"


def _members(owner: type) -> list[str]:
    """The public names of a class; of a dataclass also those of the dataclasses that it extends."""
    bases = (base for base in owner.__mro__ if base is owner or is_dataclass(base))
    return sorted({name for base in bases for name in vars(base) if not name.startswith("_")})


def _method(name: str, owner: type) -> str:
    """A public method or property in a line or two; nothing for what has no docstring of this class."""
    member = inspect.getattr_static(owner, name)
    function = getattr(member, "fget", None) or getattr(member, "__func__", member)
    if not inspect.isfunction(function) or not function.__doc__:
        return ""
    ending = "" if isinstance(member, property) else "(...)"
    return f"`.{name}{ending}`\n: {escaped(first_paragraph(function))}\n\n"


def signed(name: str, value: Any) -> str:
    """The signature as a code block, an argument a line where it is long."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    parameters = [_parameter(parameter) for parameter in signature.parameters.values()]
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        parameters.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    result = "" if signature.return_annotation in (inspect.Signature.empty, None) else (
        f" -> {annotation(signature.return_annotation)}"
    )  # fmt: skip
    line = f"{name}({', '.join(parameters)}){result}"
    if len(line) > 100:
        line = f"{name}(\n" + "".join(f"    {parameter},\n" for parameter in parameters) + f"){result}"
    return f"```python\n{line}\n```\n\n"


def _parameter(parameter: inspect.Parameter) -> str:
    default = parameter.default
    text = str(parameter.replace(annotation=inspect.Parameter.empty, default=inspect.Parameter.empty))
    if default is inspect.Parameter.empty:
        return text
    return f"{text}={default!r}" if isinstance(default, str | int | float | tuple | None) else f"{text}=..."


def statistics() -> Iterator[str]:
    """The functions of dicast.stats, a table a module."""
    yield "# dicast.stats\n\nStatistics of plain arrays, each with its source.\n\n"
    package = import_module("dicast.stats")
    for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda info: info.name):
        module = import_module(f"dicast.stats.{info.name}")
        functions = [
            (name, value)
            for name, value in sorted(vars(module).items())
            if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
        ]
        if functions:
            yield f"## {info.name}\n\n{escaped(first_paragraph(module))}\n\n"
            yield table(("function", "what it returns"), ((code(n), escaped(first_paragraph(v))) for n, v in functions))


# The whole source


def with_every_page(index: str, folder: Path) -> str:
    """The index with the pages that it does not name at the marks in its lists."""
    listed = set(index.splitlines())
    for mark, pattern in (("% other pages", "*.md"), ("% results", "results/*.md")):
        names = sorted(str(page.relative_to(folder).with_suffix("")) for page in folder.glob(pattern))
        index = index.replace(mark, "\n".join(name for name in names if name not in {*listed, "index"}))
    return index


def write(folder: Path) -> None:
    """Write the site's source anew."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder, ignore=shutil.ignore_patterns("_site", "__pycache__"))
    for name in BESIDE:
        text = (ROOT / name).read_text(encoding="utf-8")
        (folder / name).write_text(re.sub(r"\]\((?:\./)?docs/", "](", text), encoding="utf-8")
    for page in folder.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        up = "../" * (len(page.relative_to(folder).parts) - 1)
        for name in BESIDE:
            text = text.replace(f"](../{up}{name}", f"]({up}{name}")
        page.write_text(text, encoding="utf-8")
    shutil.copytree(ROOT / "docs" / "_site" / "_static", folder / "_static")
    shutil.copy(ROOT / "docs" / "_site" / "conf.py", folder / "conf.py")
    index = folder / "index.md"
    index.write_text(with_every_page(index.read_text(encoding="utf-8"), folder), encoding="utf-8")
    reference = folder / "reference"
    (reference / "python").mkdir(parents=True)
    pages = {"commands.md": command_pages(), "judges.md": judge_pages(), "cases.md": record_pages()}
    for name, parts in pages.items():
        (reference / name).write_text("".join(parts), encoding="utf-8")
    for name, text in python_pages():
        (reference / "python" / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    assert dicast.__version__
    write(Path(sys.argv[1]))
