"""The prompt of a typed call: the instruction, the JSON to answer with, and the inputs under headings.

`CompactAdapter` is DSPy's JSONAdapter for servers that enforce a JSON schema: the schema does the work of a format
manual, so the prompt holds about half the words, which a local model reads that much sooner. What is sent and parsed
(schema, demos as chat turns, types) is DSPy's own, but that a long list of whole numbers is sent as its ends.
"""

import json
import types
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import dspy
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from .answer_parsing import AnswerParsing

LONGEST_LIST = 11  # whole numbers that are listed, as 0..10; more are a range
WORDS = {str: "text", int: "whole number", float: "number", bool: "true or false"}


class CompactAdapter(AnswerParsing, dspy.JSONAdapter):
    """JSONAdapter with a short prompt; finetuning data is formatted the same way."""

    def format_system_message(self, signature: type[dspy.Signature]) -> str:
        fields = signature.input_fields.items()
        inputs = [f"{heading(name)}: {text}" for name, field in fields if (text := described(field))]
        outputs = [
            ", ".join(filter(None, (f'"{name}": {words_for(field.annotation, field.metadata)}', described(field))))
            for name, field in signature.output_fields.items()
        ]
        input_line = ["Inputs: " + "; ".join(inputs) + "."] if inputs else []
        answer = ["Answer with one JSON object with these fields, in this order:", *outputs]
        return "\n".join([signature.instructions, "", *input_line, *answer])

    def format_user_message_content(
        self,
        signature: type[dspy.Signature],
        inputs: Mapping[str, Any],
        prefix: str = "",
        suffix: str = "",
        main_request: bool = False,
    ) -> str:
        values = {name: inputs[name] for name in signature.input_fields if name in inputs}
        request = f"Answer with JSON: {', '.join(signature.output_fields)}." if main_request else ""
        return "\n\n".join(part for part in (prefix, sections(values), request, suffix) if part)

    def _prepare_response_format(self, lm: Any, lm_kwargs: dict[str, Any], signature: type[dspy.Signature]) -> None:
        super()._prepare_response_format(lm, lm_kwargs, signature)
        form = lm_kwargs.get("response_format")
        if isinstance(form, type) and issubclass(form, BaseModel):
            lists_as_ranges(form.model_json_schema())  # the one object that is sent: DSPy has put it into the class

    format_finetune_data = dspy.ChatAdapter.format_finetune_data


def lists_as_ranges(schema: Any) -> None:
    """Write long lists of consecutive whole numbers in a JSON schema, in place, as their ends.

    `0 | 1 | ... | 100` takes some 470 tokens of a prompt, its ends a dozen; the answer is checked by its type anyway.
    """
    if isinstance(schema, dict):
        values = schema.get("enum")
        if isinstance(values, list) and _is_range(values):
            del schema["enum"]
            schema |= {"type": "integer", "minimum": values[0], "maximum": values[-1]}
        for part in schema.values():
            lists_as_ranges(part)
    elif isinstance(schema, list):
        for part in schema:
            lists_as_ranges(part)


def _is_range(values: Sequence[Any]) -> bool:
    """Whether these are consecutive whole numbers, and too many to be listed."""
    whole = len(values) > LONGEST_LIST and all(type(value) is int for value in values)
    return whole and list(values) == list(range(values[0], values[-1] + 1))


def sections(inputs: Mapping[str, Any]) -> str:
    """The inputs, each under its heading; what is empty is left out."""
    return "\n\n".join(
        f"{heading(name)}:\n{text_of(value)}" for name, value in inputs.items() if value not in (None, "")
    )


def heading(name: str) -> str:
    """`response_a` reads "Response A"."""
    words = name.replace("_", " ").capitalize()
    return words[:-1] + words[-1].upper() if words[-2:-1] == " " else words


def text_of(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def described(field: FieldInfo) -> str:
    """A field's description; empty when the signature gives none (DSPy then says "${name}")."""
    text = (field.json_schema_extra or {}).get("desc", "") if isinstance(field.json_schema_extra, dict) else ""
    return "" if str(text).startswith("${") else str(text)


def words_for(annotation: Any, metadata: Any = ()) -> str:
    """A type in words, as in `1 | 2 | 3` or `list of {"name": text}`."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return words_for(arguments[0], arguments[1:])
    if origin is Literal:
        if _is_range(arguments):
            return f"whole number {arguments[0]}..{arguments[-1]}"
        return " | ".join(json.dumps(value) for value in arguments)
    if origin in (list, tuple):
        return f"list of {words_for(arguments[0])}"
    if origin in (Union, types.UnionType):
        return " or ".join(words_for(argument) for argument in arguments if argument is not type(None))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        fields = annotation.model_fields.items()
        return "{" + ", ".join(f'"{name}": {words_for(f.annotation, f.metadata)}' for name, f in fields) + "}"
    return WORDS.get(annotation, getattr(annotation, "__name__", str(annotation))) + _bounds(metadata)


def _bounds(metadata: Any) -> str:
    low = next((bound.ge for bound in metadata if hasattr(bound, "ge")), None)
    high = next((bound.le for bound in metadata if hasattr(bound, "le")), None)
    return f" {low}..{high}" if low is not None and high is not None else ""
