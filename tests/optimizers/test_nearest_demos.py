"""The prompt method `nearest`: demos with people's labels, chosen for each case, saved in the judge file."""

import json
from importlib.resources import files

import dspy
import pytest
from nearness_world import source
from prompt_world import cases, plain, world

from dicast.data import Case, Judged, Verdict, read_cases
from dicast.errors import DeclarationError
from dicast.judging import build
from dicast.judging.judge import Judge, present
from dicast.judging.judge_file import load, read, save
from dicast.judging.judge_summary import summarize_judge
from dicast.optimizers.prompts.candidate_selection import CandidateSelection
from dicast.optimizers.prompts.labelled_demos import labelled_demos
from dicast.optimizers.prompts.methods.nearest import numbers
from dicast.optimizers.prompts.optimise import optimise_prompts
from dicast.optimizers.prompts.optimizer import PromptOptions
from dicast.optimizers.prompts.prompt_state import Wording, demonstrated, digest_of, wordings_of
from dicast.optimizers.prompts.wording_evaluator import StageCall
from dicast.optimizers.structure.search import search as structure_search
from dicast.programs.direct import Direct
from dicast.testing import ScriptedLM, prompt_text

TRAIN, SELECT = cases("t", 8), cases("s", 8)


@pytest.fixture(autouse=True)
def _reads_letters(monkeypatch):
    monkeypatch.setattr(Judge, "sources", lambda judge: (source(),))


def search(judge=None, answer=world, **options):
    lm = ScriptedLM(answer)
    chosen = PromptOptions(**({"method": "nearest", "workers": 1, "demos": 2} | options))
    with dspy.context(lm=lm):
        return optimise_prompts(judge or plain(), TRAIN, SELECT, chosen)


def asked(judge, *judged):
    """The verdicts, and all prompts."""
    lm = ScriptedLM(world)
    with dspy.context(lm=lm):
        verdicts = [judge(case) for case in judged]
    return verdicts, [prompt_text(request) for request in lm.requests]


@pytest.mark.parametrize("readout", ["probability", "generate"])
def test_the_method_finds_what_people_value_and_shows_their_labels(readout):
    found = search(plain(readout=readout))
    assert (found.score_before, found.score_after, found.stopped) == (0.5, 1.0, "")
    assert [trial.nearest for trial in found.trials] == [0, 2, 1]
    (pool,) = [wording.pool for wording in wordings_of(found.judge).values() if wording.pool]
    assert len(pool.demos) == 2 * len(TRAIN)  # also of the hard cases, which the judge got wrong
    for demo in pool.demos:
        assert demo["better"] == ("A" if "Gladly" in demo["response_a"] else "B")
    new = cases("new", 10)
    verdicts, prompts = asked(found.judge, *new)
    assert [verdict.winner for verdict in verdicts] == [case.label.value for case in new]
    assert all(prompt.count("Gladly") == pool.most + 1 for prompt in prompts)


def test_an_exchanged_pair_gets_the_exchanged_verdict():
    judge, apart = search().judge, {"usage", "findings"}  # the findings have the order in which they were asked
    for case in cases("new", 6):
        (one, other), prompts = asked(judge, case, case.swapped())
        assert other.swapped().model_dump(exclude=apart) == one.model_dump(exclude=apart)
        assert sorted(prompts[:2]) == sorted(prompts[2:])


def test_train_cases_are_never_shown_their_group_so_that_their_verdicts_are_evidence():
    judge = search().judge
    for case in TRAIN:
        _, prompts = asked(judge, case)
        assert not demonstrated(judge, case)
        assert all(prompt.count(case.candidates[0].text) == 1 for prompt in prompts)


def test_a_judge_file_holds_the_pool_and_asks_the_very_same(tmp_path):
    judge = search().judge
    path = tmp_path / "mine.judge.json"
    save(judge, path)
    assert (tmp_path / "mine.judge.safetensors").stat().st_size > 16 * 2 * 36 * 2  # 16 demos of two texts, float16
    assert '"data"' not in path.read_text()
    again = load(path)
    assert digest_of(wordings_of(again)) == digest_of(wordings_of(judge))
    new = cases("new", 4)
    assert sorted(asked(again, *new)[1]) == sorted(asked(judge, *new)[1])


def test_a_wording_without_a_pool_is_written_as_before():
    wording = Wording(instructions="judge")
    assert wording.model_dump() == {"instructions": "judge", "demos": ()}
    assert "nearest" not in str(plain().dump_state())


def test_a_checkpoint_holds_the_wording_with_its_pool():
    wordings = wordings_of(search().judge)
    content = json.loads(json.dumps({path: wording.model_dump(mode="json") for path, wording in wordings.items()}))
    again = {path: Wording.model_validate(wording) for path, wording in content.items()}
    assert digest_of(again) == digest_of(wordings)
    assert again["prefer"].pool == wordings["prefer"].pool
    assert (again["prefer"].shown_demos, again["grade"].shown_demos) == (2, 0)


def test_half_of_the_demos_is_tried_too():
    assert numbers(5, 10) == [5, 2, 1]
    assert numbers(1, 1) == [1]


def test_a_judge_that_reads_no_states_is_refused_before_anything_is_spent(monkeypatch):
    monkeypatch.setattr(Judge, "sources", lambda judge: ())
    with pytest.raises(DeclarationError, match="evidence=state"):
        search()


def calls(case, order="ab", times=1, **outputs):
    shown = present(case, order)
    inputs = {"request": shown.request, "response_a": shown.responses[0], "response_b": shown.responses[1]}
    return [StageCall("prefer", inputs, outputs or {"better": "A"})] * times


def test_a_demo_has_the_label_of_people_where_the_answer_is_the_verdict():
    case = Case(id="1", query="q", candidates=[{"text": "one text"}, {"text": "another"}], label={"value": "b"})
    wrong, right = Verdict(case_id="1", winner="a"), Verdict(case_id="1", winner="b")

    def demos(case, verdict, steps):
        return [demo["better"] for _, _, demo in labelled_demos(Direct(), case, verdict, steps)]

    assert demos(case, wrong, calls(case)) == ["B"]
    assert demos(case, wrong, calls(case, "ba")) == ["A"]
    assert demos(case, wrong, calls(case, times=2)) == []  # two criteria, say: none of them is the verdict
    assert demos(case, right, calls(case, times=2)) == ["A", "A"]
    assert demos(case, wrong, calls(case, better="A", reason="it is longer")) == []
    tied = case.model_copy(update={"label": case.label.model_copy(update={"value": "tie"})})
    assert demos(tied, wrong, calls(tied)) == []  # A or B is asked: nobody can say that it is a tie


@pytest.mark.parametrize(("score", "said"), [(0, 1), (7, 4), (10, 5)])
def test_a_demo_of_a_text_has_the_score_of_people_on_the_scale_of_the_question(score, said):
    case = Case(id="1", query="q", candidates=[{"text": "a text"}], label={"values": [score], "lo": 0, "hi": 10})
    call = StageCall("grade", {"response": present(case).responses[0]}, {"score": "2"})
    ((path, order, demo),) = labelled_demos(Direct(), case, Verdict(case_id="1", scores=(2.0,)), [call])
    assert (path, order, demo["score"]) == ("grade", (0,), said)


def test_show_and_the_judge_file_say_what_is_shown(tmp_path):
    judge = search().judge
    save(judge, tmp_path / "mine.judge.json")
    summary = summarize_judge(read(tmp_path / "mine.judge.json").judge)
    assert summary.stages["prefer"].nearest == "the 2 nearest of 8 labelled cases, by state of local/made"


@pytest.mark.model
@pytest.mark.slow
def test_a_real_model_reads_what_is_near_and_its_judge_file_judges_the_same(small_model, tmp_path, monkeypatch):
    monkeypatch.undo()  # the sources are the judge's, not the letters
    judge = build("direct", grading="pairwise", evidence="state").bind(small_model)
    authored = [case for case in read_cases(str(files("dicast.catalog.sets") / "authored.jsonl")) if case.is_pair]
    authored = sorted((case for case in authored if case.label.winner in "ab"), key=lambda case: len(str(case)))
    options = PromptOptions(method="nearest", workers=1, demos=1, trials=1, objective="log-loss")
    monkeypatch.setattr(CandidateSelection, "best", lambda selection: list(selection.evaluator.tried)[-1])
    pooled = optimise_prompts(judge, authored[:4], authored[4:6], options).judge
    assert wordings_of(pooled)["prefer"].pool.source.width == 576
    save(pooled, tmp_path / "real.judge.json")
    again, new = load(tmp_path / "real.judge.json"), authored[6]
    verdict = pooled(new)
    assert verdict.status == "scored"
    assert pooled(new.swapped()).distribution == verdict.swapped().distribution
    assert again(new).distribution == verdict.distribution != judge(new).distribution


def test_a_judge_that_drops_the_evidence_of_its_demos_is_refused_before_anything_is_asked():
    judge = search().judge.set(evidence="state")
    judge.check_demos()
    judge.set(evidence="")
    with pytest.raises(DeclarationError, match=r"by nearness in the evidence 'state', .*evidence=state"):
        judge.check_demos()


def test_a_structure_that_drops_the_evidence_of_its_demos_costs_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(Judge, "read_vectors", lambda judge, case: {})  # for heads; demos read the source themselves
    judge = search().judge.set(evidence="state")
    judged: list[str] = []

    def run_judge(tried, some):
        judged.append(str(tried.settings().get("evidence", "")))
        with dspy.context(lm=ScriptedLM(world)):
            return [Judged.of(case, tried(case)) for case in some]

    found = structure_search(
        judge, cases("n", 20), space={"evidence": ["", "state"]}, objective="accuracy", folder=tmp_path,
        run_judge=run_judge, trials=3, fit_head=False,
    )  # fmt: skip
    assert set(judged) == {"state"}
    assert [trial.status for trial in found.trials] == ["complete", "unusable"]
    assert "evidence 'state', which is not read" in found.trials[1].detail
