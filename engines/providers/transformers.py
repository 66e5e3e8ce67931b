"""Models that torch runs in this process: `transformers/` and a local name, a folder, a .gguf file or a hub name.

On a processor with bf16 instructions, or a GPU, torch reads prompts several times as fast as llama.cpp reads 4-bit
weights. Requests of several threads are answered together, and what their prompts share is read once.
"""

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..engine import Engine, register
from ..ledger import current_deadline
from ..model_string import ModelString
from ..pace import LOCAL_TIMEOUT, WHOLE, current_pace
from ..torch_models.answer_form import answers_json
from ..torch_models.collector import Collector, Job
from ..torch_models.torch_import import dtype_name, torch_and_transformers
from ..torch_models.weights import find_torch_weights
from ..weights import OnProgress, silent

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response

    from ..lm import Transport
    from ..torch_models.network import Network
    from ..torch_models.writing import AnswerForm, Written

MOST_TOKENS = 512  # of an answer to a request that names no limit
ENDS = {True: "stop", False: "length"}


@register
class TransformersEngine(Engine):
    """`transformers/NAME`: of `dicast models list`, a folder of a model or adapter, a .gguf file, or OWNER/NAME of the
    hub."""

    name = "transformers"
    summary = "torch in this process (extra `torch`)"
    example = "transformers/qwen2.5-coder-1.5b"
    workers = 16

    def identity(self, model: ModelString) -> str:
        """Changes with the weights, and with the number type that they are used in."""
        weights = find_torch_weights(model.model)
        torch, _ = torch_and_transformers(f"transformers/{model.model}")
        return f"transformers/{weights.name}-{weights.digest[:12]}-{dtype_name(torch)}"

    def connect(self, model: ModelString, *, trusted: bool) -> "Transport":
        from ..lm import Transport
        from ..torch_models.network import open_network

        torch_and_transformers(f"transformers/{model.model}")
        weights = find_torch_weights(model.model)
        network = open_network(weights.folder(), adapter=weights.adapter)
        transport = Transport(
            TorchModel(network),
            wire_model=model.model,
            pricing=None,
            schema=False,
            timeout=LOCAL_TIMEOUT,
            special_tokens=network.chat.special,
        )
        transport.answers_json = answers_json(Path(model.model).expanduser())
        return transport

    def prepare(self, model: ModelString, progress: OnProgress = silent) -> None:
        """Fetch the weights; dequantise a .gguf file."""
        torch_and_transformers(f"transformers/{model.model}")
        find_torch_weights(model.model, progress).folder(progress)


class TorchModel:
    """A DSPy engine around a network: `complete(Request) -> Response`.

    Args:
        network: which answers the requests.
    """

    def __init__(self, network: "Network") -> None:
        self.network = network
        self._collector: Collector[Request, Response] = Collector(self._answer_all)

    def complete(self, request: "Request") -> "Response":
        """The answer, found together with those to other threads' requests.

        Raises:
            ContextLengthError: the prompt and its answer are longer than the model's context.
        """
        seconds = WHOLE * (current_pace().timeout or LOCAL_TIMEOUT)
        return self._collector.ask(request, min(time.monotonic() + seconds, current_deadline()))

    def close(self) -> None:
        """Nothing: the network serves the whole process."""

    def _answer_all(self, jobs: "Sequence[Job[Request, Response]]") -> None:
        from dspy.lm15 import ContextLengthError

        from ..torch_models.writing import answer

        prompts, decodings, open_jobs = [], [], []
        for job in jobs:
            try:
                prompt, decoding = self.network.chat.prompt(_messages(job.request)), _decoding(job.request)
            except Exception as error:
                job.answer.set_exception(error)
                continue
            if len(prompt.ids) >= self.network.most_tokens:
                message = f"the prompt has {len(prompt.ids)} tokens, the model reads {self.network.most_tokens}"
                job.answer.set_exception(ContextLengthError(message))
                continue
            prompts.append(prompt)
            decodings.append(decoding)
            open_jobs.append(job)

        def on_answer(index: int, written: "Written") -> None:
            response = self._response(open_jobs[index].request, len(prompts[index].ids), written)
            open_jobs[index].answer.set_result(response)

        with self.network.working():
            answer(self.network, prompts, decodings, on_answer)

    def _response(self, request: "Request", read: int, written: "Written") -> "Response":
        from dspy.lm15 import Message, Response, TextPart, TokenLogprob, TopLogprob, Usage

        name = self.network.chat.token_text
        listed = tuple(
            TokenLogprob(name(token), log_p, top=tuple(TopLogprob(name(other), value) for other, value in top))
            for token, log_p, top in written.listed
        )
        return Response(
            id=None,
            model=request.model,
            message=Message.assistant([TextPart(written.text)]),
            finish_reason=ENDS[written.finished],
            usage=Usage(input_tokens=read, output_tokens=written.count),
            logprobs=listed or None,
        )


def _messages(request: "Request") -> list[dict[str, str]]:
    """The request's texts as messages with `role` and `content`."""
    system: Any = request.system
    text = system if isinstance(system, str) else "".join(part.text for part in system or ())
    messages = [{"role": "system", "content": text}] if text else []
    return messages + [{"role": str(message.role), "content": message.text or ""} for message in request.messages]


def _decoding(request: "Request") -> "AnswerForm":
    from ..torch_models.writing import AnswerForm

    config = request.config
    temperature = config.temperature or 0.0
    return AnswerForm(
        most=config.max_tokens or MOST_TOKENS,
        temperature=temperature if math.isfinite(temperature) else 0.0,
        top_p=1.0 if config.top_p is None else config.top_p,
        seed=config.seed,
        top=config.logprobs or 0,
        stop=tuple(config.stop or ()),
    )
