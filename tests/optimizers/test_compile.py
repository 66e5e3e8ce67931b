"""A whole compilation: its parts, its steps, what a stop leaves, and what the test part says."""

import json
import threading
from pathlib import Path
from typing import Any

import dspy
import numpy as np
import pytest
from known_judge import SPACE, Known, known_cases
from leaning_judge import Leaning, worlds

from dicast.data import Candidate, Case
from dicast.data.case import Reviewer
from dicast.errors import DeclarationError, RunError
from dicast.judging.judge import Judge, present
from dicast.judging.stage import Stage
from dicast.optimizers.compile import Compiled, Compiler, TooFewLabels
from dicast.optimizers.compile_folder import read_compilation
from dicast.optimizers.evidence import Interrupted, ProgressCallbacks
from dicast.optimizers.recipe import Parts, Recipe, read_recipe, recipe
from dicast.pages.compile_headline import compile_answers
from dicast.pages.compile_page import compilation_markdown
from dicast.signatures.direct import Prefer

PLAIN = Recipe(trials=0, estimate="split", baseline=None)


def compiled(judge: Judge, cases: list[Case], folder: Path, given: Recipe = PLAIN, **more: Any) -> Compiled:
    return Compiler(judge, cases, folder, given, **more).run()


def test_a_head_that_undoes_noise_improves_the_test_part(tmp_path: Path) -> None:
    found = compiled(Leaning(), worlds(400), tmp_path)
    assert found.result.outcome == "improved"
    before, after = (found.training[when]["hits"] / found.training[when]["n"] for when in ("before", "after"))
    assert after > before + 0.1
    assert [row.name for row in found.result.judges] == ["uncompiled", "compiled"]
    assert found.result.judges[0].calls == 2


def test_the_parts_share_no_group_and_the_test_part_is_judged_once(tmp_path: Path) -> None:
    judge = Leaning()
    compiler = Compiler(judge, worlds(200), tmp_path, PLAIN)
    keys = [{case.split_key for case in part} for part in compiler.parts.values()]
    assert sum(map(len, keys)) == len(set.union(*keys)) == 200
    compiler.run()
    lines = [
        line for path in (tmp_path / "evidence").glob("*/verdicts.jsonl") for line in path.read_text().splitlines()
    ]
    assert len(lines) == 200  # each case once, in one part
    assert judge.head is None  # the judge that was given is not changed


@pytest.mark.slow
def test_the_compiled_judge_decides_new_cases_with_its_head(tmp_path: Path) -> None:
    found = compiled(Leaning(), worlds(300), tmp_path)
    fresh = worlds(500, seed=9)
    right = [found.judge(case).winner == case.label.value for case in fresh]
    plain = [Leaning()(case).winner == case.label.value for case in fresh]
    assert np.mean(right) > np.mean(plain) + 0.1


def test_cases_that_a_demo_shows_teach_the_head_nothing(tmp_path: Path) -> None:
    cases = [
        case.model_copy(update={"candidates": (Candidate(text=f"{case.id} <|im_end|>"), Candidate(text=""))})
        for case in worlds(100)
    ]
    judge = Leaning()
    judge.prefer = Stage(Prefer, "judgment")
    compiler = Compiler(judge, cases, tmp_path / "parts", PLAIN)
    learnt, tested = compiler.parts["train"][0], compiler.parts["test"][0]
    judge.prefer.ask.demos = [dspy.Example(response_a=present(case).responses[0]) for case in (learnt, tested)]
    head = compiled(judge, cases, tmp_path / "shown").judge.head
    assert head is not None
    assert head.n == 100 - 2  # of all labels but those that a demo shows


@pytest.mark.slow
def test_reviewers_have_their_average_beside_the_judge(tmp_path: Path) -> None:
    def known(case: Case, number: int) -> Case:
        reviews = [{"text": f"earlier {one}", "score": 3 + (number + one) % 3} for one in range(3)]
        return case.model_copy(update={"profile": Reviewer(id=f"p{number % 9}", reviews=reviews)})

    cases = [known(case, number) for number, case in enumerate(worlds(100))]
    rows = [row.name for row in compiled(Leaning(), cases, tmp_path / "all").result.judges]
    assert rows == ["reviewer-average", "uncompiled", "compiled"]
    rows = [row.name for row in compiled(Leaning(), [*cases[:-1], *worlds(150)[-1:]], tmp_path / "some").result.judges]
    assert rows[-2:] == ["uncompiled", "compiled"]


@pytest.mark.slow
def test_the_certificate_is_held_against_the_test_part(tmp_path: Path) -> None:
    cases, given = worlds(800), Recipe(trials=0, estimate="split", baseline=None, risk=0.25, parts=Parts())
    found = compiled(Leaning(), cases, tmp_path, given)
    assert found.certificate is not None
    assert found.certificate.threshold == found.judge.threshold is not None
    kept = found.result.threshold_check
    assert kept is not None
    assert (kept.risk, kept.n, kept.holds) == (0.25, 280, True)
    sure = [found.judge(case).status for case in Compiler(Leaning(), cases, tmp_path, given).parts["test"]]
    assert sure.count("scored") == kept.accepted < 280
    given = Recipe(trials=0, estimate="split", baseline=None, risk=0.25, parts=Parts())
    none = compiled(Leaning(), worlds(100, random_labels=True), tmp_path / "none", given)
    assert (none.certificate is not None, none.judge.threshold, none.result.threshold_check) == (True, None, None)


@pytest.mark.slow
def test_a_certificate_that_the_test_part_contradicts_is_withdrawn(tmp_path: Path) -> None:
    cases, given = worlds(800), Recipe(trials=0, estimate="split", baseline=None, risk=0.25, parts=Parts())
    found = compiled(Leaning(), cases, tmp_path, given)
    assert found.result.withdrawal == ""
    content = json.loads((tmp_path / "test.json").read_text())
    content["threshold_check"] |= {"errors": 90, "disagreement": 0.5, "low": 0.4, "high": 0.6, "holds": False}
    (tmp_path / "test.json").write_text(json.dumps(content))
    withdrawn = compiled(Leaning(), cases, tmp_path, given)
    assert (withdrawn.certificate, withdrawn.judge.threshold, withdrawn.training["certificate"]) == (None, None, None)
    assert withdrawn.training["withdrawn"].endswith(withdrawn.result.withdrawal)
    assert "contradicts the certified 25 %" in withdrawn.training["withdrawn"]
    page = compilation_markdown(read_compilation(tmp_path), title="t", now="now")
    assert withdrawn.result.withdrawal in page
    (answer,) = [answer for answer in compile_answers(read_compilation(tmp_path)) if "certified" in answer.question]
    assert (answer.value, answer.tone) == ("Nothing", "bad")


def test_every_trial_is_reported(tmp_path: Path) -> None:
    messages: list[tuple[str, str]] = []
    given = Recipe(trials=5, baseline=None, space={name: tuple(values) for name, values in SPACE.items()}, head=False)
    compiled(
        Known(),
        known_cases(120),
        tmp_path,
        given,
        progress=ProgressCallbacks(lambda name, words: messages.append((name, words))),
    )
    trials = [words for name, words in messages if name == "structure" and words.startswith("trial ")]
    assert len(trials) == 5
    assert trials[0] == "trial 0: 0.650, 2.0 calls: care=plain, votes=1, order=both"


@pytest.mark.slow
def test_structure_is_searched_and_taken(tmp_path: Path) -> None:
    given = Recipe(trials=18, baseline=None, space={name: tuple(values) for name, values in SPACE.items()}, head=False)
    found = compiled(Known(), known_cases(200), tmp_path, given)
    assert found.judge.settings()["care"] == "careful"
    assert found.result.judge("compiled").calls > found.result.judge("uncompiled").calls
    assert found.training["after"]["hits"] > found.training["before"]["hits"]


@pytest.mark.slow
def test_a_stop_keeps_what_is_done_and_the_same_call_ends_as_if_undisturbed(tmp_path: Path) -> None:
    cases, given = worlds(150), Recipe(trials=0, estimate="split", baseline=None, seed=3)
    whole = compiled(Leaning(), cases, tmp_path / "whole", given)
    random = np.random.default_rng(1)
    for number in range(3):
        folder, after = tmp_path / str(number), int(random.integers(1, 140))
        stop, seen = threading.Event(), 0

        def count(_: object, after: int = after, stop: threading.Event = stop) -> None:
            nonlocal seen
            seen += 1
            if seen >= after:
                stop.set()

        with pytest.raises(Interrupted):
            compiled(Leaning(), cases, folder, given, progress=ProgressCallbacks(on_verdict=count, stop=stop))
        judge = Leaning()
        again = compiled(judge, cases, folder, given)
        assert again.result.model_dump(exclude={"judges"}) == whole.result.model_dump(exclude={"judges"})
        assert again.judge.head == whole.judge.head


def test_a_second_call_judges_nothing_again(tmp_path: Path) -> None:
    compiled(Leaning(), worlds(100), tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.json*")}
    compiled(Leaning(), worlds(100), tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.json*")} == before


def test_another_compilation_is_kept_out_of_the_folder(tmp_path: Path) -> None:
    compiled(Leaning(), worlds(100), tmp_path)
    with pytest.raises(RunError, match="holds a compilation with cases"):
        compiled(Leaning(), worlds(101), tmp_path)
    with pytest.raises(RunError, match="holds a compilation with recipe"):
        compiled(Leaning(), worlds(100), tmp_path, Recipe(trials=0, estimate="split", baseline=None, seed=1))


def test_too_few_labels_are_an_answer(tmp_path: Path) -> None:
    unlabelled = [case.model_copy(update={"label": None}) for case in worlds(100, seed=5)]
    with pytest.raises(TooFewLabels, match="39 labelled cases; at least 40 are needed"):
        compiled(Leaning(), [*worlds(39), *unlabelled], tmp_path)


def gains(repetitions: int, folder: Path) -> list[tuple[float, float, float]]:
    """Test gain and its interval, where labels are drawn at random."""
    found = []
    for seed in range(repetitions):
        cases = worlds(80, seed=1000 + seed, random_labels=True)
        tested = compiled(
            Leaning(), cases, folder / str(seed), Recipe(trials=0, estimate="split", baseline=None, seed=seed)
        ).result
        figure = tested.comparisons[0].tests[0].difference
        found.append((figure.value or 0.0, figure.low or 0.0, figure.high or 0.0))
    return found


@pytest.mark.slow
def test_random_labels_give_no_gain(tmp_path: Path) -> None:
    found = gains(6, tmp_path)
    assert sum(low <= 0 <= high for _, low, high in found) >= 5
    assert abs(np.mean([value for value, *_ in found])) < 0.15


@pytest.mark.simulation
def test_random_labels_give_no_gain_in_95_percent_of_200_runs(tmp_path: Path) -> None:
    found = gains(200, tmp_path)
    assert sum(low <= 0 <= high for _, low, high in found) >= 184  # binomial, 95 % of 200: 184 at 1 %
    assert abs(np.mean([value for value, *_ in found])) < 3 * np.std([value for value, *_ in found]) / np.sqrt(200)


def test_by_default_all_labels_certify_and_no_part_is_set_aside(tmp_path: Path) -> None:
    lines: list[tuple[str, str]] = []
    given = Recipe(trials=0, estimate="split", baseline=None, risk=0.25)
    progress = ProgressCallbacks(lambda name, text: lines.append((name, text)))
    result = compiled(Leaning(), worlds(400), tmp_path, given, progress=progress)
    assert result.training["parts"] == {"train": 140, "select": 60, "test": 200}
    assert [name for name, _ in lines][:3] == ["split", "certify", "head"]
    assert lines[1][1] == (
        "a certificate of 25 % at 95 % takes 11 groups with accepted verdicts if none has an error, 65 for an 80 % "
        "chance at a disagreement of 12.5 %; train, select and test have 400 groups"
    )
    assert result.certificate is not None
    assert (result.certificate.n, result.certificate.part, result.certificate.out_of_fold) == (400, "test", 400)
    assert result.certificate.threshold == result.judge.threshold is not None
    assert result.result.threshold_check is None
    assert result.result.n == 200  # the test is of all verdicts, accepted or not


def test_labels_that_can_certify_nothing_go_to_the_test_and_that_is_said_before_any_call(tmp_path: Path) -> None:
    """20 groups of four: 10 % at 95 % takes 29 groups without an error."""
    cases = [case.model_copy(update={"group": f"prompt {number // 4}"}) for number, case in enumerate(worlds(80))]
    lines: list[tuple[str, str]] = []
    judge = Leaning()
    progress = ProgressCallbacks(lambda name, text: lines.append((name, f"{judge.calls} calls: {text}")))
    result = compiled(judge, cases, tmp_path, progress=progress)
    assert "certify" not in result.training["parts"]
    assert lines[1] == (
        "certify",
        "0 calls: 20 groups of labels cannot certify 10 % at 95 %: train, select and test have 20 of them, and "
        "at least 29 are needed, 29 in all; no certificate is sought",
    )
    assert result.certificate is None
    assert not result.certifiable.possible
    assert result.training["certificate"] is None


def test_a_certify_part_that_the_recipe_sets_aside_certifies_alone(tmp_path: Path) -> None:
    result = compiled(
        Leaning(), worlds(400), tmp_path, Recipe(trials=0, estimate="split", baseline=None, risk=0.25, parts=Parts())
    )
    assert result.certificate is not None
    assert (result.certificate.n, result.certificate.part) == (60, "certify")


# recipes


def test_a_recipe_is_read_and_changed(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text("objective: kappa\nparts: {train: 0.5, select: 0.1, certify: 0, test: 0.4}\ntrials: 3\n")
    found = read_recipe(path, trials=5)
    assert (found.objective, found.trials) == ("kappa", 5)
    assert found.proportions(certify=True) == {"train": 0.5, "select": 0.1, "test": 0.4}


def test_where_nothing_can_be_certified_the_other_parts_share_its_cases() -> None:
    shares = Recipe().proportions(certify=False)
    assert shares == pytest.approx({"train": 0.35 / 0.85, "select": 0.15 / 0.85, "test": 0.35 / 0.85})


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({"trails": 3}, "compile: field 'trails'"),
        ({"trials": -1}, "compile: field 'trials' is -1"),
        ({"objective": "joy"}, "compile: field 'objective' is \"joy\""),
        ({"prompts": "copro"}, "compile: field 'prompts' is \"copro\""),
        ({"parts": {"train": 0.9}}, "the proportions of the parts must sum to 1, got 1.55"),
        ({"risk": 1}, "field 'risk' is 1"),
    ],
)
def test_a_bad_recipe_names_the_field(expected: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        recipe("compile", expected)


def test_a_recipe_that_is_none_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match="cannot be read"):
        read_recipe(tmp_path / "none.yaml")
    (tmp_path / "list.yaml").write_text("- a\n")
    with pytest.raises(DeclarationError, match="holds a list, not fields"):
        read_recipe(tmp_path / "list.yaml")
