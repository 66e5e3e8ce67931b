"""Reference metrics as judges: what they read, the best of several references, and what they refuse."""

import json
from pathlib import Path
from typing import Any

import pytest

import dicast
from dicast.catalog import read
from dicast.cli import run as command
from dicast.data import Case, Verdict
from dicast.data.row_fields import FieldError
from dicast.data.rows import row_to_case
from dicast.errors import DeclarationError, ModelError
from dicast.judging import build
from dicast.text_metrics.overlap import bleu, rouge

WRITTEN = ("the cat sat on the mat", "a cat was on a mat")
TEXT = Case(id="t", query="q", candidates=[{"text": "the cat sat on a mat"}], references=WRITTEN)
PAIR = Case(id="p", query="q", candidates=[{"text": "the dog ran"}, {"text": "the cat sat"}], references=WRITTEN)
OVERLAP = ["rouge-1", "rouge-2", "rouge-l", "bleu"]


def judged(name: str, case: Case, **settings: Any) -> Verdict:
    verdict: Verdict = build(name, **settings)(case)
    return verdict


def score(name: str, case: Case = TEXT, **settings: Any) -> float:
    (value,) = judged(name, case, **settings).scores or ()
    return value


# By hand: 6 words, 5 of them in the first reference of 6 words (the, cat, sat, on, mat), F1 = 5/6; with the second
# reference cat, on, a, mat are shared: 4/6.
@pytest.mark.parametrize(
    ("name", "value"),
    [("rouge-1", 5 / 6), ("rouge-2", 3 / 5), ("rouge-l", 5 / 6)],
)
def test_rouge_is_the_f1_with_the_reference_that_fits_best(name: str, value: float) -> None:
    assert score(name) == pytest.approx(value)
    turned = TEXT.model_copy(update={"references": WRITTEN[::-1]})
    assert score(name, turned) == pytest.approx(value)
    assert score(name, turned, use="first") < value


def test_bleu_counts_the_n_grams_of_all_references() -> None:
    from sacrebleu.metrics.bleu import BLEU

    expected = BLEU(effective_order=True).sentence_score(TEXT.candidates[0].text, list(WRITTEN)).score
    assert score("bleu") == pytest.approx(expected)
    assert score("bleu", use="first") < expected


@pytest.mark.parametrize("name", OVERLAP)
def test_a_judge_scores_as_the_metric_of_texts_does(name: str) -> None:
    text, written = TEXT.candidates[0].text, WRITTEN[0]
    alone = bleu([text], [written]).sentences[0] if name == "bleu" else None
    kind = {"rouge-1": "rouge1", "rouge-2": "rouge2", "rouge-l": "rougeL"}.get(name, "")
    expected = alone if alone is not None else rouge([text], [written])[kind][0]
    assert score(name, use="first") == pytest.approx(expected)


@pytest.mark.parametrize("name", OVERLAP)
def test_the_text_that_shares_more_wins_a_pair(name: str) -> None:
    verdict = judged(name, PAIR)
    assert (verdict.winner, verdict.status) == ("b", "scored")
    assert judged(name, PAIR.swapped()).winner == "a"
    assert verdict.usage.calls == 0


@pytest.mark.parametrize("name", [*OVERLAP, "bertscore", "bartscore"])
def test_a_case_without_a_reference_is_refused(name: str) -> None:
    settings = {"model": "no/such"} if name not in OVERLAP else {}
    with pytest.raises(DeclarationError, match="needs torch|case 't' has no reference. Give rows with `reference`"):
        judged(name, TEXT.model_copy(update={"references": ()}), **settings)


@pytest.mark.parametrize("name", ["bertscore", "bartscore"])
def test_a_metric_by_a_model_asks_for_the_model(name: str) -> None:
    with pytest.raises(DeclarationError, match=rf"judge '{name}': it has no model. Give --set model=NAME"):
        judged(name, TEXT)


def test_the_model_of_a_metric_is_part_of_the_identity(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(b"GGUF")
    first = build("perplexity", model=str(file)).resolved_models()
    file.write_bytes(b"GGUG")
    assert first != build("perplexity", model=str(file)).resolved_models()
    assert build("bertscore", model="gpt2").resolved_models() == {"metric": "gpt2"}
    small = build("perplexity").resolved_models()["metric"]
    assert small.startswith("local/smollm2-135m-")
    assert build("perplexity", model="smollm2-135m").resolved_models() == {"metric": small}


@pytest.mark.parametrize("model", ["gpt2", "local/gpt2", "no/such.gguf"])
def test_perplexity_needs_a_local_model(model: str) -> None:
    with pytest.raises(ModelError, match=r"no such (local model|file)"):
        judged("perplexity", TEXT, model=model)


# rows, cases, sets


def test_a_row_has_one_reference_or_several() -> None:
    row = {"id": "1", "query": "q", "response": "r"}
    assert row_to_case(row | {"reference": "x"}, default_id="1").references == ("x",)
    assert row_to_case(row | {"references": ["x", "y", " "]}, default_id="1").references == ("x", "y")
    assert row_to_case(row | {"references": '["x", "y"]'}, default_id="1").references == ("x", "y")
    assert row_to_case(row, default_id="1").references == ()


def test_a_number_called_reference_stays_a_column() -> None:
    case = row_to_case({"id": "1", "query": "q", "response": "r", "reference": 17}, default_id="1")
    assert (case.references, case.meta) == ((), {"reference": 17})


@pytest.mark.parametrize("value", [3, [1, "x"], {"a": 1}])
def test_references_that_are_no_texts_are_refused(value: Any) -> None:
    with pytest.raises(FieldError, match="field 'references'"):
        row_to_case({"id": "1", "query": "q", "response": "r", "references": value}, default_id="1")


def test_a_case_without_references_is_written_as_before_there_were_any() -> None:
    case = TEXT.model_copy(update={"references": ()})
    assert "references" not in case.model_dump()
    assert "references" not in case.model_dump_json()
    assert case.digest != TEXT.digest
    assert case.digest == "e828c441f35a2ebb"  # recorded before cases had references
    assert Case.model_validate_json(TEXT.model_dump_json()) == TEXT


def test_the_references_of_summeval_lie_beside_its_rows(tmp_path: Path) -> None:
    row = {
        "id": "summeval/01234567/M8", "kind": "pointwise", "group": "01234567", "context": "c", "text": "t",
        "system": "M8", "scores": {"coherence": 3.0}, "annotators": {}, "scale": {"coherence": [1, 5]}, "meta": {},
    }  # fmt: skip
    folder = tmp_path / "summeval"
    folder.mkdir()
    (folder / "test.jsonl").write_text(json.dumps(row) + "\n")
    assert [case.references for case in read("summeval", tmp_path)] == [()]
    line = {"group": "01234567", "doc_id": "x", "references": ["one", "two"]}
    (folder / "references.jsonl").write_text(json.dumps(line) + "\n")
    assert [case.references for case in read("summeval", tmp_path)] == [("one", "two")]


def test_a_metric_is_run_and_measured_like_any_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": str(n), "query": "q", "response": text, "reference": "a b c d", "score": value, "group": str(n % 3)}
        for n, (text, value) in enumerate([("a b c d", 5), ("a b x y", 3), ("x y z", 1), ("a b c", 4), ("d x", 2)] * 2)
    ]
    Path("texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert command(["judge", "--judge", "rouge-1", "--cases", "texts.jsonl", "--out", "out", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["evaluation"]["scored"] == 10
    assert command(["evaluate", "out"]) == 0
    assert "spearman" in capsys.readouterr().out
    assert dicast.judge("rouge-1").score_scale == (0.0, 1.0)
