"""Agreement between judges, against scikit-learn, scipy and the krippendorff package; the sample for people."""

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import cohen_kappa_score

import dicast
from dicast.cli import run as command
from dicast.errors import DataError, DeclarationError, RunError
from dicast.evaluation.agreement_results import JudgeAgreement
from dicast.evaluation.results import Measure

Rows = list[dict[str, Any]]
LETTERS = ("a", "b", "tie")


def write(path: Path, rows: Rows) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def letters(n: int, skills: tuple[float, ...], seed: int = 0) -> list[list[str]]:
    """Each judge's verdicts: as likely that of the truth as its skill, else any."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(LETTERS, n, p=(0.45, 0.4, 0.15))
    return [np.where(rng.random(n) < skill, truth, rng.choice(LETTERS, n)).tolist() for skill in skills]


def files(folder: Path, answers: list[list[Any]], **more: list[Any]) -> list[str]:
    """A file for each judge, with these fields of the cases."""
    return [
        write(
            folder / f"judge{number}.jsonl",
            [
                {"id": f"{row:04}", "prediction": answer} | {name: values[row] for name, values in more.items()}
                for row, answer in enumerate(line)
            ],
        )
        for number, line in enumerate(answers)
    ]


def measure(measures: tuple[Measure, ...], name: str) -> Measure:
    return next(measure for measure in measures if measure.name == name)


def values(result: JudgeAgreement, name: str) -> list[float | None]:
    return [measure(pair.measures, name).value for pair in result.pairs]


def test_verdicts_agree_as_other_libraries_say(tmp_path: Path) -> None:
    answers = letters(150, (0.9, 0.8, 0.6))
    result = dicast.agreement(files(tmp_path, answers))
    kappas = [cohen_kappa_score(answers[i], answers[j]) for i, j in combinations(range(3), 2)]
    codes = [[LETTERS.index(answer) for answer in line] for line in answers]
    assert values(result, "kappa") == pytest.approx(kappas)
    assert measure(result.measures, "kappa").value == pytest.approx(np.mean(kappas))
    alpha = krippendorff.alpha(codes, level_of_measurement="nominal")
    assert measure(result.measures, "alpha").value == pytest.approx(alpha)
    without = [krippendorff.alpha(codes[:i] + codes[i + 1 :], level_of_measurement="nominal") for i in range(3)]
    assert [measure(row.measures, "alpha without this judge").value for row in result.by_judge] == pytest.approx(
        without
    )
    equal = np.mean(np.array(answers[0]) == np.array(answers[1]))
    assert measure(result.pairs[0].measures, "same verdict").value == pytest.approx(equal)
    for found in (*result.measures, *(found for pair in result.pairs for found in pair.measures)):
        assert found.low is not None
        assert found.high is not None
        assert found.value is not None
        assert found.low < found.value < found.high
    assert result.by_judge[1].answers["tie"] == answers[1].count("tie") / 150


def test_choices_are_nominal(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    first = rng.integers(0, 4, 80)
    second = np.where(rng.random(80) < 0.6, first, rng.integers(0, 4, 80))
    result = dicast.agreement(files(tmp_path, [first.tolist(), second.tolist()], options=[4] * 80))
    assert values(result, "kappa") == pytest.approx([cohen_kappa_score(first, second)])
    alpha = krippendorff.alpha([first, second], level_of_measurement="nominal")
    assert measure(result.measures, "alpha").value == pytest.approx(alpha)


def test_scores_on_aspects_have_each_figure_by_aspect_and_their_mean(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    level = {"fluency": 3.0, "coherence": 0.0}
    rows = [(text, aspect) for text in range(60) for aspect in level]
    truth = np.array([level[aspect] + rng.normal() for _, aspect in rows])
    scores = [np.round(truth + rng.normal(size=120), 1) for _ in range(3)]
    paths = [
        write(
            tmp_path / f"{number}.jsonl",
            [
                {"id": str(text), "aspect": aspect, "prediction": float(score), "group": str(text)}
                for (text, aspect), score in zip(rows, line, strict=True)
            ],
        )
        for number, line in enumerate(scores)
    ]
    result = dicast.agreement(paths)
    parts = {name: [i for i, (_, aspect) in enumerate(rows) if aspect == name] for name in level}
    alphas = {
        name: krippendorff.alpha([line[part] for line in scores], level_of_measurement="interval")
        for name, part in parts.items()
    }
    rhos = {
        name: np.mean([spearmanr(scores[i][part], scores[j][part])[0] for i, j in combinations(range(3), 2)])
        for name, part in parts.items()
    }
    assert {part.value: measure(part.measures, "alpha").value for part in result.by_field} == pytest.approx(alphas)
    assert {part.value: measure(part.measures, "spearman").value for part in result.by_field} == pytest.approx(rhos)
    assert measure(result.measures, "spearman").value == pytest.approx(np.mean(list(rhos.values())))
    assert measure(result.measures, "alpha").value == pytest.approx(np.mean(list(alphas.values())))
    assert (result.cases, result.groups) == (120, 60)
    pooled = krippendorff.alpha(scores, level_of_measurement="interval")
    assert pooled > 1.2 * np.mean(list(alphas.values()))  # what mixing the levels of aspects would say


def test_whole_groups_widen_the_intervals(tmp_path: Path) -> None:
    answers = [[answer for answer in line for _ in range(6)] for line in letters(30, (0.9, 0.7))]
    groups = [f"p{row // 6}" for row in range(180)]
    (tmp_path / "one").mkdir()
    grouped, single = dicast.agreement(files(tmp_path, answers, group=groups)), dicast.agreement(
        files(tmp_path / "one", answers)
    )  # fmt: skip
    for name in ("alpha", "kappa", "same verdict"):
        wide, narrow = measure(grouped.measures, name), measure(single.measures, name)
        assert wide.value == narrow.value
        assert wide.high - wide.low > 1.7 * (narrow.high - narrow.low)  # type: ignore[operator]


@pytest.mark.slow
def test_the_judge_that_answers_at_random_is_the_odd_one_out(tmp_path: Path) -> None:
    result = dicast.agreement(files(tmp_path, letters(200, (0.9, 0.9, 0.1, 0.9))), names=("w", "x", "y", "z"))
    assert result.odd_one_out == "y"
    alone = dicast.agreement(files(tmp_path, letters(60, (0.8, 0.8, 0.8))))
    assert alone.odd_one_out is None


def test_neither_the_order_of_runs_nor_of_rows_changes_a_figure(tmp_path: Path) -> None:
    answers = letters(80, (0.9, 0.7, 0.5))
    paths = files(tmp_path, answers, group=[f"p{row // 4}" for row in range(80)])
    result = dicast.agreement(paths)
    turned = dicast.agreement(paths[::-1])
    for name in ("alpha", "kappa", "same verdict"):
        assert measure(turned.measures, name).value == pytest.approx(measure(result.measures, name).value)
    assert sorted(filter(None, values(turned, "kappa"))) == pytest.approx(sorted(filter(None, values(result, "kappa"))))
    lines = Path(paths[0]).read_text().splitlines(keepends=True)
    Path(paths[0]).write_text("".join(lines[::-1]))
    assert dicast.agreement(paths) == result


def test_the_values_of_a_field_are_listed_from_the_least_agreement_on(tmp_path: Path) -> None:
    easy, hard = letters(60, (0.95, 0.95)), letters(60, (0.2, 0.2), seed=1)
    answers = [first + second for first, second in zip(easy, hard, strict=True)]
    paths = files(tmp_path, answers, subset=["easy"] * 60 + ["hard"] * 60)
    result = dicast.agreement(paths, by=["subset"])
    assert [(part.field, part.value) for part in result.by_field] == [("subset", "hard"), ("subset", "easy")]
    kappa = cohen_kappa_score(*hard)
    assert measure(result.by_field[0].measures, "kappa").value == pytest.approx(kappa)
    with pytest.raises(DeclarationError, match="--by domain: 'domain' is no field of the cases. The fields: subset"):
        dicast.agreement(paths, by="domain")


def test_a_field_that_differs_between_runs_is_of_the_judges(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / f"{name}.jsonl", [{"id": str(n), "prediction": "a", "raw": name} for n in range(4)])
        for name in "xy"
    ]
    with pytest.raises(DeclarationError, match="case '0' has 'x' in a run and 'y' in another, so it is a field of the"):
        dicast.agreement(paths, by="raw")


def test_disputed_cases_come_by_disagreement_then_certainty(tmp_path: Path) -> None:
    answers = [["a", "a", "b", "a"], ["a", "b", "a", "b"], ["a", "b", "tie", "b"]]
    result = dicast.agreement(files(tmp_path, answers, certainty=[0.9, 0.5, 0.5, 0.9]))
    assert [(case.id, round(case.disagreement, 3)) for case in result.disputed] == [
        ("0002", 1.0),
        ("0003", 0.667),
        ("0001", 0.667),
    ]
    assert result.disputed[0].answers == ("b", "a", "tie")
    assert dicast.agreement(files(tmp_path, answers), most=0).disputed == ()


def test_only_cases_that_all_scored_count_and_the_others_are_counted(tmp_path: Path) -> None:
    answers = letters(20, (0.9, 0.8, 0.7))
    answers[1][3] = answers[2][5] = None  # type: ignore[call-overload]
    result = dicast.agreement(files(tmp_path, answers))
    assert (result.cases, list(result.unshared.values())) == (18, [2, 1, 1])


def test_scores_on_different_scales_have_a_warning(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    first = rng.integers(1, 6, 40)
    result = dicast.agreement(files(tmp_path, [first.tolist(), (first * 20).tolist()]))
    assert measure(result.measures, "spearman").value == pytest.approx(1)
    assert "on different scales (judge0.jsonl 1..5, judge1.jsonl 20..100)" in result.warnings[0]


def test_one_judge_that_always_answers_the_same_has_no_chance_corrected_agreement(tmp_path: Path) -> None:
    result = dicast.agreement(files(tmp_path, [["a"] * 20, ["a"] * 20]))
    found = measure(result.measures, "kappa")
    assert (found.value, found.note) == (None, "not defined on these cases")
    assert measure(result.measures, "same verdict").value == 1


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    paths = files(tmp_path, letters(5, (0.9, 0.9)))
    other = write(tmp_path / "other.jsonl", [{"id": "x", "prediction": "a"}])
    scored = write(tmp_path / "scored.jsonl", [{"id": "0000", "prediction": 3}])
    with pytest.raises(DeclarationError, match=r"judge0.jsonl was given twice\. Give each run once"):
        dicast.agreement([paths[0], paths[0]])
    with pytest.raises(DeclarationError, match="1 run was given. Give two or more"):
        dicast.agreement(paths[:1])
    for wrong in (other, scored):
        with pytest.raises(DataError, match="no case has a verdict, or a score, in each of judge0.jsonl, "):
            dicast.agreement([paths[0], wrong])
    with pytest.raises(DeclarationError, match="Give --sample and --out"):
        dicast.agreement(paths, sample=3)


# the sample for people


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two judges of 200 pairs, and people's labels in truth.json."""
    monkeypatch.chdir(tmp_path)
    truth, *answers = letters(200, (1.0, 0.9, 0.6), seed=5)
    (tmp_path / "truth.json").write_text(json.dumps({f"{row:04}": label for row, label in enumerate(truth)}))
    return files(tmp_path, answers, group=[f"p{row // 4}" for row in range(200)])


def test_a_sample_is_labelled_and_measures_the_judges_on_all_cases(judged: list[str], capsys: Any) -> None:
    assert command(["agreement", *judged, "--sample", "60", "--out", "label-these.jsonl"]) == 0
    assert "label-these.jsonl: 60 cases. Write people's labels into the field label." in capsys.readouterr().out
    rows = [json.loads(line) for line in Path("label-these.jsonl").read_text().splitlines()]
    truth = json.loads(Path("truth.json").read_text())
    assert len({row["id"] for row in rows}) == 60
    assert {row["label"] for row in rows} == {None}
    assert not any("prediction" in row or "verdict" in row for row in rows)
    assert sum(row["weight"] for row in rows) == pytest.approx(200, rel=0.1)
    with pytest.raises(DeclarationError, match="label-these.jsonl: no row has a label"):
        dicast.agreement(judged, labels="label-these.jsonl")
    write(Path("label-these.jsonl"), [row | {"label": truth[row["id"]]} for row in rows[:-1]] + rows[-1:])
    assert command(["agreement", *judged, "--labels", "label-these.jsonl", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    result = dicast.agreement(judged, labels="label-these.jsonl")
    assert printed == result.model_dump(mode="json")
    assert result.warnings == ("label-these.jsonl: 1 rows have no label yet",)
    names = [json.loads(line) for path in judged for line in Path(path).read_text().splitlines()]
    full = [np.mean([row["prediction"] == truth[row["id"]] for row in names[i * 200 : (i + 1) * 200]]) for i in (0, 1)]
    for row, accuracy in zip(result.labelled, full, strict=True):
        found = row.measures[0]
        assert found.low is not None
        assert found.high is not None
        assert found.low <= accuracy <= found.high
    difference = result.labelled[1].measures[1]
    assert difference.name == "accuracy less judge0.jsonl"
    assert difference.high is not None
    assert difference.high < 0


def test_disputed_cases_are_sampled_more_often_and_groups_are_spread(judged: list[str]) -> None:
    dicast.agreement(judged, sample=40, out="sample.jsonl", most=200)
    disputed = {case.id for case in dicast.agreement(judged, most=200).disputed}
    rows = [json.loads(line) for line in Path("sample.jsonl").read_text().splitlines()]
    chances = {(row["id"] in disputed): row["inclusion_probability"] for row in rows}
    part = len(disputed) / 200
    assert chances[False] == pytest.approx(0.5 * 40 / 200)
    assert chances[True] == pytest.approx(0.5 * 40 / 200 + 0.5 * 40 / len(disputed))
    assert sum(row["id"] in disputed for row in rows) == pytest.approx(40 * (0.5 * part + 0.5), abs=1)
    assert len({row["group"] for row in rows}) >= 25  # of 50 groups of four


def test_a_sample_is_not_written_over_and_repeats_with_its_seed(judged: list[str]) -> None:
    for out, seed in (("one.jsonl", 0), ("two.jsonl", 0), ("three.jsonl", 1)):
        dicast.agreement(judged, sample=30, out=out, seed=seed)
    assert Path("one.jsonl").read_text() == Path("two.jsonl").read_text() != Path("three.jsonl").read_text()
    with pytest.raises(RunError, match="one.jsonl: exists already, perhaps with people's labels"):
        dicast.agreement(judged, sample=30, out="one.jsonl")
    with pytest.raises(DeclarationError, match="201 of 200 cases cannot be sampled"):
        dicast.agreement(judged, sample=201, out="more.jsonl")
    assert not Path("more.jsonl").exists()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"id": "nobody", "label": "a", "inclusion_probability": 0.5},
            "line 1: field 'id' is 'nobody', which is no case",
        ),
        (
            {"id": "0001", "label": "c", "inclusion_probability": 0.5},
            "line 1: field 'label' is \"c\". Give a, b or tie",
        ),
        ({"id": "0001", "label": 3, "inclusion_probability": 0.5}, "line 1: field 'label' is 3. Give a, b or tie"),
        ({"id": "0001", "label": "a"}, "line 1.*inclusion_probability"),
        ({"id": "0001", "label": "a", "inclusion_probability": 0}, "line 1.*inclusion_probability.*0"),
    ],
)
def test_a_bad_label_is_named(judged: list[str], row: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        dicast.agreement(judged, labels=write(Path("labels.jsonl"), [row]))
    good = {"id": "0001", "label": "a", "inclusion_probability": 0.5}
    with pytest.raises(DataError, match="line 2: field 'id' is '0001', which is repeated"):
        dicast.agreement(judged, labels=write(Path("labels.jsonl"), [good, good]))


def test_a_sample_of_run_folders_has_the_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": str(n), "query": f"q{n}", "response_a": "x" * (n % 5), "response_b": "yy", "label": "a"}
        for n in range(9)
    ]
    write(Path("pairs.jsonl"), rows)
    for name in ("longer", "majority"):
        dicast.run(name, "pairs.jsonl", out=f"runs/{name}")
    dicast.agreement(["runs/longer", "runs/majority"], sample=4, out="sample.jsonl")
    for row in map(json.loads, Path("sample.jsonl").read_text().splitlines()):
        source = rows[int(row["id"])]
        assert all(row[name] == source[name] for name in ("query", "response_a", "response_b"))
        assert row["label"] is None
    assert len(list(dicast.read_cases("sample.jsonl"))) == 4


def test_judges_of_a_sample_that_follows_the_disagreement_have_a_warning(judged: list[str]) -> None:
    dicast.agreement(judged, sample=40, out="sample.jsonl")
    dicast.agreement(judged, sample=40, uniform=1, out="uniform.jsonl")
    for name, is_warned in (("sample.jsonl", True), ("uniform.jsonl", False)):
        rows = [json.loads(line) | {"prediction": "a", "label": "a"} for line in Path(name).read_text().splitlines()]
        warnings = dicast.evaluate(write(Path(f"judged-{name}"), rows)).warnings
        assert any("a sample of unequal probabilities" in warning for warning in warnings) is is_warned


def test_the_terminal_shows_every_part(judged: list[str], tmp_path: Path, capsys: Any) -> None:
    third = files(tmp_path, letters(200, (0.2,), seed=9), group=[f"p{row // 4}" for row in range(200)])
    Path(third[0]).rename("random.jsonl")
    _, *answers = letters(200, (1.0, 0.9, 0.6), seed=5)
    files(tmp_path, answers, group=[f"p{row // 4}" for row in range(200)])
    assert command(["agreement", *judged, "random.jsonl", "--most", "3"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    for text in (
        "3 judges on 200 cases that all of them scored, in 50 groups (intervals take whole groups)",
        "Every two judges",
        "judge0.jsonl and random.jsonl",
        "odd one out: random.jsonl agrees least with the others",
        "The most disputed cases",
    ):
        assert text in printed
