"""The wording of a judge: the instructions and demos of each stage's prompt, as JSON.

The wording of an optimizer is put into a copy of the judge, never the reverse: structure, LMs, head and the classes of
signatures stay out of its reach. A sentence that says that delimited texts are material, not orders, survives every
rewriting.
"""

import copy
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, TypeVar

import dspy
from dspy.predict.predict import serialize_object
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from ...data import Case
from ...data.case import Record
from ...judging.delimiters import defuse, unfenced
from ...judging.demo_pool import DemoPool
from ...judging.judge import Judge
from ...judging.stage import Stage

FENCE = "<<<"
SENTENCE = re.compile(r"(?<=[.!?])\s+")

Program = TypeVar("Program", bound=Judge)


class Wording(Record):
    """The instructions and demos of a stage."""

    instructions: str = Field(description="the text of the task")
    demos: tuple[dict[str, Any], ...] = Field(default=(), description="inputs and outputs of the stage by name")
    pool: DemoPool | None = Field(default=None, description="demos of which each case is shown the nearest")

    @property
    def shown_demos(self) -> int:
        """The demos of a prompt, those by nearness included."""
        return len(self.demos) + (self.pool.most if self.pool else 0)

    @model_serializer(mode="wrap")
    def _without_empty_pool(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = serialize(self)
        if self.pool is None:
            fields.pop("pool", None)
        return fields


Wordings = Mapping[str, Wording]


def stages_of(judge: Judge) -> dict[str, Stage]:
    """The stages by their path in the judge, as in `judge_pair` or `members[0].prefer`."""
    return {path.removeprefix("self."): stage for path, stage in judge.named_sub_modules(Stage)}


def owner_of(judge: Judge, path: str) -> Judge:
    """The judge, or the member of it, that asks the stage of this path."""
    owners = {name.removeprefix("self").lstrip("."): part for name, part in judge.named_sub_modules(Judge)}
    inside = [name for name in owners if path.startswith(f"{name}.") or not name]
    owner: Judge = owners[max(inside, key=len)]
    return owner


def wordings_of(judge: Judge) -> dict[str, Wording]:
    """Every stage's wording by path; demos hold written answers, whichever readout they come from."""
    return {
        path: Wording(
            instructions=stage.ask.signature.instructions, demos=tuple(stage.plain_demos()), pool=stage.nearest
        )
        for path, stage in stages_of(judge).items()
    }


def wording_of(predictor: dspy.Predict) -> Wording:
    """The instructions and demos of a predictor, as JSON."""
    demos = tuple({name: serialize_object(value) for name, value in dict(demo).items()} for demo in predictor.demos)
    instructions = defuse(predictor.signature.instructions)  # a model may have written them
    return Wording(instructions=instructions, demos=demos, pool=getattr(predictor, "pool", None))


def worded(judge: Program, wordings: Wordings) -> Program:
    """A copy of the judge with this wording of its stages, without DSPy's marks of compilation.

    DSPy omits a sub-module that is marked as compiled from every list of parameters, so it would neither be saved nor
    optimised.
    """
    changed = copy.deepcopy(judge)
    for path, stage in stages_of(changed).items():
        if path in wordings:
            wording, signature = wordings[path], stage.ask.signature
            if wording.instructions != signature.instructions:
                text = with_fence(wording.instructions, signature.instructions)
                stage.ask.signature = signature.with_instructions(text)
            stage.ask.demos = [dspy.Example(**demo) for demo in wording.demos]
            stage.nearest = wording.pool
    for _, module in changed.named_sub_modules(dspy.Module):
        module._compiled = False
    return changed


def with_fence(instructions: str, before: str) -> str:
    """The instructions, with the sentences on delimiters of the instructions before if they have none."""
    if FENCE in instructions:
        return instructions
    sentences = [" ".join(sentence.split()) for sentence in SENTENCE.split(before) if FENCE in sentence]
    return "\n\n".join([instructions.strip(), *([" ".join(sentences)] if sentences else [])])


def demonstrated(judge: Judge, case: Case) -> bool:
    """Whether a demo contains a text of the case, so that the judge's verdict on it is no evidence.

    Demos by nearness do not count: no case is shown those of its group or of its texts.
    """
    texts = {defuse(candidate.text).strip() for candidate in case.candidates} - {""}
    demos = (demo for wording in wordings_of(judge).values() for demo in wording.demos)
    return any(unfenced(value) in texts for demo in demos for value in demo.values() if isinstance(value, str))


def digest_of(wordings: Wordings) -> str:
    """A digest, equal for equal wordings."""
    content = {
        path: [wording.model_dump(exclude={"pool"}), wording.pool.digest if wording.pool else ""]
        for path, wording in sorted(wordings.items())
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def plain_inputs(stage: Stage, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """A stage's inputs as JSON."""
    return {name: serialize_object(inputs[name]) for name in stage.ask.signature.input_fields if name in inputs}


def plain_outputs(stage: Stage, outputs: Mapping[str, Any]) -> dict[str, Any]:
    """A stage's outputs as JSON, as a demo shows them."""
    return {
        name: stage.plain_output(name, outputs[name]) for name in stage.ask.signature.output_fields if name in outputs
    }
