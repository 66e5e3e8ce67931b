"""A stage: one typed LM call of a judge, answered by the LM bound to its role.

A stage whose outputs are all decision types (Choice, Score, Noul) is read from token probabilities; any other is
written by the model, as JSON under a schema where the server enforces one. An answer without the declared form is asked
for again at temperature 0.7 and top-p 0.95, and in the end the judgment is unscored with the reason. Inside `sampled`
written answers are drawn rather than greedy, each draw anew.
"""

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

import dspy
from dspy.adapters.decision import record_evidence
from dspy.experimental import Choice, Noul, Score
from dspy.utils import exceptions as lm_errors

from ..data.refusal_detection import is_refusal
from ..engines.adapter import CompactAdapter
from ..engines.ledger import stage_of_calls
from ..engines.models import get_lm
from ..engines.parallel import concurrently
from ..engines.token_probabilities import ProbabilityLM
from ..errors import ContextOverflow, Infrastructure, ModelError, ParseFailure, Refusal

SAMPLING_TEMPERATURE, SAMPLING_TOP_P = 0.7, 0.95  # arXiv 2406.11657, section 4; also of a second try
NESTED_SAMPLES = 1000  # the samples and attempts that one sample may hold
# These need another model string, key or account: a retry cannot help, and every other case would fail too.
PERMANENT_ERRORS = (
    lm_errors.LMAuthError,
    lm_errors.LMBillingError,
    lm_errors.LMConfigurationError,
    lm_errors.LMUnsupportedModelError,
    lm_errors.LMUnsupportedFeatureError,
)

Result = TypeVar("Result")


@dataclass(frozen=True)
class Sampling:
    """How written answers are sampled; `number` makes equal questions separate calls."""

    temperature: float
    top_p: float | None
    number: int


_sampling: ContextVar[Sampling | None] = ContextVar("dicast_sampling", default=None)


@contextmanager
def sampled(
    sample: int, *, temperature: float = SAMPLING_TEMPERATURE, top_p: float | None = SAMPLING_TOP_P
) -> Iterator[None]:
    """Sample the written answers of this context; `sample`, from 1, is its number. Probabilities are not sampled."""
    outer = _sampling.get()
    offset = outer.number * NESTED_SAMPLES if outer else 0
    token = _sampling.set(Sampling(temperature, top_p, offset + sample))
    try:
        yield
    finally:
        _sampling.reset(token)


def sample_answers(ask: Callable[[], Result], samples: int, **decoding: float) -> list[Result]:
    """`samples` answers, concurrently; a single one is greedy. `decoding` as for `sampled`."""
    if samples == 1:
        return [ask()]

    def answer(number: int) -> Result:
        with sampled(number, **decoding):
            return ask()

    return concurrently(answer, range(1, samples + 1))


# A one-token readout is "truncated" on purpose, and a truncated answer ends as a parse failure anyway.
logging.getLogger("dspy.clients.lm").addFilter(lambda record: "truncated" not in record.getMessage())


class Stage(dspy.Module):
    """One typed LM call.

    Args:
        signature: the contract; its docstring is the instruction.
        role: which entry of the judge's LMs answers it, and the name its usage is counted under.
        max_tokens: for a written answer.
        temperature: for a written answer, at the first try.
        attempts: tries in all before the judgment is unscored.
        check: raises ValueError when a prediction of the right form still cannot be used.
        reader: makes the decision LM that reads probabilities out of the stage's LM.
        affects_verdict: whether the answer can change a verdict; a structure search varies no model that cannot.
    """

    def __init__(
        self,
        signature: type[dspy.Signature],
        role: str,
        *,
        max_tokens: int = 512,
        temperature: float = 0.0,
        attempts: int = 3,
        check: Callable[[dspy.Prediction], None] | None = None,
        reader: Callable[[Any], Any] = ProbabilityLM,
        affects_verdict: bool = True,
    ) -> None:
        super().__init__()
        self.ask = dspy.Predict(signature)
        self.role, self.model, self.trusted = role, "", True
        self.max_tokens, self.temperature, self.attempts = max_tokens, temperature, attempts
        self.check, self.reader, self.affects_verdict = check, reader, affects_verdict

    @property
    def reads_probabilities(self) -> bool:
        outputs = [field.annotation for field in self.ask.signature.output_fields.values()]
        return all(isinstance(kind, type) and issubclass(kind, (Choice, Score, Noul)) for kind in outputs)

    @property
    def lm(self) -> Any:
        """The LM that answers: DSPy's own choice for the predictor, the model bound to the stage, or DSPy's setting.

        Raises:
            ModelError: there is none, or it cannot be used.
        """
        lm = self.ask.lm or (get_lm(self.model, trusted=self.trusted) if self.model else dspy.settings.lm)
        if lm is None:
            raise ModelError(f"stage {self.role!r}: no LM is bound. Give --lm, or call judge.bind('provider/model').")
        return lm

    def use(self, model: str, *, trusted: bool = True) -> None:
        """Be answered by this model; `trusted` as in `get_lm`."""
        self.model, self.trusted = model, trusted

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """The prediction; a probability stage adds `coverage`, the least mass that stood on a question's options, and
        `evidence`, what the reader said of each question.

        Raises:
            ParseFailure, Refusal, ContextOverflow, Infrastructure: see `errors`.
            ModelError: the model cannot be used at all (no key, unknown name, no token probabilities).
        """
        lm = self.lm
        inputs = {name: inputs[name] for name in self.ask.signature.input_fields if name in inputs} | inputs
        with stage_of_calls(self.role) as ledger, ledger.open_call(), dspy.context(disable_history=True):
            try:
                return self._read(lm, inputs) if self.reads_probabilities else self._write(lm, inputs)
            except lm_errors.LMNotConfiguredError as error:
                keys = " or ".join(getattr(error, "env_keys", ()) or ("the provider's key",))
                raise ModelError(
                    f"model {lm.model!r}: no API key. Set {keys} in the environment or in .env."
                ) from error
            except PERMANENT_ERRORS as error:
                told = _one_line(error)
                if isinstance(error, lm_errors.LMAuthError) and not self.trusted:
                    told += f" A judge file names this address, so no key was sent. To send it: --lm {self.model}"
                raise ModelError(f"model {lm.model!r}: {told}") from error
            except lm_errors.ContextWindowExceededError as error:
                raise ContextOverflow(f"stage {self.role!r}: {_one_line(error)}") from error
            except lm_errors.LMError as error:
                raise Infrastructure(f"stage {self.role!r}, model {lm.model!r}: {_one_line(error)}") from error

    def _read(self, lm: Any, inputs: dict[str, Any]) -> dspy.Prediction:
        decision_lm = lm if getattr(lm, "supports_decision_requests", False) else self.reader(lm)
        with record_evidence() as evidence:
            prediction = self.ask(lm=decision_lm, **inputs)
        prediction["coverage"] = min((answer.get("coverage", 1.0) for *_, answer in evidence), default=1.0)
        prediction["evidence"] = [answer for *_, answer in evidence]
        return prediction

    def _write(self, lm: Any, inputs: dict[str, Any]) -> dspy.Prediction:
        adapter = CompactAdapter() if lm.supports_response_schema else dspy.ChatAdapter(use_json_adapter_fallback=False)
        problem: Exception | None = None
        for attempt in range(self.attempts):
            try:
                with dspy.context(adapter=adapter):
                    prediction = self.ask(lm=lm, config=self._config(attempt), **inputs)
            except lm_errors.AdapterParseError as error:
                problem = error
                continue
            try:
                if self.check is not None:
                    self.check(prediction)
                return prediction
            except ValueError as error:
                problem = error
        answer = str(getattr(problem, "lm_response", "") or "")
        if is_refusal(answer):
            raise Refusal(f"stage {self.role!r}: the model declined {self.attempts} times ({_shorten(answer)!r}).")
        told = f"answered {_shorten(answer)!r}" if answer else f"gave an unusable answer: {_shorten(str(problem))}"
        raise ParseFailure(
            f"stage {self.role!r}: the model {told}, {self.attempts} times; the form was not the one asked for."
        )

    def _config(self, attempt: int) -> dict[str, Any]:
        """How this try is decoded: greedy at first, unless the stage or the context samples."""
        sampling = _sampling.get()
        config: dict[str, Any] = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        if sampling:
            config |= {"temperature": max(self.temperature, sampling.temperature)}
        elif attempt:
            config |= {"temperature": max(self.temperature, SAMPLING_TEMPERATURE)}
        if config["temperature"] > 0:
            top_p = sampling.top_p if sampling else SAMPLING_TOP_P if attempt else None
            rollout = (sampling.number * NESTED_SAMPLES if sampling else 0) + attempt
            config |= ({"top_p": top_p} if top_p is not None else {}) | ({"rollout_id": rollout} if rollout else {})
        return config


def _one_line(error: BaseException) -> str:
    """The error's text without DSPy's "[model]" before it, which we name ourselves."""
    return _shorten(re.sub(r"^\[[^\]]*\] ", "", " ".join(str(error).split())), 300)


def _shorten(text: str, most: int = 120) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
