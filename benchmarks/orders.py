"""Run folders side by side: accuracy in each order alone and merged, agreement, consistency, paired exact tests.

    python benchmarks/orders.py runs/both runs/pairwise runs/asked runs/longer

All runs must hold the same labelled pairs. The first run is tested against each other one (McNemar, exact), merged
verdict against merged verdict and against the other run's order "ab" alone.
"""

import sys
from pathlib import Path

from scipy.stats import binomtest

from dicast.data import Judged, Winner
from dicast.engines.runner import read_verdicts
from dicast.evaluation import Proportion
from dicast.programs.merge import conclude

Winners = dict[str, str | int | None]


def in_order(run: dict[str, Judged], order: str) -> Winners | None:
    """Each pair's winner from the findings of one order (and those without any); None for a run in one order."""
    winners: Winners = {}
    for case_id, judged in run.items():
        findings = [finding for finding in judged.findings if finding.order in (order, None)]
        if len(findings) == len(judged.findings):
            return None
        winners[case_id] = conclude(findings, 2)["winner"]
    return winners


def told(hits: int, n: int) -> str:
    share = Proportion(hits, n)
    low, high = share.interval
    return f"{share.value:.3f} [{low:.3f}, {high:.3f}] ({hits}/{n})"


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    runs = {path: {judged.case_id: judged for judged in read_verdicts(Path(path))} for path in sys.argv[1:]}
    first, *others = runs
    if any(set(run) != set(runs[first]) for run in runs.values()):
        sys.exit("orders: the runs hold different cases. Give runs of the same cases.")
    truth = {case_id: j.label.value for case_id, j in runs[first].items() if isinstance(j.label, Winner)}
    merged: dict[str, Winners] = {}
    alone: dict[str, Winners] = {}
    for name, run in runs.items():
        merged[name] = {case_id: run[case_id].winner for case_id in truth}
        print(name)
        print(f"  merged       {told(sum(merged[name][c] == truth[c] for c in truth), len(truth))}")
        ab, ba = in_order(run, "ab"), in_order(run, "ba")
        if ab is None or ba is None:
            continue
        alone[name] = ab
        print(f"  order ab     {told(sum(ab[c] == truth[c] for c in truth), len(truth))}")
        print(f"  order ba     {told(sum(ba[c] == truth[c] for c in truth), len(truth))}")
        print(f"  consistency  {told(sum(ab[c] == ba[c] for c in truth), len(truth))}")
        print(f"  agreement    {told(sum(ab[c] == ba[c] == truth[c] for c in truth), len(truth))}")
    for name in others:
        rivals = {"merged": merged[name]} | ({"order ab": alone[name]} if name in alone else {})
        for what, rival in rivals.items():
            wins = sum(merged[first][c] == truth[c] != rival[c] for c in truth)
            losses = sum(rival[c] == truth[c] != merged[first][c] for c in truth)
            p = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
            print(f"{first} against {name} {what}: right alone {wins} to {losses}, McNemar exact p = {p:.2g}")


if __name__ == "__main__":
    main()
