"""Costs of errors, and certificates of either error, from the head to the page and the judge file."""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, precision_recall_curve
from statsmodels.stats.proportion import proportion_confint

from dicast.data import Candidate, Case, Category, Finding, Judged, Verdict
from dicast.errors import DataError, DeclarationError
from dicast.evaluation import run_arrays
from dicast.judging import PROGRAMS, Program, build
from dicast.judging.category_verdict import category_verdict
from dicast.judging.heads import CategoryHead
from dicast.judging.judge import Judge
from dicast.optimizers.certificates.certificate import Certificate
from dicast.optimizers.certificates.certify import certify_answer
from dicast.optimizers.compile import Compiled, Compiler
from dicast.optimizers.compile_folder import read_compilation
from dicast.optimizers.error_costs import check_costs, costs_in, objective_name, parse_costs
from dicast.optimizers.head.fit import fit
from dicast.optimizers.objective import OBJECTIVES, objective_for
from dicast.optimizers.recipe import Recipe
from dicast.optimizers.search_steps import searched_space
from dicast.pages import compilation_html, compilation_markdown
from dicast.workflows import run

WORDS = ("fail", "pass")


class Noticed(Judge):
    """Reads a text's probability of a pass out of its meta data."""

    name = "noticed"

    def assess(self, case: Case) -> Verdict:
        share = float(case.meta["share"])
        return category_verdict(case, [Finding(criterion="overall", distribution={"fail": 1 - share, "pass": share})])


def world(n: int = 400, seed: int = 0) -> list[Case]:
    """Half of the texts pass by people; the judge sees their quality through noise, and likes to say pass."""
    random = np.random.default_rng(seed)
    cases = []
    for number in range(n):
        passes = bool(random.integers(2))
        logit = 3.0 * (passes - 0.5) + random.normal() + 1.0
        cases.append(
            Case(
                id=f"{number:04}", query=f"question {number}", candidates=(Candidate(text=f"text {number}"),),
                categories=WORDS, label=Category(category=WORDS[passes]), meta={"share": 1 / (1 + math.exp(-logit))},
            )
        )  # fmt: skip
    return cases


def judged(cases: list[Case]) -> list[Judged]:
    judge = Noticed()
    return [Judged.of(case, judge(case)) for case in cases]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Compiled]]:
    folder = tmp_path_factory.mktemp("costs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PROGRAMS._added, "noticed", Program("noticed", Noticed, "reads a share", "-", "categories", "0"))
        recipe = Recipe(baseline=None, costs={"fail": 5.0}, seed=1, estimate="split")
        result = Compiler(Noticed(), world(), folder, recipe).run()
        result.save(folder / "noticed.judge.json")
        yield folder, result


def test_costs_are_read_and_written() -> None:
    costs = parse_costs(" fail=5, pass=0.5 ")
    assert costs == {"fail": 5.0, "pass": 0.5}
    assert objective_name(costs) == "cost fail=5,pass=0.5"
    assert costs_in(objective_name(costs)) == costs
    assert costs_in("accuracy") == {}
    assert parse_costs("a=b=2") == {"a=b": 2.0}


@pytest.mark.parametrize("text", ["", "fail", "fail=", "fail=x", "fail=0", "fail=-1", "fail=nan", "=2", "a=1,a=2"])
def test_costs_of_another_form_are_refused(text: str) -> None:
    with pytest.raises(DeclarationError, match="Write CATEGORY=COST, as in fail=5,pass=1"):
        parse_costs(text)


def test_costs_are_of_categories_that_cases_have() -> None:
    check_costs({"fail": 2.0}, WORDS)
    with pytest.raises(DeclarationError, match="'bad' is not a category of these cases, which have fail, pass"):
        objective_for("cost bad=2", world(30))
    with pytest.raises(DeclarationError, match="'bad' is not a category"):
        fit(world(60), [Noticed()(case) for case in world(60)], costs={"bad": 2.0})


def test_the_objective_is_the_mean_cost_of_the_confusion_table() -> None:
    verdicts = judged(world(200))
    objective = OBJECTIVES.find("cost fail=5,pass=2")
    human, said = [v.human_answer for v in verdicts], [v.answer for v in verdicts]
    table = confusion_matrix(human, said, labels=WORDS)
    assert objective.value(run_arrays(verdicts)) == pytest.approx((5 * table[0, 1] + 2 * table[1, 0]) / 200)
    assert not objective.greater_is_better
    equal = OBJECTIVES.find("cost fail=1,pass=1").value(run_arrays(verdicts))
    assert equal == pytest.approx(1 - OBJECTIVES.find("accuracy").value(run_arrays(verdicts)))


def test_a_head_of_costs_passes_what_is_probable_enough() -> None:
    cases = world()
    verdicts = [Noticed()(case) for case in cases]
    fitted = fit(cases, verdicts, costs={"fail": 5.0})
    assert isinstance(fitted.head, CategoryHead)
    assert fitted.head.costs == {"fail": {"pass": 5.0}}
    assert fitted.head.cutoff == pytest.approx(5 / 6)
    plain = fit(cases, verdicts)
    objective = OBJECTIVES.find("cost fail=5")

    def cost(said: object) -> float:
        return objective.value(run_arrays(Judged.of(case, v) for case, v in zip(cases, said, strict=True)))  # type: ignore[call-overload]

    assert cost(fitted.crossfitted) < cost(plain.crossfitted) < cost(verdicts)
    shares = [(v.distribution or {})["pass"] for v in fitted.crossfitted]
    assert shares == [(v.distribution or {})["pass"] for v in plain.crossfitted]


def test_a_compilation_with_costs_is_tested_by_cost_and_keeps_them(compiled: tuple[Path, Compiled]) -> None:
    folder, result = compiled
    assert result.result.objective == "cost fail=5"
    assert result.result.outcome == "improved"
    head = result.judge.head
    assert isinstance(head, CategoryHead)
    assert head.costs == {"fail": {"pass": 5.0}}
    assert json.loads((folder / "noticed.judge.json").read_text())["judge"]["head"]["costs"] == head.costs


def test_either_error_is_certified_by_itself(compiled: tuple[Path, Compiled]) -> None:
    _, result = compiled
    assert result.certificate is not None
    by_answer = {certificate.said: certificate for certificate in result.certificate.of_answers}
    assert set(by_answer) == {"fail", "pass"}
    passed = by_answer["pass"]
    assert passed.threshold is not None
    assert passed.part == result.certificate.part
    sentence = f"Verdicts 'pass' of certainty {passed.threshold:g} or more disagree with people in at most 10 % of"
    assert sentence in result.certificate.summary()
    again = Certificate.model_validate(result.certificate.model_dump(mode="json"))
    assert again == result.certificate


def test_a_certificate_of_an_answer_does_not_see_other_answers() -> None:
    verdicts = judged(world(300, seed=3))
    levels = {"risk": 0.1, "delta": 0.05, "groups": None}
    of_pass = certify_answer(verdicts, "pass", **levels)  # type: ignore[arg-type]
    turned = [
        v.model_copy(update={"label": Category(category="pass")}) if v.category == "fail" else v for v in verdicts
    ]
    assert certify_answer(turned, "pass", **levels) == of_pass  # type: ignore[arg-type]
    assert certify_answer(turned, "fail", **levels) != certify_answer(verdicts, "fail", **levels)  # type: ignore[arg-type]
    assert certify_answer(verdicts, "perhaps", **levels) is None  # type: ignore[arg-type]


def test_its_bound_is_clopper_and_pearsons() -> None:
    """Against statsmodels: the upper limit of a two-sided 90 % interval is the one-sided 95 % limit."""
    verdicts = judged(world(400, seed=5))
    certificate = certify_answer(verdicts, "pass", risk=0.2, delta=0.05, groups=None)
    assert certificate is not None
    assert certificate.threshold is not None
    accepted = [v for v in verdicts if v.category == "pass" and (v.certainty or 0) >= certificate.threshold]
    wrong = sum(v.human_answer == "fail" for v in accepted)
    assert (certificate.accepted, certificate.errors) == (len(accepted), wrong)
    _, upper = proportion_confint(wrong, len(accepted), alpha=0.1, method="beta")
    assert certificate.bound == pytest.approx(upper)
    assert upper < 0.2


def test_certificates_of_other_labels_are_written_as_before() -> None:
    certificate = certify_answer(judged(world(100)), "pass", risk=0.3, delta=0.05, groups=None)
    assert certificate is not None
    fields = certificate.model_copy(update={"said": None}).model_dump(mode="json")
    assert not {"said", "of_answers"} & fields.keys()


def test_the_page_shows_both_certificates_and_the_curves_of_the_test_part(compiled: tuple[Path, Compiled]) -> None:
    folder, result = compiled
    compilation = read_compilation(folder)
    html, text = (page(compilation, title="", now="") for page in (compilation_html, compilation_markdown))
    for part in ("Precision and recall", "Confusion matrix"):
        assert part in html
    assert "Verdicts 'pass' of certainty" in text
    curve = result.result.compiled.evaluation.precision_recall
    tested = set(json.loads((folder / "split.json").read_text())["test"])
    run_of_it = [Judged.of(case, result.judge(case)) for case in world() if case.id in tested]
    truth = [v.human_answer == "pass" for v in run_of_it]
    shares = [(v.distribution or {})["pass"] for v in run_of_it]
    precision, recall, _ = precision_recall_curve(truth, shares)
    assert {(round(p.precision, 9), round(p.recall, 9)) for p in curve} <= {
        (round(float(p), 9), round(float(r), 9)) for p, r in zip(precision, recall, strict=True)
    }


def test_a_search_does_not_vary_what_texts_do_not_have() -> None:
    recipe, judge = Recipe(trials=8), build("direct")
    pair = Case(id="p", query="q", candidates=(Candidate(text="x"), Candidate(text="y")))
    assert "grading" in (searched_space(recipe, judge, [pair]) or {})
    assert "grading" not in (searched_space(recipe, judge, world(5)) or {})


@pytest.mark.parametrize("name", ["mt-bench", "fennec-single", "questions", "explicit", "pref"])
def test_a_judge_of_scores_says_so_before_a_call(name: str, tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=rf"judge '{name}': case '0000' is of fail, pass, and it gives scores. Use direct"
    ):
        run(name, world(3), lm="openai/none@http://127.0.0.1:9/v1", out=tmp_path / "run")
    assert not (tmp_path / "run" / "manifest.json").exists()
