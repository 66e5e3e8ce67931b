"""What labels can show at all: the numbers against their tests, the table of the docs, the lines of `dicast check`."""

import math
from pathlib import Path

import pytest
from scipy import stats

import dicast
from dicast.data import Candidate, Case, Winner
from dicast.stats.power import power_of_mcnemar
from dicast.workflows.label_claims import LabelClaim, LabelSupply, label_claims, label_supply


def claim(words: str) -> LabelClaim:
    (match,) = [claim for claim in label_claims() if claim.claim.startswith(words)]
    return match


def labelled(groups: int, each: int) -> list[Case]:
    return [
        Case(
            id=f"{group}/{number}", query=f"q{group}", label=Winner(value="ab"[number % 2]),
            candidates=(Candidate(text=f"x {group} {number}"), Candidate(text=f"y {group} {number}")),
        )
        for group in range(groups) for number in range(each)
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("risk", [0.05, 0.1, 0.2])
def test_the_groups_of_a_certificate_are_those_of_the_binomial(risk: float) -> None:
    found = claim(f"accepted verdicts disagree in at most {100 * risk:g} %")
    assert found.least == math.ceil(math.log(0.05) / math.log(1 - risk))
    assert found.needed is not None

    def power(n: int) -> float:
        most = max(k for k in range(-1, n) if stats.binom.cdf(k, n, risk) <= 0.05)
        return float(stats.binom.cdf(most, n, risk / 2))

    assert power(found.needed) >= 0.8
    assert max(power(n) for n in range(found.least, found.needed)) < 0.8


@pytest.mark.parametrize(("difference", "needed"), [(0.05, 658), (0.1, 168)])
def test_the_labels_of_a_difference_are_those_of_mcnemar(difference: float, needed: int) -> None:
    found = claim(f"accuracies differ by {difference:g},")
    assert found.needed == needed
    p10, p01 = (0.2 + difference) / 2, (0.2 - difference) / 2
    assert power_of_mcnemar(needed, p01, p10) >= 0.8 > power_of_mcnemar(needed - 1, p01, p10)
    assert found.least == min(n for n in range(1, 20) if 2 * 0.5**n <= 0.05)


@pytest.mark.parametrize("threshold", [0.7, 0.8])
def test_the_labels_of_a_gate_are_those_of_wilsons_interval(threshold: float) -> None:
    found = claim(f"accuracy is {threshold:g} or more")
    assert found.least is not None
    assert found.needed is not None

    def low(hits: int, n: int) -> float:
        return float(stats.binomtest(hits, n).proportion_ci(method="wilson").low)

    def power(n: int) -> float:
        fewest = min((hits for hits in range(n + 1) if low(hits, n) >= threshold), default=n + 1)
        return float(stats.binom.sf(fewest - 1, n, threshold + 0.05))

    assert low(found.least, found.least) >= threshold > low(found.least - 1, found.least - 1)
    assert power(found.needed) >= 0.8
    assert power(found.needed - 1) < 0.8


def test_labels_in_groups_count_for_less() -> None:
    supply = label_supply(labelled(20, 5))
    assert supply == LabelSupply(100, 20, 50)  # 100 / (1 + 4 * .25)
    assert supply.shows(claim("accepted verdicts disagree in at most 10 %")) == "cannot be shown"
    assert label_supply(labelled(40, 1)) == LabelSupply(40, 40, 40)
    assert label_supply([]) is None


def test_the_docs_hold_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "measuring.md").read_text(encoding="utf-8")
    for row in label_claims():
        least = "" if row.least is None else f"{row.least:,} {row.unit}"
        assert f"| {row.claim} | {row.method} | {least} | {row.needed:,} {row.unit} |" in page


def test_check_says_what_the_labels_of_a_file_can_show() -> None:
    items = [item for item in dicast.check(cases=labelled(20, 4)) if item.name == "labels"]  # type: ignore[union-attr]
    assert items[0].text == (
        "80 labels in 20 groups, like 45 independent ones at an intraclass correlation of 0.25; below is what all of "
        "them show"
    )
    assert len(items) == 1 + len(label_claims())
    assert (
        "accepted verdicts disagree in at most 10 %, if they disagree in 5 % (certificate at 95 %, groups with "
        "accepted verdicts): at least 29 groups, 179 for an 80 % chance; here 20: cannot be shown"
    ) in [item.text for item in items]
    assert all(item.ok for item in items)
    assert ("sure verdicts are wrong in at most 10 % (certificate)", "179 groups", "no: 20") in [
        item.cells for item in items
    ]
    bare = [case.model_copy(update={"label": None}) for case in labelled(20, 4)]
    assert "labels" not in [item.name for item in dicast.check(cases=bare)]  # type: ignore[union-attr]
