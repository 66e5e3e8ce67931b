"""Written answers that are drawn rather than greedy, each draw anew; what the user has set holds there too."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from ..engines.parallel import concurrently

SAMPLING_TEMPERATURE, SAMPLING_TOP_P = 0.7, 0.95  # arXiv 2406.11657, section 4; also of a second try
NESTED_SAMPLES = 1000  # the samples and attempts that one sample may hold

Result = TypeVar("Result")


@dataclass(frozen=True)
class Sampling:
    """How written answers are sampled; `number` makes equal questions separate calls."""

    temperature: float
    top_p: float | None
    number: int


_sampling: ContextVar[Sampling | None] = ContextVar("dicast_sampling", default=None)


def current_sampling() -> Sampling | None:
    """How the answers of this context are sampled; None: they are not."""
    return _sampling.get()


@contextmanager
def sampled(
    sample: int, *, temperature: float = SAMPLING_TEMPERATURE, top_p: float | None = SAMPLING_TOP_P
) -> Iterator[None]:
    """Sample the written answers of this context; `sample`, from 1, is its number. Probabilities are not sampled."""
    outer = _sampling.get()
    offset = outer.number * NESTED_SAMPLES if outer else 0
    token = _sampling.set(Sampling(temperature, top_p, offset + sample))
    try:
        yield
    finally:
        _sampling.reset(token)


def sample_answers(ask: Callable[[], Result], samples: int, **decoding: float) -> list[Result]:
    """`samples` answers, concurrently; a single one is greedy, unless its stage has a temperature.

    `decoding` as for `sampled`.
    """
    if samples == 1:
        return [ask()]

    def answer(number: int) -> Result:
        with sampled(number, **decoding):
            return ask()

    return concurrently(answer, range(1, samples + 1))
