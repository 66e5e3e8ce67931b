"""Every way to judge on the same labels, the same splits and the same local model: a table with intervals and costs.

    python benchmarks/quality.py --lm local/qwen2.5-coder-1.5b --sets pandalm --folder quality
    python benchmarks/quality.py --lm local/smollm2-135m --sets authored --folder quality --splits 3

Each judge runs once over a set and keeps its verdicts in the folder, so that the same command continues. Half of the
groups (prompts, persons; `--learn`) are learnt from and the others are judged, in `--splits` dealings; a rival without
labels judges the same cases. A figure is of every case's mean over the dealings in which it was judged: accuracy of
three labels for pairs, accuracy for choices, Spearman by aspect for texts. Intervals and differences leave out whole
groups (`stats.bootstrap`); all rivals are printed, whatever they reach.

`--prompts gepa,miprov2,simba` runs DSPy's optimizers on the first dealing (`--prompt-minutes` each; they judge
`--prompt-cases` of its other half), `--external NAME=FILE.jsonl` adds the verdicts that another tool gave on the first
dealing (`{"id": ..., "winner": ...}`), whose parts `--write-split FOLDER` writes. A difference is of the cases that
both judged.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import dicast
from dicast.benchmarks.quality_rivals import (
    OF_QUESTIONS,
    OTHERS,
    PAIRS,
    SETS,
    Recorded,
    Set,
    cost_of,
    judged,
    length_verdict,
    recorded,
)  # fmt: skip
from dicast.benchmarks.quality_table import Row, figure_of, row_of, table
from dicast.data import Case, Verdict
from dicast.data.split import sample, split
from dicast.judging.judge import Judge
from dicast.judging.judge_file import save
from dicast.optimizers.head.fit import TooFewVerdicts


def parts_of(cases: Sequence[Case], seed: int, share: float) -> dict[str, list[Case]]:
    """A dealing of whole groups; `share` of them are learnt from."""
    return split(cases, parts={"learn": share, "judge": 1 - share}, seed=seed)


def rows_of(
    data: Recorded, chosen: Set, splits: int, external: Mapping[str, Path], share: float, only: str
) -> list[Row]:
    """Every rival on every dealing."""
    cases, column = data.cases, 0 if data.cases[0].label and data.cases[0].label.winner is not None else 1
    number = {case.id: index for index, case in enumerate(cases)}
    dealings = [
        {name: [number[case.id] for case in part] for name, part in parts_of(cases, seed, share).items()}
        for seed in range(1, splits + 1)
    ]
    rows = [
        row_of(
            "longer", [(d["judge"], [length_verdict(cases[i]) for i in d["judge"]]) for d in dealings], cases, column
        )
    ]
    for rival in (*(PAIRS if cases[0].is_pair else OTHERS), *OF_QUESTIONS):
        judge = rival.judge or chosen.judge
        if judge not in data.verdicts or only not in rival.name:
            continue
        try:
            verdicts = [(d["judge"], judged(rival, data, judge, d["learn"], d["judge"])) for d in dealings]
        except TooFewVerdicts as error:
            print(f"{rival.name}: left out, {error}", flush=True)
            continue
        calls, tokens = cost_of(rival, data, judge)
        row = replace(row_of(rival.name, verdicts, cases, column), calls=calls, tokens=tokens)
        rows.append(row)
        print(f"{rival.name}: {figure_of(row, data).value:.3f}", flush=True)
    for name, file in external.items():
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        indices = [number[line["id"]] for line in lines]
        answers = [Verdict(case_id=line["id"], winner=line["winner"]) for line in lines]
        rows.append(row_of(name, [(indices, answers)], cases, column))
    return rows


def prompted(
    name: str,
    methods: Sequence[str],
    data: Recorded,
    chosen: Set,
    lm: str,
    folder: Path,
    minutes: float,
    limit: int | None,
) -> list[Row]:
    """DSPy's prompt optimizers on the first dealing: prompts are searched on the learning half, three to one."""
    from dicast.engines.ledger import Budget
    from dicast.optimizers.prompts.optimise import optimise_prompts
    from dicast.optimizers.recipe import Recipe

    parts, rows = parts_of(data.cases, 1, 0.5), []
    train, select = split(parts["learn"], parts={"train": 0.75, "select": 0.25}, seed=1).values()
    number = {case.id: index for index, case in enumerate(data.cases)}
    judged_cases = list(sample(parts["judge"], limit, 1))
    for method in methods:
        file = folder / f"{name}-{method}.judge.json"
        if not file.exists():
            judge: Judge = dicast.judge(chosen.judge, lm=lm, **{**chosen.settings, **chosen.prompted})
            recipe = Recipe(prompts=method, demos=2, prompt_trials=6)
            options = recipe.prompt_options("accuracy", 1, Budget(minutes=minutes))
            save(optimise_prompts(judge, train, select, options).judge, file)
        run = dicast.run(dicast.judge(str(file), lm=lm), judged_cases, out=folder / f"{name}-{method}")
        by_id = {verdict.case_id: verdict for verdict in run.verdicts()}
        indices = [number[case.id] for case in judged_cases]
        row = row_of(f"{method} (DSPy)", [(indices, [by_id[data.cases[i].id] for i in indices])], data.cases, 0)
        usage = run.evaluate().usage
        n = len(indices)
        rows.append(replace(row, calls=(usage.calls + usage.cached) / n, tokens=(usage.total_tokens or 0.0) / n))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lm", default="local/qwen2.5-coder-1.5b", help="the local model of every rival")
    parser.add_argument("--sets", default="pandalm", help=f"with commas: {', '.join(SETS)}")
    parser.add_argument("--folder", type=Path, default=Path("quality"), help="keeps the runs and the tables")
    parser.add_argument("--splits", type=int, default=10, help="dealings into a part to learn from and one to judge")
    parser.add_argument("--learn", type=float, default=0.5, help="the proportion of the groups that is learnt from")
    parser.add_argument("--only", default="", help="rivals whose name contains this")
    parser.add_argument("--prompts", default="", help="DSPy optimizers on the first dealing: gepa,miprov2,simba")
    parser.add_argument("--prompt-minutes", type=float, default=20, help="of each of them")
    parser.add_argument("--prompt-cases", type=int, help="judge so many cases of the other half with what they write")
    parser.add_argument("--external", action="append", default=[], metavar="NAME=FILE", help="verdicts of another tool")
    parser.add_argument("--write-split", type=Path, help="write learn.jsonl and judge.jsonl of the first dealing here")
    arguments = parser.parse_args()
    for name in arguments.sets.split(","):
        data = recorded(name, SETS[name], arguments.lm, arguments.folder)
        if arguments.write_split:
            arguments.write_split.mkdir(parents=True, exist_ok=True)
            for part, cases in parts_of(data.cases, 1, 0.5).items():
                text = "".join(case.model_dump_json() + "\n" for case in cases)
                (arguments.write_split / f"{part}.jsonl").write_text(text, encoding="utf-8")
        external = {label: Path(file) for label, _, file in (item.partition("=") for item in arguments.external)}
        rows = rows_of(data, SETS[name], arguments.splits, external, arguments.learn, arguments.only)
        if arguments.prompts:
            methods, minutes, limit = arguments.prompts.split(","), arguments.prompt_minutes, arguments.prompt_cases
            rows += prompted(name, methods, data, SETS[name], arguments.lm, arguments.folder, minutes, limit)
        text = table(name, rows, data)
        (arguments.folder / f"{name}.md").write_text(text, encoding="utf-8")
        print(text, flush=True)


if __name__ == "__main__":
    main()
