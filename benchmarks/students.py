"""Small students of one teacher on the dealings of quality.py: a trained one (tail LoRA) and one without training.

    python benchmarks/students.py --teacher transformers/qwen2.5-coder-1.5b --student transformers/smollm2-135m \
        --records quality --folder students --kind probe --sizes 60,120,250,0
    python benchmarks/students.py --teacher transformers/qwen2.5-coder-1.5b --student qwen2.5-coder-1.5b \
        --records quality --folder students --kind tail --sizes 0 --dealings 1,2,3

The teacher is the judge of `quality.py` with a head on letters, scores and states, fitted to the labels of the learning
half; `--records` is the folder of `quality.py`, whose runs are read and, where they are missing, made.

`--kind probe`: a head on the student's hidden states, fitted to the same labels, and a second head that learns the
teacher's votes too, on what is left of the learning half. `--kind tail`: an adapter of the question alone, trained on
two thirds of the labels, its head fitted to the others; a dealing and size is one training, and all of them read each
prompt once. `--sizes` are numbers of labels, 0 for all. Intervals leave out whole groups.
"""

import argparse
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import dicast
from dicast.benchmarks.quality import parts_of
from dicast.benchmarks.quality_rivals import SETS, Recorded, length_verdict, recorded
from dicast.benchmarks.quality_table import Row, figure_of, row_of
from dicast.data import Case, Finding, Verdict
from dicast.data.split import split
from dicast.distillation.teacher_cases import teacher_cases
from dicast.judging.aggregate import aggregate_findings
from dicast.optimizers.head.fit import TooFewVerdicts, fit

Verdicts = Mapping[int, Verdict]


class Dealing:
    """One dealing of a set, with so many labels: who judges the other half, and how.

    Args:
        data: of the teacher.
        size: labels of the learning half; 0: all.
    """

    def __init__(self, data: Recorded, judge: str, seed: int, size: int) -> None:
        self.data, self.cases = data, data.cases
        number = {case.id: index for index, case in enumerate(data.cases)}
        parts = parts_of(data.cases, seed, 0.5)
        learn = [number[case.id] for case in parts["learn"]]
        self.labelled, self.unlabelled = learn[: size or None], learn[size or len(learn) :]
        self.judged = [number[case.id] for case in parts["judge"]]
        self.seed, self.size, self.teacher_verdicts = seed, size, data.verdicts[judge]

    @cached_property
    def head(self) -> Callable[..., Verdict]:
        """The teacher's, of these labels."""
        data, verdicts = self.data, self.teacher_verdicts
        return fit(
            [self.cases[i] for i in self.labelled], [verdicts[i] for i in self.labelled],
            sources=data.specs, vectors=[data.vectors[i] for i in self.labelled],
        ).head  # fmt: skip

    def teacher(self, index: int) -> Verdict:
        """What the teacher says of a case."""
        return self.head(self.cases[index], self.teacher_verdicts[index], self.data.vectors[index])

    def length(self) -> list[Verdict]:
        """Of the judged half."""
        return [length_verdict(self.cases[index]) for index in self.judged]

    def taught(self) -> list[Verdict]:
        """The teacher's on the judged half."""
        return [self.teacher(index) for index in self.judged]


class Probes:
    """Heads on the student's hidden states.

    Args:
        more: another set's pairs, which the teacher votes on; None: none.
    """

    def __init__(self, data: Recorded, student: str, more: Recorded | None, judge: str) -> None:
        probe = dicast.judge("probe", lm=student)
        self.specs = {source.name: source.spec for source in probe.sources()}
        self.cases, self.more, self.judge = data.cases, more, judge
        others = more.cases if more else []
        self.vectors = {case.id: probe.read_vectors(case) for case in (*data.cases, *others)}

    def verdicts(self, dealing: Dealing) -> dict[str, list[Verdict]]:
        """Of heads of the labels, and of the labels and the teacher's votes on cases without a label."""
        labelled = [self.cases[i] for i in dealing.labelled]
        students = {"probe, labels": self._judged(labelled, dealing)}
        if dealing.unlabelled:
            unlabelled = [_without_label(self.cases[i]) for i in dealing.unlabelled]
            votes = teacher_cases(unlabelled, [dealing.teacher(i) for i in dealing.unlabelled])
            students["probe, labels and the teacher's votes on the rest"] = self._judged([*labelled, *votes], dealing)
        if self.more is not None:
            unlabelled, judged = list(map(_without_label, self.more.cases)), self.more.verdicts[self.judge]
            verdicts = [dealing.head(*of) for of in zip(unlabelled, judged, self.more.vectors, strict=True)]
            votes = teacher_cases(unlabelled, verdicts)
            name = f"probe, labels and the teacher's votes on {len(votes)} pairs of the other set"
            students[name] = self._judged([*labelled, *votes], dealing)
        return students

    def _judged(self, learnt: Sequence[Case], dealing: Dealing) -> list[Verdict]:
        known, vectors = list(map(_knows_nothing, learnt)), [self.vectors[case.id] for case in learnt]
        head = fit(learnt, known, sources=self.specs, vectors=vectors).head
        judged = [self.cases[i] for i in dealing.judged]
        return [head(case, _knows_nothing(case), self.vectors[case.id]) for case in judged]


class Tails:
    """Adapters of the question, one a dealing and size, with the prompts of all of them read once.

    Args:
        folder: of the trainings; what is there is not trained again.
        epochs: of each.
    """

    def __init__(self, cases: Sequence[Case], base: str, folder: Path, epochs: int) -> None:
        from dicast.distillation.questions import question_rows
        from dicast.distillation.tail import TailTraining
        from dicast.distillation.tail_settings import TailSettings

        self.cases, self.base, self.folder, self._training = cases, base, folder, TailTraining
        self.settings = TailSettings(rank=8, alpha=16.0, learning_rate=2e-4, epochs=epochs)
        self.rows = question_rows(dicast.judge("direct", grading="pairwise"), cases, targets="labels").rows
        self.every = TailTraining(base, self.rows, [], folder / "every", replace(self.settings, epochs=1))
        started = time.process_time()
        self.every.prefixes.read(_counting("prompts read"))
        print(f"reading: {time.process_time() - started:.0f} CPU seconds", flush=True)

    @cached_property
    def base_verdicts(self) -> Verdicts:
        """Of the untrained model."""
        return self._verdicts(self.every, range(len(self.rows)))

    def verdicts(self, dealing: Dealing) -> dict[str, list[Verdict]]:
        """Of the base's letters and the adapter's, each as they are and with a head."""
        head_rows, adapted = self._adapted(dealing)

        def on_judged(of: Verdicts) -> list[Verdict]:
            return [of.get(i, _knows_nothing(self.cases[i])) for i in dealing.judged]

        def headed(rows: Sequence[int], of: Verdicts) -> list[Verdict]:
            known = [i for i in rows if i in of]
            head = fit([self.cases[i] for i in known], [of[i] for i in known]).head
            return [head(self.cases[i], verdict) for i, verdict in zip(dealing.judged, on_judged(of), strict=True)]

        return {
            "base, letters": on_judged(self.base_verdicts),
            "base, head on letters": headed(dealing.labelled, self.base_verdicts),
            "adapter, letters": on_judged(adapted),
            "adapter, head on letters": headed(head_rows, adapted),
        }

    def _adapted(self, dealing: Dealing) -> tuple[list[int], Verdicts]:
        """The cases of the learning half that the adapter was not trained on, and its verdicts of all unseen ones."""
        labelled = [self.cases[i] for i in dealing.labelled]
        parts = split(labelled, parts={"train": 2 / 3, "head": 1 / 3}, seed=1)
        train, head = ({case.id for case in parts[name]} for name in ("train", "head"))
        unseen = head | {self.cases[i].id for i in dealing.judged}
        taught = [row for row in self.rows if row.case_id in train]
        unseen_rows = [row for row in self.rows if row.case_id in unseen]
        out = self.folder / f"dealing-{dealing.seed}-{dealing.size or 'all'}-{self.settings.epochs}"
        file = out / "verdicts.json"
        if not file.exists():
            started = time.process_time()
            training = self._training(self.base, taught, unseen_rows, out, self.settings, shared=self.every)
            training.train()
            seconds = time.process_time() - started
            verdicts = self._verdicts(training, range(len(taught), len(training.rows)))
            lines = {self.cases[i].id: verdict.model_dump(mode="json") for i, verdict in verdicts.items()}
            file.write_text(json.dumps({"cpu_seconds": seconds, "rows": len(taught), "verdicts": lines}))
        content, number = json.loads(file.read_text()), {case.id: i for i, case in enumerate(self.cases)}
        print(f"{out.name}: {content['rows']} rows, {content['cpu_seconds']:.0f} CPU seconds", flush=True)
        return [number[case.id] for case in parts["head"]], {
            number[name]: Verdict.model_validate(line) for name, line in content["verdicts"].items()
        }

    def _verdicts(self, training: Any, rows: Sequence[int]) -> Verdicts:
        """The two orders of each case together."""
        number, findings = {case.id: i for i, case in enumerate(self.cases)}, dict[int, list[Finding]]()
        for row, p in zip(rows, training.probabilities(rows), strict=True):
            question = training.rows[row]
            first = p["A"] / (p["A"] + p["B"])
            shares = {"a": first, "b": 1 - first} if question.order == "ab" else {"a": 1 - first, "b": first}
            finding = Finding(criterion="better", order=question.order, distribution=shares, mass_read=1.0)
            findings.setdefault(number[question.case_id], []).append(finding)
        return {i: _together(self.cases[i], both) for i, both in findings.items()}


def without_ties(dealings: Sequence[tuple[Sequence[int], Sequence[Verdict]]], cases: Sequence[Case]) -> Row:
    """Whether the more probable text is the better one; a half where both are as probable, NaN where people tie."""
    values = np.full((len(dealings), len(cases)), math.nan)
    for place, (rows, verdicts) in enumerate(dealings):
        for i, verdict in zip(rows, verdicts, strict=True):
            label = cases[i].label
            winner = str(label.winner) if label is not None else ""
            if winner in ("a", "b"):
                shares = verdict.distribution or {str(verdict.winner): 1.0}
                lead = shares.get("a", 0.0) - shares.get("b", 0.0)
                values[place, i] = 0.5 if lead == 0 else float((lead > 0) == (winner == "a"))
    return Row("", values, 0.0, 0.0)


def table(arms: Mapping[str, list[tuple[Sequence[int], Sequence[Verdict]]]], data: Recorded) -> str:
    """Accuracy of three labels, without ties, and differences to `longer` and the teacher, by whole groups."""
    rows = {name: row_of(name, dealings, data.cases, 0) for name, dealings in arms.items()}

    def less(row: Row, other: Row) -> str:
        if row is other:
            return ""
        figure = figure_of(Row("", row.values - other.values, 0.0, 0.0), data)
        return f"{figure.value:+.3f} [{figure.low:+.3f}, {figure.high:+.3f}]"

    lines = ["| judge | accuracy | without ties | less longer | less the teacher |", "| --- | --- | --- | --- | --- |"]
    for name, row in rows.items():
        figures = (figure_of(row, data), figure_of(without_ties(arms[name], data.cases), data))
        shown = " | ".join(f"{figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}]" for figure in figures)
        lines.append(f"| {name} | {shown} | {less(row, rows['longer'])} | {less(row, rows['teacher'])} |")
    return "\n".join(lines) + "\n"


def _together(case: Case, findings: Sequence[Finding]) -> Verdict:
    return Verdict(case_id=case.id, findings=tuple(findings), **aggregate_findings(findings, 2))


def _knows_nothing(case: Case) -> Verdict:
    return Verdict(case_id=case.id, winner="tie", scores=(0.0, 0.0))


def _without_label(case: Case) -> Case:
    return case.model_copy(update={"label": None, "votes": ()})


def _counting(words: str) -> Callable[[int, int], None]:
    return lambda done, total: print(f"{words}: {done} of {total}", flush=True) if done % 100 < 8 else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", default="pandalm", choices=[name for name in SETS if name != "prefeval-mcq"])
    parser.add_argument("--teacher", required=True, help="a model string of quality.py's --lm")
    parser.add_argument("--student", required=True, help="probe: a model string; tail: a base as of dicast distill")
    parser.add_argument("--kind", choices=["probe", "tail"], default="probe")
    parser.add_argument("--records", type=Path, default=Path("quality"), help="folder of quality.py")
    parser.add_argument("--folder", type=Path, default=Path("students"))
    parser.add_argument("--unlabelled", default="", help="probe: a set of pairs that the teacher votes on besides")
    parser.add_argument("--sizes", default="0")
    parser.add_argument("--dealings", default="1,2,3,4,5,6,7,8,9,10")
    parser.add_argument("--epochs", type=int, default=2)
    a = parser.parse_args()
    chosen = SETS[a.set]
    data = recorded(a.set, chosen, a.teacher, a.records)
    more = recorded(a.unlabelled, SETS[a.unlabelled], a.teacher, a.records) if a.unlabelled else None
    students: Tails | Probes = (
        Tails(data.cases, a.student, a.folder / a.set, a.epochs)
        if a.kind == "tail"
        else Probes(data, a.student, more, chosen.judge)
    )
    for size in map(int, a.sizes.split(",")):
        arms: dict[str, list[tuple[Sequence[int], Sequence[Verdict]]]] = {}
        for seed in map(int, a.dealings.split(",")):
            dealing = Dealing(data, chosen.judge, seed, size)
            try:
                verdicts = {"longer": dealing.length(), "teacher": dealing.taught(), **students.verdicts(dealing)}
            except TooFewVerdicts as error:
                print(f"dealing {seed}, {size} labels: left out, {error}", flush=True)
                continue
            for name, judged in verdicts.items():
                arms.setdefault(name, []).append((dealing.judged, judged))
        text = f"## {a.set}, {size or 'all'} labels, {len(arms['longer'])} dealings\n\n{table(arms, data)}"
        print(text, flush=True)
        a.folder.mkdir(parents=True, exist_ok=True)
        (a.folder / f"{a.set}-{a.kind}-{size or 'all'}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
