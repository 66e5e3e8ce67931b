"""The journal of a search: finished trials in an Optuna study, and the next proposal as a function of them.

Only finished trials are written, in one line per trial, so a kill at any moment leaves a journal of whole trials. A new
sampler proposes the next structure from the finished trials; its seed is computed from the seed of the search and the
number of the trial. So a resumed search proposes what an uninterrupted one would have. For the same reason trials run
one after another: in parallel, proposals would depend on which trial ended first.

One objective: TPE (Bergstra et al. 2011). Two: NSGA-II (Deb et al. 2002). If the proposed structure was tried already,
a similar structure is tried. The file opens in Optuna's tools: `JournalStorage(JournalFileBackend(path))`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from ...data.case import Record
from ...engines.jsonl import drop_unfinished_line
from ...errors import DeclarationError, RunError, install_hint
from ...parsing import shown
from .pareto import StructureTrial
from .racing import Interim
from .space import Point, Space

if TYPE_CHECKING:
    import optuna

NAME = "structure"
STARTUP = 10  # random structures before TPE has seen enough
POPULATION = 8  # of NSGA-II; with Optuna's 50, a search of some dozen trials would be random
LISTED = 20_000  # the most structures that are listed to find an untried one


class TrialRecord(Record):
    """A trial with its interim results, as the journal holds it."""

    trial: StructureTrial = Field(description="settings and final results")
    interims: tuple[Interim, ...] = Field(description="the results after each slice")


@dataclass(frozen=True)
class Proposal:
    """The structure to try next; `notes` are those of the sampler, such as NSGA-II's generation."""

    point: Point
    notes: Mapping[str, Any]


class Study:
    """The finished trials of one search and the next proposal.

    Args:
        path: of the journal, which is created if it does not exist.
        identity: of the search; the journal of another search is refused.
        two: whether cost is a second objective.

    Raises:
        RunError: the journal is of another search, or is damaged.
        DeclarationError: Optuna is not installed.
    """

    def __init__(self, path: Path, space: Space, identity: Mapping[str, Any], *, two: bool, seed: int) -> None:
        self.path, self.space, self.two, self.seed = path, space, two, seed
        with _optuna() as optuna:
            self._study = _opened(optuna, path, dict(identity), self._directions)
            self._distributions = {
                name: optuna.distributions.CategoricalDistribution(tuple(range(len(values))))
                for name, values in space.values.items()
            }
        self.records: list[TrialRecord] = []
        self.values: list[list[float]] = []
        self._tried: set[Point] = set()
        self._history: list[Any] = []
        for trial in self._study.get_trials(deepcopy=False):
            self._take(trial)

    def propose(self) -> Proposal | None:
        """The next structure to try; None if all have been tried. The first is the judge before the search."""
        number = len(self.records)
        rng = np.random.default_rng([self.seed, number])
        point, notes = self._proposed(int(rng.integers(2**32)))
        if number == 0:
            return Proposal(self.space.start, notes)
        untried = point if point not in self._tried else self._nearest_untried(point, rng)
        return None if untried is None else Proposal(untried, notes)

    def add(self, proposal: Proposal, record: TrialRecord, values: list[float]) -> None:
        """Append a finished trial.

        Args:
            values: the utility (higher is better) and, with two objectives, the cost.
        """
        with _optuna() as optuna:
            self._study.add_trial(
                optuna.trial.create_trial(
                    values=values,
                    params=dict(zip(self.space.values, proposal.point, strict=True)),
                    distributions=dict(self._distributions),
                    user_attrs={"record": record.model_dump(mode="json")},
                    system_attrs=dict(proposal.notes),
                )
            )
        self._take(self._study.get_trials(deepcopy=False)[-1])

    @property
    def _directions(self) -> list[str]:
        return ["maximize", "minimize"] if self.two else ["maximize"]

    def _take(self, trial: "optuna.trial.FrozenTrial") -> None:
        # Read back as a resumed search reads it, so that the two cannot differ.
        try:
            self.records.append(TrialRecord.model_validate(trial.user_attrs["record"]))
        except (KeyError, ValueError):
            raise RunError(
                f"{self.path}: another version of dicast wrote this search. Delete the file, and search again."
            ) from None
        self.values.append(list(trial.values))
        light = copy(trial)  # the samplers' studies copy their trials, and need no records
        light.user_attrs = {}
        self._history.append(light)
        self._tried.add(self.space.distinct(tuple(trial.params[name] for name in self.space.values)))

    def _proposed(self, seed: int) -> tuple[Point, dict[str, Any]]:
        """The proposal of a new sampler after the finished trials, and its notes."""
        with _optuna() as optuna:
            sampler = (
                optuna.samplers.NSGAIISampler(seed=seed, population_size=POPULATION)
                if self.two
                else optuna.samplers.TPESampler(seed=seed, n_startup_trials=STARTUP)
            )
            study = optuna.create_study(directions=self._directions, sampler=sampler)
            study.add_trials(self._history)
            params = study.ask(self._distributions).params
            notes = study.get_trials(deepcopy=False)[-1].system_attrs
        return self.space.distinct(tuple(params[name] for name in self.space.values)), dict(notes)

    def _nearest_untried(self, point: Point, rng: np.random.Generator) -> Point | None:
        """An untried structure with few settings that differ from these; None if all have been tried."""
        if self.space.size <= LISTED:
            left = sorted({self.space.distinct(candidate) for candidate in self.space.points()} - self._tried)
            distances = [sum(a != b for a, b in zip(point, candidate, strict=True)) for candidate in left]
            nearest = [
                candidate for candidate, distance in zip(left, distances, strict=True) if distance == min(distances)
            ]
            return nearest[rng.integers(len(nearest))] if nearest else None
        sizes = [len(values) for values in self.space.values.values()]
        while point in self._tried:
            place = int(rng.integers(len(sizes)))
            changed = (*point[:place], int(rng.integers(sizes[place])), *point[place + 1 :])
            point = self.space.distinct(changed)
        return point


def _opened(optuna: Any, path: Path, identity: dict[str, Any], directions: list[str]) -> "optuna.Study":
    path.parent.mkdir(parents=True, exist_ok=True)
    drop_unfinished_line(path)
    Path(f"{path}.lock").unlink(missing_ok=True)  # a kill may leave Optuna's lock; ours on the folder is taken
    try:
        storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(path)))
        study = optuna.create_study(storage=storage, study_name=NAME, directions=directions, load_if_exists=True)
        trials, before = study.trials, study.user_attrs.get("identity")
    except Exception as error:  # Optuna trusts its journal: any type of error comes of lines that are not its own
        reason = f"{type(error).__name__}: {str(error)[:200]}"
        raise RunError(f"{path}: not a journal of a search ({reason}). Delete it, and search again.") from None
    if before is not None and not isinstance(before, dict):
        raise RunError(f"{path}: its identity is {shown(before)}. Delete it, and search again.")
    if before is None and not trials:
        study.set_user_attr("identity", identity)
    for name in identity:
        if before is not None and before.get(name) != identity[name]:
            raise RunError(
                f"{path}: holds a search with {name} = {before.get(name)!r}, now it is {identity[name]!r}. "
                "Give another folder, or delete the file."
            )
    return study  # type: ignore[no-any-return]


def check_optuna() -> None:
    """Raises DeclarationError, with both remedies, where Optuna is not installed; nothing is imported."""
    if find_spec("optuna") is None:
        hint = install_hint("search")
        raise DeclarationError(f"structure search needs Optuna. {hint}; or leave the search out: --trials 0")


@contextmanager
def _optuna() -> "Iterator[Any]":
    """Optuna, imported on first use, without its log lines about every new study."""
    try:
        import optuna
    except ImportError:
        raise DeclarationError(f"structure search needs Optuna. {install_hint('search')}") from None
    loud = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield optuna
    finally:
        optuna.logging.set_verbosity(loud)
