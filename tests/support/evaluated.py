"""Evaluations and disagreements made by hand, as realistic as they are invented, for the tests of the report."""

import math
from typing import Any

from dicast.data import Case, Correction, Finding, Judged, Usage
from dicast.evaluation.results import (
    Bin,
    Branch,
    ConfusionTable,
    CurvePoint,
    Evaluation,
    Histogram,
    LabelRow,
    Measure,
    PairedTest,
    RunComparison,
    Stratum,
    SystemRow,
)
from dicast.pages import Disagreement, RunReport


def share(name: str, hits: int, n: int, what: str = "", **fields: Any) -> Measure:
    """With Wald's interval: near enough for pictures."""
    value = min(hits, n) / n
    half = 1.96 * math.sqrt(value * (1 - value) / n)
    return Measure(
        name=name,
        value=value,
        low=max(0, value - half),
        high=min(1, value + half),
        n=n,
        description=what,
        kind="proportion",
        **fields,
    )


def gap(name: str, value: float, half: float, n: int = 540, what: str = "") -> Measure:
    """A difference of shares."""
    return Measure(
        name=name,
        value=value,
        low=value - half,
        high=value + half,
        n=n,
        description=what,
        kind="proportion",
        null_value=0.0,
    )


def number(name: str, value: float, half: float, n: int = 540, what: str = "", **fields: Any) -> Measure:
    return Measure(name=name, value=value, low=value - half, high=value + half, n=n, description=what, **fields)


def evaluation(hits: int = 391, n: int = 540, judge: str = "fennec", calls: int = 11) -> Evaluation:
    """A judge of pairs with everything that can be measured."""
    accuracy = hits / n
    a, b, t = round(0.45 * hits), round(0.45 * hits), hits - 2 * round(0.45 * hits)
    miss = n - hits
    counts = (
        (a, miss // 4, miss // 20),
        (miss // 5, b, miss // 20),
        (miss // 4, miss - miss // 4 - 2 * (miss // 20) - miss // 5 - miss // 4, t),
    )
    sections = {
        "agreement": (
            share("accuracy", hits, n, "the verdict equals the human label", groups=170),
            share("both-orders accuracy", round(0.9 * hits), n, "share on which both orders name the human winner"),
            share("consistency", round(0.857 * n), n, "share of pairs on which both orders name the same winner"),
            number("Cohen's kappa", 0.55, 0.06, n, "agreement beyond chance"),
        ),
        "people": (
            share(
                "human ceiling",
                round(0.811 * n),
                n,
                "the human ceiling: one annotator against the majority of the others",
            ),
            share("judge as annotator", round(1.02 * hits), n, "the judge against the same majorities"),
            gap("judge above ceiling", 1.02 * accuracy - 0.811, 0.045, n, "judge less one person"),
        ),
        "baselines": (
            share("majority", round(0.461 * n), n, "always 'a', people's most frequent label here"),
            gap("above majority", accuracy - 0.461, 0.05, n, "accuracy less that of majority"),
            share("longer", round(0.591 * n), n, "the longer text wins, equal lengths tie"),
            gap("above longer", accuracy - 0.591, 0.05, n, "accuracy less that of longer"),
        ),
        "calibration": (
            gap("overconfidence", 0.062, 0.03, n, "mean certainty less accuracy; above 0 is overconfident"),
            number("ECE", 0.081, 0.021, n, "mean distance of certainty from accuracy over 10 bins"),
            number("Brier score", 0.192, 0.014, n, "mean squared error of the distribution"),
        ),
        "selective": (
            share("accuracy at certainty 0.8", 182, 210, "share right among verdicts with a certainty of 80 % or more"),
            number("AURC", 0.148, 0.02, n, "area under the risk-coverage curve"),
        ),
        "bias": (
            share(
                "first position", round(0.576 * n), n, "non-tie answers that name the text shown first", null_value=0.5
            ),
            share("primacy", round(0.115 * n), n, "both orders name the text shown first"),
            share("recency", round(0.028 * n), n, "both orders name the text shown second"),
            gap("longer above people", 0.09, 0.05, n, "judge less people; 0 is no bias"),
            gap("ties above people", -0.024, 0.035, n, "judge less people; 0 is no bias"),
            gap("self-preference above people", 0.012, 0.06, n, "judge less people; 0 is no bias"),
        ),
        "cost": (
            Measure(name="calls", value=float(calls), n=n, description="calls a verdict"),
            Measure(name="tokens", value=4212.4, n=n, description="prompt and generated tokens a verdict"),
            Measure(name="seconds", value=38.2, n=n, description="model seconds a verdict"),
        ),
    }
    bins = tuple(
        Bin(low=low, high=low + 0.1, certainty=low + 0.052, accuracy=share("accuracy", round(m * (low - 0.02)), m))
        for low, m in ((0.5, 61), (0.6, 92), (0.7, 140), (0.8, 158), (0.9, 89))
    )
    curve = tuple(
        CurvePoint(
            threshold=1 - c / 200,
            coverage=c / 100,
            accuracy=share(
                "accuracy", round(n * c / 100 * (0.93 - (0.93 - accuracy) * c / 100)), max(1, round(n * c / 100))
            ),
        )
        for c in range(5, 101, 5)
    )
    branches = tuple(
        Branch(
            n=k,
            full=round(n * (1 - 0.04 * (k - 1))),
            measures=(
                share("accuracy", round(hits * (1 - 0.15 / k)), n),
                share("both-orders accuracy", round(hits * (0.9 - 0.22 / k)), n),
                share("consistency", round(n * (0.857 - 0.15 / k)), n),
            ),
        )
        for k in range(1, 6)
    )
    names = ("gpt-4o", "claude-3", "llama-3-70b", "mistral-7b", "alpaca-13b", "pythia-6.9b")
    places = (4.4, 4.6, 3.9, 3.1, 3.2, 1.7)
    systems = tuple(
        SystemRow(
            system=name,
            judge=number(name, judged, 0.2, 90),
            people=number(name, 4.7 - 0.5 * place, 0.25, 90),
        )
        for place, (name, judged) in enumerate(zip(names, places, strict=True))
    )
    return Evaluation(
        signature=f"{judge}|branches=5,readout=probability|lm=local/small|n={n}|data=27089182168|seed=1|dicast 0.1.0",
        judge=judge,
        cases=n + 12,
        scored=n,
        labelled=n,
        groups=170,
        unscored={"parse_failure": 9, "refusal": 3},
        sections=sections,
        confusion=ConfusionTable(labels=("a", "b", "tie"), counts=counts),
        labels=tuple(
            LabelRow(
                label=label,
                precision=0.7 + 0.05 * i,
                recall=0.8 - 0.2 * i,
                f1=0.74 - 0.1 * i,
                support=200,
                predicted=180,
            )
            for i, label in enumerate(("a", "b", "tie"))
        ),
        reliability=bins,
        curve=curve,
        histograms=(
            Histogram(whose="judge", edges=(1, 2, 3, 4, 5), counts=(40, 110, 260, 130)),
            Histogram(whose="people", edges=(0, 2, 4, 6, 8, 10), counts=(80, 100, 140, 150, 70)),
        ),
        systems=systems,
        strata=tuple(
            Stratum(name=name, low=low, high=low + 1, measures=(share("accuracy", right, 180),))
            for name, low, right in (("hard", 0, 98), ("medium", 1, 132), ("easy", 2, 161))
        ),
        branches=branches,
        usage=Usage(
            calls=calls * n, cached=320, prompt_tokens=390 * calls * n, completion_tokens=312 * n, seconds=38.2 * n
        ),
    )


def scores_alone(n: int = 120) -> Evaluation:
    """A judge of single texts: correlations lead, and nothing of pairs is there."""
    return Evaluation(
        signature="implicit|lm=local/qwen2.5-coder-1.5b|n=120",
        judge="implicit",
        cases=n,
        scored=n,
        labelled=n,
        groups=n,
        sections={
            "correlation": (
                number("spearman", 0.41, 0.14, n),
                number("pearson", 0.38, 0.15, n),
                Measure(name="kendall", note="scores are constant"),
            ),
            "people": (number("human ceiling", 0.55, 0.1, n),),
        },
        histograms=(Histogram(whose="judge", edges=(0, 0.25, 0.5, 0.75, 1), counts=(10, 60, 40, 10)),),
    )


def disagreement(
    number: int = 1, text: str = "", *, people: str = "a", certainty: float | None = 0.9, words: int = 40, **fields: Any
) -> Disagreement:
    """A pair that people judge one way and a judge of two criteria, each in both orders, the other way."""
    judge = {"a": "b", "b": "a", "tie": "a"}[people]
    case = Case(
        id=f"pairs/{number}",
        query=f"Question {number}: how do I keep bread fresh?",
        candidates=[
            {"text": f"{text}Wrap it in linen. " * max(1, words // 4), "system": "model-x"},
            {"text": "Leave it in the sun. " * max(1, words // 5), "system": "model-y"},
        ],
        label={"value": people},
        votes=[{"value": people}, {"value": people}, {"value": judge}],
    )
    findings = [
        Finding(
            criterion=criterion,
            guideline="1: wrong\n5: every fact is right",
            order=order,
            scores=(2.0, 4.0),
            levels=((0.1, 0.5, 0.2, 0.1, 0.1), (0.0, 0.1, 0.2, 0.5, 0.2)),
            mass_read=0.99,
            explanation=f"Text B is longer, read in order {order}. " * max(1, words // 20),
        )
        for criterion in ("accuracy", "completeness")
        for order in ("ab", "ba")
    ]
    fields_of_verdict: dict[str, Any] = {
        "case_id": case.id,
        "winner": judge,
        "scores": (4.0, 8.0),
        "distribution": {"a": 0.08, "b": 0.9, "tie": 0.02},
        "certainty": certainty,
        "findings": findings,
        "corrections": (
            Correction(
                candidate=0, text="Wrap it in linen, cut side down.", criteria=("accuracy",), before=2.0, after=4.5
            ),
        ),
        "notes": ("profile: texts cut",),
        "consistent": number % 3 != 0,
        "usage": Usage(calls=11, prompt_tokens=3000, completion_tokens=400, seconds=31.5),
        "label": case.label,
        "votes": case.votes,
    }
    return Disagreement(Judged.model_validate(fields_of_verdict | fields), case)


def comparison(first: str = "fennec", second: str = "direct") -> RunComparison:
    difference = Measure(name="accuracy", value=0.061, low=0.021, high=0.101, n=540, kind="proportion", null_value=0.0)
    return RunComparison(
        first=first,
        second=second,
        cases=540,
        only_first=71,
        only_second=38,
        tests=(
            PairedTest(name="same verdict", difference=share("same verdict", 410, 540)),
            PairedTest(name="accuracy", difference=difference, p=0.0021, p_holm=0.0042),
            PairedTest(
                name="kappa (bootstrap)", difference=number("kappa", 0.09, 0.1), p=0.08, p_holm=0.08, note="1,000 draws"
            ),
        ),
    )


def report(cases: int = 6) -> list[RunReport]:
    """Two runs; the first disagrees with people on `cases` cases."""
    found = [
        disagreement(
            n, people=("a", "b", "tie")[n % 3], certainty=None if n == 5 else round(0.5 + 0.49 * n / max(cases, 1), 3)
        )
        for n in range(1, cases + 1)
    ]
    return [
        RunReport("fennec", evaluation(), found),
        RunReport("direct", evaluation(358, judge="direct", calls=4), [disagreement(1, certainty=0.77)]),
    ]
