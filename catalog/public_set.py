"""What a public data set is: where its original files lie, and how they become rows. The registry of all sets.

A built-in set is a module of catalog/sets/ that calls `register`; a plug-in is a `PublicSet` behind an entry point of
the group `dicast.data_sets`. No set is copied into the package but our own `authored`, and a part of PandaLM, whose
licence allows it: many licences forbid it, and some state nothing. All sets are public: any judge model may have been
trained on them.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from os.path import commonpath
from pathlib import Path, PurePosixPath
from typing import Any

from ..data.task_descriptions import DEFAULT_TASK, presets
from ..errors import DeclarationError
from ..registry import Registry

GITHUB = "https://raw.githubusercontent.com"
ReadOriginal = Callable[[Sequence[Path]], Iterator[dict[str, Any]]]
ReadConverted = Callable[[Path], Iterator[dict[str, Any]]]


@dataclass(frozen=True)
class SourceFile:
    """One original file, pinned.

    Args:
        repo: the GitHub repository, OWNER/NAME; a name to show where `url` is given.
        path: the file's path in the repository.
        commit: of the repository; any version where `url` is given.
        sha256: the digest that a copy must have; None accepts any file.
        url: where it is downloaded from; GitHub at that commit by default.
        git_blob: the id that git has of the content, which pins a file whose SHA-256 is not known.
    """

    repo: str
    path: str
    commit: str
    sha256: str | None = None
    url: str | None = None
    git_blob: str | None = None

    def mismatch(self, content: bytes) -> str:
        """What differs from what is pinned, to read; empty where nothing does."""
        digest = hashlib.sha256(content).hexdigest()
        if self.sha256 not in (None, digest):
            return f"SHA-256 {digest[:12]}..., not {str(self.sha256)[:12]}..."
        blob = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
        if self.git_blob not in (None, blob):
            return f"git's id {blob[:12]}..., not {str(self.git_blob)[:12]}..."
        return ""


@dataclass(frozen=True)
class PublicSet:
    """One set of human-labelled data.

    Args:
        name: what `--cases` takes.
        title: one line for `dicast data list`.
        kind: of its rows: pairwise, pointwise, text, choice, profile, profile_pairwise or persona_pairwise (see
            converters.py).
        size: rows that the original gives; a pointwise row gives one case for each aspect. None: not known, of an
            original that the authors of this package do not have.
        labels: one sentence: whether people gave the labels, and how many.
        licence: as its source states it.
        citation: the paper, to read.
        files: the original files; none where the rows come with a package.
        read_original: the paths of `files`, in their order -> converted rows; None reads JSON Lines of such rows.
        converted: where converted rows lie under a folder of sets; NAME/test.jsonl by default.
        read_converted: the path of converted rows -> rows, where a file beside them completes them.
        own_copy: how a user gets the original where it cannot be downloaded as it is: "unpack URL". Its rows are
            checked when it is taken.
        packaged: the file of rows that comes with a package.
        aspects: what its scores or labels are about, where there are several, under the names of its rows; `task`
            describes each of them. One aspect of pairs is that of all of them.
        task: what its texts are, by a name of data/tasks.yaml; a judge that asks about a task asks about this one.
        cautions: what a reader of a result must know. "The longer response wins .6" is the proportion of non-ties over
            the whole set, by characters, equal lengths counted as b: the accuracy of a judge that reads nothing.

    Raises:
        DeclarationError: neither files nor packaged rows, or a task that is not known.
    """

    name: str
    title: str
    kind: str
    size: int | None
    labels: str
    licence: str
    citation: str
    files: tuple[SourceFile, ...] = ()
    read_original: ReadOriginal | None = None
    converted: str = ""
    read_converted: ReadConverted | None = None
    own_copy: str = ""
    packaged: Path | None = None
    aspects: tuple[str, ...] = ()
    task: str = DEFAULT_TASK
    cautions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.files and self.packaged is None:
            raise DeclarationError(f"data set {self.name!r}: it has no files. Declare files, or packaged rows.")
        if self.task not in presets():
            raise DeclarationError(
                f"data set {self.name!r}: there is no task {self.task!r}. Use one of {', '.join(presets())}."
            )
        if not self.converted:
            object.__setattr__(self, "converted", f"{self.name}/test.jsonl")

    @property
    def source(self) -> str:
        """Repository, path and commit, to read."""
        if not self.files:
            return f"in the package: {self.packaged and self.packaged.name}"
        first, count = self.files[0], len(self.files)
        if first.url is not None:
            return first.url if count == 1 else f"{first.url} and {count - 1} more"
        where = first.path if count == 1 else f"{count} files in {self.folder or 'the root'}"
        return f"github.com/{first.repo}, {where}, commit {first.commit}"

    @property
    def folder(self) -> str:
        """The folder of the repository that holds all files."""
        return commonpath([str(PurePosixPath("/", file.path).parent) for file in self.files]).strip("/")

    def stored(self, file: SourceFile) -> str:
        """A file's path below the set's own folder in the cache."""
        return file.path.removeprefix(self.folder).strip("/")

    def to_json(self) -> dict[str, Any]:
        """What `dicast data list --json` prints."""
        values = asdict(self) | {"source": self.source}
        del values["read_original"], values["read_converted"], values["packaged"]
        return values


def _entry(name: str, loaded: object) -> PublicSet:
    if not isinstance(loaded, PublicSet) or loaded.name != name:
        raise DeclarationError(f"the entry point gives {loaded!r:.60}, not a PublicSet called {name!r}")
    return loaded


DATA_SETS: Registry[PublicSet] = Registry("data set", ".catalog.sets", "dicast.data_sets", convert=_entry)


def register(*sets: PublicSet) -> None:
    """Add built-in sets to the registry."""
    for data_set in sets:
        DATA_SETS.add(data_set.name, data_set)


def pinned_files(repo: str, commit: str, digests: str, folder: str = "") -> tuple[SourceFile, ...]:
    """Pinned files from lines as `sha256sum` prints them: digest, two spaces, path below the folder."""
    lines = (line.split("  ", 1) for line in digests.split("\n") if line)
    return tuple(SourceFile(repo, folder + path, commit, digest) for digest, path in lines)
