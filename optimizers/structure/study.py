"""The journal of a search: finished trials in an Optuna study, and what to try next as a function of them alone.

Only finished trials are written, one line each, so a kill at any moment leaves a journal without half trials. The
next structure is proposed by a fresh sampler whose seed is drawn from the search's seed and the trial's number, over
the finished trials: a search that was resumed proposes what an undisturbed one would have. For the same reason trials
run one after another: with several at once the proposals would depend on which of them ended first.

One objective: TPE (Bergstra et al. 2011). Two: NSGA-II (Deb et al. 2002). In place of a structure that was tried
already one near to it is tried. The file opens in Optuna's tools: `JournalStorage(JournalFileBackend(path))`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...data.case import Record
from ...engines.jsonl import drop_unfinished_line
from ...errors import DeclarationError, RunError
from .pareto import Trial
from .racing import Look
from .space import Point, Space

if TYPE_CHECKING:
    import optuna

NAME = "structure"
STARTUP = 10  # random structures before TPE has seen enough
POPULATION = 8  # of NSGA-II; Optuna's 50 would be a random search of some dozen trials
LISTED = 20_000  # structures at most to be listed when looking for an untried one


class Attempt(Record):
    """A trial with what was seen at each look."""

    trial: Trial
    looks: tuple[Look, ...]


@dataclass(frozen=True)
class Proposal:
    """What to try next; `notes` are the sampler's own, such as NSGA-II's generation."""

    point: Point
    notes: Mapping[str, Any]


class Study:
    """The finished trials of one search and the next proposal.

    Args:
        path: of the journal; made when it is not there.
        identity: what the search is of; a journal of another search is refused.
        two: cost is an objective as well.

    Raises:
        RunError: the journal is of another search, or is damaged.
        DeclarationError: Optuna is not installed.
    """

    def __init__(self, path: Path, space: Space, identity: Mapping[str, Any], *, two: bool, seed: int) -> None:
        self.space, self.two, self.seed = space, two, seed
        with _optuna() as optuna:
            self._study = _opened(optuna, path, dict(identity), self._directions)
            self._distributions = {
                name: optuna.distributions.CategoricalDistribution(tuple(range(len(values))))
                for name, values in space.values.items()
            }
        self.attempts: list[Attempt] = []
        self.told: list[list[float]] = []
        self._tried: set[Point] = set()
        self._history: list[Any] = []
        for trial in self._study.get_trials(deepcopy=False):
            self._take(trial)

    def propose(self) -> Proposal | None:
        """The next structure to try; None when all have been tried. The first is the judge as it stands."""
        number = len(self.attempts)
        rng = np.random.default_rng([self.seed, number])
        point, notes = self._asked(int(rng.integers(2**32)))
        if number == 0:
            return Proposal(self.space.start, notes)
        untried = point if point not in self._tried else self._nearest_untried(point, rng)
        return None if untried is None else Proposal(untried, notes)

    def add(self, proposal: Proposal, attempt: Attempt, told: list[float]) -> None:
        """Write a finished trial; `told` are its worth (higher is better) and, of two, its cost."""
        with _optuna() as optuna:
            self._study.add_trial(
                optuna.trial.create_trial(
                    values=told,
                    params=dict(zip(self.space.values, proposal.point, strict=True)),
                    distributions=dict(self._distributions),
                    user_attrs={"attempt": attempt.model_dump(mode="json")},
                    system_attrs=dict(proposal.notes),
                )
            )
        self._take(self._study.get_trials(deepcopy=False)[-1])

    @property
    def _directions(self) -> list[str]:
        return ["maximize", "minimize"] if self.two else ["maximize"]

    def _take(self, trial: "optuna.trial.FrozenTrial") -> None:
        # Read back as a resumed search reads it, so that the two cannot differ.
        self.attempts.append(Attempt.model_validate(trial.user_attrs["attempt"]))
        self.told.append(list(trial.values))
        light = copy(trial)  # samplers' studies copy what they are given; they need no looks
        light.user_attrs = {}
        self._history.append(light)
        self._tried.add(self.space.distinct(tuple(trial.params[name] for name in self.space.values)))

    def _asked(self, seed: int) -> tuple[Point, dict[str, Any]]:
        """What a fresh sampler proposes after the finished trials, and its notes."""
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
        """An untried structure that differs from this one in few settings; None when all have been tried."""
        if self.space.size <= LISTED:
            left = sorted({self.space.distinct(one) for one in self.space.points()} - self._tried)
            apart = [sum(one != other for one, other in zip(point, each, strict=True)) for each in left]
            nearest = [each for each, distance in zip(left, apart, strict=True) if distance == min(apart)]
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
    Path(f"{path}.lock").unlink(missing_ok=True)  # a kill may leave Optuna's lock; the folder's own lock is held
    try:
        storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(path)))
        study = optuna.create_study(storage=storage, study_name=NAME, directions=directions, load_if_exists=True)
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path}: not a journal of a search ({error}). Delete it, and search again.") from None
    before = study.user_attrs.get("identity")
    if before is None and not study.trials:
        study.set_user_attr("identity", identity)
    for name in identity:
        if before is not None and before.get(name) != identity[name]:
            raise RunError(
                f"{path}: holds a search with {name} = {before.get(name)!r}, now it is {identity[name]!r}. "
                "Give another folder, or delete the file."
            )
    return study  # type: ignore[no-any-return]


@contextmanager
def _optuna() -> "Iterator[Any]":
    """Optuna, imported when it is first needed and kept from telling every study that it makes."""
    try:
        import optuna
    except ImportError:
        raise DeclarationError("structure search needs Optuna. pip install optuna") from None
    loud = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield optuna
    finally:
        optuna.logging.set_verbosity(loud)
