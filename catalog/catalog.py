"""The catalogue: the cases of a public set by its name, from a folder of sets or from the set's own repository.

Under a folder of sets (DICAST_DATA, or data/ in the cache) a set is either converted rows (`pandalm/test.jsonl`) or
its original files below its name (`pandalm/testset-v1.json`), as `get` leaves them.

Example:
    >>> next(read("authored")).id
    'authored/001'
"""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from ..data.case import Case
from ..errors import DataError
from ..paths import home
from . import converters
from .public_set import DATA_SETS, GITHUB, PublicSet, SourceFile
from .rows import is_converted, jsonl

CATALOG = DATA_SETS
CONVERTED = "converted.jsonl"  # the name of a user's converted rows below the set's name


def locate(name: str, root: Path | None = None) -> Path:
    """The file of a set, or the folder when its original is many files.

    Args:
        root: a folder of sets; without it DICAST_DATA, then data/ in the cache.

    Raises:
        DeclarationError: there is no set of this name.
        DataError: the set is in none of the folders.
    """
    entry = DATA_SETS.find(name)
    if entry.packaged:
        return entry.packaged
    roots = [root] if root else [*_data_folder(), _cache()]
    for folder in roots:
        originals = folder / name
        for path in (folder / entry.converted, originals / CONVERTED):
            if path.is_file():
                return path
        if all((originals / entry.stored(file)).is_file() for file in entry.files):
            return originals / entry.stored(entry.files[0]) if len(entry.files) == 1 else originals
    if entry.own_copy:
        raise DataError(f"{name}: the set is not in {' or '.join(map(str, roots))}. {_how_to_bring(entry)}")
    raise DataError(
        f"{name}: the set is not in {' or '.join(map(str, roots))}. Run: dicast data get {name} (it downloads from "
        f"{entry.source}), or with your copy: dicast data get {name} --from PATH"
    )


def read(name: str, root: Path | None = None, aspect: str | None = None) -> Iterator[Case]:
    """The cases of a set, in order; with `aspect` only those about it.

    Raises:
        DeclarationError: there is no set of this name.
        DataError: it has not been fetched, it has no such aspect, or its file is not the original.
    """
    entry = DATA_SETS.find(name)
    if aspect is not None and aspect not in entry.aspects:
        known = f"Its aspects are {', '.join(entry.aspects)}." if entry.aspects else "It has none: leave it out."
        raise DataError(f"{name}: there is no aspect {aspect!r}. {known}")
    path = locate(name, root)
    about = entry.aspects[0] if len(entry.aspects) == 1 else None
    return converters.cases(_rows(entry, path), entry.kind, source=str(path), aspect=aspect, about=about)


def get(name: str, source: Path | None = None, *, base: str = GITHUB) -> Path:
    """The path of the set in the cache, taken from the user's copy or downloaded; intact files are not fetched again.

    Args:
        source: the original file, the folder that holds it (or a checkout of its repository), converted rows, or a
            folder of sets with converted rows.
        base: where repositories are served, as BASE/OWNER/NAME/COMMIT/PATH.

    Raises:
        DeclarationError: there is no set of this name.
        DataError: a file cannot be fetched, or it is not the pinned version.
    """
    entry = DATA_SETS.find(name)
    if entry.packaged:
        return entry.packaged
    folder = _cache() / name
    content = _converted_rows(entry, source)
    if content is not None:
        return _store(folder / CONVERTED, content)
    if entry.own_copy:
        return _store_own_copy(entry, source, folder)
    for file in entry.files:
        target = folder / entry.stored(file)
        if source is not None or not _is_pinned(target, file):
            content = _download(entry, file, base) if source is None else _own_copy(entry, file, source)
            _check_digest(entry, file, content)
            _store(target, content)
    (folder / CONVERTED).unlink(missing_ok=True)  # it would hide the originals
    return locate(name, _cache())


def _store_own_copy(entry: PublicSet, source: Path | None, folder: Path) -> Path:
    """The original that a user brings, stored if its rows have the form of the set."""
    if source is None:
        raise DataError(f"{entry.name}: it is not downloaded. {_how_to_bring(entry)}")
    with TemporaryDirectory() as place:
        paths = [_store(Path(place) / entry.stored(file), _own_copy(entry, file, source)) for file in entry.files]
        if not list(converters.cases(_originals(entry, paths, source), entry.kind, source=str(source))):
            raise DataError(f"{entry.name}: {source} has no rows. {_how_to_bring(entry)}")
        for path in paths:
            _store(folder / path.name, path.read_bytes())
    (folder / CONVERTED).unlink(missing_ok=True)
    return locate(entry.name, _cache())


def _how_to_bring(entry: PublicSet) -> str:
    return f"To use it, {entry.own_copy}. Then: dicast data get {entry.name} --from PATH"


def _cache() -> Path:
    return home() / "data"


def _data_folder() -> list[Path]:
    folder = os.environ.get("DICAST_DATA")
    return [Path(folder).expanduser()] if folder else []


def _rows(entry: PublicSet, path: Path) -> Iterator[dict[str, Any]]:
    if is_converted(path):
        yield from (entry.read_converted or jsonl)(path)
        return
    paths = [path / entry.stored(file) for file in entry.files] if path.is_dir() else [path]
    yield from _originals(entry, paths, path)


def _originals(entry: PublicSet, paths: Sequence[Path], source: Path) -> Iterator[dict[str, Any]]:
    try:
        yield from (entry.read_original or _read_rows)(paths)
    except converters.WRONG_SHAPE as error:
        raise DataError(
            f"{source}: not the original of {entry.name} ({type(error).__name__}: {error}). "
            f"Take it from {entry.source}."
        ) from None


def _read_rows(paths: Sequence[Path]) -> Iterator[dict[str, Any]]:
    for path in paths:
        yield from jsonl(path)


def _converted_rows(entry: PublicSet, source: Path | None) -> bytes | None:
    """The user's converted rows as a file, every row checked; None where their copy is the original."""
    path = source / entry.converted if source is not None and source.is_dir() else source
    if path is None or not is_converted(path):
        return None
    seen: set[str] = set()
    rows = list((entry.read_converted or jsonl)(path))
    for case in converters.cases(rows, entry.kind, source=str(path)):
        if case.id in seen:
            raise DataError(f"{path}: the id {case.id!r} occurs twice. Ids must be unique.")
        seen.add(case.id)
    if entry.read_converted is None:
        return path.read_bytes()
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _own_copy(entry: PublicSet, file: SourceFile, source: Path) -> bytes:
    if not source.exists():
        raise DataError(f"{entry.name}: there is no {source}. Give the path of a copy of {entry.source}.")
    if source.is_file():
        if len(entry.files) > 1:
            raise DataError(
                f"{entry.name}: {source} is one file of {len(entry.files)}. Give the folder that holds them."
            )
        return source.read_bytes()
    for place in (file.path, entry.stored(file), Path(file.path).name):
        if (source / place).is_file():
            return (source / place).read_bytes()
    raise DataError(f"{entry.name}: {source} does not hold {file.path}. Give a copy of {entry.source}.")


def _download(entry: PublicSet, file: SourceFile, base: str) -> bytes:
    import httpx

    url = file.url or f"{base}/{file.repo}/{file.commit}/{quote(file.path)}"
    try:
        return httpx.get(url, follow_redirects=True, timeout=30).raise_for_status().content
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        reason = str(error).split("\n")[0]
        raise DataError(
            f"{entry.name}: {url} cannot be downloaded ({type(error).__name__}: {reason}). Bring {entry.source} here "
            f"by other means, then run: dicast data get {entry.name} --from PATH"
        ) from None


def _check_digest(entry: PublicSet, file: SourceFile, content: bytes) -> None:
    if mismatch := file.mismatch(content):
        raise DataError(
            f"{entry.name}: {file.path} has {mismatch} as pinned. "
            f"Take it unchanged from {file.repo} at commit {file.commit}."
        )


def _is_pinned(target: Path, file: SourceFile) -> bool:
    return target.is_file() and not file.mismatch(target.read_bytes())


def _store(target: Path, content: bytes) -> Path:
    """The file, written whole or not at all."""
    part = target.with_name(f"{target.name}.part{os.getpid()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.replace(target)
    except OSError as error:
        raise DataError(f"{target}: cannot be written ({error}). Set DICAST_HOME to a folder you can write.") from None
    return target
