"""The house is what pyproject and the documentation say it is."""

import ast
import importlib.metadata
import pkgutil
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from import_graph import ROOMS, ImportGraph, room_of
from readme_table import judges_table

import dicast
from dicast.errors import install_hint
from dicast.workflows.checks import EXTRAS

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
GRAPH = ImportGraph(ROOT)
BENCHMARKS = sorted((ROOT / "benchmarks").glob("*.py"))


def test_every_package_is_listed_for_installation():
    found = {"dicast", *(module.name for module in pkgutil.walk_packages([str(ROOT)], "dicast.") if module.ispkg)}
    assert set(PYPROJECT["tool"]["setuptools"]["packages"]) == {name for name in found if "tests" not in name}


def test_imports_go_down_the_house():
    assert GRAPH.upward() == []


def test_no_modules_import_each_other_in_a_circle():
    """Inside a room too, and by imports inside functions."""
    assert GRAPH.circle() == []


def test_a_circle_through_a_function_is_seen(tmp_path):
    (tmp_path / "first.py").write_text("def late():\n    from .second import x\n")
    (tmp_path / "second.py").write_text("from .third import x\n")
    (tmp_path / "third.py").write_text("from .first import late\n")
    assert set(ImportGraph(tmp_path).circle()) == {"first", "second", "third"}


def test_every_module_is_in_a_room():
    assert {room_of(name) for name in GRAPH.modules} - {*ROOMS, "", "__main__"} == set()


def test_no_room_holds_more_than_a_quarter_of_the_code():
    limit = GRAPH.lines.total() / 4
    assert {room: lines for room, lines in GRAPH.lines.items() if lines > limit} == {}


def test_imports_inside_the_package_are_relative():
    """Ruff cannot say it: in a checkout that is called dicast it takes every relative import for an absolute one."""
    absolute = []
    for path in GRAPH.modules.values():
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else names
            absolute += [path.name for module in modules if module.partition(".")[0] == "dicast"]
    assert absolute == []


def imports_of(path: Path) -> set[str]:
    """The modules that a file imports by their full names."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return names | {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}


def test_editors_resolve_the_imports_of_tests():
    """By the paths of [tool.pyright]; a test file imports no other test file."""
    known = {path.stem for path in (ROOT / "tests" / "support").glob("*.py")} | set(sys.stdlib_module_names)
    known |= {*packages_distributions(), "torch", "transformers", "bert_score"}  # extras that need not be installed
    modules = {f"dicast.{name}".rstrip(".") for name in GRAPH.modules}
    modules |= {"dicast.benchmarks", *(f"dicast.benchmarks.{path.stem}" for path in BENCHMARKS)}
    unresolved = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in imports_of(path)
        if (name not in modules if name.partition(".")[0] == "dicast" else name.partition(".")[0] not in known)
    }
    assert unresolved == set()


def test_no_room_hides_another_package():
    """Python puts the working folder first on its path: in a checkout, a room called `statistics` or `datasets` would
    be imported in place of the standard library's, or of a dependency's."""
    rooms = set(ROOMS)
    others = {name.partition(".")[0] for name in sys.stdlib_module_names} | set(packages_distributions()) - {"dicast"}
    assert rooms & others == set()


def test_the_public_face_is_what_it_says():
    assert sorted(dicast.__all__) == sorted(set(dicast.__all__))
    for name in dicast.__all__:
        assert getattr(dicast, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = dicast.nothing


def test_modules_stay_small():
    long = {
        str(path.relative_to(ROOT)): lines
        for path in (*GRAPH.modules.values(), *BENCHMARKS)
        if (lines := len(path.read_text().splitlines())) > 400
    }
    assert long == {}


def test_the_pages_name_every_room_and_the_judges_of_the_registry():
    assert judges_table() in (ROOT / "docs" / "judges.md").read_text(), "run: python tests/support/readme_table.py"
    page = (ROOT / "docs" / "architecture.md").read_text()
    missing = [room for room in ROOMS if f"{room}/" not in page and f"{room}.py" not in page]
    assert missing == ["_version"]


def test_no_file_names_a_registry_host_or_a_machine_path():
    # Spelled in parts, so that this file passes its own test.
    banned = re.compile("|".join(["py" + "pi.org", "python" + "hosted", "npm" + "js", "/wo" + "rk/", "/ro" + "ot/"]))
    tracked = [
        path
        for path in ROOT.rglob("*")
        if path.is_file() and not any(p.startswith(".") for p in path.relative_to(ROOT).parts)
    ]
    text = [
        path
        for path in tracked
        if path.suffix in {".py", ".md", ".toml", ".txt", ".jsonl", ""} and "egg-info" not in str(path)
    ]
    assert [str(path.relative_to(ROOT)) for path in text if banned.search(path.read_text(errors="ignore"))] == []


def test_litellm_versions_that_stole_credentials_are_refused():
    (litellm,) = [need for need in PYPROJECT["project"]["dependencies"] if need.startswith("litellm")]
    assert "!=1.82.7" in litellm
    assert "!=1.82.8" in litellm
    pinned = re.search(r"^litellm==(\d+)\.(\d+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert pinned
    assert (int(pinned[1]), int(pinned[2])) >= (1, 84)


def test_every_pin_carries_a_hash_and_no_address():
    text = (ROOT / "constraints.txt").read_text()
    pins = re.findall(r"^\S+==.*?(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
    assert len(pins) > 50
    assert all("--hash=sha256:" in pin for pin in pins)
    assert "://" not in text


def test_hints_install_extras_that_exist_and_the_readme_names_them():
    """The name dicast is in no hint: a registry that does not have it may give somebody else's package."""
    extras, hinted = PYPROJECT["project"]["optional-dependencies"], set()
    for path in GRAPH.modules.values():
        text = path.read_text()
        assert not re.search(r"pip install '?dicast", text), path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "install_hint":
                hinted |= {argument.value for argument in node.args if isinstance(argument, ast.Constant)}
    assert hinted >= {"baselines", "data", "local", "report", "search", "text", "train"}
    assert hinted | set(EXTRAS) <= set(extras)
    readme = (ROOT / "README.md").read_text()
    (shown,) = re.findall(r"pip install '\.\[(.*)\]'", readme)
    assert set(shown.split(",")) <= set(extras)
    assert {name for name in extras if f"`{name}`: " not in readme} == set()


def test_a_hint_names_the_packages_of_an_extra(monkeypatch):
    needs = ["click>=8", 'xllamacpp>=2026.10; extra == "local"', 'gguf>=0.10; extra == "local"', 'a; extra == "locale"']
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: needs)
    assert install_hint("local") == "Run: pip install 'gguf>=0.10' 'xllamacpp>=2026.10'"


@pytest.mark.parametrize("missing", [None, importlib.metadata.PackageNotFoundError("dicast")])
def test_a_hint_names_the_source_folder_where_the_metadata_know_no_such_extra(monkeypatch, missing):
    def requires(name):
        if missing:
            raise missing
        return None

    monkeypatch.setattr(importlib.metadata, "requires", requires)
    assert install_hint("local") == "In the source folder of dicast, run: pip install '.[local]'"


def names_of(requirements: list[str]) -> set[str]:
    """The names of distributions, as registries compare them."""
    return {re.split(r"[^A-Za-z0-9._-]", need)[0].lower().replace("_", "-") for need in requirements}


OPTIONAL = {"pandas", "polars", "psutil", "jinja2"}  # with a hint where missing, or of a dependency of the extra
INSTALLS_AS = {"yaml": "pyyaml", "dotenv": "python-dotenv", "surprise": "scikit-surprise"}


def test_what_is_imported_is_declared_and_every_extra_holds_something_that_is():
    extras = {name: names_of(needs) for name, needs in PYPROJECT["project"]["optional-dependencies"].items()}
    declared = names_of(PYPROJECT["project"]["dependencies"]).union(*extras.values())
    tops = {name.partition(".")[0] for path in GRAPH.modules.values() for name in imports_of(path)}
    imported = {INSTALLS_AS.get(top, top.replace("_", "-")) for top in tops - set(sys.stdlib_module_names)}
    assert imported - declared - OPTIONAL - {"dicast"} == set()
    assert {name for name, packages in extras.items() if name != "dev" and not packages & imported} == set()


UNIX = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "curses", "readline", "syslog"}


def test_no_module_imports_what_windows_lacks():
    modules = [path for name, path in GRAPH.modules.items() if room_of(name) not in ("tests", "benchmarks")]
    assert {path.name for path in modules if imports_of(path) & UNIX} == set()
