"""Measures of categories against scikit-learn and statsmodels' definitions, from verdicts of any tool."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    cohen_kappa_score,
    f1_score,
    matthews_corrcoef,
    precision_score,
    recall_score,
    roc_auc_score,
)

import dicast
from dicast.data import Case, Category, Judged, Verdict
from dicast.errors import DataError
from dicast.evaluation import evaluate, run_arrays
from dicast.evaluation.external_verdicts import read_external_verdicts
from dicast.evaluation.results import Evaluation
from dicast.evaluation.verdict_rules import VerdictRules

WORDS = ("fail", "pass")
IDENTITY = {"judge": "direct", "settings": {}, "lm": {}, "data": "x", "seed": 0}


def drawn(seed: int = 0, n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """People's labels, 1 for pass, and the judge's probability of it."""
    random = np.random.default_rng(seed)
    human = (random.random(n) < 0.7).astype(int)
    return human, np.round(np.clip(0.3 * human + 0.7 * random.random(n), 0, 1), 2)


def judged(human: np.ndarray, probability: np.ndarray, words: tuple[str, ...] = WORDS, **more: Any) -> list[Judged]:
    return [
        Judged.of(
            Case(
                id=str(n), query=f"q{n}", candidates=({"text": f"t{n}"},), categories=words,
                label=Category(category=words[label]), **more,
            ),
            Verdict(
                case_id=str(n), category=words[int(p >= 0.5)], certainty=max(p, 1 - p),
                distribution={words[0]: 1 - p, words[1]: p},
            ),
        )
        for n, (label, p) in enumerate(zip(human.tolist(), probability.tolist(), strict=True))
    ]  # fmt: skip


def evaluated(verdicts: list[Judged]) -> Evaluation:
    return evaluate(verdicts, IDENTITY)


def test_every_figure_of_two_categories_is_that_of_scikit_learn() -> None:
    human, probability = drawn()
    judge = (probability >= 0.5).astype(int)
    result = evaluated(judged(human, probability))
    expected = {
        "accuracy": accuracy_score(human, judge),
        "balanced accuracy": balanced_accuracy_score(human, judge),
        "kappa": cohen_kappa_score(human, judge),
        "MCC": matthews_corrcoef(human, judge),
        "macro F1": f1_score(human, judge, average="macro"),
        "TPR": recall_score(human, judge),
        "TNR": recall_score(human, judge, pos_label=0),
        "precision": precision_score(human, judge),
        "NPV": precision_score(human, judge, pos_label=0),
        "F1": f1_score(human, judge),
        "average precision": average_precision_score(human, probability),
        "ROC AUC": roc_auc_score(human, probability),
    }
    for name, value in expected.items():
        measure = result.measure(name)
        assert measure is not None, name
        assert measure.value == pytest.approx(value), name
        assert measure.low is not None, name
        assert measure.low <= value <= (measure.high or 0), name
    assert (result.positive, result.labelled, result.confusion and result.confusion.labels) == ("pass", 120, WORDS)
    majority = result.measure("majority")
    assert majority is not None
    assert majority.value == pytest.approx(human.mean())
    assert result.precision_recall[-1].recall == 1


def test_exchanging_the_categories_exchanges_either_error() -> None:
    human, probability = drawn()
    result, other = evaluated(judged(human, probability)), evaluated(judged(1 - human, 1 - probability, WORDS[::-1]))
    assert other.positive == "fail"
    for name, same in (("TPR", "TNR"), ("precision", "NPV"), ("kappa", "kappa"), ("ROC AUC", "ROC AUC")):
        first, second = result.measure(name), other.measure(same)
        assert first is not None
        assert second is not None
        # a probability of exactly one half is the positive category on either side
        assert first.value == pytest.approx(second.value, abs=0.02)


def test_names_of_candidates_are_words_like_any_other() -> None:
    human, probability = drawn()
    plain, letters = evaluated(judged(human, probability)), evaluated(judged(human, probability, ("a", "b")))
    for name in ("accuracy", "kappa", "TPR", "majority"):
        first, second = plain.measure(name), letters.measure(name)
        assert first is not None
        assert second is not None
        assert first.value == second.value
    assert letters.measure("longer") is None
    assert letters.measure("chance") is None
    assert letters.measure("both-orders accuracy") is None


def test_many_categories_have_figures_without_a_positive_one() -> None:
    random = np.random.default_rng(3)
    names = [f"topic {letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    human = random.integers(0, 26, 300)
    judge = np.where(random.random(300) < 0.6, human, random.integers(0, 26, 300))
    verdicts = [
        Judged(
            case_id=str(n), category=names[said], label=Category(category=names[label]), categories=tuple(names),
            lengths=(5,),
        )
        for n, (label, said) in enumerate(zip(human.tolist(), judge.tolist(), strict=True))
    ]  # fmt: skip
    result = evaluated(verdicts)
    for name, value in (
        ("balanced accuracy", balanced_accuracy_score(human, judge)),
        ("kappa", cohen_kappa_score(human, judge)),
        ("macro F1", f1_score(human, judge, average="macro")),
    ):
        measure = result.measure(name)
        assert measure is not None
        assert measure.value == pytest.approx(value), name
    assert result.measure("TPR") is None
    assert result.confusion is not None
    assert result.confusion.labels == tuple(names)


def test_intervals_take_whole_groups() -> None:
    human, probability = drawn()
    each = judged(human, probability)
    repeated = [
        line.model_copy(update={"case_id": f"{line.case_id}/{n}", "group": line.case_id}) for line in each for n in "ab"
    ]
    for name in ("TPR", "TNR", "precision", "balanced accuracy", "average precision"):
        single, double = evaluated(each).measure(name), evaluated(repeated).measure(name)
        assert single is not None
        assert double is not None
        assert single.low is not None
        assert double.low is not None
        assert double.value == pytest.approx(single.value)
        assert double.groups is not None
        assert double.low == pytest.approx(single.low, abs=0.02)


def test_votes_give_the_human_ceiling() -> None:
    votes = tuple(Category(category=word) for word in ("pass", "pass", "fail"))
    human, probability = drawn(n=40)
    result = evaluated(judged(human, probability, votes=votes))
    pairs = result.measure("annotator pairs")
    assert pairs is not None
    assert pairs.value == pytest.approx(1 / 3)


def test_an_answer_that_cannot_be_read_may_count_as_wrong() -> None:
    human, probability = drawn(n=30)
    lines = judged(human, probability)
    lines[0] = lines[0].model_copy(
        update={"status": "unscored", "reason": "parse_failure", "category": None, "distribution": None}
    )
    run = run_arrays(lines, rules=VerdictRules(unreadable="wrong"))
    assert run.labels == (*WORDS, "no answer")
    result = evaluate(run, IDENTITY)
    right = (human == (probability >= 0.5))[1:].sum()
    accuracy, rate = result.measure("accuracy"), result.measure("TPR")
    assert accuracy is not None
    assert rate is not None
    assert accuracy.value == pytest.approx(right / 30)
    assert result.positive == "pass"


def rows(folder: Path, *lines: dict[str, Any]) -> Path:
    path = folder / "verdicts.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_verdicts_of_another_tool_may_be_any_words(tmp_path: Path) -> None:
    path = rows(
        tmp_path,
        {"id": "1", "prediction": "pass", "label": "fail", "votes": ["fail", "pass"]},
        {"id": "2", "prediction": "PASS", "label": "pass", "distribution": {"pass": 0.8, "fail": 0.2}},
        {"id": "3", "prediction": None, "label": "pass"},
    )
    first, second, third = read_external_verdicts(path)
    assert (first.category, first.label, first.categories) == ("pass", Category(category="fail"), WORDS)
    assert [vote.answer for vote in first.votes] == ["fail", "pass"]
    assert (second.category, second.distribution) == ("pass", {"pass": 0.8, "fail": 0.2})
    assert (third.status, third.category) == ("unscored", None)
    evaluation = dicast.evaluate(path)
    accuracy = evaluation.measure("accuracy")
    assert accuracy is not None
    assert accuracy.value == 0.5


def test_categories_of_another_tool_may_be_numbers_or_letters_where_a_row_says_so(tmp_path: Path) -> None:
    path = rows(
        tmp_path,
        {"id": "1", "prediction": 1, "label": 0, "categories": [0, 1]},
        {"id": "2", "prediction": 1, "label": 1},
    )
    assert [line.category for line in read_external_verdicts(path)] == ["1", "1"]
    letters = rows(tmp_path, {"id": "1", "prediction": "a", "label": "c", "categories": ["a", "b", "c"]})
    assert [line.human_answer for line in read_external_verdicts(letters)] == ["c"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"id": "1", "prediction": "c", "label": "a"}, "prediction"),
        ({"id": "1", "prediction": "great", "label": "a"}, "prediction"),
        ({"id": "1", "prediction": "ok", "categories": ["fail", "pass"]}, "none of the categories fail, pass"),
    ],
)
def test_a_word_among_letters_is_no_category(tmp_path: Path, line: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(read_external_verdicts(rows(tmp_path, {"id": "0", "prediction": "a", "label": "b"}, line)))


def test_two_judges_of_categories_are_compared(tmp_path: Path) -> None:
    human, probability = drawn(n=60)
    truth = [WORDS[label] for label in human.tolist()]

    def written(name: str, said: list[str]) -> Path:
        (tmp_path / name).mkdir()
        return rows(
            tmp_path / name,
            *({"id": str(n), "prediction": word, "label": truth[n]} for n, word in enumerate(said)),
        )

    good = written("good", truth)
    other = written("other", [WORDS[int(p >= 0.5)] for p in probability.tolist()])
    compared = dicast.compare([good, other])
    tests = compared[0].tests if isinstance(compared, list | tuple) else compared.tests
    (test,) = [test for test in tests if test.name == "accuracy"]
    assert test.difference.value == pytest.approx(1 - (human == (probability >= 0.5)).mean())


def test_a_run_is_of_categories_or_of_pairs() -> None:
    human, probability = drawn(n=3)
    pair = Judged(case_id="pair", winner="a", lengths=(1, 1))
    with pytest.raises(DataError, match="case 'pair' has no categories, and others are one of fail, pass"):
        run_arrays([*judged(human, probability), pair])
