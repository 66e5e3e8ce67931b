"""Compilations that a budget, an account, a server or a person cuts short: what is kept, and how they go on."""

import json
import threading
from pathlib import Path
from typing import Any

import dspy
import prompt_world as prompts
import pytest
from dspy.lm15 import ServerError
from known_judge import SPACE, Known, known_cases

from dicast.data import Case, Verdict
from dicast.engines.ledger import Budget, current_ledger
from dicast.errors import BudgetSpent, DeclarationError, Infrastructure, ModelError, RunError
from dicast.optimizers.checkpoints import Checkpoints
from dicast.optimizers.compile import Compiled, Compiler
from dicast.optimizers.evidence import Interrupted, ProgressCallbacks
from dicast.optimizers.recipe import Recipe
from dicast.testing import ScriptedLM

STRUCTURES = Recipe(trials=18, baseline=None, head=False, space={name: tuple(values) for name, values in SPACE.items()})
WORDINGS = Recipe(prompts="gepa", trials=0, prompt_trials=4, demos=0, baseline=None)
CASES = known_cases(200)


class Metered(Known):
    """Asks the budget before each verdict, as a stage does before each call."""

    def assess(self, case: Case) -> Verdict:
        ledger = current_ledger()
        assert ledger is not None
        ledger.check()
        verdict: Verdict = super().assess(case)
        return verdict


class Flaky(Known):
    """Fails the first time that it is asked of each fifth case, and for good of the `lost` ones."""

    failed: set[str]
    lost: frozenset[str] = frozenset()

    def assess(self, case: Case) -> Verdict:
        if case.id in self.lost or (int(case.id) % 5 == 0 and case.id not in self.failed):
            self.failed.add(case.id)
            raise Infrastructure("stage 'judgment': 503")
        verdict: Verdict = super().assess(case)
        return verdict


class Billed(Known):
    """Has an account for so many verdicts."""

    left: float = float("inf")

    def assess(self, case: Case) -> Verdict:
        Billed.left -= 1
        if Billed.left < 0:
            raise ModelError("model 'openai/x': You exceeded your current quota.")
        verdict: Verdict = super().assess(case)
        return verdict


def run(judge: Any, folder: Path, given: Recipe = STRUCTURES, cases: list[Case] = CASES, **more: Any) -> Compiled:
    return Compiler(judge, cases, folder, given, workers=1, **more).run()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    found = run(Known(), tmp_path_factory.mktemp("undisturbed")).judge.settings()
    assert found == {"care": "careful", "votes": 5, "order": "both"}
    return found


@pytest.mark.slow
@pytest.mark.parametrize("calls", [4000, 5000, 5500, 6000, 7000])
def test_whatever_the_budget_the_judge_is_tested_and_more_goes_on_to_the_judge_of_no_budget(
    tmp_path: Path, calls: int, undisturbed: dict[str, Any]
) -> None:
    """The start costs 2 calls a verdict, the best structure 10; parts of 100, 30 and 70."""
    found = run(Metered(), tmp_path, budget=Budget(calls=calls))
    assert found.training["spent"]["usage"]["calls"] <= calls + 10  # of a verdict under way
    if found.judge.settings() != undisturbed:
        assert found.result.judge("compiled").calls < 10


@pytest.mark.slow
def test_a_budget_that_ends_before_the_test_freezes_nothing(tmp_path: Path, undisturbed: dict[str, Any]) -> None:
    with pytest.raises(BudgetSpent):
        run(Metered(), tmp_path, budget=Budget(calls=220))
    assert not (tmp_path / "structure.json").exists()
    assert run(Metered(), tmp_path).judge.settings() == undisturbed


@pytest.mark.slow
def test_an_account_that_is_used_up_says_nothing_of_a_structure(tmp_path: Path, undisturbed: dict[str, Any]) -> None:
    Billed.left = 230
    with pytest.raises(ModelError, match="quota"):
        run(Billed(), tmp_path)
    Billed.left = float("inf")
    assert run(Billed(), tmp_path).judge.settings() == undisturbed


def test_verdicts_that_the_server_failed_are_asked_again_before_anything_is_made_of_them(tmp_path: Path) -> None:
    judge, given = Flaky(), Recipe(trials=0, estimate="split", baseline=None)
    Flaky.failed, Flaky.lost = set(), frozenset({"0007", "0008", "0009"})
    rows = {row.name: row.evaluation for row in run(judge, tmp_path, given).result.judges}
    figures = {name: row.measure("coverage") for name, row in rows.items()}
    assert figures["uncompiled"] == figures["compiled"]
    found = figures["compiled"]
    assert found is not None
    lost = sum(json.loads((tmp_path / "split.json").read_text())["test"].count(one) for one in Flaky.lost)
    assert found.value == pytest.approx((found.n - lost) / found.n)


def test_a_server_that_never_answers_is_reported_as_such(tmp_path: Path) -> None:
    Flaky.failed, Flaky.lost = set(), frozenset(case.id for case in CASES)
    with pytest.raises(Infrastructure, match="503"):
        run(Flaky(), tmp_path)


def test_stopped_in_the_search_the_best_so_far_has_the_best_structure(tmp_path: Path) -> None:
    stop, seen = threading.Event(), []

    def step(name: str, text: str) -> None:
        if name == "structure":
            seen.append(text)
            if text.startswith("trial 5"):
                stop.set()

    compiler = Compiler(Known(), CASES, tmp_path, STRUCTURES, progress=ProgressCallbacks(step, stop=stop), workers=1)
    with pytest.raises(Interrupted):
        compiler.run()
    values = [float(one.split(": ")[1].split(",")[0]) for one in seen if "stopped" not in one]
    best = compiler.best_so_far()
    assert best is not None
    assert best.judge.settings() != Known().settings()
    assert max(values) > values[0]


def test_stopped_before_prompts_were_measured_it_is_an_interruption_with_a_best_so_far(tmp_path: Path) -> None:
    stop = threading.Event()
    progress = ProgressCallbacks(lambda name, text: stop.set() if name == "head" else None, stop=stop)
    with dspy.context(lm=ScriptedLM(prompts.world, cache=False)):
        compiler = Compiler(prompts.plain(), prompts.cases("z", 100), tmp_path, WORDINGS, progress=progress, workers=1)
        with pytest.raises(Interrupted):
            compiler.run()
    assert compiler.best_so_far() is not None


def test_a_search_of_prompts_that_the_server_interrupted_is_reported_so(tmp_path: Path) -> None:
    def failing(request: Any) -> Any:
        return ServerError("503 overloaded") if prompts.LESSON in str(request.system) else prompts.world(request)

    messages: list[str] = []
    progress = ProgressCallbacks(lambda name, words: messages.append(words) if name == "prompts" else None)
    with dspy.context(lm=ScriptedLM(failing, cache=False)):
        run(prompts.plain(), tmp_path, WORDINGS, prompts.cases("z", 100), progress=progress)
    assert "stopped early" in messages[-1]
    assert "503 overloaded" in messages[-1]


def test_too_few_cases_to_choose_a_structure_for_new_prompts_leave_the_search_out(tmp_path: Path) -> None:
    given = Recipe(prompts="gepa", prompt_trials=4, demos=0, baseline=None, space={"order": ("both", "one")})
    messages: list[tuple[str, str]] = []
    with dspy.context(lm=ScriptedLM(prompts.world, cache=False)):
        found = run(
            prompts.plain(), tmp_path, given, prompts.cases("z", 100),
            progress=ProgressCallbacks(lambda name, words: messages.append((name, words))),
        )  # fmt: skip
    assert found.result.outcome == "improved"
    heads = [words for name, words in messages if name == "head"]
    assert len(heads) == 2
    assert "chosen on" not in heads[0]
    assert heads[1].endswith(
        "; the prompts were chosen on all of these cases, so its certainty may be about .01 too high"
    )
    assert found.training["head"]["searched"] == found.training["head"]["n"] > 20
    left_out = [words for name, words in messages if name == "structure"]
    assert left_out[0].startswith("left out: fit: 15 labelled verdicts of 15 cases. Label 20 at least")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"objective": "spearman"},
            "objective 'spearman': is not defined for pairs. Use one of log-loss, brier, both-orders accuracy",
        ),
        ({"space": {"vots": (1, 3)}}, "has no 'vots'"),
        ({"space": {"votes": (1, 4)}}, "votes"),
        ({"prompts": "gepa"}, "judge 'known' asks no model, so there is no prompt to optimise"),
        ({"prompts": "bootstrap", "demos": 0}, "bootstrap searches demos, got demos=0"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_spent(
    tmp_path: Path, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(DeclarationError, match=message):
        Compiler(Known(), CASES, tmp_path / "out", Recipe(**given))
    assert not (tmp_path / "out").exists()


def test_two_cases_of_one_id_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match="several cases have the id '0003'"):
        Compiler(Known(), [*CASES, CASES[3]], tmp_path, Recipe())


@pytest.mark.parametrize("text", ["", '{"train": [', "[]", "{}"])
def test_a_damaged_step_is_named(tmp_path: Path, text: str) -> None:
    Checkpoints(tmp_path, {"judge": "x"})
    (tmp_path / "split.json").write_text(text)
    with pytest.raises(RunError, match=r"split\.json: .*\. Delete the file, and the step runs again"):
        Checkpoints(tmp_path, {"judge": "x"}).once("split", dict)


def test_what_is_made_of_an_open_step_is_open_until_all_is_settled(tmp_path: Path) -> None:
    steps = Checkpoints(tmp_path, {"judge": "x"})
    assert steps.once("first", lambda: {"n": 1}) == {"n": 1}
    assert steps.once("second", lambda: {"n": 2}, interrupted=lambda made: True) == {"n": 2}
    assert steps.once("third", lambda: {"n": 3}) == {"n": 3}
    assert sorted(path.name for path in tmp_path.glob("*.json")) == ["compile.json", "first.json"]
    assert Checkpoints(tmp_path, {"judge": "x"}).once("second", lambda: {"n": 4}) == {"n": 4}
    steps.settle()
    assert steps.once("third", lambda: {"n": 5}) == {"n": 3}
