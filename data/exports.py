"""Exports of labelling and tracing tools, each row made flat: texts by column, labels as lists of single votes.

Names of columns stay the tool's. A model's labels stay apart from people's: their column names the source, as in
`correctness (LLM_JUDGE)`. Shapes are those of the tools' documentation and exporters, see tests/data/test_exports.py.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..errors import DataError
from .row_fields import Row, decoded

LANGSMITH = {"outputs": "outputs", "reference_outputs": "reference"}  # beside inputs, and the names of `to_pandas`
TURNS = ("role", "content")


def unfolded(row: Row, export: str) -> dict[str, Any]:
    """A row of this export, made flat; "" for a plain table."""
    if not export:
        return dict(row)
    if export not in EXPORTS:
        raise DataError(f"export: {export!r} is not known. Use one of {', '.join(EXPORTS)}.")
    return EXPORTS[export](row)


def export_of(row: Row) -> str:
    """The tool that wrote a row, by its keys; "" for a plain table.

    Example:
        >>> export_of({"id": 1, "data": {"text": "x"}, "annotations": []})
        'label-studio'
        >>> export_of({"query": "x", "label": "a"})
        ''
    """
    values = {name: decoded(value) for name, value in row.items()}
    if isinstance(values.get("data"), dict) and isinstance(values.get("annotations", values.get("completions")), list):
        return "label-studio"
    if isinstance(values.get("fields"), dict) and "responses" in values:
        return "argilla"
    if any(name.endswith(".responses.users") for name in row):
        return "argilla"
    info = values.get("info")
    if isinstance(values.get("assessments"), list) or (isinstance(info, dict) and "assessments" in info):
        return "mlflow"
    scores = values.get("scores")
    if isinstance(scores, list) and {"input", "output"} & (row.keys() | _keys(values.get("trace"))):
        return "langfuse"
    if isinstance(values.get("inputs"), dict) and {"feedback", "feedback_stats", *LANGSMITH} & row.keys():
        return "langsmith"
    return ""


def _argilla(row: Row) -> dict[str, Any]:
    """`Dataset.records.to_json()`, nested or flat; of discarded and draft responses none."""
    if not isinstance(decoded(row.get("fields")), dict):
        return _argilla_flat(row)
    flat: dict[str, Any] = {"id": row.get("id")} if row.get("id") is not None else {}
    flat |= decoded(row["fields"])
    flat |= {name: value for name, value in _mapping(row.get("metadata")).items() if name not in flat}
    for question, vote in _argilla_votes(decoded(row.get("responses"))):
        flat.setdefault(f"{question}.responses", []).append(vote)
    for question, suggestion in _mapping(row.get("suggestions")).items():
        flat[f"{question} (suggestion)"] = simple(_mapping(suggestion).get("value"))
    return _texts_joined(flat, ".responses")


def _argilla_votes(responses: Any) -> Iterator[tuple[str, Any]]:
    """(question, value): by question as of version 2, or a list by annotator as of version 1."""
    if isinstance(responses, dict):
        for question, answers in responses.items():
            for answer in answers if isinstance(answers, list) else []:
                if _is_submitted(answer.get("status")):
                    yield question, simple(answer.get("value"))
        return
    for response in responses if isinstance(responses, list) else []:
        if _is_submitted(response.get("status")):
            for question, answer in _mapping(response.get("values")).items():
                yield question, simple(_mapping(answer).get("value"))


def _argilla_flat(row: Row) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if name.endswith((".responses.users", ".responses.status", ".suggestion.agent", ".suggestion.score")):
            continue
        if name.endswith(".suggestion"):
            flat[f"{name.removesuffix('.suggestion')} (suggestion)"] = simple(value)
        elif name.endswith(".responses") and isinstance(answers := decoded(value), list):
            states = decoded(row.get(f"{name}.status")) or [None] * len(answers)
            flat[name] = [
                simple(answer) for answer, state in zip(answers, states, strict=False) if _is_submitted(state)
            ]
        else:
            flat[name] = value
    return _texts_joined(flat, ".responses")


def _is_submitted(status: object) -> bool:
    return status in (None, "submitted")


def _label_studio(row: Row) -> dict[str, Any]:
    """A task of the JSON export: its data, and each control's answer by annotator; of cancelled annotations none."""
    flat: dict[str, Any] = {"id": row["id"]} if row.get("id") is not None else {}
    flat |= _mapping(row.get("data"))
    annotations = decoded(row.get("annotations", row.get("completions")))
    for annotation in annotations if isinstance(annotations, list) else []:
        if annotation.get("was_cancelled"):
            continue
        name = "{} (ground truth)" if annotation.get("ground_truth") else "{}"
        for result in annotation.get("result") or []:
            value = _label_studio_value(_mapping(result.get("value")))
            if value is not None and result.get("from_name"):
                flat.setdefault(name.format(result["from_name"]), []).append(value)
    return _texts_joined(flat, "")


def _label_studio_value(value: Mapping[str, Any]) -> Any:
    for kind in ("choices", "rating", "number", "selected", "text", "taxonomy"):
        if kind in value:
            return (
                "\n".join(map(str, value[kind]))
                if kind == "text" and isinstance(value[kind], list)
                else simple(value[kind])
            )
    return None


def _langsmith(row: Row) -> dict[str, Any]:
    """A run or example: `inputs.X`, `outputs.X`, `reference.X` and `feedback.KEY`, as `to_pandas` names them."""
    flat: dict[str, Any] = {"id": row["id"]} if row.get("id") is not None else {}
    for name, prefix in {"inputs": "inputs", **LANGSMITH}.items():
        flat |= _prefixed(prefix, decoded(row.get(name)))
    flat |= {name: value for name, value in _mapping(row.get("metadata")).items() if name not in flat}
    feedback = decoded(row.get("feedback"))
    for item in feedback if isinstance(feedback, list) else []:
        name = f"feedback.{item.get('key')}"
        value = item.get("value") if item.get("value") is not None else item.get("score")
        if value is not None:
            flat.setdefault(name, []).append(simple(value))
        if item.get("comment"):
            flat.setdefault("comment", []).append(item["comment"])
    for key, statistics in _mapping(row.get("feedback_stats")).items():
        counts = _mapping(_mapping(statistics).get("values"))
        words = [word for word, count in counts.items() for _ in range(int(count))]
        flat[f"feedback.{key}"] = words or _mapping(statistics).get("avg")
    return _texts_joined(flat, "")


def _langfuse(row: Row) -> dict[str, Any]:
    """A trace with its scores; those of annotators by name, others by name and source."""
    trace = _mapping(row.get("trace")) or row
    flat: dict[str, Any] = {"id": trace["id"]} if trace.get("id") is not None else {}
    flat |= _prefixed("input", decoded(trace.get("input"))) | _prefixed("output", decoded(trace.get("output")))
    flat |= {name: trace[name] for name in ("name", "sessionId", "userId") if trace.get(name) is not None}
    flat |= {name: value for name, value in _mapping(trace.get("metadata")).items() if name not in flat}
    scores = decoded(row.get("scores"))
    for score in scores if isinstance(scores, list) else []:
        source = score.get("source") or "ANNOTATION"
        name = str(score.get("name")) + ("" if source == "ANNOTATION" else f" ({source})")
        text = score.get("stringValue", score.get("string_value"))
        value = text if text not in (None, "") else score.get("value")
        if value is not None:
            flat.setdefault(name, []).append(simple(value))
        if score.get("comment") and source == "ANNOTATION":
            flat.setdefault("comment", []).append(score["comment"])
    return _texts_joined(flat, "")


def _mlflow(row: Row) -> dict[str, Any]:
    """A row of `search_traces`, or a trace as JSON: request, response, and assessments of people by name."""
    info, data = _mapping(row.get("info")), _mapping(row.get("data"))
    trace = {**info, **data, **row}
    request = trace.get("request", info.get("request_preview"))
    response = trace.get("response", info.get("response_preview"))
    identity = trace.get("trace_id", trace.get("request_id"))
    flat: dict[str, Any] = {"id": identity} if identity is not None else {}
    flat |= _prefixed("request", decoded(request)) | _prefixed("response", decoded(response))
    assessments = decoded(trace.get("assessments"))
    for item in assessments if isinstance(assessments, list) else []:
        source = _mapping(item.get("source")).get("source_type", "HUMAN")
        name = str(item.get("name", item.get("assessment_name")))
        if (expected := _mapping(item.get("expectation")).get("value")) is not None:
            flat[f"expectation.{name}"] = expected
            continue
        value = _mapping(item.get("feedback")).get("value")
        if value is not None:
            flat.setdefault(name if source == "HUMAN" else f"{name} ({source})", []).append(simple(value))
        if item.get("rationale") and source == "HUMAN":
            flat.setdefault("rationale", []).append(item["rationale"])
    return _texts_joined(flat, "")


EXPORTS: dict[str, Callable[[Row], dict[str, Any]]] = {
    "argilla": _argilla,
    "label-studio": _label_studio,
    "langfuse": _langfuse,
    "langsmith": _langsmith,
    "mlflow": _mlflow,
}


def _prefixed(prefix: str, value: Any) -> dict[str, Any]:
    """The fields of an object with the name before them; a conversation, a text or a list under the name itself."""
    if not isinstance(value, dict):
        return {} if value is None else {prefix: value}
    if len(value) == 1 and isinstance(messages := next(iter(value.values())), list) and _are_turns(messages):
        return {f"{prefix}.{next(iter(value))}": messages}
    flat: dict[str, Any] = {}
    for name, inner in value.items():
        flat |= _prefixed(f"{prefix}.{name}", inner) if isinstance(inner, dict) else {f"{prefix}.{name}": inner}
    return flat


def _are_turns(value: list[Any]) -> bool:
    return bool(value) and all(isinstance(turn, dict) and turn.keys() >= set(TURNS) for turn in value)


def simple(value: Any) -> Any:
    """The one value inside lists and objects of one; of a ranking its first place, "tie" for several.

    Example:
        >>> simple({"choices": ["pass"]}), simple([{"rating": 4}]), simple([{"value": "b", "rank": 1}])
        ('pass', 4, 'b')
    """
    if isinstance(value, list) and value and all(isinstance(item, dict) and "rank" in item for item in value):
        best = min(item["rank"] for item in value)
        first = [item.get("value") for item in value if item["rank"] == best]
        return first[0] if len(first) == 1 else "tie"
    while isinstance(value, list | dict) and len(value) == 1:
        value = next(iter(value.values())) if isinstance(value, dict) else value[0]
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list) else value


def _texts_joined(flat: dict[str, Any], ending: str) -> dict[str, Any]:
    """The row, with lists of long texts (what annotators wrote) as one text, without the ending of their column."""
    joined: dict[str, Any] = {}
    for name, value in flat.items():
        is_prose = isinstance(value, list) and value and all(isinstance(text, str) for text in value)
        if is_prose and (name.endswith(ending) or not ending) and max(map(len, value)) > 60:
            joined[name.removesuffix(ending) if ending else name] = "\n".join(value)
        else:
            joined[name] = value
    for name in ("comment", "rationale"):
        if isinstance(joined.get(name), list):
            joined[name] = "\n".join(map(str, joined[name]))
    return joined


def _mapping(value: Any) -> Mapping[str, Any]:
    inner = decoded(value)
    return inner if isinstance(inner, Mapping) else {}


def _keys(value: Any) -> set[str]:
    return set(value) if isinstance(value, Mapping) else set()
