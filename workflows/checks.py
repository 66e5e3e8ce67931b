"""Checks: is everything installed and reachable; and of a saved judge, see `judge_checks`."""

import importlib.util
import os
import platform
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..data import Case, Rejects, Scores
from ..data.counting import cases_text, groups_text
from ..data.joined_groups import join_groups
from ..engines import weights
from ..engines.models import Roles, get_lm
from ..engines.models import prepare as prepare_model
from ..engines.pace import paced
from ..errors import (
    DeclarationError,
    DicastError,
    install_hint,
)
from ..judging.trust import remember_address
from ..optimizers.recipe import FEW_LABELS, LEAST
from ..paths import home
from .capability_check import asked_anew, card_text
from .case_filters import ExcludedCases
from .case_source import CaseSource
from .given_cases import Cases, case_source
from .judge_checks import DriftReport, check_judge
from .label_claims import CORRELATION, claim_cells, claim_text, label_claims, label_supply
from .label_count import LabelCount
from .preflight import no_case, pace_of, stored
from .progress import SILENT, Progress

EXTRAS = {  # extra -> a module of it, and what it is for
    "local": ("xllamacpp", "for local/ models"),
    "data": ("pyarrow", "for Excel, Parquet and other encodings"),
    "report": ("matplotlib", "for pages"),
    "search": ("optuna", "for dicast compile --trials"),
}
ALL = "; below is what all of them show"
HALF = f"{ALL}, and dicast compile tests on half of them"
COMPARED = 20_000  # cases whose texts are compared with each other, the first of the data


@dataclass(frozen=True)
class CheckItem:
    """One thing that was checked.

    Attributes:
        name: what was checked.
        ok: whether it is all right.
        text: what was seen, or what to do.
        is_needed: whether nothing can be judged without it.
        cells: of a row of the table of what labels can show: the claim, what it takes, whether that is here.
    """

    name: str
    ok: bool
    text: str
    is_needed: bool = True
    cells: tuple[str, ...] = ()


def check(
    judge: str | Path | None = None,
    cases: Cases | None = None,
    *,
    lm: str | None = None,
    timeout: float | None = None,
    progress: Progress = SILENT,
    **options: Any,
) -> tuple[CheckItem, ...] | DriftReport:
    """Check the environment, and if given a model and cases; with `judge`, instead whether it still agrees with people.

    Args:
        judge: a judge file; see `check_judge`.
        cases: as of `dicast.run`.
        lm: model strings, each of which is asked three short questions; with `judge`, those that answer it.
        timeout: as of `dicast.run`.
        progress: callbacks.
        options: of `check_judge`.
    """
    if judge is not None:
        if cases is None:
            raise DeclarationError(
                "--judge needs --cases with new labels; dicast show FILE prints what the file contains."
            )
        return check_judge(judge, cases, lm=lm, timeout=timeout, progress=progress, **options)
    items = list(_environment(lm))
    if lm:
        with paced(pace_of(1, timeout, None, threading.Event(), progress)):
            items += _check_models(lm, progress)
    if cases is not None:
        source = case_source(cases)
        name = f"data {source.source}" if isinstance(source, CaseSource) else "data"
        with tempfile.TemporaryDirectory() as folder:
            items += _check_cases(stored(source, Path(folder)), name)
    return tuple(items)


def _environment(lm: str | None) -> Iterator[CheckItem]:
    yield CheckItem("python", sys.version_info >= (3, 11), f"{platform.python_version()} (3.11 or newer)")
    models = set(Roles.parse(lm).values()) if lm else {f"local/{weights.DEFAULT}"}
    has_local = any(model.startswith("local/") for model in models)
    for extra, (module, purpose) in EXTRAS.items():
        is_installed = importlib.util.find_spec(module) is not None
        text = module if is_installed else f"not installed; {purpose}. {install_hint(extra)}"
        yield CheckItem(f"extra {extra}", is_installed, text, is_needed=extra == "local" and has_local)
    yield CheckItem("store", _is_writable(home()), f"{home()} (set DICAST_HOME to move it)")
    is_fetched = weights.weights_path(weights.DEFAULT).is_file()
    advice = "" if is_fetched else f" is not fetched. dicast models get {weights.DEFAULT}"
    if not lm:
        yield CheckItem("default model", is_fetched, f"local/{weights.DEFAULT}{advice}")


def _is_writable(folder: Path) -> bool:
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)


def _check_models(lm: str, progress: Progress) -> list[CheckItem]:
    items = []
    for model in sorted(set(Roles.parse(lm).values())):
        try:
            prepare_model(model, progress.download)
            remember_address(model)
            lm = get_lm(model, cache=False)  # the store would answer for a server that is gone
            readable, text = asked_anew(lm)
            items.append(CheckItem(f"card {model}", True, card_text(lm)))
            items.append(CheckItem(f"model {model}", readable, text))
        except DicastError as error:
            items.append(CheckItem(f"model {model}", False, str(error)))
    return items


def _check_cases(source: CaseSource, name: str) -> list[CheckItem]:
    """Read every row; a bad one does not end the reading, and the first is named. Then what the labels can show."""
    labels, rows, cases, left_out = Counter[str](), LabelCount(), list[Case](), ExcludedCases()
    try:
        with tempfile.TemporaryDirectory() as folder, Rejects(Path(folder) / "rejects.jsonl") as rejects:
            for case in rows.counted(source.cases(rejects, left_out)):
                answer = "scores" if isinstance(case.label, Scores) or case.label is None else case.label.answer
                labels["none" if case.label is None else answer] += 1
                if len(cases) < COMPARED:
                    cases.append(case)
        if rejects.count:
            total = rows.rows + rejects.count
            return [CheckItem(name, False, f"{rejects.count} bad rows of {total}; {rejects.first}")]
    except DicastError as error:
        return [CheckItem(name, False, str(error))]
    if not rows.rows:
        return [CheckItem(name, False, str(no_case(source, left_out)))]
    text = ", ".join(f"{n} {label}" for label, n in labels.most_common())
    groups = join_groups(cases)
    notices = "".join(f"; {notice}" for notice in (groups.summary, _one_label(labels), rows.notice()) if notice)
    data = CheckItem(name, True, f"{cases_text(rows.rows)}; labels: {text}{notices}")
    return [data, *_what_labels_show(groups.apply(cases))]


def _one_label(labels: Mapping[str, int]) -> str:
    """A warning where all labels of several cases name the same winner."""
    named = [name for name in labels if name not in ("none", "scores")]
    if len(named) != 1 or labels[named[0]] < 2:
        return ""
    return (
        f"every label is {named[0]!r}, as where the chosen answer is always in the same place: a judge that prefers "
        "this place agrees with all of them. Exchange the candidates of a random half of the cases, and their labels"
    )


def _what_labels_show(cases: Sequence[Case]) -> Iterator[CheckItem]:
    """What these labels can show at all, claim by claim; nothing without a label that names a winner."""
    supply = label_supply(cases)
    if supply is None:
        return
    counts = f"{supply.labels:,} labels in {groups_text(supply.groups)}"
    like = f", like {supply.effective:,} independent ones at an intraclass correlation of {CORRELATION:g}"
    parts = ALL if supply.labels < FEW_LABELS else HALF
    if supply.labels < LEAST:
        parts = f"; dicast compile takes at least {LEAST}{ALL}"
    yield CheckItem("labels", True, counts + (like if supply.groups < supply.labels else "") + parts)
    for claim in label_claims():
        yield CheckItem("labels", True, claim_text(claim, supply), cells=claim_cells(claim, supply))
