"""Evidence that a judge reads beside its questions, by a reader without a model."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judge_readers import LOCAL, PAIR, Readers, block, case, pair_head, probe

from dicast.data import Usage
from dicast.engines.ledger import Budget, Ledger, charge_to
from dicast.engines.stand_in import StandInLM
from dicast.errors import BudgetSpent, DeclarationError, Infrastructure, ModelError
from dicast.judging import Panel, build
from dicast.judging.heads import ChoiceHead, PairHead, ScoreHead
from dicast.judging.judge_file import load, save
from dicast.testing import ScriptedLM


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Readers:
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    return Readers.put_in_place(monkeypatch)


def test_a_judge_without_evidence_reads_nothing_and_has_the_settings_of_before(readers: Readers) -> None:
    judge = build("direct")
    assert "evidence" not in judge.settings()
    assert judge.sources() == ()
    assert judge.evidence_text == ""
    assert "evidence" not in build("longer").hparams(), "it has no model that could be read"


def test_a_probe_without_a_head_is_an_even_tie_with_a_note(readers: Readers) -> None:
    verdict = probe()(PAIR)
    assert (verdict.status, verdict.winner, verdict.distribution) == ("scored", "tie", {"a": 0.5, "b": 0.5})
    assert verdict.notes == ("no head yet: this verdict is a blank; dicast compile learns one from labels",)
    assert probe()(case("x", "y", "z")).winner == "tie"
    assert probe()(case("x")).scores is None


def test_a_read_is_counted_once_a_text_and_stored_ones_as_cached(readers: Readers) -> None:
    judge = probe()
    first, again = judge(PAIR), judge(PAIR.swapped())
    assert (first.usage.calls, first.usage.cached) == (2, 0)
    assert first.usage.prompt_tokens > 0
    assert (again.usage.calls, again.usage.cached) == (0, 2)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_a_probe_turns_over_with_the_pair_bit_for_bit(seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        Readers.put_in_place(patch)
        judge = probe()
        judge.head = PairHead(weights={"state": 2.0}, intercept=-1.0, blocks={"state": block(judge.sources()[0], seed)})
        random = np.random.default_rng(seed)
        shown = case(*("".join(random.choice(list("abc "), size=random.integers(0, 5))) for _ in range(2)))
        here, there = judge(shown), judge(shown.swapped())
        same = {"usage": Usage()}
        assert there.model_copy(update=same) == here.swapped().model_copy(update=same)


def test_permuted_options_get_permuted_probabilities(readers: Readers) -> None:
    judge = probe()
    judge.head = ChoiceHead(weights={"state": 1.0}, blocks={"state": block(judge.sources()[0])})
    texts = ["one", "two", "three", "four"]
    shares = judge(case(*texts)).distribution
    moved = judge(case(*texts[::-1])).distribution
    assert moved == {str(3 - int(name)): share for name, share in shares.items()}


def test_a_text_gets_a_score_of_its_state(readers: Readers) -> None:
    judge = probe()
    (source,) = judge.sources()
    judge.head = ScoreHead(weights={"state": 1.0}, intercept=3.0, lo=1, hi=5, blocks={"state": block(source)})
    (number,) = block(source).measure(case("x"), source.read(case("x")))
    assert judge(case("x")).scores == (min(max(3 + number, 1.0), 5.0),)


def test_evidence_is_read_beside_the_questions_of_a_judge(readers: Readers) -> None:
    judge = build("direct", grading="pairwise", order="one", evidence="state").bind(LOCAL)
    judge.head = pair_head(judge)
    lm = ScriptedLM({"token_probabilities": {"A": 0.6, "B": 0.2}})
    for stage in judge.stages():
        stage.ask.lm = lm
    verdict = judge(PAIR)
    assert verdict.usage.calls == 3, "one question and two texts"
    assert set(verdict.measured) == {"state", "state distance"}
    assert verdict.findings


def test_a_read_that_fails_is_an_unscored_verdict_with_the_reason(readers: Readers) -> None:
    readers.options = {"fails": Infrastructure("the reader is gone")}
    verdict = probe()(PAIR)
    assert (verdict.status, verdict.reason) == ("unscored", "infrastructure")
    assert "evidence 'state', case '1', text 1: the reader is gone" in verdict.detail


def test_reads_obey_the_budget(readers: Readers) -> None:
    judge = probe()
    with charge_to(Ledger(budget=Budget(calls=2))):
        assert judge(PAIR).status == "scored"
        with pytest.raises(BudgetSpent):
            judge(case("other", "texts"))


def test_one_number_a_candidate_is_measured_without_a_head(readers: Readers) -> None:
    readers.options = {"width": 1}
    verdict = probe()(PAIR)
    (source,) = probe().sources()
    assert verdict.measured == {"state": tuple(map(float, source.read(PAIR)[:, 0]))}


def test_another_layer_or_other_weights_than_the_heads_are_refused_in_words(readers: Readers) -> None:
    head = pair_head(probe())
    renamed = head.blocks["state"].model_copy(update={"reads": "state@2"})
    other = probe(head.model_copy(update={"blocks": {"state": renamed}}), evidence="state@2")
    with pytest.raises(DeclarationError, match="the evidence 'state@2' is of layer 2, not 3, on which its head was"):
        other(PAIR)
    readers.options = {"digest": "f" * 64}
    fresh = build("probe").bind("local/qwen2.5-coder-1.5b")
    fresh.head = head
    with pytest.raises(
        DeclarationError, match=r"local/qwen2.5-coder-1.5b with weights ffffffffffff, not local/smollm2"
    ):
        fresh(PAIR)
    unread = build("direct", grading="single").bind(LOCAL)
    unread.head = head
    for stage in unread.stages():
        stage.ask.lm = ScriptedLM({"token_probabilities": {"3": 0.9}})
    with pytest.raises(DeclarationError, match="its head needs the evidence 'state', which is not read. Set it: --set"):
        unread(PAIR)


def test_nothing_is_read_where_the_evidence_is_not_the_heads(readers: Readers) -> None:
    judge = probe(pair_head(probe()))
    readers.options = {"digest": "f" * 64}
    judge.bind("local/qwen2.5-coder-1.5b")
    with pytest.raises(DeclarationError, match="Judge with the model of the head"):
        judge(PAIR)
    assert not any(reader.requests for reader in readers.opened.values())


def test_another_engine_of_the_same_weights_is_noted(readers: Readers) -> None:
    judge = probe()
    source = judge.sources()[0].spec.model_copy(update={"engine": "transformers"})
    weights = block(judge.sources()[0]).model_copy(update={"source": source})
    judge.head = PairHead(weights={"state": 1.0}, blocks={"state": weights})
    assert judge(PAIR).notes == ("evidence 'state' read by scripted; the head was fitted with transformers",)


@pytest.mark.parametrize(
    ("evidence", "problem"),
    [
        ("both", "'both' is no source. What the judge `direct` asks is its parameter grading: --set grading=both"),
        ("star", "there is no such evidence source. Did you mean 'state'[?]$"),
        ("state,state", "is there twice"),
        ("state=", "names no source"),
    ],
)
def test_a_value_that_names_no_source_is_refused(evidence: str, problem: str) -> None:
    with pytest.raises(DeclarationError, match=problem):
        build("direct", evidence=evidence)


@pytest.mark.parametrize("evidence", ["", " ", ","])
def test_a_probe_that_reads_nothing_is_refused(evidence: str) -> None:
    with pytest.raises(DeclarationError, match=r"evidence: names no source, .* as in --set evidence=state"):
        build("probe", evidence=evidence)


def test_a_model_without_states_is_refused_with_what_to_write(readers: Readers) -> None:
    judge = build("direct", evidence="state").bind("openai/gpt-4o-mini")
    with pytest.raises(DeclarationError, match=r"gives no hidden states .* --set evidence=state=local/"):
        judge.sources()
    with pytest.raises(DeclarationError, match="reads a model, and none is bound"):
        build("direct", evidence="state").sources()
    assert build("direct", evidence=f"state={LOCAL}").bind("openai/gpt-4o-mini").sources()[0].item.model == LOCAL


def test_models_that_the_setting_names_are_the_judges_models_too(readers: Readers) -> None:
    judge = build("direct", evidence=f"state={LOCAL}").bind("openai/gpt-4o-mini")
    assert {seat.model: seat.role for seat in judge.seats()} == {"openai/gpt-4o-mini": "judgment", LOCAL: "evidence"}
    assert judge.resolved_models()["evidence"].startswith(LOCAL)
    judge.set(evidence="")
    assert LOCAL not in [seat.model for seat in judge.seats()]
    assert judge.settings() == build("direct").settings()


def test_a_file_may_not_send_texts_to_an_address_that_only_it_names(readers: Readers, tmp_path: Any) -> None:
    path = tmp_path / "far.judge.json"
    server = "openai/embedder@http://203.0.113.9/v1"
    save(build("direct", evidence=f"state={server}").bind(LOCAL), path)
    judge = load(path)
    judge.set(evidence="").set(evidence=f"state={server}")  # as a search does
    with pytest.raises(ModelError, match=r"far.judge.json: texts would go to 203.0.113.9"):
        judge.sources()
    judge.admit(trust=True)
    assert judge.sources()[0].item.trusted is False, "so that no key goes there"


def test_a_panel_tells_its_members_evidence_apart_and_may_read_its_own(readers: Readers) -> None:
    readers.options = {"width": 1}
    panel = Panel([probe(), probe()], pool="probability")
    assert set(panel(PAIR).measured) == {"state of probe 1", "state of probe 2"}
    panel.set(evidence="state@2")
    assert "state@2" in panel(PAIR).measured
    panel.members[1].bind("local/qwen2.5-coder-1.5b")
    with pytest.raises(DeclarationError, match="names no model, of local/qwen2.5-coder-1.5b and local/smollm2-135m"):
        panel(PAIR)


def test_an_estimate_counts_the_reads_without_a_model(readers: Readers) -> None:
    import dspy

    judge = probe(pair_head(probe()))
    for seat in judge.seats():
        seat.use("")
    ledger = Ledger()
    with dspy.context(lm=StandInLM()), charge_to(ledger):
        judge(PAIR)
    assert ledger.stages["state"].calls == 2
    assert ledger.stages["state"].prompt_tokens > 0
    assert not any(reader.requests for reader in readers.opened.values())
