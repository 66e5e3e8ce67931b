"""What runs are called on a page: by judge, model and data, and not by their folders."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .run_results import Run, run_titles

if TYPE_CHECKING:
    from ..pages import RunSubject

_DIGEST = re.compile(r"@[0-9a-f]{12}\b")


def run_subject(run: Run) -> "RunSubject":
    """Judge, model and data of a run."""
    from ..pages import RunSubject

    source, identity = run.manifest.get("source"), run.identity  # not run.source: it may be damaged
    data = Path(str(source.get("source", ""))).name if isinstance(source, dict) else run.path.name
    return RunSubject(_DIGEST.sub("", str(identity["judge"])), _model(str(identity["lm"])), data)


def page_names(runs: Sequence[Run]) -> list[str]:
    """A name for each run, all different: what the runs differ in, or their folders where that says nothing.

    The first of these that tells all runs apart: judge; model; judge and model; judge and settings; all of them; with
    the data; the folder.
    """
    subjects = [run_subject(run) for run in runs]
    settings = _differing([run.identity["settings"] for run in runs])
    of: Sequence[Callable[[RunSubject, str], str]] = (
        lambda subject, _: subject.judge,
        lambda subject, _: subject.model,
        lambda subject, _: f"{subject.judge} with {subject.model}",
        lambda subject, words: f"{subject.judge}{words}",
        lambda subject, words: f"{subject.judge} with {subject.model}{words}",
        lambda subject, _: f"{subject.judge} on {subject.data}",
        lambda subject, words: f"{subject.judge} with {subject.model} on {subject.data}{words}",
    )
    for name_of in of:
        names = [name_of(subject, words) for subject, words in zip(subjects, settings, strict=True)]
        if all(names) and len(set(names)) == len(names):
            return names
    return run_titles(runs)


def page_title(subjects: "Sequence[RunSubject]", names: Sequence[str]) -> str:
    """The title of a page of these runs."""
    if len(names) > 2:
        title = f"Judge {names[0]} and {len(names) - 1} others"
    elif len(names) == 2:
        title = f"Judges {names[0]} and {names[1]}"
    else:
        title = f"Judge {names[0]}"
    data = {subject.data for subject in subjects}
    return f"{title} on {data.pop()}" if len(data) == 1 and "" not in data else title


def _model(lm: str) -> str:
    """The models' names without roles, providers and options; empty for a judge that asks none, or an unknown one."""
    if lm in ("none", "elsewhere"):
        return ""
    strings = (part.rpartition("=")[2] for part in re.split(r",| \+ ", lm) if "/" in part)
    names = (string.partition("@")[0].rpartition("/")[2] for string in strings)  # what follows @ is an address
    return ", ".join(dict.fromkeys(filter(None, names))) or lm


def _differing(settings: Sequence[dict[str, Any]]) -> list[str]:
    """The settings in which runs differ, in brackets after a name; empty where all are equal."""
    keys = sorted({key for row in settings for key in row})
    varied = [key for key in keys if len({str(row.get(key)) for row in settings}) > 1]
    texts = [", ".join(f"{key}={row[key]}" for key in varied if key in row) for row in settings]
    return [f" ({text})" if text else "" for text in texts]
