"""The sets of an experiment as they are judged: prepared below its folder, where the file says so."""

import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..preparation.registry import Pipeline, build_pipeline
from .case_source import CaseSource
from .experiment_sets import CaseSample, FoundSet
from .preparations import PrepareRun, prepare
from .progress import Progress

PACE = ("workers", "timeout", "in_flight", "skip_bad")  # options of a run that preparing takes too


@dataclass(frozen=True)
class PreparedSets:
    """What is judged of each set.

    Attributes:
        sources: set: its cases.
        samples: set: which of these.
        notes: what an estimate cannot know, because a set is not prepared yet.
        unfinished: the preparation that the budget or the user ended, if any.
    """

    sources: Mapping[str, CaseSource]
    samples: Mapping[str, CaseSample]
    notes: tuple[str, ...] = ()
    unfinished: PrepareRun | None = None


def prepared_sets(
    sets: Mapping[str, FoundSet],
    folder: Path,
    lm: str | None,
    sample: CaseSample,
    *,
    dry_run: bool,
    progress: Progress,
    stop: threading.Event,
    options: Mapping[str, Any],
) -> PreparedSets:
    """The sets as they are judged; those that the experiment prepares are written below its folder.

    A preparation of a whole set, such as `pairs`, reads all of it, and the sample is drawn of what it writes. A
    preparation that asks a model prepares the sampled cases only.

    Args:
        lm: of preparations that ask a model.
        dry_run: whether no model may be asked.
        options: as of `dicast.run`.
    """
    sources: dict[str, CaseSource] = {}
    samples: dict[str, CaseSample] = {}
    notes: list[str] = []
    pace: dict[str, Any] = {name: value for name, value in options.items() if name in PACE} | {"stop": stop}
    for name, declared in sets.items():
        source, spec, drawn = declared.source, declared.spec, sample
        if spec.prepare:
            pipeline = build_pipeline(spec.prepare, **spec.settings)
            of_set, others = _halves(pipeline)
            if of_set:
                progress.step("prepare", f"{name} by {of_set}")
                settings = {key: value for key, value in spec.settings.items() if key in _settings_of_set(pipeline)}
                out = _file(folder, name, of_set, source, settings, spec.seed)
                prepare(of_set, source, out, settings=settings, seed=spec.seed, **pace)
                source = CaseSource(str(out))
            asks = bool(pipeline.of_cases.stages())
            if others and asks and dry_run:
                notes.append(f"{name} is not prepared yet, so its calls for {others} are not counted")
            elif others:
                progress.step("prepare", f"{name} by {others}")
                settings = {key: value for key, value in spec.settings.items() if key not in _settings_of_set(pipeline)}
                out = _file(folder, name, others, source, settings, (sample, lm) if asks else None)
                limits = sample.__dict__ if asks else {}
                done = prepare(others, source, out, lm=lm if asks else None, settings=settings, **limits, **pace)
                source, drawn = CaseSource(str(out)), CaseSample() if asks else sample
                if done.status in ("budget", "stopped"):
                    return PreparedSets(sources, samples, tuple(notes), done)
        sources[name], samples[name] = source, drawn
    return PreparedSets(sources, samples, tuple(notes))


def _halves(pipeline: Pipeline) -> tuple[str, str]:
    """The preparation of the whole set, and the others, as names with commas."""
    if pipeline.of_set is None:
        return "", pipeline.name
    first, _, others = pipeline.name.partition(",")
    return first, others


def _settings_of_set(pipeline: Pipeline) -> Mapping[str, Any]:
    return pipeline.of_set.settings() if pipeline.of_set else {}


def _file(folder: Path, name: str, *content: Any) -> Path:
    """The file of a prepared set; another one for other cases, steps or parameters."""
    text = json.dumps(content, sort_keys=True, default=str)
    return folder / "sets" / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}.jsonl"
