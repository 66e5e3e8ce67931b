"""Which systems have wheels of every package that dicast needs: the tables of docs/install.md.

    python benchmarks/wheels.py [--extra NAME ...] [--python 3.11 3.12 3.13 3.14] [--constraints FILE]

uv resolves the core, and the core with each extra, for all systems at once (uv must be on the path). What it chose is
compared with the wheels that the registry lists, by the tags that an installer on each system takes: without a wheel, a
package would have to be compiled there. Sizes are those of the wheels, as they are downloaded.
"""

import argparse
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.markers import Marker
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.utils import parse_wheel_filename

ROOT = Path(__file__).parents[1]
GLIBC = range(28, 4, -1)  # of the manylinux tags that are accepted: glibc 2.28 (2018) and older


@dataclass(frozen=True)
class System:
    """An operating system on a kind of processor, as markers and wheels name it."""

    title: str
    sys_platform: str
    platform_system: str
    machine: str
    platforms: tuple[str, ...]

    def environment(self, python: str, extra: str) -> dict[str, str]:
        """The variables of dependency markers for CPython `python`, such as 3.12."""
        return {
            "extra": extra,
            "implementation_name": "cpython",
            "implementation_version": f"{python}.0",
            "os_name": "nt" if self.sys_platform == "win32" else "posix",
            "platform_machine": self.machine,
            "platform_python_implementation": "CPython",
            "platform_release": "",
            "platform_system": self.platform_system,
            "platform_version": "",
            "python_full_version": f"{python}.0",
            "python_version": python,
            "sys_platform": self.sys_platform,
        }

    def tags(self, python: str) -> frozenset[Tag]:
        """The tags of wheels that CPython `python` takes on this system."""
        major, minor = map(int, python.split("."))
        platforms = list(self.platforms)
        compiled = cpython_tags((major, minor), platforms=platforms)
        return frozenset([*compiled, *compatible_tags((major, minor), f"cp{major}{minor}", platforms)])


def manylinux(machine: str) -> tuple[str, ...]:
    names = [f"manylinux_2_{minor}_{machine}" for minor in GLIBC]
    return (*names, f"manylinux2014_{machine}", f"manylinux2010_{machine}", f"manylinux1_{machine}", f"linux_{machine}")


SYSTEMS = (
    System("Linux x86-64", "linux", "Linux", "x86_64", manylinux("x86_64")),
    System("Linux arm64", "linux", "Linux", "aarch64", manylinux("aarch64")),
    System("macOS 14 arm64", "darwin", "Darwin", "arm64", tuple(mac_platforms((14, 0), "arm64"))),
    System("macOS 14 x86-64", "darwin", "Darwin", "x86_64", tuple(mac_platforms((14, 0), "x86_64"))),
    System("Windows x86-64", "win32", "Windows", "AMD64", ("win_amd64",)),
)


def resolved(extra: str | None, least: str, constraints: Path | None) -> list[dict[str, Any]]:
    """The packages that uv chooses for all systems, with their wheels."""
    with tempfile.TemporaryDirectory() as folder:
        lock = Path(folder) / "pylock.toml"
        command = ["uv", "pip", "compile", str(ROOT / "pyproject.toml"), "--universal", "--python-version", least]
        command += ["--quiet", "--format", "pylock.toml", "-o", str(lock)]
        command += ["--extra", extra] if extra else []
        command += ["-c", str(constraints)] if constraints else []
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        packages: list[dict[str, Any]] = tomllib.loads(lock.read_text())["packages"]
        return packages


def needed(packages: list[dict[str, Any]], system: System, python: str, extra: str) -> Iterator[dict[str, Any]]:
    environment = system.environment(python, extra)
    for package in packages:
        if "marker" not in package or Marker(package["marker"]).evaluate(environment):
            yield package


def wheel_of(package: dict[str, Any], tags: frozenset[Tag]) -> dict[str, Any] | None:
    """The smallest wheel of a package that is accepted; None without one."""
    accepted = [
        wheel
        for wheel in package.get("wheels", ())
        if parse_wheel_filename(wheel["url"].rpartition("/")[2].replace("%2B", "+"))[3] & tags
    ]
    return min(accepted, key=lambda wheel: wheel.get("size", 0), default=None)


def cell(packages: list[dict[str, Any]], system: System, pythons: list[str], extra: str) -> tuple[str, int, int]:
    """What a table says of a system; the packages and bytes of the wheels on the first Python."""
    without: dict[str, list[str]] = {}
    count = size = 0
    for python in pythons:
        tags = system.tags(python)
        for package in needed(packages, system, python, extra):
            wheel = wheel_of(package, tags)
            if wheel is None:
                without.setdefault(package["name"], []).append(python)
            elif python == pythons[0]:
                count, size = count + 1, size + wheel.get("size", 0)
    if not without:
        return "all", count, size
    names = [name if len(on) == len(pythons) else f"{name} on {', '.join(on)}" for name, on in sorted(without.items())]
    return "not " + ", ".join(names), count, size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    parser.add_argument("--extra", nargs="*", default=[name for name in extras if name != "dev"])
    parser.add_argument("--python", nargs="*", default=["3.11", "3.12", "3.13", "3.14"])
    parser.add_argument("--constraints", type=Path)
    options = parser.parse_args()
    print(f"| | packages, MB to fetch | {' | '.join(system.title for system in SYSTEMS)} |")
    print("| --- | --- |" + " --- |" * len(SYSTEMS))
    for extra in [None, *options.extra]:
        packages = resolved(extra, options.python[0], options.constraints)
        cells = [cell(packages, system, options.python, extra or "") for system in SYSTEMS]
        texts = " | ".join(text for text, _, _ in cells)
        print(f"| {f'`{extra}`' if extra else 'core'} | {cells[0][1]}, {cells[0][2] / 1e6:.0f} | {texts} |", flush=True)
    print(f"\nCPython {', '.join(options.python)}; {' '.join(sys.argv[1:])}")


if __name__ == "__main__":
    main()
