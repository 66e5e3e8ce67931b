"""Which files a name means when torch runs the model: a folder, a hub repository, a .gguf file or a local name.

A folder may hold an adapter alone, whose base is one of these. A .gguf file, and that of a local name, is dequantised
to bf16 safetensors once, in the models folder (3 GB for 1.5 billion parameters), so that a later start takes seconds.
Nothing is unpickled, and no code of a repository is run.
"""

import hashlib
import json
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from ...errors import ModelError
from ...paths import home
from ..quick_digest import quick_digest
from ..weights import CATALOG, OnProgress, find_weights, get_weights, reach_hub, silent
from .adapter_files import BASE, AdapterFiles, is_adapter, read_adapter

# Of a repository: the weights, never as a pickle, and the texts that say how to use them.
FILES = ("*.safetensors", "*.json", "*.jinja", "*.model", "*.txt")
REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")


@dataclass(frozen=True)
class TorchWeights:
    """The weights that a name means.

    Attributes:
        name: what messages call them.
        path: a folder in transformers' format, or a .gguf file.
        digest: SHA-256 in hex: the catalogue's, else of every file's name, size and ends (`quick_digest`); of an
            adapter's and its base's together.
        base: an adapter's.
        adapter: beside the base.
    """

    name: str
    path: Path
    digest: str
    base: "TorchWeights | None" = None
    adapter: AdapterFiles | None = None

    @property
    def is_gguf(self) -> bool:
        return self.path.suffix == ".gguf"

    def folder(self, progress: OnProgress = silent) -> Path:
        """The model's folder in transformers' format; a .gguf file is dequantised into one when it is first used."""
        if self.base is not None:
            return self.base.folder(progress)
        if not self.is_gguf:
            return self.path
        target = home() / "models" / f"{self.path.stem}-{self.digest[:12]}-bf16"
        if (target / "config.json").is_file():
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.with_name(f"{target.name}.lock")):
            if not (target / "config.json").is_file():
                from .gguf_conversion import dequantise

                progress("dequantising to bf16, once", 0, self.path.stat().st_size)
                with tempfile.TemporaryDirectory(dir=target.parent) as unfinished:
                    dequantise(self.path, Path(unfinished) / "model")
                    os.replace(Path(unfinished) / "model", target)
        return target


def find_torch_weights(name: str, progress: OnProgress = silent) -> TorchWeights:
    """The weights of a name, fetched from the hub when they are not on this machine.

    Args:
        name: of `dicast models list`, a folder, a .gguf file or the hub's OWNER/NAME; looked for in this order.

    Raises:
        ModelError: there are no such weights, or the hub does not give them.
    """
    if name in CATALOG:
        return TorchWeights(name, get_weights(name, progress=progress), find_weights(name).sha256)
    try:
        path = Path(name).expanduser()
        if path.is_file() and path.suffix == ".gguf":
            return TorchWeights(path.name, path.resolve(), quick_digest(path))
        if is_adapter(path):
            return _adapted(path.resolve(), progress)
        if (path / "config.json").is_file():
            return TorchWeights(path.resolve().name, path.resolve(), _digest_of(path))
    except (OSError, RuntimeError, ValueError) as error:  # no such user, a name that no file can have, no permission
        raise ModelError(f"transformers/{name}: cannot be read ({error}).") from None
    if path.is_absolute() or name.startswith("~") or not REPOSITORY.fullmatch(name):
        raise ModelError(
            f"transformers/{name}: there is no such model. Give a name of `dicast models list`, a folder with a "
            "config.json or an adapter_config.json, a .gguf file, or OWNER/NAME of the Hugging Face hub."
        )
    folder = _from_hub(name, progress)
    return TorchWeights(name, folder, _digest_of(folder))


def write_base(folder: Path, name: str) -> None:
    """Write which base an adapter belongs to, with the digest of its weights; of a file or folder its whole path, and
    its place as seen from the adapter, for folders that are moved with their base.

    Args:
        name: of the base, as `find_torch_weights` takes it.

    Raises:
        ModelError: there is no such model.
    """
    weights = find_torch_weights(name)
    path, place = Path(name).expanduser(), {}
    if name not in CATALOG and path.exists():
        name = str(path.resolve())
        place = {"place": os.path.relpath(name, folder.resolve())}
    text = json.dumps({"name": name, "digest": weights.digest, **place}, indent=2)
    (folder / BASE).write_text(f"{text}\n", encoding="utf-8")


def _adapted(folder: Path, progress: OnProgress) -> TorchWeights:
    adapter = read_adapter(folder)
    if is_adapter(Path(adapter.base)):
        raise ModelError(f"{folder}: its base {adapter.base} is an adapter, too. Merge that into its base first.")
    try:
        base = find_torch_weights(adapter.base, progress)
    except ModelError as error:
        raise ModelError(f"{folder}: the base of this adapter is missing. {error}") from None
    adapter.check_base(base.digest)
    digest = hashlib.sha256(f"{adapter.digest} {base.digest}".encode()).hexdigest()
    return TorchWeights(folder.name, folder, digest, base, adapter)


def _from_hub(name: str, progress: OnProgress) -> Path:
    """The folder of a repository's files; the hub is asked only for what is missing."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

    try:
        folder = Path(snapshot_download(name, allow_patterns=list(FILES), local_files_only=True))
        if (folder / "config.json").is_file() and any(folder.glob("*.safetensors")):
            return folder
    except (OSError, ValueError):  # not here yet
        pass
    progress(f"asking the hub for {name}", 0, 0)
    try:
        reach_hub()
        return Path(snapshot_download(name, allow_patterns=list(FILES)))
    except (OSError, HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled, ValueError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ModelError(
            f"transformers/{name}: the hub does not give it ({reason}). Check name and network, or give a folder."
        ) from None


def own_digest(folder: Path) -> str:
    """A digest of a model's folder; of an adapter without its base.

    Raises:
        ModelError: a broken adapter.
    """
    return read_adapter(folder).digest if is_adapter(folder) else _digest_of(folder)


def _digest_of(folder: Path) -> str:
    """A digest of every file that answers depend on."""
    digest = hashlib.sha256()
    for path in sorted({path for pattern in FILES for path in folder.glob(pattern)}):
        digest.update(f"{path.name} {quick_digest(path)}\n".encode())
    return digest.hexdigest()
