"""Closed formulas that are written out, because scipy.stats takes longer to import than a run of a few cases."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import special, stats

from dicast.stats.proportions import Proportion
from dicast.stats.resampling import quantile, wilson

ROOT = Path(__file__).parents[2]


def test_wilsons_interval_is_scipys() -> None:
    random = np.random.default_rng(0)
    sizes = [*range(1, 40), *map(int, np.exp(random.uniform(0, 14, size=200)))]
    for n in sizes:
        for hits in {0, 1, n // 3, n // 2, n - 1, n, int(random.integers(0, n + 1))}:
            theirs = stats.binomtest(hits, n).proportion_ci(0.95, method="wilson")
            assert Proportion(hits, n).interval == pytest.approx((theirs.low, theirs.high), rel=1e-12, abs=1e-12)
            theirs = stats.binomtest(hits, n).proportion_ci(0.8, method="wilson")
            assert wilson(hits / n, n, quantile(0.8)) == pytest.approx((theirs.low, theirs.high), rel=1e-12, abs=1e-12)


def test_the_normal_quantile_is_scipys() -> None:
    levels = [*np.linspace(0.001, 0.999, 999), 1e-9, 1 - 1e-9]
    assert [quantile(level) for level in levels] == pytest.approx(special.ndtri((1 + np.array(levels)) / 2), rel=1e-12)


RUN = """
import sys
from dicast.cli import run
arguments = ["judge", "--judge", "longer", "--cases", "authored", "--out", sys.argv[1]]
assert run(arguments) == 0
loaded = "scipy.stats" in sys.modules
assert run(["evaluate", sys.argv[1], "--json"]) == 0
print(loaded, "scipy.stats" in sys.modules, file=sys.stderr)
"""


def test_a_run_and_its_evaluation_import_no_scipy_stats(tmp_path: Path) -> None:
    """Intervals of proportions are formulas; Student's quantile, for the whole evaluation, is of scipy.special."""
    command = [sys.executable, "-c", RUN, str(tmp_path / "out")]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT.parent, timeout=120)
    assert ended.stderr.split("\n")[-2:] == ["False False", ""]
