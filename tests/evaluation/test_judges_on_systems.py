"""Two judges' rankings of systems by mean scores, against scipy."""

import numpy as np
import pytest
from scipy import stats

from dicast.data import Judged
from dicast.evaluation.answer_table import answer_table
from dicast.evaluation.judge_agreement import judge_agreement
from dicast.evaluation.run_arrays import run_arrays


def run_of(seed: int, systems: int, *, named: bool = True) -> list[Judged]:
    random = np.random.default_rng(seed)
    return [
        Judged(
            case_id=f"{prompt} {system}", scores=(float(system + random.normal(0, 2)),), group=str(prompt),
            systems=(f"s{system}",) if named else (), lengths=(10,),
        )
        for prompt in range(12)
        for system in range(systems)
    ]  # fmt: skip


def test_the_means_of_the_systems_are_correlated() -> None:
    first, second = run_of(1, 6), run_of(2, 6)
    means = [[float(np.mean([one.scores[0] for one in run if one.scores and one.systems == (f"s{system}",)]))
              for system in range(6)] for run in (first, second)]  # fmt: skip
    found = judge_agreement(answer_table([("x", run_arrays(first)), ("y", run_arrays(second))]))
    values = {measure.name: measure for measure in found.pairs[0].measures}
    for name, by in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr), ("kendall", stats.kendalltau)):
        assert values[f"systems {name}"].value == pytest.approx(by(means[0], means[1]).statistic)
        assert values[f"systems {name}"].n == 6
        assert values[f"systems {name}"].low is not None


@pytest.mark.parametrize(("systems", "named"), [(2, True), (6, False)])
def test_without_three_known_systems_there_is_no_ranking(systems: int, named: bool) -> None:
    runs = [(name, run_arrays(run_of(seed, systems, named=named))) for seed, name in enumerate("xy")]
    assert [measure.name for measure in judge_agreement(answer_table(runs)).pairs[0].measures] == ["spearman"]
