"""A stage's prompt for given inputs, without a model, and rows that teach a known answer to it."""

import json
from collections.abc import Mapping
from typing import Any

import dspy

from ..data.verdict import Order
from ..engines.ledger import Ledger, charge_to
from ..engines.stand_in import StandInLM
from ..judging.recorded_calls import recording
from ..judging.stage import Stage
from .row import ChatMessage, TrainingRow


def prompt_of(stage: Stage, inputs: Mapping[str, Any]) -> tuple[ChatMessage, ...]:
    """The messages that the stage sends for these inputs, to be answered in words; the stage stays as it is."""
    copy: Stage = stage.deepcopy()
    copy.model, copy.ask.lm = "", None
    with dspy.context(lm=StandInLM()), charge_to(Ledger()), recording() as calls:
        copy.call(inputs)
    return tuple(ChatMessage.model_validate(message) for message in calls[-1].sent.messages)


def written_row(
    stage: Stage,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    *,
    task: str,
    case_id: str,
    group: str,
    source: str,
    order: Order | None = None,
) -> TrainingRow:
    """The row that teaches the stage this answer, in the form that the stage asks for: JSON with its fields in order.

    Args:
        outputs: the answer's fields; none may be missing.
    """
    fields = {name: outputs[name] for name in stage.ask.signature.output_fields}
    answer = ChatMessage(role="assistant", content=json.dumps(fields, ensure_ascii=False))
    messages = (*prompt_of(stage, inputs), answer)
    return TrainingRow(task=task, messages=messages, case_id=case_id, group=group, order=order, source=source)
