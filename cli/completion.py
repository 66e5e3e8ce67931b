"""What a shell offers for an argument: names of judges, sets, models and LMs, and files.

`shell_complete=judges` of an option or argument; click calls it when the shell asks. Nothing heavy is imported here.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from ..errors import DicastError
from ..parsing import read_toml
from .known_names import names_of

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
PROVIDERS = (
    "openai/", "anthropic/", "gemini/", "azure/", "bedrock/", "groq/", "mistral/", "openrouter/", "ollama/", "vllm/",
    "hosted_vllm/", "llamacpp/",
)  # fmt: skip
PROJECT = "dicast.toml"
EXPERIMENTS = Path(__file__).parents[1] / "experiments" / "files"
JUDGE_FILES = ("*.judge.json", "*.yaml", "*/*.judge.json", "*/*/*.judge.json")


def offered(names: Iterable[str], incomplete: str, *, files: bool = False) -> list[CompletionItem]:
    """The names that begin with the text; with `files` the shell also offers files."""
    items = [CompletionItem(name) for name in dict.fromkeys(names) if name.startswith(incomplete)]
    return items + [CompletionItem(incomplete, type="file")] * files


def judges(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Programs, and judge files near the working folder."""
    return offered([*names_of("judges"), *_judge_files()], incomplete, files=True)


def judge_files(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Judge files near the working folder."""
    return offered(_judge_files(), incomplete, files=True)


def listed(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What `dicast list NAME` shows: judges and preparations."""
    return offered([*names_of("judges"), *names_of("preparations")], incomplete, files=True)


def cases(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Sets, and files of cases."""
    return offered(names_of("sets"), incomplete, files=True)


def sets(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Public sets."""
    return offered(names_of("sets"), incomplete)


def models(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Models of the catalogue, as `dicast models get` takes them."""
    return offered(names_of("models"), incomplete)


def bases(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Models that can be trained or probed."""
    return offered([*names_of("models"), *(f"local/{name}" for name in names_of("models"))], incomplete, files=True)


def tables(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Published tables that are recomputed."""
    return offered([*names_of("tables"), "all"], incomplete)


def experiments(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Experiments of the papers, and files of one's own."""
    return offered(sorted(path.stem for path in EXPERIMENTS.glob("*.yaml")), incomplete, files=True)


def lms(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Model strings, also behind `role=` and behind a comma: of the project, of the catalogue, and providers."""
    before = incomplete[: max(incomplete.rfind("="), incomplete.rfind(",")) + 1]
    names = [f"{engine}/{name}" for engine in ("local", "transformers") for name in names_of("models")]
    first = [] if before else _of_project()
    return offered([before + name for name in (*first, *names, *PROVIDERS)], incomplete)


def _judge_files() -> list[str]:
    return [str(path) for pattern in JUDGE_FILES for path in sorted(Path().glob(pattern)) if path.is_file()]


def _of_project() -> list[str]:
    """The LM that dicast.toml names; none where there is no such file, or a damaged one."""
    try:
        lm = read_toml(Path(PROJECT)).get("lm") if Path(PROJECT).is_file() else None
    except DicastError:
        return []
    return [lm] if isinstance(lm, str) and lm else []
