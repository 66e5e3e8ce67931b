"""What keeping answers costs: CPU time and disk of a call with the answer store, with DSPy's cache, and with neither.

    python benchmarks/answers.py [--calls 2000]

An instant LM gives 20 log-probabilities a call; one thread. Each call is then made again from what is kept on disk, by
an LM that holds nothing in memory.
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import dspy
from dspy.lm15 import Config, Message, Request, Response, TextPart, TokenLogprob, TopLogprob, Usage

from dicast.engines.answer_store import AnswerStore
from dicast.engines.lm import MeteredLM, Transport

MODEL = "instant/x"


class Instant:
    """An engine that answers at once, with 20 alternatives and a body as OpenAI's API gives it."""

    def __init__(self) -> None:
        names = [f" word{number}" for number in range(20)]
        logprobs = [-0.000123456789 if number == 0 else -9.123456789 - number for number in range(20)]
        pairs = list(zip(names, logprobs, strict=True))
        top = tuple(TopLogprob(name, value, bytes=tuple(name.encode())) for name, value in pairs)
        self.logprobs = (TokenLogprob(names[0], logprobs[0], bytes=tuple(names[0].encode()), top=top),)
        scored = [{"token": name, "logprob": value, "bytes": list(name.encode())} for name, value in pairs]
        choice = {"message": {"content": names[0]}, "logprobs": {"content": [scored[0] | {"top_logprobs": scored}]}}
        self.body = json.dumps({"id": "x", "choices": [choice], "usage": {"prompt_tokens": 250}})

    def complete(self, request: Request) -> Response:
        return Response(
            id="x",
            model="x",
            message=Message.assistant([TextPart(" word0")]),
            finish_reason="stop",
            usage=Usage(input_tokens=250, output_tokens=1),
            logprobs=self.logprobs,
            provider_data=json.loads(self.body),
        )

    def close(self) -> None:
        pass


def cpu(lm: Any, calls: int) -> float:
    """CPU milliseconds a call."""
    config = Config(max_tokens=1, temperature=0.0, logprobs=20)
    requests = [
        Request(model=MODEL, messages=(Message.user(f"question {n} {'text ' * 250}"),), config=config)
        for n in range(calls)
    ]
    started = time.process_time()
    for request in requests:
        lm(request)
    return (time.process_time() - started) / calls * 1000


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=2000)
    calls = parser.parse_args().calls
    transport = Transport(Instant(), wire_model=MODEL, pricing=None, schema=True)
    dspy.configure(disable_history=True)
    with tempfile.TemporaryDirectory() as folder:
        ours, dspys = Path(folder) / "answers", Path(folder) / "dspy"
        dspy.configure_cache(disk_cache_dir=str(dspys), restrict_pickle=True)
        cpu(MeteredLM(MODEL, transport, cache=False), calls // 10)  # warm
        print(f"neither         {cpu(MeteredLM(MODEL, transport, cache=False), calls):.2f} ms a call")

        empty = size(dspys)
        first = cpu(dspy.LM(MODEL, engine=transport), calls)
        dspy.cache.reset_memory_cache()
        dspy.cache.disk_cache.close()  # writes its logs into the files; it opens again on its next use
        bytes_kept = (size(dspys) - empty) / calls
        again = cpu(dspy.LM(MODEL, engine=transport), calls)
        print(f"DSPy's cache    {first:.2f} ms a call; again {again:.2f} ms; {bytes_kept:,.0f} bytes an answer")

        store = AnswerStore(ours)
        first = cpu(MeteredLM(MODEL, transport, store=store), calls)
        store.close()
        again = cpu(MeteredLM(MODEL, transport, store=store), calls)
        store.close()
        print(f"answer store    {first:.2f} ms a call; again {again:.2f} ms; {size(ours) / calls:,.0f} bytes an answer")


if __name__ == "__main__":
    main()
