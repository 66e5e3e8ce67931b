"""Training libraries without what they print: progress bars, advice, and warnings about their own next version."""

import contextlib
import warnings
from collections.abc import Iterator

from ..engines.torch_models.torch_import import quiet, torch_and_transformers


@contextlib.contextmanager
def quiet_libraries() -> Iterator[None]:
    """transformers, trl, peft and datasets write nothing to standard error inside; errors are raised as ever."""
    import datasets

    _, transformers = torch_and_transformers("A training", "train")
    bars = datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        with quiet(transformers), warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # trl uses names that transformers renames
            yield
    finally:
        if not bars:
            datasets.enable_progress_bars()
