"""Exports of labelling and tracing tools, by small samples in the shape that their documentation and exporters give."""

import json
from pathlib import Path
from typing import Any

import pytest

from dicast.data.exports import EXPORTS, export_of, unfolded
from dicast.errors import DataError
from dicast.workflows.initialisation import Examined, examine

# argilla/src/argilla/records/_io/_generic.py and records/_resource.py of argilla 2 (Record.to_dict), and
# https://docs.argilla.io/latest/how_to_guides/import_export (Dataset.records.to_json)
ARGILLA = {
    "id": "r1",
    "fields": {"instruction": "Say hello.", "response_1": "Hello there, friend.", "response_2": "Good day to you."},
    "metadata": {"channel": "mail"},
    "suggestions": {"preference": {"value": "response_1", "score": 0.9, "agent": "gpt-4"}},
    "responses": {
        "preference": [{"value": "response_2", "user_id": "u1"}, {"value": "response_2", "user_id": "u2"}],
    },
    "vectors": {},
    "status": "completed",
    "_server_id": "s1",
}
ARGILLA_FLAT = {  # to_list(flatten=True), the same file
    "id": "r1",
    "status": "completed",
    "text": "The reply says where the button is.",
    "label.responses": ["good", "bad", "good"],
    "label.responses.users": ["u1", "u2", "u3"],
    "label.responses.status": ["submitted", "discarded", "submitted"],
    "label.suggestion": "bad",
    "label.suggestion.score": None,
    "label.suggestion.agent": None,
}
# https://labelstud.io/guide/task_format.html, https://labelstud.io/templates/pairwise_comparison
LABEL_STUDIO = {
    "id": 7,
    "data": {"prompt": "Say hello.", "text1": "Hello there, friend.", "text2": "Good day to you."},
    "annotations": [
        {
            "id": 1,
            "completed_by": 1,
            "was_cancelled": False,
            "result": [
                {"from_name": "pw", "to_name": "text1,text2", "type": "pairwise", "value": {"selected": "left"}},
                {
                    "from_name": "why",
                    "to_name": "text1",
                    "type": "textarea",
                    "value": {"text": ["It greets a friend."]},
                },
            ],
        },
        {"id": 2, "completed_by": 2, "was_cancelled": True, "result": []},
        {
            "id": 3,
            "completed_by": 3,
            "result": [{"from_name": "pw", "type": "pairwise", "value": {"selected": "right"}}],
        },
    ],
    "predictions": [{"result": [{"from_name": "pw", "value": {"selected": "right"}}]}],
}
# langsmith/evaluation/_runner.py, _flatten_experiment_results (ExperimentResults.to_pandas)
LANGSMITH_TABLE = {
    "inputs.question": "How do I reset it?",
    "outputs.answer": "Open the settings and choose reset.",
    "error": None,
    "reference.answer": "Settings, then reset.",
    "feedback.correctness": 1.0,
    "execution_time": 0.4,
    "example_id": "e1",
    "id": "x1",
}
# https://docs.langchain.com/langsmith/run-data-format: inputs, outputs, feedback_stats
LANGSMITH_RUN = {
    "id": "x1",
    "inputs": {"question": "How do I reset it?"},
    "outputs": {"answer": "Open the settings and choose reset."},
    "feedback": [
        {"key": "correctness", "score": 1, "value": None, "comment": "fine"},
        {"key": "tone", "value": "kind"},
    ],
}
# https://langfuse.com/docs/api-and-data-platform/features/blob-storage-export-fields (scores)
# and https://langfuse.com/faq/all/export-single-trace-or-session (a trace with its scores)
LANGFUSE = {
    "id": "t1",
    "timestamp": "2026-05-29T13:46:19.963Z",
    "name": "support",
    "userId": "u",
    "sessionId": "s1",
    "input": {"question": "How do I reset it?"},
    "output": "Open the settings and choose reset.",
    "scores": [
        {"name": "correct", "value": 1, "stringValue": "True", "dataType": "BOOLEAN", "source": "ANNOTATION"},
        {"name": "correct", "value": 0, "stringValue": "False", "dataType": "BOOLEAN", "source": "EVAL"},
    ],
}
# langfuse worker, getChunkWithFlattenedScores: in a table export scores are columns of lists
LANGFUSE_TABLE = {"id": "t1", "input": "How?", "output": "Open the settings and choose.", "correctness": ["good"]}
# mlflow/entities/assessment.py, Assessment.to_dictionary; columns of mlflow.search_traces
# (https://mlflow.org/docs/latest/genai/tracing/search-traces/)
MLFLOW = {
    "trace_id": "tr-1",
    "state": "OK",
    "request": json.dumps({"question": "How do I reset it?"}),
    "response": json.dumps("Open the settings and choose reset."),
    "assessments": [
        {
            "name": "correct",
            "source": {"source_type": "HUMAN", "source_id": "anna"},
            "feedback": {"value": True},
            "expectation": None,
            "rationale": "It names the place.",
        },
        {"name": "correct", "source": {"source_type": "LLM_JUDGE", "source_id": "gpt"}, "feedback": {"value": False}},
        {"name": "answer", "source": {"source_type": "HUMAN"}, "expectation": {"value": "Settings, then reset."}},
    ],
}

FLAT: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "argilla": (ARGILLA, "argilla", {"id": "r1", "preference.responses": ["response_2"] * 2, "channel": "mail"}),
    "argilla flat": (ARGILLA_FLAT, "argilla", {"label.responses": ["good", "good"], "label (suggestion)": "bad"}),
    "label studio": (LABEL_STUDIO, "label-studio", {"id": 7, "pw": ["left", "right"], "text2": "Good day to you."}),
    "langsmith run": (
        LANGSMITH_RUN,
        "langsmith",
        {
            "inputs.question": "How do I reset it?",
            "feedback.correctness": [1],
            "feedback.tone": ["kind"],
            "comment": "fine",
        },
    ),
    "langfuse": (
        LANGFUSE,
        "langfuse",
        {"input.question": "How do I reset it?", "correct": ["True"], "correct (EVAL)": ["False"], "sessionId": "s1"},
    ),
    "mlflow": (
        MLFLOW,
        "mlflow",
        {
            "id": "tr-1",
            "request.question": "How do I reset it?",
            "correct": ["true"],
            "correct (LLM_JUDGE)": ["false"],
            "expectation.answer": "Settings, then reset.",
            "rationale": "It names the place.",
        },
    ),
}


@pytest.mark.parametrize("name", FLAT)
def test_a_tool_is_recognised_and_its_row_is_made_flat(name: str) -> None:
    row, export, some = FLAT[name]
    assert export_of(row) == export
    assert some.items() <= unfolded(row, export).items()


@pytest.mark.parametrize("row", [LANGSMITH_TABLE, LANGFUSE_TABLE, {"query": "q", "response": "x", "label": "good"}])
def test_a_plain_table_is_no_export(row: dict[str, Any]) -> None:
    assert export_of(row) == ""
    assert unfolded(row, "") == row


def test_other_forms_of_the_same_tools() -> None:
    version_1 = {
        "fields": {"text": "x"},
        "responses": [{"user_id": "u", "status": "submitted", "values": {"score": {"value": 4}}}, {"status": "draft"}],
    }
    assert unfolded(version_1, export_of(version_1))["score.responses"] == [4]
    ranked = {"fields": {}, "responses": {"best": [{"value": [{"value": "b", "rank": 1}, {"value": "a", "rank": 2}]}]}}
    assert unfolded(ranked, "argilla")["best.responses"] == ["b"]
    truth = {
        "data": {"t": "x"},
        "annotations": [{"ground_truth": True, "result": [{"from_name": "c", "value": {"choices": ["A"]}}]}],
    }
    assert unfolded(truth, "label-studio") == {"t": "x", "c (ground truth)": ["A"]}
    rated = {"data": {}, "annotations": [{"result": [{"from_name": "r", "value": {"rating": 4}}]}]}
    assert unfolded(rated, "label-studio") == {"r": [4]}
    trace = {"info": {"trace_id": "t", "request_preview": "q", "assessments": []}, "data": {"spans": []}}
    assert unfolded(trace, export_of(trace)) == {"id": "t", "request": "q"}
    counted = {"inputs": {"q": "x"}, "outputs": {"a": "y"}, "feedback_stats": {"ok": {"n": 2, "values": {"yes": 2}}}}
    assert unfolded(counted, export_of(counted))["feedback.ok"] == ["yes", "yes"]


def test_a_conversation_stays_one() -> None:
    turns = [{"role": "user", "content": "Hi."}]
    row = {"input": {"messages": turns}, "output": {"role": "assistant"}, "scores": []}
    assert unfolded(row, "langfuse") == {"input.messages": turns, "output.role": "assistant"}


def test_an_unknown_tool_is_named_with_those_that_are_known() -> None:
    with pytest.raises(DataError, match=f"'x' is not known. Use one of {', '.join(EXPORTS)}"):
        unfolded({}, "x")


# from the export to the fields


def copies(row: dict[str, Any], changes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows like one, each with other texts: a number before every full stop at the end of a text."""
    numbered = []
    for number, change in enumerate(changes):
        text = json.dumps({**row, **change}).replace('."', f' {number}."').replace('.\\"', f' {number}.\\"')
        numbered.append(json.loads(text.replace('?"', f' {number}?"').replace('?\\"', f' {number}?\\"')))
    return numbered


def examined(tmp_path: Path, rows: list[dict[str, Any]], **options: Any) -> Examined:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(rows))
    return examine(path, **options)


def scores(*texts: str) -> dict[str, Any]:
    return {"scores": [{"name": "correct", "stringValue": text, "source": "ANNOTATION"} for text in texts]}


def assessed(*values: bool) -> dict[str, Any]:
    people = [{"name": "correct", "source": {"source_type": "HUMAN"}, "feedback": {"value": value}} for value in values]
    machine = {"name": "correct", "source": {"source_type": "LLM_JUDGE"}, "feedback": {"value": True}}
    return {"assessments": [*people, machine]}


def preferred(*values: str) -> dict[str, Any]:
    return {"responses": {"preference": [{"value": value, "user_id": str(n)} for n, value in enumerate(values)]}}


def selected(*values: str) -> dict[str, Any]:
    results = [[{"from_name": "pw", "type": "pairwise", "value": {"selected": value}}] for value in values]
    return {"annotations": [{"id": n, "result": result} for n, result in enumerate(results)]}


WALKS: dict[str, tuple[list[dict[str, Any]], dict[str, Any], dict[str, int]]] = {
    "argilla": (
        copies(
            ARGILLA, [preferred("response_2", "response_2"), preferred("response_1"), preferred("response_1", "tie")]
        ),
        {
            "query": "instruction",
            "response_a": "response_1",
            "response_b": "response_2",
            "votes": "preference.responses",
        },
        {"b": 1, "a": 1, "none": 1},
    ),
    "label-studio": (
        copies(LABEL_STUDIO, [selected("left", "left", "right"), selected("right")]),
        {"query": "prompt", "response_a": "text1", "response_b": "text2", "votes": "pw"},
        {"a": 1, "b": 1},
    ),
    "langfuse": (
        copies(LANGFUSE, [scores("True", "True"), scores("False"), scores("False")]),
        {"query": "input.question", "response": "output", "votes": "correct"},
        {"False": 2, "True": 1},
    ),
    "mlflow": (
        copies(MLFLOW, [assessed(True), assessed(False, False), assessed(True)]),
        {"query": "request.question", "response": "response", "votes": "correct"},
        {"true": 2, "false": 1},
    ),
    "langsmith": (
        copies(
            LANGSMITH_RUN, [{"feedback": [{"key": "correctness", "value": value}]} for value in ("good", "bad", "good")]
        ),
        {"query": "inputs.question", "response": "outputs.answer", "votes": "feedback.correctness"},
        {"good": 2, "bad": 1},
    ),
    "": (
        copies(LANGSMITH_TABLE, [{"feedback.correctness": value, "id": str(value) + "x"} for value in (1.0, 0.0)] * 2),
        {
            "query": "inputs.question",
            "response": "outputs.answer",
            "reference": "reference.answer",
            "label": "feedback.correctness",
        },
        {"1": 2, "0": 2},
    ),
}


@pytest.mark.parametrize("export", WALKS)
def test_an_export_is_understood_without_a_word(export: str, tmp_path: Path) -> None:
    rows, fields, labels = WALKS[export]
    for number, row in enumerate(rows):
        row["trace_id" if export == "mlflow" else "id"] = f"i{number}"
    seen = examined(tmp_path, rows)
    assert seen.project
    assert seen.labelled
    assert seen.project.export == export
    assert {ours: seen.project.fields.get(ours, ours) for ours in fields} == fields
    assert (dict(seen.labelled.labels), seen.labelled.bad) == (labels, 0)
