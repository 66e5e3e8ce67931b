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
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

import dicast
from dicast.data import Case, Finding, Scores, Verdict
from dicast.data.split import sample, split
from dicast.evidence.source_spec import SourceSpec
from dicast.judging.aggregate import aggregate_findings
from dicast.judging.judge import Judge
from dicast.judging.judge_file import save
from dicast.optimizers.head.fit import TooFewVerdicts, fit
from dicast.stats.resampling import Estimate, bootstrap
from dicast.workflows.case_source import CaseSource

Floats = NDArray[np.float64]
Vectors = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Set:
    """A set of labelled cases and the judge whose evidence is recorded on it."""

    source: CaseSource
    judge: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    groups: int | None = None  # at most, drawn with seed 1
    extra: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # further judges and their settings
    prompted: Mapping[str, Any] = field(default_factory=dict)  # settings of the judge whose prompts are searched


QUESTIONS: Mapping[str, Mapping[str, Any]] = {"questions": {"bank": "short"}}
LETTERS = {"grading": "pairwise"}
SETS = {
    "authored": Set(CaseSource("authored"), "direct", extra=QUESTIONS, prompted=LETTERS),
    "pandalm": Set(CaseSource("pandalm"), "direct", extra=QUESTIONS, prompted=LETTERS),
    "autoj": Set(CaseSource("autoj", max_chars=1500), "direct", prompted=LETTERS),
    "openmeva": Set(CaseSource("openmeva"), "direct"),
    "summeval": Set(CaseSource("summeval"), "direct", groups=20),
    "prism": Set(CaseSource("prism"), "persona", groups=60),
    "prefeval-mcq": Set(CaseSource("prefeval-mcq"), "zero-shot", {"readout": "probability"}),
}


@dataclass(frozen=True)
class Rival:
    """A way to judge.

    Attributes:
        keeps: which findings of the recorded verdict it may use; None: it has no verdict to use.
        sources: of evidence besides.
        fits: whether a head is fitted to the labels of the learning half.
        neighbours: whether the nearest labelled texts vote too.
        judge: whose verdicts; empty: the set's judge.
    """

    name: str
    keeps: Callable[[Finding], bool] | None
    sources: tuple[str, ...] = ()
    fits: bool = False
    neighbours: bool = False
    judge: str = ""


def everything(finding: Finding) -> bool:
    return True


def first_order(finding: Finding) -> bool:
    return finding.order == "ab"


def both_orders(finding: Finding) -> bool:
    return finding.order is not None


PAIRS = (
    Rival("letters, asked in one order", first_order),
    Rival("letters, both orders", both_orders),
    Rival("letters and scores (direct)", everything),
    Rival("head on letters", both_orders, fits=True),
    Rival("head on letters and scores", everything, fits=True),
    Rival("state alone", None, ("state",), fits=True),
    Rival("head on letters, scores and state", everything, ("state",), fits=True),
    Rival("the same with neighbours' votes", everything, ("state",), fits=True, neighbours=True),
)
OTHERS = (
    Rival("asked once", everything),
    Rival("head on the answer", everything, fits=True),
    Rival("state alone", None, ("state",), fits=True),
    Rival("head on the answer and state", everything, ("state",), fits=True),
)
OF_QUESTIONS = (
    Rival("questions", everything, judge="questions"),
    Rival("head on questions", everything, fits=True, judge="questions"),
    Rival("head on questions and state", everything, ("state",), fits=True, judge="questions"),
)


@dataclass
class Recorded:
    """The cases of a set, what each judge said of them, and their vectors."""

    cases: list[Case]
    verdicts: dict[str, list[Verdict]]
    vectors: list[Vectors]
    specs: dict[str, SourceSpec]
    tokens: dict[str, float]  # of a call, by judge

    @property
    def groups(self) -> NDArray[np.intp]:
        return np.unique([case.split_key for case in self.cases], return_inverse=True)[1]


def recorded(name: str, chosen: Set, lm: str, folder: Path) -> Recorded:
    """Run the set's judges over it, or read their runs where they are done."""
    cases = list(sample(chosen.source.cases(), None, 1, limit_groups=chosen.groups))
    cases = [case for case in cases if case.label is not None]
    verdicts: dict[str, list[Verdict]] = {}
    tokens: dict[str, float] = {}
    for judge, settings in {chosen.judge: chosen.settings, **chosen.extra}.items():
        run = dicast.run(dicast.JudgeSpec(judge, lm, dict(settings)), cases, out=folder / f"{name}-{judge}")
        by_id = {verdict.case_id: verdict for verdict in run.verdicts()}
        verdicts[judge] = [by_id[case.id] for case in cases]
        usage = run.evaluate().usage
        tokens[judge] = (usage.total_tokens or 0.0) / max(1, usage.calls + usage.cached)
    probe = dicast.judge("probe", lm=lm)
    run = dicast.run(probe, cases, out=folder / f"{name}-probe")
    usage = run.evaluate().usage
    tokens["state"] = (usage.total_tokens or 0.0) / max(1, usage.calls + usage.cached)
    specs = {source.name: source.spec for source in probe.sources()}
    return Recorded(cases, verdicts, [probe.read_vectors(case) for case in cases], specs, tokens)


def restricted(case: Case, verdict: Verdict, rival: Rival) -> Verdict:
    """The verdict by the findings that a rival may use; without any it knows nothing."""
    if rival.keeps is everything or verdict.status != "scored":
        return verdict
    findings = tuple(finding for finding in verdict.findings if rival.keeps and rival.keeps(finding))
    if not findings:
        return Verdict(case_id=case.id, winner="tie" if case.is_pair else 0, scores=(0.0,) * len(case.candidates))
    return Verdict(case_id=case.id, findings=findings, **aggregate_findings(findings, len(case.candidates)))


def judged(rival: Rival, data: Recorded, judge: str, learn: Sequence[int], rest: Sequence[int]) -> list[Verdict]:
    """The verdicts of a rival on the judged half."""
    verdicts = [restricted(case, v, rival) for case, v in zip(data.cases, data.verdicts[judge], strict=True)]
    if not rival.fits:
        return [verdicts[index] for index in rest]
    head = fit(
        [data.cases[index] for index in learn],
        [verdicts[index] for index in learn],
        sources=data.specs if rival.sources else None,
        vectors=[data.vectors[index] for index in learn] if rival.sources else None,
        neighbours=rival.neighbours,
    ).head
    return [head(data.cases[i], verdicts[i], data.vectors[i] if rival.sources else None) for i in rest]


def values_of(case: Case, verdict: Verdict) -> tuple[float, float]:
    """Whether the verdict is the label, and its score; NaN where it has none. An unscored verdict is wrong."""
    label = case.label.winner if case.label is not None else None
    right = math.nan if label is None else float(verdict.status == "scored" and verdict.winner == label)
    score = verdict.scores[0] if verdict.scores and len(case.candidates) == 1 else math.nan
    return right, score


def length_verdict(case: Case) -> Verdict:
    """The longer text wins; of single texts the length is the score."""
    lengths = [len(candidate.text) for candidate in case.candidates]
    if len(lengths) == 1:
        return Verdict(case_id=case.id, scores=(float(lengths[0]),))
    best = max(lengths)
    names: Sequence[Any] = ("a", "b") if case.is_pair else range(len(lengths))
    longest = [name for name, length in zip(names, lengths, strict=True) if length == best]
    return Verdict(case_id=case.id, winner=longest[0] if len(longest) == 1 or not case.is_pair else "tie")


@dataclass(frozen=True)
class Row:
    """A rival on a set: per case and dealing whether it is right, or its score; NaN where it was not judged."""

    name: str
    values: Floats  # (dealings, n)
    calls: float
    tokens: float

    @property
    def means(self) -> Floats:
        """(n,) means over the dealings in which the case was judged."""
        seen = np.isfinite(self.values)
        means: Floats = np.where(seen, self.values, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
        return means


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
        _row("longer", [(d["judge"], [length_verdict(cases[i]) for i in d["judge"]]) for d in dealings], cases, column)
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
        calls, tokens = _cost(rival, data, judge)
        row = replace(_row(rival.name, verdicts, cases, column), calls=calls, tokens=tokens)
        rows.append(row)
        print(f"{rival.name}: {_figure(row, data).value:.3f}", flush=True)
    for name, file in external.items():
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        indices = [number[line["id"]] for line in lines]
        answers = [Verdict(case_id=line["id"], winner=line["winner"]) for line in lines]
        rows.append(_row(name, [(indices, answers)], cases, column))
    return rows


def _row(
    name: str, dealings: Sequence[tuple[Sequence[int], Sequence[Verdict]]], cases: Sequence[Case], column: int
) -> Row:
    values = np.full((len(dealings), len(cases)), math.nan)
    for dealing, (indices, verdicts) in enumerate(dealings):
        for index, verdict in zip(indices, verdicts, strict=True):
            values[dealing, index] = values_of(cases[index], verdict)[column]
    return Row(name, values, 0.0, 0.0)


def _cost(rival: Rival, data: Recorded, judge: str) -> tuple[float, float]:
    """Mean calls and tokens of a verdict: a finding in one order is a call, any other one for each candidate."""
    calls = 0.0
    for case, verdict in zip(data.cases, data.verdicts[judge], strict=True):
        used = [finding for finding in verdict.findings if rival.keeps and rival.keeps(finding)]
        calls += sum(1 if finding.order else len(case.candidates) for finding in used)
    reads = sum(len(case.candidates) for case in data.cases) if rival.sources else 0
    n = len(data.cases)
    return (calls + reads) / n, (calls * data.tokens[judge] + reads * data.tokens["state"]) / n


def _figure(row: Row, data: Recorded, other: Row | None = None) -> Estimate:
    """The figure of a row with its interval, or its difference to another row's."""
    aspects = np.array([case.aspect or "" for case in data.cases])
    people = np.array([case.label.values[0] if isinstance(case.label, Scores) else math.nan for case in data.cases])
    seen = np.flatnonzero(
        np.isfinite(row.values).any(axis=0) & (other is None or np.isfinite(other.values).any(axis=0))
    )
    first, second = row.means, None if other is None else other.means

    def of(values: Floats, rows: NDArray[np.intp]) -> float:
        if np.isnan(people).all():
            return float(values[rows].mean())
        figures = [
            float(spearmanr(values[part], people[part]).statistic)
            for aspect in np.unique(aspects[rows])
            if np.ptp(people[part := rows[aspects[rows] == aspect]]) and np.ptp(values[part])
        ]
        return float(np.mean(figures)) if figures else 0.0

    def statistic(drawn: NDArray[np.intp]) -> float:
        return of(first, seen[drawn]) - (0.0 if second is None else of(second, seen[drawn]))

    return bootstrap(statistic, len(seen), data.groups[seen])


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
        row = _row(f"{method} (DSPy)", [(indices, [by_id[data.cases[i].id] for i in indices])], data.cases, 0)
        usage = run.evaluate().usage
        n = len(indices)
        rows.append(replace(row, calls=(usage.calls + usage.cached) / n, tokens=(usage.total_tokens or 0.0) / n))
    return rows


def table(name: str, rows: Sequence[Row], data: Recorded) -> str:
    """A Markdown table: the figure, how often above `longer`, differences, and the cost of a verdict."""
    longer = rows[0]
    fitted = [row for row in rows if row.name.startswith("head on") and "state" not in row.name]
    against = fitted[0] if fitted else None
    heads = ["judge", "figure", "dealings above longer", "less longer"]
    heads += [f"less {against.name}"] if against else []
    lines = [f"## {name}: {len(data.cases)} cases, {data.groups.max() + 1} groups", ""]
    lines += ["| " + " | ".join([*heads, "calls", "tokens"]) + " |", "| --- " * (len(heads) + 2) + "|"]
    for row in rows:
        cells = [row.name, _interval(_figure(row, data)), _above(row, longer, data)]
        cells.append("" if row is longer else _interval(_figure(row, data, longer), signed=True))
        if against:
            cells.append("" if row is against else _interval(_figure(row, data, against), signed=True))
        lines.append("| " + " | ".join([*cells, f"{row.calls:.1f}", f"{row.tokens:.0f}"]) + " |")
    return "\n".join(lines) + "\n"


def _above(row: Row, longer: Row, data: Recorded) -> str:
    if row is longer:
        return ""
    above = sum(
        _figure(replace(row, values=row_values[None]), data).value
        > _figure(replace(longer, values=longer_values[None]), data).value
        for row_values, longer_values in zip(row.values, longer.values, strict=False)
    )
    return f"{above} of {len(row.values)}"


def _interval(estimate: Estimate, *, signed: bool = False) -> str:
    shown = "{:+.3f} [{:+.3f}, {:+.3f}]" if signed else "{:.3f} [{:.3f}, {:.3f}]"
    return shown.format(estimate.value, estimate.low, estimate.high)


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
