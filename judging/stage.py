"""A stage: one typed LM call of a judge, answered by the LM bound to its role.

A stage whose outputs are all decision types (Choice, Score, Noul) is read from token probabilities; any other is
written by the model, as JSON under a schema where the server enforces one. How written answers are decoded is set by
role (`decoding`). An answer without the declared form is asked for again at temperature 0.7 and top-p 0.95, and in the
end the judgment is unscored with the reason. Inside `sampled` written answers are drawn rather than greedy, each draw
anew; what the user has set holds there too.
"""

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakSet

import dspy
from dspy.adapters.decision import record_evidence
from dspy.experimental import Choice, Noul, Score
from dspy.predict.predict import serialize_object
from dspy.utils import exceptions as lm_errors

from ..data.refusal_detection import is_refusal
from ..engines.adapter import CompactAdapter
from ..engines.adapting import fixed_limit
from ..engines.answer_parsing import PlainAdapter
from ..engines.answers_used import answers_of_judgment
from ..engines.cut_answers import noting_cuts, repeats_itself
from ..engines.dspy_cache import guarded
from ..engines.keys import missing_key
from ..engines.ledger import stage_of_calls
from ..engines.model_options import ModelOptions
from ..engines.model_string import ModelString
from ..engines.models import get_lm
from ..engines.token_probabilities import PROMPT, ProbabilityLM, YesNoLM, options_of
from ..errors import ContextOverflow, Infrastructure, ModelError, ModelRefused, ParseFailure, Refusal, Unreadable
from .decoding import Decoding, seed_of_draw
from .delimiters import shown_demo, shown_inputs, with_fence_note
from .demo_pool import DemoPool
from .reading_floor import check_mass
from .reading_ways import read_in_way
from .recorded_calls import RecordedCall, SentCall, SentCalls, listening, note_call, read_tokens, task_name
from .sampling import NESTED_SAMPLES, SAMPLING_TEMPERATURE, SAMPLING_TOP_P, current_sampling
from .seat import Seat

CUT_GROWTH = 4  # times as many tokens for a second try, where the first answer was cut
REASONING_OFF = "none"  # as OpenAI's API writes it, in whose words DSPy takes a call's options
# These need another model string, key or account: a retry cannot help, and every other case would fail too, unless the
# model has answered before.
PERMANENT_ERRORS = (
    lm_errors.LMAuthError,
    lm_errors.LMBillingError,
    lm_errors.LMConfigurationError,
    lm_errors.LMUnsupportedModelError,
    lm_errors.LMUnsupportedFeatureError,
)

_answering: WeakSet[Any] = WeakSet()  # LMs that have answered in this process

# A one-token readout is "truncated" on purpose, and a truncated answer ends as a parse failure anyway.
logging.getLogger("dspy.clients.lm").addFilter(lambda record: "truncated" not in record.getMessage())


class Stage(Seat):
    """One typed LM call.

    Args:
        signature: the contract; its docstring is the instruction.
        role: which entry of the judge's LMs answers it, and the name its usage is counted under.
        max_tokens: for a written answer; as the next two the program's default, of which `decoding` holds what the
            user sets in its place.
        temperature: for a written answer, at the first try.
        top_p: for a written answer that is drawn, at the first try; None leaves it to the server.
        attempts: tries in all before the judgment is unscored.
        check: raises ValueError when a prediction of the right form still cannot be used.
        reader: makes the decision LM that reads probabilities out of the stage's LM.
        affects_verdict: whether the answer can change a verdict; a structure search varies no model that cannot.

    Attributes:
        nearest: demos that are chosen for each case, beside those that every prompt shows; None: there are none.
        task: what it asks, in recorded calls; empty: as of `recorded_calls.task_name`.
    """

    nearest: DemoPool | None = None
    task: str = ""

    def __init__(
        self,
        signature: type[dspy.Signature],
        role: str,
        *,
        max_tokens: int = 512,
        temperature: float = 0.0,
        top_p: float | None = None,
        attempts: int = 3,
        check: Callable[[dspy.Prediction], None] | None = None,
        reader: Callable[[Any], Any] = ProbabilityLM,
        affects_verdict: bool = True,
    ) -> None:
        super().__init__(role)
        self.decoding = Decoding()
        self.ask = dspy.Predict(with_fence_note(signature))
        self.max_tokens, self.temperature, self.top_p, self.attempts = max_tokens, temperature, top_p, attempts
        self.check, self.reader, self.affects_verdict = check, reader, affects_verdict
        self._implied = ""

    def imply(self) -> None:
        """Leave the stage out of judge files while it is as it comes: of a stage that is newer than saved files."""
        self._implied = str(self.ask.signature.instructions)

    @property
    def is_implied(self) -> bool:
        """Whether a judge file goes without the stage."""
        is_changed = bool(self.ask.demos) or self.nearest is not None
        return self._implied == self.ask.signature.instructions and not is_changed

    @property
    def readouts(self) -> tuple[str, ...]:
        """How the stage can be answered, of "generate" and "probability"."""
        return ("probability",) if reads_probabilities(self.ask.signature) else ("generate",)

    @property
    def lm(self) -> Any:
        """The LM that answers: DSPy's own choice for the predictor, the model bound to the stage, or DSPy's setting.

        Raises:
            ModelError: there is none, or it cannot be used.
        """
        if self.model and not self.admitted and self.ask.lm is None:
            self.admit()
        lm = self.ask.lm or (get_lm(self.model, trusted=self.trusted) if self.model else dspy.settings.lm)
        if lm is None:
            raise ModelError(f"stage {self.role!r}: no LM is bound. Give --lm, or call judge.bind('provider/model').")
        return guarded(lm)

    def forward(self, **inputs: Any) -> Any:
        """The prediction; where probabilities are read it has `mass_read`, the smallest probability mass on a
        question's options, and `evidence`, what the reader returned for each question.

        Raises:
            ParseFailure, Refusal, Unreadable, ContextOverflow, Infrastructure: see `errors`.
            ModelError: the model cannot be used at all (no key, unknown name, no token probabilities).
        """
        return self.call(inputs)

    def call(
        self,
        inputs: Mapping[str, Any],
        signature: type[dspy.Signature] | None = None,
        demos: Sequence[Any] | None = None,
    ) -> dspy.Prediction:
        """The prediction of another signature or with other demos than the stage's own, where given; as `forward`.

        Every text goes into the prompt through here: what is not `Shown` yet is fenced or quoted.
        """
        lm = self.lm
        form = signature or self.ask.signature
        demos = self.demos_for(inputs) if demos is None else demos
        tokens: frozenset[str] = getattr(lm, "special_tokens", frozenset())
        unshown, inputs = inputs, shown_inputs(inputs, tokens)
        request = {name: inputs[name] for name in form.input_fields if name in inputs} | inputs
        request |= {"signature": signature} if signature else {}
        request["demos"] = [dspy.Example(shown_demo(dict(demo), inputs, form.output_fields, tokens)) for demo in demos]
        with (
            stage_of_calls(self.role) as ledger,
            ledger.open_call(),
            dspy.context(disable_history=True),
            answers_of_judgment() as answers,
            listening() as sent,
        ):
            try:
                prediction = self._read(lm, request) if reads_probabilities(form) else self._write(lm, request)
                _answering.add(lm)
                if sent is not None and sent.calls:
                    self._record(sent, form, unshown, inputs, prediction, lm.model)
                return prediction
            except (ParseFailure, Refusal, Unreadable) as error:
                answers.forget()
                error.answers_forgotten = True
                raise
            except lm_errors.LMNotConfiguredError as error:
                names = getattr(error, "env_keys", ()) or ("the provider's key",)
                raise ModelError(missing_key(lm.model, names)) from error
            except PERMANENT_ERRORS as error:
                text = _one_line(error)
                if isinstance(error, lm_errors.LMAuthError) and self.trusted:
                    text += ". Check the key of this provider in the environment or in .env."
                elif isinstance(error, lm_errors.LMAuthError):
                    text += f" A judge file names this address, so no key was sent. To send it: --lm {self.model}"
                if lm in _answering:  # it works: one odd reply, or an account that has just run dry
                    raise Infrastructure(f"stage {self.role!r}, model {lm.model!r}: {text}") from error
                kind = ModelError if error.status is None else ModelRefused
                raise kind(f"model {lm.model!r}: {text}") from error
            except lm_errors.ContextWindowExceededError as error:
                raise ContextOverflow(f"stage {self.role!r}: {_one_line(error)}") from error
            except lm_errors.LMError as error:
                ledger.check()  # a call that the end of the budget has ended
                raise Infrastructure(f"stage {self.role!r}, model {lm.model!r}: {_one_line(error)}") from error

    def _read(self, lm: Any, request: dict[str, Any]) -> dspy.Prediction:
        if getattr(lm, "supports_decision_requests", False):
            return self._read_from(lm, request)
        return read_in_way(lm, self.reader, lambda decision_lm: self._read_from(decision_lm, request))

    def _read_from(self, decision_lm: Any, request: dict[str, Any]) -> dspy.Prediction:
        trace = dspy.settings.trace
        with record_evidence() as evidence, dspy.context(trace=None if trace is None else []):
            prediction = self.ask(lm=decision_lm, **request)
        if getattr(decision_lm, "has_floor", True):
            for _, name, answer in evidence:
                check_mass(f"stage {self.role!r}, question {name!r}", answer)
        self._add_to(trace, request, prediction)
        prediction["mass_read"] = min((answer.get("mass_read", 1.0) for *_, answer in evidence), default=1.0)
        prediction["evidence"] = [answer for *_, answer in evidence]
        return prediction

    def _add_to(self, trace: list[Any] | None, request: Mapping[str, Any], prediction: dspy.Prediction) -> None:
        """Record the call for DSPy's optimizers with answers that a demo can hold; decision types cannot be pickled."""
        if trace is None or not dspy.settings.max_trace_size:
            return
        del trace[: len(trace) + 1 - dspy.settings.max_trace_size]
        inputs = {name: value for name, value in request.items() if name not in ("signature", "demos")}
        outputs = {name: self.plain_output(name, value) for name, value in prediction.items()}
        trace.append((self.ask, inputs, dspy.Prediction(**outputs)))

    def _record(
        self,
        sent: SentCalls,
        form: type[dspy.Signature],
        inputs: Mapping[str, Any],
        shown: Mapping[str, Any],
        prediction: dspy.Prediction,
        model: str,
    ) -> None:
        """Record the call of a written answer, or of each question that was read."""
        names = [name for name in form.input_fields if name in inputs]
        call = RecordedCall(
            stage=self.role,
            task=self.task or task_name(self.role, inputs),
            model=model,
            sent=sent.calls[-1],
            inputs={name: inputs[name] for name in names},
            shown={name: shown[name] for name in names},
            outputs={name: self.plain_output(name, prediction[name]) for name in form.output_fields},
        )
        if not reads_probabilities(form):
            note_call(call)
            return
        evidence, calls = prediction["evidence"], sent.calls
        if all(PROMPT in answer for answer in evidence):  # no single call holds the answer
            calls = [SentCall(tuple(answer[PROMPT]), "") for answer in evidence]
        if len(calls) != len(evidence):
            return
        for (name, field), answer, of_question in zip(form.output_fields.items(), evidence, calls, strict=True):
            probabilities, meanings = read_tokens(field.annotation, answer, self.reader)
            outputs = {name: call.outputs[name]}
            of_token = replace(call, sent=of_question, question=name, outputs=outputs)
            note_call(replace(of_token, probabilities=probabilities, meanings=meanings))

    def _write(self, lm: Any, request: dict[str, Any]) -> dspy.Prediction:
        adapter = CompactAdapter() if answers_json(lm) else PlainAdapter()
        problem: Exception | None = None
        cuts: list[str] = []
        most, is_fixed = self.max_tokens, "max_tokens" in self._chosen()
        for attempt in range(self.attempts):
            config = self._config(attempt)
            grows = bool(cuts) and attempt == 1 and not repeats_itself(cuts[-1])
            most = config["max_tokens"] if is_fixed else most * (CUT_GROWTH if grows else 1)
            try:
                with dspy.context(adapter=adapter), noting_cuts() as cuts, fixed_limit(is_fixed):
                    prediction = self.ask(lm=lm, config=config | {"max_tokens": most}, **request)
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
        text = f"answered {_shorten(answer)!r}" if answer else f"gave an unusable answer: {_shorten(str(problem))}"
        if cuts:
            raise ParseFailure(
                f"stage {self.role!r}: the model {text}, {self.attempts} times; it was cut at {most:,} tokens. Allow "
                f"more with --set {self.role}.max_tokens=N."
            )
        raise ParseFailure(
            f"stage {self.role!r}: the model {text}, {self.attempts} times; the form was not the one asked for."
        )

    def plain_output(self, name: str, value: Any) -> Any:
        """An answer as a demo shows it: JSON, or for one read from probabilities the most probable token."""
        if not isinstance(value, Choice | Noul | Score):
            return serialize_object(value)
        kind = next(kind for kind in (Noul, Score, Choice) if isinstance(value, kind))
        if kind is Noul and isinstance(self.reader, type) and issubclass(self.reader, YesNoLM):
            return "Yes" if value.value else "No"
        marks, options = options_of({"type": kind.__name__.lower(), "criteria": type(value).criteria()})
        if isinstance(value, Score):
            shares = value.probabilities or {round(value.value): 1.0}
            answer = str(max(shares, key=lambda level: shares[level]))
        else:
            answer = str(value.value).lower() if kind is Noul else str(value.value)
        return marks[list(options).index(answer)]

    def demos_for(self, inputs: Mapping[str, Any]) -> list[Any]:
        """The demos of every prompt, and those that are nearest to the case that these inputs show."""
        return [*self.ask.demos, *(map(dspy.Example, self.nearest.nearest(inputs)) if self.nearest else ())]

    def plain_demos(self) -> list[dict[str, Any]]:
        """The demos as JSON."""
        return [{name: self.plain_output(name, value) for name, value in dict(demo).items()} for demo in self.ask.demos]

    def decoded(self, attempt: int = 0) -> dict[str, Any]:
        """How a try is decoded, the first one being 0: as the user has set the role, else the model, else as a context
        of `sampled` or a second try asks, else as the program does. What nobody gives is missing."""
        sampling, chosen = current_sampling(), self._chosen()
        temperature = chosen.get("temperature", self.temperature)
        if sampling and "temperature" not in chosen:
            temperature = max(temperature, sampling.temperature)
        elif attempt:
            temperature = max(temperature, SAMPLING_TEMPERATURE)
        top_p = sampling.top_p if sampling else (self.top_p or SAMPLING_TOP_P) if attempt else self.top_p
        values = {"top_p": top_p} if top_p is not None and temperature > 0 else {}
        return {"temperature": temperature, "max_tokens": self.max_tokens, **values} | {
            name: value for name, value in chosen.items() if name != "temperature"
        }

    def _chosen(self) -> dict[str, Any]:
        """What the user has set of the decoding: for the role, else by the options of the model string."""
        if self.model and self.ask.lm is None:
            return ModelString.parse(self.model).options.decoding | self.decoding.values
        options = getattr(self.ask.lm or dspy.settings.lm, "options", None)
        return (options.decoding if isinstance(options, ModelOptions) else {}) | self.decoding.values

    def _config(self, attempt: int) -> dict[str, Any]:
        """The call's options: `decoded`, with what makes a further draw or try another call."""
        sampling, config = current_sampling(), self.decoded(attempt)
        if "reasoning" in config:
            config |= {"reasoning_effort": REASONING_OFF if config["reasoning"] == "off" else config["reasoning"]}
            del config["reasoning"]
        rollout = (sampling.number * NESTED_SAMPLES if sampling else 0) + attempt
        if not rollout or not config["temperature"]:
            return config
        seed = {"seed": seed_of_draw(config["seed"], rollout)} if "seed" in config else {}
        return config | seed | {"rollout_id": rollout}


def answers_json(lm: Any) -> bool:
    """Whether the LM's written answers are asked for as JSON: it enforces a schema, or was trained on such prompts."""
    return bool(lm.supports_response_schema or getattr(lm, "answers_json", False))


def reads_probabilities(signature: type[dspy.Signature]) -> bool:
    """Whether all outputs are decision types, which are read from token probabilities."""
    outputs = [field.annotation for field in signature.output_fields.values()]
    return all(isinstance(kind, type) and issubclass(kind, (Choice, Score, Noul)) for kind in outputs)


def _one_line(error: BaseException) -> str:
    """The error's text without DSPy's "[model]" before it, which we name ourselves, and its advice behind it."""
    text = re.split(r"\s+(?:credential came from:|To fix:) ", str(error), maxsplit=1)[0]
    return _shorten(re.sub(r"^\[[^\]]*\] ", "", " ".join(text.split())), 300)


def _shorten(text: str, most: int = 120) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
