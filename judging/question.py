"""A question with two readouts: written once, answered in words or by the probabilities of one token.

Both readouts share the wording, the instructions that an optimizer found, and the demos. `probability` asks for the
outputs that can be read from one token and leaves explanations out; an output's description is then the question.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import dspy

from ..engines.adapter import described
from ..engines.token_probabilities import ProbabilityLM
from ..errors import DeclarationError
from .answer_types import MOST_LEVELS, Levels, Options, OutputType, is_decision, output_type
from .delimiters import with_fence_note
from .evidence import ScoreReading
from .stage import Stage

READOUTS = ("generate", "probability")
RESERVED = ("mass_read", "evidence")  # what a probability readout adds to its prediction
READABLE = (
    'Ask for Literal["A", "B"] (perhaps with "C" or "tie"), consecutive whole numbers such as Literal[1, 2, 3], bool, '
    "or a decision type with its options; str is an explanation."
)


@dataclass(frozen=True)
class Answer:
    """An LM's answer as evidence, whichever readout gave it.

    Attributes:
        values: the outputs by name; explanations are missing where probabilities were read.
        outputs: the types of the outputs that are no explanations.
        mass_read: the smallest probability mass on a question's options; None for a written answer.
    """

    values: Mapping[str, Any]
    outputs: Mapping[str, OutputType]
    mass_read: float | None

    def shares(self, output: str) -> dict[str, float]:
        """The probability of each option; of a written answer 1 and 0."""
        return self._options(output).shares(self.values[output])

    def preference(self, output: str) -> dict[str, float]:
        """The probability of a, of b and, where it is an option, of a tie, as the texts were shown."""
        return self._options(output).preference(self.values[output])

    def reading(self, output: str, explanation: str = "") -> ScoreReading:
        """The score with the levels' probabilities; yes is 1 and no 0."""
        levels = self.outputs[output]
        assert isinstance(levels, Levels), f"{output} is not a scale"
        reading = levels.reading(self.values[output], self.mass_read)
        return ScoreReading(reading.score, reading.levels, reading.mass_read, explanation)

    @property
    def explanation(self) -> str:
        """The explanations in the order of the signature; empty where probabilities were read."""
        return " ".join(str(self.values[name]).strip() for name in self.values if name not in self.outputs)

    def _options(self, output: str) -> Options:
        options = self.outputs[output]
        assert isinstance(options, Options), f"{output} has no options"
        return options


class Question(Stage):
    """One question that an LM answers in words or by token probabilities.

    Args:
        signature: the contract. Outputs are Literals of letters, of consecutive whole numbers or of "yes" and "no",
            bool, or DSPy's decision types, which are always read; `str` outputs are explanations.
        role: see `Stage`; so are the arguments that are not named here.
        levels: names of the scale's levels, lowest first, for the probability readout.
        who: begins messages of errors.

    Raises:
        DeclarationError: an output that is none of these.
    """

    def __init__(
        self,
        signature: type[dspy.Signature],
        role: str,
        *,
        levels: Sequence[str] = (),
        who: str = "",
        max_tokens: int = 512,
        temperature: float = 0.0,
        top_p: float | None = None,
        attempts: int = 3,
        check: Callable[[dspy.Prediction], None] | None = None,
        reader: Callable[[Any], Any] = ProbabilityLM,
        affects_verdict: bool = True,
    ) -> None:
        self.levels, self.who = tuple(levels), who or f"question {signature.__name__!r}"
        self.outputs = output_types(signature, self.who, self.levels)
        signature = with_fence_note(signature)
        super().__init__(
            signature if self._can_write(signature) else _read_form(signature, self.outputs),
            role,
            max_tokens=max_tokens,
            temperature=temperature,
            top_p=top_p,
            attempts=attempts,
            check=check,
            reader=reader,
            affects_verdict=affects_verdict,
        )

    @property
    def readouts(self) -> tuple[str, ...]:
        written = self._can_write(self.ask.signature)
        read = all(kind.decision is not None for kind in self.outputs.values())
        return tuple(name for name, possible in zip(READOUTS, (written, read), strict=True) if possible)

    def _can_write(self, signature: type[dspy.Signature]) -> bool:
        return not any(is_decision(signature.output_fields[name].annotation) for name in self.outputs)

    def forward(
        self, *, readout: str | None = None, signature: type[dspy.Signature] | None = None, **inputs: Any
    ) -> Answer:
        """The answer.

        Args:
            readout: "generate" or "probability"; None is the first that the signature allows.
            signature: asked in place of the question's own, as for a number of options that depends on the case.

        Raises:
            DeclarationError: the signature does not allow this readout.
            ExecutionError, ModelError: see `Stage`.
        """
        readout = readout or self.readouts[0]
        self.check_readout(readout)
        form = signature or self.ask.signature
        outputs = output_types(signature, self.who, self.levels) if signature else self.outputs
        # DSPy's demo optimizers may add whole training examples, which answer no question.
        demos = [self._demo(demo, outputs, readout) for demo in self.demos_for(inputs) if set(outputs) & set(demo)]
        if readout == "probability" and "generate" in self.readouts:
            form = _read_form(form, outputs)
        prediction = self.call(inputs, None if form is self.ask.signature else form, demos)
        values = {name: prediction[name] for name in form.output_fields}
        return Answer(values, outputs, prediction.get("mass_read"))

    def check_readout(self, readout: str) -> None:
        """Raise DeclarationError, with the reason, when the signature does not allow this readout."""
        if readout in self.readouts:
            return
        names = ", ".join(self.outputs)
        if readout == "probability":
            raise DeclarationError(
                f"{self.who}: readout=probability reads at most {MOST_LEVELS} levels from one token, and "
                f"{names} has more. Use readout=generate, or a scale of at most {MOST_LEVELS} levels."
            )
        raise DeclarationError(
            f"{self.who}: readout=generate, but {names} has a decision type, which is always read from "
            "probabilities. Use readout=probability, or declare a Literal."
        )

    def plain_output(self, name: str, value: Any) -> Any:
        return self.outputs[name].written(value) if name in self.outputs else value

    def _demo(self, demo: Any, outputs: Mapping[str, OutputType], readout: str) -> dspy.Example:
        """The demo as this readout shows it: words, or the tokens that are read."""
        values = {
            name: (outputs[name].mark(value) if readout == "probability" else outputs[name].written(value))
            if name in outputs
            else value
            for name, value in dict(demo).items()
        }
        return dspy.Example(**values)


def output_types(signature: type[dspy.Signature], who: str, levels: Sequence[str] = ()) -> dict[str, OutputType]:
    """The outputs that are no explanations, with what each asks for.

    Raises:
        DeclarationError: an output of another type, or with a name that an answer uses itself.
    """
    outputs: dict[str, OutputType] = {}
    for name, field in signature.output_fields.items():
        try:
            kind = output_type(field.annotation, field.metadata, levels)
        except ValueError as error:
            raise DeclarationError(f"{who}: the output {name!r} {error}. {READABLE}") from None
        if kind is None:
            continue
        if name in RESERVED:
            raise DeclarationError(f"{who}: the output {name!r} has a name that a judge uses itself. Rename it.")
        outputs[name] = kind
    return outputs


def _read_form(signature: Any, outputs: Mapping[str, OutputType]) -> Any:
    """The signature of the probability readout: without explanations, and with decision types as outputs."""
    return _cached_read_form(signature, tuple(outputs.items()))


@lru_cache(maxsize=512)
def _cached_read_form(signature: Any, outputs: tuple[tuple[str, OutputType], ...]) -> Any:
    fields: dict[str, Any] = {
        name: (field.annotation, deepcopy(field)) for name, field in signature.input_fields.items()
    }
    for name, kind in outputs:
        question = described(signature.output_fields[name]) or kind.question(name)
        fields[name] = (kind.decision, dspy.OutputField(desc=question))
    return dspy.Signature(fields, signature.instructions)
