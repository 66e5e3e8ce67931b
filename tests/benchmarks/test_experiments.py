"""docs/results/experiments.md: an experiment of each paper, commands that exist, and no change passes in silence."""

from pathlib import Path

import pytest

from dicast.benchmarks import experiments
from dicast.cli.experiment import run_experiment
from dicast.evaluation.results import Measure
from dicast.experiments import find_experiment
from dicast.experiments.results import ExperimentResult, ResultLine

ROOT = Path(__file__).parents[2]


def test_every_paper_has_one_and_its_command_is_known() -> None:
    papers = set()
    for name, (arguments, _) in experiments.STOPS.items():
        context = run_experiment.make_context("run", [name, *arguments.split()])
        papers.add(find_experiment(name).of_sets(context.params["only"]).content.paper)
    assert len(papers) == len(experiments.STOPS) == 5


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {},
            "the verdicts of before are unchanged, no case was judged twice. A third call took 3 s and",
        ),
        ({"unchanged": False}, "the verdicts of before HAVE CHANGED"),
        ({"twice": 2}, "2 CASES WERE JUDGED TWICE"),
        ({"same": False}, "CHANGED VERDICTS"),
    ],
)
def test_the_table_says_what_the_stop_changed(tmp_path: Path, change: dict[str, object], words: str) -> None:
    calls = tuple(experiments.Call(exit=code, seconds=3, verdicts=2) for code in (130, 0, 0))
    facts = {"began": "2026-11-22", "commit": "0123456", "calls": calls, "unchanged": True, "twice": 0, "same": True}
    line = ResultLine(
        cell="fennec", run="fennec", set="pairs", measure="accuracy", address="accuracy",
        ours=Measure(name="accuracy", value=0.5, low=0.1, high=0.9, n=2),
    )  # fmt: skip
    result = ExperimentResult(name="mine", title="agreement", lines=(line,), models=("local/m",), limit=2, seed=1)
    (tmp_path / "experiment.json").write_text(result.model_dump_json())
    (tmp_path / "stop.json").write_text(experiments.Stop.model_validate(facts | change).model_dump_json())
    text = experiments.section(tmp_path)
    assert "| fennec | accuracy | - | 0.500 \\[0.100, 0.900\\] | 2 |" in text
    assert words in text
