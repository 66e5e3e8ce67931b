"""The objective and the prompt optimizer of docs/extending.md, installed and compiled with."""

import dspy
import pytest
from click.testing import CliRunner
from extending import blocks, entry_points

from dicast.cli import group
from dicast.data import Case
from dicast.errors import DeclarationError
from dicast.judging import build
from dicast.optimizers import PROMPT_OPTIMIZERS, Compiler, PromptOptimizer, Recipe
from dicast.optimizers.recipe import recipe
from dicast.optimizers.structure.space import with_settings
from dicast.testing import ScriptedLM, prompt_text

POLITE, RUDE = "Gladly, here is answer {}, thank you.", "No. Find out yourself {}."


@pytest.fixture
def page(install):
    for module, section in (("balanced_accuracy", "An objective"), ("sentence_search", "A prompt optimizer")):
        (code,) = blocks(section, "python")
        install(module, code, entry_points(section))


def polite_cases(n):
    """Pairs of a polite and a rude response; people prefer the polite one."""
    for number in range(n):
        texts = [POLITE.format(number), RUDE.format(number)]
        label = "ab"[number // 2 % 2]
        yield Case(
            id=f"{number:03}",
            query=f"{'Easy' if number % 2 else 'Hard'} question {number}",
            candidates=[{"text": text} for text in (texts if label == "a" else texts[::-1])],
            label={"value": label},
        )


def answer(request):
    """Right on easy questions, and on all when the instructions mention politeness."""
    text = prompt_text(request)
    texts = text[text.rfind("Request:\n") :]
    right = "A" if texts.find("Gladly") < texts.find("Find out") else "B"
    letter = right if "polite" in text or "Easy question" in texts else "BA"["AB".index(right)]
    if request.config.logprobs is not None:
        return {"token_probabilities": {letter: 0.8, "BA"["AB".index(letter)]: 0.1}}
    return {"better": letter}


@pytest.mark.slow
def test_a_judge_is_compiled_with_the_objective_and_the_prompt_optimizer_of_the_page(page, tmp_path):
    settings = {"grading": "pairwise", "readout": "generate"}
    steps = Recipe(objective="balanced-accuracy", prompts="sentence-search", trials=0, head=False, baseline=None)
    with dspy.context(lm=ScriptedLM(answer, cache=True)):
        compiled = Compiler(build("direct", **settings), list(polite_cases(120)), tmp_path / "out", steps).run()
    assert (compiled.result.objective, compiled.result.outcome) == ("balanced-accuracy", "improved")
    assert "Prefer the polite response." in compiled.judge.stages()[0].ask.signature.instructions
    assert compiled.result.decisive_test is not None
    assert compiled.result.decisive_test.name == "balanced-accuracy"
    assert compiled.result.decisive_test.difference.value > 0.3  # half of the cases are hard


@pytest.mark.slow
@pytest.mark.parametrize(("readout", "other"), [("generate", "probability"), ("probability", "generate")])
def test_a_structure_trial_with_the_other_readout_has_the_tuned_instruction(page, tmp_path, readout, other):
    steps = Recipe(
        prompts="sentence-search", trials=2, space={"readout": ("generate", "probability")}, head=False, baseline=None
    )
    judge = build("direct", grading="pairwise", readout=readout)
    lm = ScriptedLM(answer, cache=True)
    with dspy.context(lm=lm):
        compiled = Compiler(judge, list(polite_cases(80)), tmp_path / "out", steps).run()
    reads = {"probability": True, "generate": False}
    texts = [prompt_text(request) for request in lm.requests if (request.config.logprobs is not None) == reads[other]]
    assert texts  # the prompt search used the first readout only, so these are of the structure search and after
    assert all("Prefer the polite response." in text for text in texts)
    for name in (readout, other):
        changed = with_settings(compiled.judge, {"readout": name})
        with dspy.context(lm=(check := ScriptedLM(answer))):
            changed(next(polite_cases(1)))
        assert all("Prefer the polite response." in prompt_text(request) for request in check.requests)


def test_the_names_of_plugins_are_in_the_help_and_pass_its_check(page):
    shown = "".join(CliRunner().invoke(group, ["compile", "--help"]).output.split())  # choices are wrapped
    assert "|balanced-accuracy]" in shown
    assert "|sentence-search]" in shown
    refused = CliRunner().invoke(group, ["compile", "direct", "--cases", "none", "--prompts", "copro"])
    assert refused.exit_code != 0
    assert "sentence-search" in str(refused.output)
    assert recipe("test", {"prompts": "sentence-search", "objective": "balanced-accuracy"}).prompts == "sentence-search"


def test_an_entry_point_that_is_no_prompt_optimizer_is_refused(install):
    install("odd", "thing = 3\n", "[dicast.prompt_optimizers]\nodd = odd:thing\n")
    with pytest.raises(DeclarationError, match="Give a PromptOptimizer of this name"):
        PROMPT_OPTIMIZERS.find("odd")


def test_a_prompt_optimizer_that_returns_another_program_is_refused(install, tmp_path):
    code = (
        "from dicast.optimizers import PromptOptimizer\n"
        "optimizer = PromptOptimizer('lost', '', lambda task: None, needs_writer=False)\n"
    )
    install("lost", code, "[dicast.prompt_optimizers]\nlost = lost:optimizer\n")
    assert isinstance(PROMPT_OPTIMIZERS.find("lost"), PromptOptimizer)
    judge = build("direct", grading="pairwise", readout="generate")
    steps = Recipe(prompts="lost", trials=0, head=False, baseline=None)
    with dspy.context(lm=ScriptedLM(answer)), pytest.raises(DeclarationError, match="returned a NoneType"):
        Compiler(judge, list(polite_cases(60)), tmp_path / "out", steps).run()
