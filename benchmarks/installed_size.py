"""How much an installation takes: packages, MB on disk and seconds of processor time until a command answers.

    python benchmarks/installed_size.py [--extras local report search] [--python 3.11]

Fresh environments are made by uv, which must be on the path: for DSPy alone, for the core, and for the core and each
extra. Sizes are those of site-packages as they are installed, without compiled bytecode; processor time is the
median of five starts, without the first.
"""

import argparse
import os
import re
import statistics
import subprocess
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
STARTS = {
    "import dspy": ["-c", "import dspy"],
    "import dicast": ["-c", "import dicast"],
    "a judge is built": ["-c", "import dicast; dicast.judge('longer')"],
    "dicast --help": ["-m", "dicast", "--help"],
    "dicast list": ["-m", "dicast", "list"],
}


def installed(folder: Path, python: str, requirement: str) -> Path:
    """The Python of a fresh environment with this requirement."""
    subprocess.run(["uv", "venv", "--quiet", "--python", python, str(folder)], check=True)
    executable = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    subprocess.run(["uv", "pip", "install", "--quiet", "--python", str(executable), requirement], check=True)
    return executable


def size_of(executable: Path) -> tuple[int, float]:
    """Packages, and MB of site-packages without bytecode."""
    (site,) = executable.parents[1].glob("[Ll]ib/**/site-packages")
    files = [path for path in site.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    return len(list(site.glob("*.dist-info"))), sum(path.stat().st_size for path in files) / 1e6


def seconds_of(executable: Path, arguments: list[str], folder: Path) -> float:
    """The median of the processor time of five starts, of user and system."""
    taken = []
    for _ in range(6):
        before = os.times()
        subprocess.run([str(executable), *arguments], check=True, cwd=folder, stdout=subprocess.DEVNULL)
        after = os.times()
        taken.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return statistics.median(taken[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--extras", nargs="*", default=["local", "data", "report", "search", "text", "baselines"])
    parser.add_argument("--python", default="3.11")
    options = parser.parse_args()
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    (dspy,) = [need for need in needs if re.match(r"dspy\b", need)]
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(["uv", "build", "--quiet", "--out-dir", str(folder / "dist"), str(ROOT)], check=True)
        (wheel,) = (folder / "dist").glob("*.whl")
        requirements = {"DSPy alone": dspy, "core": str(wheel)}
        requirements |= {f"`{extra}`": f"dicast[{extra}] @ {wheel.as_uri()}" for extra in options.extras}
        print("| | packages | MB on disk |\n| --- | --- | --- |")
        for number, (title, requirement) in enumerate(requirements.items()):
            executable = installed(folder / str(number), options.python, requirement)
            packages, megabytes = size_of(executable)
            print(f"| {title} | {packages} | {megabytes:.0f} |", flush=True)
            if title == "core":
                seconds = {start: seconds_of(executable, arguments, folder) for start, arguments in STARTS.items()}
    print("\n| | processor time, s |\n| --- | --- |")
    for title, taken in seconds.items():
        print(f"| {title} | {taken:.2f} |")


if __name__ == "__main__":
    main()
