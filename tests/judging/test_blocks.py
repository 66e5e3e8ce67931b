"""Blocks: a number a candidate out of a source's vectors, the same bits wherever a candidate is placed."""

import base64
import hashlib
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_evidence import judged, lettered, pair, random_findings
from pydantic import TypeAdapter, ValidationError

from dicast.data import Candidate, Case, Judged, Verdict, Winner
from dicast.errors import DeclarationError
from dicast.evidence.source_spec import SourceSpec
from dicast.judging.arrays import ARRAYS, Array
from dicast.judging.blocks import distances
from dicast.judging.calibration_features import option_features, pair_features, text_features
from dicast.judging.heads import ChoiceHead, Head, PairHead, ScoreHead
from dicast.judging.linear_block import LinearBlock

WIDTH = 33
SPEC = SourceSpec(kind="state", model="local/small", digest="ab" * 32, layer=21, width=WIDTH)
WEIGHTS: dict[str, float] = {"state": 0.9, "letters": 0.4, "length": 0.01}


def block(seed: int = 0, **fields: Any) -> LinearBlock:
    random = np.random.default_rng(seed)
    weights, centre = random.normal(size=(2, WIDTH))
    return LinearBlock(source=SPEC, weights=Array.of(weights), centre=Array.of(centre), **fields)


HEADS = [
    PairHead(weights=WEIGHTS, blocks={"state": block()}),
    PairHead(
        weights=WEIGHTS, intercept=-0.4, threshold={"|state|": -0.3, "mean state": 0.2}, blocks={"state": block()}
    ),
    PairHead(weights={"far": 1.0}, intercept=0.2, knots=((0.0, 0.0), (1.0, 0.6)), blocks={"far": block(reads="state")}),
]


def test_a_linear_block_by_hand() -> None:
    spec = SPEC.model_copy(update={"width": 2})
    made = LinearBlock(source=spec, weights=Array.of([2.0, -1.0]), centre=Array.of([0.5, 1.0]))
    assert made.measure(pair(), np.array([[1.5, 1.0], [0.5, 4.0]], dtype=np.float32)) == (2.0, -3.0)


@given(seed=st.integers(0, 10**6), scale=st.floats(1e-4, 1e4))
@settings(max_examples=60, deadline=None)
def test_the_verdict_of_a_swapped_pair_is_the_swapped_verdict_bit_for_bit(seed: int, scale: float) -> None:
    random = np.random.default_rng(seed)
    vectors = (scale * random.normal(size=(2, WIDTH))).astype(np.float32)
    if random.random() < 0.1:
        vectors[1] = vectors[0]
    case, verdict = pair("a" * random.integers(9), "b" * random.integers(9)), judged(random_findings(random))
    for head in HEADS:
        calibrated = head(case, verdict, {"state": vectors})
        swapped = head(case.swapped(), verdict.swapped(), {"state": vectors[::-1]})
        assert swapped == calibrated.swapped()
        assert swapped.measured == {name: values[::-1] for name, values in calibrated.measured.items()} != {}


@given(seed=st.integers(0, 10**6), order=st.permutations(range(5)))
@settings(max_examples=40, deadline=None)
def test_the_order_of_the_options_of_a_choice_is_that_of_their_probabilities(seed: int, order: list[int]) -> None:
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(5, WIDTH)).astype(np.float32)
    case = Case(id="1", query="q", candidates=tuple(Candidate(text="x" * n) for n in range(5)))
    moved = case.model_copy(update={"candidates": tuple(case.candidates[i] for i in order)})
    head = ChoiceHead(weights={"state": 0.5, "length": 0.2}, blocks={"state": block()})
    here = head(case, Verdict(case_id="1"), {"state": vectors}).distribution
    there = head(moved, Verdict(case_id="1"), {"state": vectors[order]}).distribution
    assert here
    assert there == {str(place): here[str(i)] for place, i in enumerate(order)}


def test_a_texts_score_is_that_of_its_vector() -> None:
    case = Case(id="1", query="q", candidates=(Candidate(text="x"),))
    vector = np.random.default_rng(1).normal(size=(1, WIDTH)).astype(np.float32)
    head = ScoreHead(weights={"state": 0.5}, intercept=3.0, lo=-99, hi=99, blocks={"state": block()})
    verdict = head(case, Verdict(case_id="1"), {"state": vector})
    (number,) = block().measure(case, vector)
    assert verdict.measured == {"state": (number,)}
    assert verdict.scores == (3.0 + 0.5 * number,)


def test_measured_evidence_as_features() -> None:
    both = Verdict(case_id="1", measured={"reward": (3.0, 1.0)})
    found = pair_features(pair(), both)
    assert found.odd["reward"] == 2.0
    assert (found.even["|reward|"], found.even["mean reward"]) == (2.0, 2.0)
    text = Case(id="1", query="q", candidates=(Candidate(text="x"),))
    assert text_features(text, Verdict(case_id="1", measured={"reward": (3.0,)}))["reward"] == 3.0
    options = Case(id="1", query="q", candidates=tuple(Candidate(text=text) for text in "xyz"))
    assert option_features(options, Verdict(case_id="1", measured={"reward": (1.0, 2.0, 5.0)}))["reward"] == (1, 2, 5)
    assert "reward" not in option_features(options, both), "numbers for two candidates say nothing of three"


def test_a_head_that_is_applied_again_measures_anew() -> None:
    vectors = np.random.default_rng(2).normal(size=(2, WIDTH)).astype(np.float32)
    earlier = judged([lettered(0.8)], measured={"state": (9.0, -9.0), "reward": (1.0, 2.0)})
    verdict = HEADS[0](pair(), earlier, {"state": vectors})
    assert verdict.measured == {
        "state": block().measure(pair(), vectors), "reward": (1.0, 2.0), "state distance": distances(vectors)
    }  # fmt: skip


def test_the_distance_of_a_pair_is_one_even_feature() -> None:
    """|x - y| = 5 and |(x + y) / 2| = sqrt(100 + 6.25): log(0.001 + 0.48507)."""
    vectors = np.array([[10.0, 0.0], [10.0, 5.0]])
    verdict = Verdict(case_id="1", measured={"state distance": distances(vectors)})
    found = pair_features(pair(), verdict)
    assert found.even["state distance"] == pytest.approx(math.log(0.001 + 5 / math.sqrt(106.25)))
    assert not [name for name in found.odd if "distance" in name]
    assert [name for name in found.even if "distance" in name] == ["state distance"]


def test_distances_are_to_the_nearest_other_and_finite() -> None:
    near, far = distances(np.array([[1.0, 0.0], [1.1, 0.0], [9.0, 0.0]]))[::2]
    assert near == distances(np.array([[1.0, 0.0], [1.1, 0.0]]))[0]
    assert far > near
    assert distances(np.array([[1.0, 2.0], [1.0, 2.0]])) == (math.log(0.001),) * 2
    assert distances(np.array([[1.0, 2.0], [-1.0, -2.0]])) == pytest.approx((math.log(0.001 + 1000),) * 2)


def test_what_was_not_read_or_has_another_width_is_refused() -> None:
    verdict = judged([lettered(0.8)])
    with pytest.raises(DeclarationError, match="evidence 'state' was not read for case '1'"):
        HEADS[0](pair(), verdict)
    with pytest.raises(DeclarationError, match=r"has the shape \(2, 5\), and \(2, 33\) is needed"):
        HEADS[0](pair(), verdict, {"state": np.zeros((2, 5), dtype=np.float32)})
    with pytest.raises(ValidationError, match=r"weights of the shape \(4,\) for 33 numbers a candidate"):
        LinearBlock(source=SPEC, weights=Array.of(np.zeros(4)))


def test_an_unscored_verdict_needs_no_vectors() -> None:
    failed = Verdict(case_id="1", status="unscored", reason="refusal")
    assert HEADS[0](pair(), failed) is failed


@pytest.mark.parametrize("head", HEADS)
def test_a_head_with_blocks_survives_json(head: PairHead) -> None:
    text = json.dumps(head.model_dump(mode="json"))
    assert TypeAdapter(Head).validate_python(json.loads(text)) == head
    assert TypeAdapter(Head).validate_json(text) == head


def test_a_head_without_blocks_is_written_as_before_there_were_any() -> None:
    assert "blocks" not in PairHead(weights=WEIGHTS).model_dump(mode="json")
    names = ["fitted", "n", "weights", "kind", "intercept", "threshold", "typical", "knots"]
    assert list(PairHead(weights=WEIGHTS).model_dump(mode="json")) == names


def test_the_weights_of_a_block_are_described_not_listed() -> None:
    assert ("evidence state", "33 numbers of local/small after layer 21") in HEADS[0].describe()


@given(seed=st.integers(0, 10**6), dtype=st.sampled_from(["float32", "float16"]))
@settings(max_examples=30, deadline=None)
def test_an_array_keeps_its_bits(seed: int, dtype: Any) -> None:
    random = np.random.default_rng(seed)
    values = random.normal(size=(random.integers(0, 4), random.integers(1, 5))).astype(dtype)
    array = Array.of(values, dtype)
    fields = array.model_dump(mode="json")
    assert base64.b64decode(fields["data"]) == values.tobytes()
    for again in (Array.model_validate(fields), Array.model_validate_json(json.dumps(fields))):
        assert again == array
        assert again.values.dtype == values.dtype
        np.testing.assert_array_equal(again.values, values)


def test_arrays_are_taken_out_by_the_digest_of_their_bytes_and_put_back() -> None:
    taken: dict[str, Array] = {}
    head = HEADS[0].model_dump(mode="json", context={ARRAYS: taken})
    weights = block().weights
    name = hashlib.sha256(b"float32 33 " + weights.values.tobytes()).hexdigest()
    assert head["blocks"]["state"]["weights"] == {"tensor": name}
    assert taken[name] == weights
    assert TypeAdapter(Head).validate_python(head, context={ARRAYS: taken}) == HEADS[0]
    with pytest.raises(ValidationError, match="is not in the file of arrays"):
        TypeAdapter(Head).validate_python(head)
    with pytest.raises(ValidationError, match="is not in the file of arrays"):
        TypeAdapter(Head).validate_python(head, context={ARRAYS: {name: block().centre}})


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"shape": (3,), "data": "AAAA"}, "3 bytes are not the shape"),
        ({"shape": (-1, -1), "data": "AAAAAA=="}, "none of up to"),
        ({"shape": (10**6, 10**6, 10**6), "data": "AAAAAA=="}, "none of up to"),
        ({"shape": (1,), "data": "AADAfw=="}, "not finite"),
        ({"shape": (1,), "data": "a b c"}, "not base64"),
        ({"shape": (1,), "data": "AAAAAA==", "dtype": "object"}, "dtype"),
    ],
)
def test_an_array_that_is_none_is_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        Array.model_validate(fields)


def test_numbers_that_the_type_cannot_hold_are_refused() -> None:
    for values, dtype in (([math.nan], "float32"), ([1e39], "float32"), ([70000.0], "float16")):
        with pytest.raises(ValidationError, match="not finite"):
            Array.of(values, dtype)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        ({"engine": "transformers"}, ""),
        ({"model": "local//elsewhere/small.gguf"}, ""),
        ({"digest": "cd" * 32}, "local/small with weights cdcdcdcdcdcd, not local/small with abababababab"),
        ({"digest": "", "model": "openai/small@http://h/v1"}, "openai/small@http://h/v1, not local/small"),
        ({"layer": 20}, "layer 20, not 21"),
        ({"layout": 2}, "version 2 of the layout, not 1"),
        ({"width": 34}, "34 numbers a candidate, not 33"),
        ({"kind": "reward"}, "reward, not state"),
    ],
)
def test_the_difference_of_two_sources_in_words(other: dict[str, Any], difference: str) -> None:
    assert SPEC.difference(SPEC.model_copy(update=other)) == difference


def test_measured_evidence_turns_over_with_the_pair_and_survives_a_file() -> None:
    case = pair().model_copy(update={"label": Winner(value="a")})
    line = Judged.of(case, judged([lettered(0.7)], measured={"state": (1.5, -2.0)}))
    assert line.swapped().measured == {"state": (-2.0, 1.5)}
    assert Judged.model_validate_json(line.model_dump_json()) == line
    assert ">1.5, -2</td>" in line._repr_html_()
    with pytest.raises(ValidationError, match="measured state for 3 candidates, but lengths for 2"):
        Judged.model_validate(line.model_dump() | {"measured": {"state": (1.0, 2.0, 3.0)}})
