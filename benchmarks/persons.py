"""What do a person's labels add to a judge's hidden-state head? New persons with 0, 2, 5 and 10 labels, by persons.

Persons are dealt into folds. On the others' cases the shared weights are fitted, and penalty and ratio of deviations
are chosen (`optimizers.head.person_fit`). Of each person of the fold, questions are drawn as labels and the rest is
tested; the shared weights stay as they are. The deviation is of the hidden state, or of two scalars: the score of the
state's head and the difference in length. Intervals resample persons. The worth of deviations of known persons,
whose other cases are in training, is printed for each fold. --simulate makes up labels of known deviations (0: none).

    python benchmarks/persons.py --cases prism --vectors states.npz
    python benchmarks/persons.py --cases prism --lm local/qwen2.5-coder-1.5b --layer 20

A vectors file holds an array (candidates, width) under the id of each case; --save writes one.
"""

import argparse
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from dicast.data import Case
from dicast.data.case import digest
from dicast.data.person import person_of
from dicast.optimizers.head.person_fit import PersonFit, PersonRows, column_scale, fit_people, rows_of
from dicast.stats.partial_pooling import deviation_of_one, dual_coefficients, row_losses
from dicast.workflows.case_source import CaseSource

LABELS = (0, 2, 5, 10)
FOLDS, DRAWS, RESAMPLES = 5, 20, 2000
Floats = NDArray[np.float64]


def read_vectors(cases: Sequence[Case], path: Path | None, lm: str, layer: int | None) -> list[Floats]:
    """One array (candidates, width) a case."""
    if path:
        stored = np.load(path)
        return [stored[case.id].astype(np.float64) for case in cases]
    from dicast.evidence.source import parse

    (source,) = parse("state" if layer is None else f"state@{layer}", lm)
    return [source.read(case).astype(np.float64) for case in cases]


def persons(cases: Sequence[Case], which: str) -> list[str]:
    """The person of each case: `group` as a judge takes it, or `profile`, which parts a group by the whole profile."""
    names = [person_of(case) or "" for case in cases]
    if which == "group":
        return names
    return [
        digest(f"{name} {case.profile.model_dump_json() if case.profile else ''}")
        for name, case in zip(names, cases, strict=True)
    ]


def lengths(cases: Sequence[Case]) -> Floats:
    """(n,) log length of the first text less that of the second."""
    return np.array([math.log1p(len(c.candidates[0].text)) - math.log1p(len(c.candidates[1].text)) for c in cases])


def subset(rows: PersonRows, chosen: Sequence[int]) -> PersonRows:
    return replace(
        rows,
        x=rows.x[chosen],
        target=rows.target[chosen],
        counts=rows.counts[chosen],
        people=tuple(rows.people[i] for i in chosen),
        questions=tuple(rows.questions[i] for i in chosen),
    )


@dataclass
class Tally:
    """Hits and losses by person, summed over draws."""

    cases: dict[str, float]
    hits: dict[str, dict[str, float]]
    losses: dict[str, dict[str, float]]

    def add(self, person: str, name: str, f: Floats, target: Floats) -> None:
        hits = np.where(f == 0, 0.5, (f > 0) == (target > 0.5))
        self.hits[name][person] += float(hits.sum())
        self.losses[name][person] += float(row_losses(f, target, "logistic").sum())


def tally() -> Tally:
    return Tally(defaultdict(float), defaultdict(lambda: defaultdict(float)), defaultdict(lambda: defaultdict(float)))


def interval(counts: Tally, sums: dict[str, float], beside: dict[str, float] | None = None) -> str:
    """Mean a case, or its difference to another, with the 95 % interval by resampled persons."""
    people = sorted(counts.cases)
    n = np.array([counts.cases[p] for p in people])
    value = np.array([sums[p] - (beside[p] if beside else 0.0) for p in people])
    random = np.random.default_rng(0)
    drawn = random.integers(len(people), size=(RESAMPLES, len(people)))
    means = value[drawn].sum(axis=1) / n[drawn].sum(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    sign = "+" if beside else ""
    return f"{value.sum() / n.sum():{sign}.3f} [{low:{sign}.3f}, {high:{sign}.3f}]"


def print_rows(counts: Tally, names: Sequence[tuple[str, str]], head: str) -> None:
    """A line for each predictor: accuracy, its difference to another, log-loss and its difference."""
    for name, base in names:
        hits, losses = counts.hits, counts.losses
        more = [interval(counts, hits[name], hits[base]), interval(counts, losses[name], losses[base])] if base else []
        cells = [head, name, interval(counts, hits[name]), *(more or ["", ""])]
        print(f"| {' | '.join(cells)} |", flush=True)


def new_persons(rows: PersonRows, length: Floats, most: int, seed: int) -> None:
    """Labels of new persons, at most so many; who has no further question is not tested."""
    by_person: dict[str, list[int]] = defaultdict(list)
    for index, person in enumerate(rows.people):
        by_person[person or ""].append(index)
    random = np.random.default_rng(seed)
    names = sorted(by_person)
    fold = {name: int(k) for name, k in zip(names, random.permutation(len(names)) % FOLDS, strict=True)}
    tables = {k: tally() for k in LABELS if k <= most}
    for number in range(FOLDS):
        train = [i for i, person in enumerate(rows.people) if fold[person or ""] != number]
        known = subset(rows, train)
        shared = fit_people(replace(known, people=(None,) * len(train)), seed=seed)
        state = fit_people(known, seed=seed, always=True)
        two = replace(known, x=np.column_stack([crossfitted(known, shared.penalty, seed), length[train]]))
        stacked = fit_people(replace(two, people=(None,) * len(train)), seed=seed)
        pooled = fit_people(two, seed=seed, always=True)
        print(f"fold {number}, worth of deviations: {said(state)}; scalars {said(pooled)}", flush=True)
        for person in (name for name in names if fold[name] == number):
            for pool, test in labels_and_tests(by_person[person], rows.questions, most, random):
                x, target = rows.x[test], rows.target[test]
                y = np.column_stack([x @ shared.weights, length[test]])
                for k, counts in tables.items():
                    learn = pool[:k]
                    counts.cases[person] += len(test)
                    counts.add(person, "longer", length[test], target)
                    counts.add(person, "state", x @ shared.weights, target)
                    counts.add(person, "state + length", y @ stacked.weights, target)
                    drawn_to = deviation(rows.x[learn], rows.target[learn], state)
                    counts.add(person, "state, personal", x @ (state.weights + drawn_to), target)
                    of_learn = np.column_stack([rows.x[learn] @ shared.weights, length[learn]])
                    drawn_to = deviation(of_learn, rows.target[learn], pooled)
                    counts.add(person, "state + length, personal", y @ (pooled.weights + drawn_to), target)
    counts = tables[max(tables)]
    print(f"\n{len(counts.cases)} persons, {sum(counts.cases.values()) / DRAWS:,.0f} test cases a draw, {DRAWS} draws")
    print("| labels | judge | accuracy | difference | difference in log-loss |\n" + "| --- " * 5 + "|")
    print_rows(counts, [("longer", ""), ("state", "longer"), ("state + length", "longer")], "any")
    for k, of_k in tables.items():
        pairs = [("state, personal", "state"), ("state + length, personal", "state + length")]
        print_rows(of_k, pairs, str(k))


def labels_and_tests(
    mine: Sequence[int], questions: Sequence[str], most: int, random: np.random.Generator
) -> Iterator[tuple[list[int], list[int]]]:
    """A person's cases, with the questions in random orders: the first `most` and the rest of these questions' cases to
    learn from, and the cases of all other questions to test; nothing where either is too few."""
    for _ in range(DRAWS):
        order = list(random.permutation(sorted({questions[i] for i in mine})))
        pool: list[int] = []
        while order and len(pool) < most:
            question = order.pop()
            pool += [i for i in mine if questions[i] == question]
        if len(pool) >= most and order:
            yield pool, [i for i in mine if questions[i] in order]


def said(fit: PersonFit) -> str:
    """What was chosen, and the worth of the deviations."""
    worth = fit.worth
    interval = f"{worth.difference:+.4f} [{worth.low:+.4f}, {worth.high:+.4f}]" if worth else "unknown"
    return f"penalty {fit.penalty:g}, ratio {fit.ratio:g}: {interval}"


def crossfitted(rows: PersonRows, penalty: float, seed: int) -> Floats:
    """(n,) the state's score of each row by shared weights that were fitted without the person's cases."""
    people = np.array([person or "" for person in rows.people])
    names = np.unique(people)
    fold = dict(zip(names, np.random.default_rng(seed).permutation(len(names)) % FOLDS, strict=True))
    left_out = np.array([fold[person] for person in people])
    score = np.zeros(len(people))
    for k in range(FOLDS):
        seen = left_out != k
        x = rows.x / column_scale(rows.x[seen])
        a = dual_coefficients(x[seen] @ x[seen].T, rows.target[seen], rows.counts[seen], penalty, rows.loss)
        score[~seen] = x[~seen] @ (a @ x[seen])
    return score


def deviation(x: Floats, target: Floats, fit: PersonFit) -> Floats:
    """The deviation of a person with these labels, in the units of x."""
    scaled = deviation_of_one(
        x / fit.scale, target, np.ones(len(target)), fit.weights * fit.scale, fit.penalty, fit.ratio, "logistic"
    )
    return scaled / fit.scale


def simulated(rows: PersonRows, spread: float, seed: int) -> PersonRows:
    """The same rows with labels from weights of known deviations."""
    random = np.random.default_rng(seed)
    x = rows.x / column_scale(rows.x)
    width = x.shape[1]
    shared, codes = random.standard_normal(width), rows.codes
    deviating = spread * random.standard_normal((codes.max() + 1, width))
    f = 1.5 * np.einsum("nd,nd->n", x, shared + deviating[codes]) / math.sqrt(1 + spread**2)
    return replace(rows, target=(random.random(len(f)) < 1 / (1 + np.exp(-f))).astype(float))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="prism", help="a public set or a file of pairs with profiles")
    parser.add_argument("--vectors", type=Path, help="an .npz file of arrays by case id")
    parser.add_argument("--lm", default="local/qwen2.5-coder-1.5b", help="whose states are read without --vectors")
    parser.add_argument("--layer", type=int)
    parser.add_argument("--save", type=Path, help="write the vectors as such a file")
    parser.add_argument("--persons", choices=("group", "profile"), default="group")
    parser.add_argument("--most", type=int, default=10, help="labels of a new person")
    parser.add_argument("--simulate", type=float, help="spread of made-up deviations")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    pairs = [case for case in CaseSource(options.cases).cases() if case.is_pair and case.profile and case.label]
    cases = [case for case in pairs if case.label and case.label.winner in ("a", "b")]
    vectors = read_vectors(cases, options.vectors, options.lm, options.layer)
    if options.save:
        arrays: dict[str, Any] = {c.id: v.astype(np.float16) for c, v in zip(cases, vectors, strict=True)}
        np.savez_compressed(options.save, **arrays)
    rows = replace(rows_of(cases, vectors, "logistic"), people=tuple(persons(cases, options.persons)))
    if options.simulate is not None:
        rows = simulated(rows, options.simulate, options.seed)
    print(f"{len(cases)} pairs without ties of {len(rows.names)} persons, {len(set(rows.questions))} questions")
    with threadpool_limits(1, user_api="blas"):
        new_persons(rows, lengths(cases), options.most, options.seed)


if __name__ == "__main__":
    main()
