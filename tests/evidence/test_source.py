"""Evidence sources: how they are named, and what they read of a case."""

import numpy as np
import pytest
from scripted_states import scripted_source

from dicast.data import Candidate, Case, Preference, Turn
from dicast.data.profile_text import profile_text
from dicast.errors import ContextOverflow, DeclarationError, Infrastructure, ModelError
from dicast.evidence.layout import before_text, requests_of
from dicast.evidence.personal_state import PersonalStateSource
from dicast.evidence.source import SOURCES, parse, parse_items

PAIR = Case(id="7", query="Why?", candidates=[Candidate(text="So."), Candidate(text="Because it is.")])


def test_an_item_names_kind_model_and_layer():
    items = parse_items("state, state@16, state=local/a@3, state=openai/m@http://h:1/v1", "local/b")
    assert [(item.kind, item.model, item.layer) for item in items] == [
        ("state", "local/b", None),
        ("state", "local/b", 16),
        ("state", "local/a", 3),
        ("state", "openai/m@http://h:1/v1", None),
    ]
    assert [item.name for item in items] == ["state", "state@16", "state@3", "state m"]


def test_a_reward_model_of_the_catalogue_is_named_without_a_provider():
    (item,) = parse_items("reward=skywork-qwen3-0.6b", "local/b")
    assert (item.model, item.name) == ("transformers/Skywork/Skywork-Reward-V2-Qwen3-0.6B", "reward")


def test_a_model_that_cannot_be_read_is_named_with_its_evidence():
    (source,) = parse("state", "openai/gpt-4o-mini@ftp://h")
    with pytest.raises(ModelError, match=r"^evidence 'state': "):
        source.spec.digest  # noqa: B018


def test_no_item_is_no_source():
    assert parse("", "local/b") == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("state,state", "there twice"),
        ("state=", "names no source"),
        ("=local/a", "names no source"),
        ("sate", "Did you mean 'state'"),
        ("state@x", r"'state@x' names no layer\. Write @ and its number"),
        ("state@", "names no layer"),
        ("state=nothing", "'state=nothing': model 'nothing': a model string has a provider"),
        ("reward=nothing", "no reward model 'nothing'. There are: skywork-qwen3-0.6b"),
    ],
)
def test_a_wrong_item_is_refused_in_words(text, message):
    with pytest.raises(DeclarationError, match=message):
        parse_items(text, "local/b")


def test_the_state_source_is_registered_by_its_file():
    assert "state" in SOURCES.built_in()


def test_a_case_is_read_candidate_by_candidate():
    source = scripted_source()
    array = source.read(PAIR)
    assert (array.shape, array.dtype) == ((2, 8), np.float32)
    assert np.array_equal(source.read(PAIR.swapped()), array[::-1])
    assert len(source.reader.reader.requests) == 2


def test_the_conversation_comes_before_the_query_and_an_empty_query_is_left_out():
    turns = [Turn(role="user", text="Hi"), Turn(role="assistant", text="Hello")]
    assert (
        before_text(PAIR.model_copy(update={"history": tuple(turns)})) == "User: Hi\n\nAssistant: Hello\n\nQuery: Why?"
    )
    assert before_text(PAIR.model_copy(update={"query": ""})) == ""


def test_labels_systems_and_meta_change_nothing_of_what_is_read():
    labelled = Case.model_validate(
        PAIR.model_dump() | {"label": {"value": "a"}, "meta": {"x": 1}, "group": "g", "id": "8"}
    )
    assert requests_of(labelled) == requests_of(PAIR)


@pytest.mark.parametrize("error", [ContextOverflow("too long"), Infrastructure("down")])
def test_a_failure_names_the_case_and_the_text(error):
    source = scripted_source(fails=error)
    with pytest.raises(type(error), match="evidence 'state', case '7', text 1: (too long|down)"):
        source.read(PAIR)


def test_a_spec_is_that_of_the_weights_layer_and_layout():
    spec = scripted_source().spec
    assert spec.difference(scripted_source(digest="1" * 64).spec)
    assert (spec.kind, spec.layer, spec.width, spec.layout, spec.engine) == ("state", 3, 8, 1, "scripted")


def test_a_personal_state_is_read_after_what_is_known_of_the_person():
    known = PAIR.model_copy(update={"profile": Preference(text="I dislike riddles.")})
    assert [(one.before, one.text) for one in requests_of(known, profile_text(known.profile))] == [
        ("Earlier: I dislike riddles.\n\nQuery: Why?", "\n\nAnswer: So."),
        ("Earlier: I dislike riddles.\n\nQuery: Why?", "\n\nAnswer: Because it is."),
    ]
    (item,) = parse_items("personal-state@16", "local/b")
    source = PersonalStateSource(item, scripted_source().reader)
    assert source.spec.kind == "personal-state"
    assert not np.array_equal(source.read(known), source.read(PAIR))
    assert np.array_equal(source.read(PAIR), scripted_source().read(PAIR))
