"""A whole distillation: the same test part as the teacher's, lessons, a scripted training, and people's decision."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from quality_server import quality_pairs, quality_server

from dicast.data import Case
from dicast.data.case import Scores
from dicast.distillation.distil import Distilled, Distiller
from dicast.distillation.distil_folder import STUDENT_FILE, read_distillation
from dicast.distillation.distil_recipe import DistilRecipe
from dicast.distillation.trained_model import TrainedModel
from dicast.distillation.training_set import read_set
from dicast.engines.models import Roles
from dicast.errors import DeclarationError, RunError
from dicast.judging import Judge, build
from dicast.judging.judge_file import load, read
from dicast.optimizers.compile import Compiler, TooFewLabels
from dicast.optimizers.evidence import Interrupted, ProgressCallbacks
from dicast.optimizers.recipe import Parts
from dicast.pages.distil_page import distillation_markdown
from dicast.testing import MockServer

PARTS = Parts(train=0.3, select=0.25, certify=0, test=0.45)
RECIPE = DistilRecipe(parts=PARTS, seed=3)


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with quality_server() as running:
        yield running


@dataclass
class ScriptedTraining:
    """Trains nothing: the student is a model of the server that has learnt already; the first `stops` calls stop."""

    model: str
    stops: int = 0
    calls: int = 0

    def __call__(self, set_folder: Path, folder: Path, progress: ProgressCallbacks) -> TrainedModel:
        self.calls += 1
        self.rows = list(read_set(set_folder).rows())
        if self.calls <= self.stops:
            raise Interrupted
        return TrainedModel(model=self.model, figures={"loss": 0.25})


def teacher_of(server: MockServer) -> Judge:
    judge = build("direct", grading="pairwise", readout="probability")
    return judge.bind(Roles.parse(server.model_string("teacher")))


def distiller(server: MockServer, folder: Path, trainer: Any = None, **changes: Any) -> Distiller:
    options: dict[str, Any] = {
        "base": server.model_string("base"),
        "unlabelled": quality_pairs(30, labelled=False, start=500),
        "trainer": trainer or ScriptedTraining(server.model_string("student")),
        **changes,
    }
    recipe, cases = options.pop("recipe", RECIPE), options.pop("cases", quality_pairs(120))
    return Distiller(teacher_of(server), cases, folder, recipe, **options)


@dataclass
class Finished:
    folder: Path
    distiller: Distiller
    distilled: Distilled
    training: ScriptedTraining


@pytest.fixture(scope="module")
def finished(server: MockServer, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    folder, training = tmp_path_factory.mktemp("distilled"), ScriptedTraining(server.model_string("student"))
    made = distiller(server, folder, training)
    distilled = made.run()
    distilled.save(folder / STUDENT_FILE)
    return Finished(folder, made, distilled, training)


def test_a_student_like_its_teacher_is_accepted(finished: Finished) -> None:
    acceptance = finished.distilled.acceptance
    assert acceptance.outcome == "accepted"
    assert [judge.name for judge in acceptance.judges] == ["student", "teacher", "base", "base with a head"]
    assert acceptance.student.evaluation.measure("accuracy") == acceptance.teacher.evaluation.measure("accuracy")
    assert {comparison.second for comparison in acceptance.comparisons} >= {"teacher", "base", "longer", "majority"}


def test_teacher_and_student_have_the_test_part_of_a_compilation(finished: Finished, tmp_path: Path) -> None:
    recipe = RECIPE.compile_recipe()
    compiler = Compiler(finished.distiller.teacher, quality_pairs(120), tmp_path, recipe)
    ids = [case.id for case in compiler.parts["test"]]
    assert [case.id for case in finished.distiller.parts["test"]] == ids
    split = json.loads((finished.folder / "student" / "split.json").read_text())
    assert split["test"] == ids


def test_no_text_of_another_part_than_train_is_learnt(finished: Finished) -> None:
    learnt = "\n".join(message.content for row in finished.training.rows for message in row.messages)
    for name, part in finished.distiller.parts.items():
        texts = [f"\n{case.candidates[0].text}\n" in learnt for case in part]
        assert any(texts) is (name == "train")


def test_unlabelled_cases_with_texts_of_the_test_part_are_left_out_and_counted(
    server: MockServer, tmp_path: Path, finished: Finished
) -> None:
    """Three test pairs under other ids, one of them with other words around: none is asked, learnt, or unmentioned."""
    test = finished.distiller.parts["test"][:3]
    secret = [f"{case.id}: {'a text that is long enough to be known again ' * 3}" for case in test]
    labelled = {case.id: case for case in quality_pairs(120)}
    for case, text in zip(test, secret, strict=True):
        first = case.candidates[0].model_copy(update={"text": f"{text}, {case.candidates[0].text}"})
        labelled[case.id] = case.model_copy(update={"candidates": (first, case.candidates[1])})
    again = [labelled[case.id].model_copy(update={"id": f"new {case.id}", "label": None}) for case in test]
    nearly = again[2].candidates[0].model_copy(update={"text": again[2].candidates[0].text.replace("again", "anew", 1)})
    again[2] = again[2].model_copy(update={"query": "Other.", "candidates": (nearly, again[2].candidates[1])})
    steps = list[tuple[str, str]]()
    made = distiller(
        server, tmp_path, ScriptedTraining(server.model_string("student"), stops=1), cases=[*labelled.values()],
        unlabelled=[*again, *quality_pairs(4, labelled=False, start=500)],
        progress=ProgressCallbacks(step=lambda name, text: steps.append((name, text))),
    )  # fmt: skip
    assert {case.id for case in test} <= {case.id for case in made.parts["test"]}
    with pytest.raises(Interrupted):
        made.run()
    assert ("unlabelled", "3 of 7 share a text, group or id with a part that is measured: left out") in steps
    written = "".join(path.read_text() for path in [*(tmp_path / "set").iterdir(), *(tmp_path / "traces").glob("*.j*")])
    assert "topic 500" in written
    assert not any(text in written for text in secret)
    before = read_set(tmp_path / "set").card.before
    assert before["unlabelled cases of a group, text or id of a measured part"] == 3


def test_both_orders_are_learnt_with_probabilities_of_teacher_and_people(finished: Finished) -> None:
    rows = finished.training.rows
    assert {row.order for row in rows} == {"ab", "ba"}
    assert all(row.targets.keys() == {"A", "B"} for row in rows)
    assert {row.source for row in rows} == {"labels", "traces"}
    by_order = {(row.case_id, row.order): row.targets for row in rows}
    case_id = next(row.case_id for row in rows)
    assert by_order[case_id, "ab"]["A"] == pytest.approx(by_order[case_id, "ba"]["B"])


def test_the_head_is_fitted_to_cases_that_the_student_was_not_trained_on(finished: Finished) -> None:
    head = finished.distilled.judge.head
    assert head is not None
    assert head.n == len(finished.distiller.parts["select"])


def test_the_judge_file_judges_and_says_where_it_comes_from(finished: Finished) -> None:
    case = quality_pairs(1, start=900)[0]
    assert load(finished.folder / STUDENT_FILE)(case).winner == case.label.value
    origin = read(finished.folder / STUDENT_FILE).training["distilled"]
    assert isinstance(origin, dict)
    assert origin["outcome"] == "accepted"
    assert origin["training"] == {"loss": 0.25}


def test_the_page_says_what_decided(finished: Finished) -> None:
    text = distillation_markdown(read_distillation(finished.folder), title="direct, distilled", now="today")
    assert text.startswith(
        "# direct, distilled\n\n**The student may replace its teacher.** Not worse than teacher by 0.05"
    )
    for words in ("What a verdict takes", "not shown to be worse than base with a head", "Training set", "majority"):
        assert words in text


def test_a_finished_distillation_asks_nothing_again(finished: Finished, server: MockServer) -> None:
    before = len(server.requests)
    again = distiller(server, finished.folder, ScriptedTraining("none"))
    assert again.run().acceptance == finished.distilled.acceptance
    assert len(server.requests) == before


def test_another_recipe_is_refused(finished: Finished, server: MockServer) -> None:
    with pytest.raises(RunError, match="holds a distillation with recipe.targets"):
        distiller(server, finished.folder, recipe=RECIPE.model_copy(update={"targets": "labels"}))


@pytest.mark.slow
def test_a_stopped_training_goes_on_and_the_teacher_is_not_asked_again(server: MockServer, tmp_path: Path) -> None:
    training = ScriptedTraining(server.model_string("poor"), stops=1)
    with pytest.raises(Interrupted):
        distiller(server, tmp_path, training).run()
    asked = sum(body["model"] == "teacher" for body in server.requests)
    result = distiller(server, tmp_path, training).run()
    parts = distiller(server, tmp_path, training).parts
    later = sum(body["model"] == "teacher" for body in server.requests) - asked
    assert later <= 2 * len(parts["test"])  # the store may hold some of them
    assert result.acceptance.outcome == "rejected"
    assert training.calls == 2


def test_scores_of_unlabelled_texts_are_learnt_from_the_teacher(server: MockServer, tmp_path: Path) -> None:
    def texts(n: int, start: int = 0) -> list[Case]:
        return [
            Case(id=f"t{number}", query=f"Topic {number}?", candidates=[{"text": f"{number}, quality 5"}])
            for number in range(start, start + n)
        ]

    labelled = [case.model_copy(update={"label": Scores(values=(4,), lo=1, hi=5)}) for case in texts(60)]
    training = ScriptedTraining(server.model_string("student"), stops=1)
    with pytest.raises(Interrupted):
        distiller(server, tmp_path, training, cases=labelled, unlabelled=texts(8, start=100)).run()
    learnt = [row for row in training.rows if row.source == "traces"]
    assert learnt
    for row in learnt:  # the teacher reads 3 with .4, 2 and 4 with .3 each: a mean of 3
        assert row.targets == pytest.approx({"1": 0, "2": 0, "3": 1, "4": 0, "5": 0})


@pytest.mark.parametrize("targets", ["both", "labels"])
def test_lessons_of_another_recipe_are_not_continued(targets: str, server: MockServer, tmp_path: Path) -> None:
    """A training that was stopped has the teacher's verdicts or lessons, and no evidence of a judge yet."""
    recipe = RECIPE.model_copy(update={"targets": targets})
    training = ScriptedTraining(server.model_string("student"), stops=1)
    with pytest.raises(Interrupted):
        distiller(server, tmp_path, training, recipe=recipe).run()
    before = {path: path.read_bytes() for path in (tmp_path / "distil.json", tmp_path / "lessons.json")}
    with pytest.raises(RunError, match=r"holds a distillation with recipe\.human_weight = 0\.5, now it is 0\.9"):
        distiller(server, tmp_path, training, recipe=recipe.model_copy(update={"human_weight": 0.9}))
    assert {path: path.read_bytes() for path in before} == before


def test_the_judge_that_is_given_stays_as_it_is(server: MockServer, tmp_path: Path) -> None:
    teacher = teacher_of(server)
    teacher.threshold = 0.8
    training = ScriptedTraining(server.model_string("student"))
    made = Distiller(
        teacher, quality_pairs(60), tmp_path, RECIPE, base=server.model_string("base"), trainer=training
    )  # fmt: skip
    assert (teacher.threshold, made.teacher.threshold) == (0.8, None)


def test_a_stop_before_the_teacher_has_answered_leaves_a_folder_that_continues(
    server: MockServer, tmp_path: Path
) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(Interrupted):
        distiller(server, tmp_path, progress=ProgressCallbacks(stop=stop)).run()
    assert not (tmp_path / "lessons.json").exists()


def test_a_teacher_of_another_split_is_refused(server: MockServer, tmp_path: Path, finished: Finished) -> None:
    training = finished.distilled.compiled.training
    distiller(server, tmp_path / "same", training=training)
    with pytest.raises(DeclarationError, match="split otherwise"):
        distiller(server, tmp_path / "other", training=training, recipe=RECIPE.model_copy(update={"seed": 4}))


def test_few_labels_teach_nobody(server: MockServer, tmp_path: Path) -> None:
    with pytest.raises(TooFewLabels, match="30 labelled cases"):
        distiller(server, tmp_path, cases=quality_pairs(30))


def test_a_mode_that_is_trained_takes_a_trainer(server: MockServer, tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match="there is no trainer"):
        Distiller(teacher_of(server), quality_pairs(60), tmp_path, RECIPE, base=server.model_string("base"))


def test_choices_have_no_verdict_of_one_letter(server: MockServer, tmp_path: Path) -> None:
    texts = [{"text": f"text {number}"} for number in range(4)]
    cases = [Case(id=str(n), query=f"q{n}", candidates=texts, label={"value": n % 4}) for n in range(60)]
    with pytest.raises(DeclarationError, match="has 4 candidates"):
        distiller(server, tmp_path, cases=cases)
