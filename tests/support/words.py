"""Words that the code does not use: banned identifiers, class names defined twice, banned phrases, bare record fields.

Of tests a smaller part is refused: `OF_TESTS` in names, comments and docstrings; their other strings are data.

python tests/support/words.py [PATH ...]    prints what is wrong in these files or folders (the whole repository)
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]

# Whole identifiers that name nothing: say what the thing is (text, summary, values, matches, description, ...).
IDENTIFIERS = frozenset(
    "told found one ones each given kept made what wanted telling standing elsewhere alike fresh untaught mend mended "  # noqa: SIM905
    "bent weighed neutral alone held own asked asking untold rate gap plain within conclude draws here there bare "
    "sitting".split()
)
PARTS = re.compile(r"(?:^|_)(told|untold|stands|stood|one_that)(?:_|$)")  # of identifiers
# What is not written, and what to write instead.
PHRASES = {
    r"told|tells? it|untold": "reported, named, shown",
    r"mend(s|ed|ing)?": "fix",
    r"sittings?": "session",
    r"alike": "equal, the same, both",
    r"held against|holds? \w+ against": "compared with",
    r"what reads nothing": "Baselines (no model)",
    r"is it as right as it is sure": "Calibration",
    r"keeping the sure ones|sure ones": "Selective prediction",
    r"one that": "name the noun: a judge that ...",
    r"made of": "trained on, compiled on, contains",
    r"of (its|their|his|her|our) own": "its own ..., separate",
    r"that (is|are) there": "available, existing",
    r"shares? of": "proportion of",
    r"cut short": "interrupted, truncated",
    r"(?:stands?|stood)(?! for\b| between\b|-)": "is, are, appears, occurs, unchanged",
}
OF_TESTS = frozenset("told untold telling standing".split())  # noqa: SIM905
PHRASES_OF_TESTS = tuple(phrase for phrase in PHRASES if re.match(r"told|one that|\(\?:stands", phrase))
OLD_FORMATS = {"judge_file_upgrade.py", "test_old_judge_files.py"}  # they hold the names of earlier files
OF_THE_LINT = {"words.py", "test_words.py"}
TEXTS = {".md", ".j2", ".js", ".yaml", ".toml", ".yml"}


def files() -> list[Path]:
    """The files that git tracks or would track, without those of packages."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    )
    names = listing.stdout.splitlines() or [str(path.relative_to(ROOT)) for path in ROOT.rglob("*")]
    chosen = (ROOT / name for name in names if not name.startswith((".venv", ".cache")))
    return sorted(path for path in chosen if path.suffix in TEXTS | {".py"} and path.is_file())


def is_test(path: Path) -> bool:
    return path.is_relative_to(ROOT / "tests")


def problems(path: Path) -> list[str]:
    """What is wrong in a file, "line: what"."""
    if path.name in OLD_FORMATS or (is_test(path) and path.name in OF_THE_LINT):
        return []
    text = path.read_text(encoding="utf-8")
    result = [f"{line}: {what}" for line, what in _phrases(path, text)]
    if path.suffix == ".py":
        refused = OF_TESTS if is_test(path) else IDENTIFIERS
        result += [
            f"{line}: the identifier `{name}` names nothing; say what the thing is"
            for line, name in sorted(set(_identifiers(ast.parse(text))))
            if name in refused or PARTS.search(name)
        ]
    return result


def classes_defined_twice(paths: list[Path]) -> dict[str, list[str]]:
    """Names of top-level classes with the files that define them, where there are several."""
    homes = defaultdict(list)
    for path in paths:
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] not in ("benchmarks", "tests"):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    homes[node.name].append(str(path.relative_to(ROOT)))
    return {name: where for name, where in homes.items() if len(where) > 1}


def _identifiers(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, name) of everything that the code defines: variables, attributes, arguments, functions, keys of dicts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            yield node.lineno, node.name or ""
        elif isinstance(node, ast.alias) and node.asname:
            yield getattr(node, "lineno", 0), node.asname
        elif isinstance(node, ast.Dict):
            for key in node.keys:
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.lineno, key.value


def _phrases(path: Path, text: str) -> Iterator[tuple[int, str]]:
    if path.parent.name == "signatures" or path.name == "tasks.yaml":
        return  # the wording of prompts is measured, and changes only with a measurement
    phrases = PHRASES_OF_TESTS if is_test(path) else tuple(PHRASES)
    for start, prose in _texts(path, text):
        for match in _pattern(phrases).finditer(prose):
            line = start + prose.count("\n", 0, match.start())
            yield line, f"{match[0]!r}: write {PHRASES[phrases[int(str(match.lastgroup)[1:])]]}"


@cache
def _pattern(phrases: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(rf"(?P<p{i}>\b(?:{phrase})\b)" for i, phrase in enumerate(phrases)), re.IGNORECASE)


def _texts(path: Path, text: str) -> Iterable[tuple[int, str]]:
    """(line, text) of what is written in a file."""
    if path.suffix != ".py":
        return [(1, _without_code(text))]
    return _notes(text) if is_test(path) else _prose(text)


def _notes(code: str) -> Iterator[tuple[int, str]]:
    """(line, text) of every comment and docstring of Python code."""
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def _prose(code: str) -> Iterator[tuple[int, str]]:
    """(line, text) of every comment and string of Python code."""
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)):
            yield token.start[0], token.string


def _without_code(text: str) -> str:
    """Markdown without recorded output and inline code, such as names that a changelog quotes; lines stay."""
    text = re.sub(r"^ *```(\w*)\n.*?^ *```", _without_output, text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]+`", "", text)


def _without_output(block: re.Match[str]) -> str:
    return "\n" * block[0].count("\n") if block[1] in ("", "json", "text") else block[0]


def main(arguments: list[str]) -> int:
    folders = [Path(argument).resolve() for argument in arguments] or [ROOT]
    count = 0
    for path in files():
        if any(path.is_relative_to(folder) for folder in folders):
            lines = problems(path)
            count += len(lines)
            for line in lines:
                print(f"{path.relative_to(ROOT)}:{line}")
    for name, where in classes_defined_twice(files()).items():
        print(f"class {name} is defined in {', '.join(where)}")
    print(f"{count} problems")
    return bool(count)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
