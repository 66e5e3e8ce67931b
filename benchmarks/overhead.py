"""What dicast adds to DSPy per call: judgments a second against bare `dspy.Predict` calls, both on an instant LM.

    python benchmarks/overhead.py [--cases 300]

Both sides ask the same two questions of a pair, written answers, no cache, one thread, in one run; the rounds alternate
and the median ratio is printed.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable

import dspy
from dspy.lm15 import Message, Request, Response, TextPart, Usage

from dicast import Case
from dicast.engines.adapter import CompactAdapter
from dicast.engines.lm import MeteredLM, Transport
from dicast.judging import build
from dicast.judging.judge import orders, present
from dicast.signatures.direct import Prefer


class Instant:
    """An engine that answers at once."""

    def complete(self, request: Request) -> Response:
        message = Message.assistant([TextPart(json.dumps({"better": "A"}))])
        usage = Usage(input_tokens=1, output_tokens=1)
        return Response(id=None, model=request.model, message=message, finish_reason="stop", usage=usage)

    def close(self) -> None:
        pass


def timed(work: Callable[[Case], object], cases: list[Case]) -> float:
    started = time.perf_counter()
    for case in cases:
        work(case)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=300)
    count = parser.parse_args().cases
    transport = Transport(Instant(), wire_model="instant/x", pricing=None, schema=True, max_in_flight=8)
    lm = MeteredLM("instant/x", transport, cache=False)
    judge = build("direct", grading="pairwise", readout="generate", order="both")
    predict = dspy.Predict(Prefer)
    cases = [
        Case(id=str(n), query=f"question {n}", candidates=[{"text": "left " * 40}, {"text": "right " * 40}])
        for n in range(count)
    ]

    def without_judge(case: Case) -> None:
        for order in orders("both"):
            shown = present(case, order)
            first, second = shown.responses
            predict(request=shown.request, response_a=first, response_b=second, aspect=shown.aspect)

    with dspy.context(lm=lm, adapter=CompactAdapter(), disable_history=True, trace=None):
        timed(judge, cases[:20]), timed(without_judge, cases[:20])
        rounds = [(timed(judge, cases), timed(without_judge, cases)) for _ in range(5)]
    ratios = [ours / theirs for ours, theirs in rounds]
    ours, theirs = (statistics.median(side) for side in zip(*rounds, strict=True))
    print(f"judge: {count / ours:.0f} pairs/s ({1000 * ours / count / 2:.2f} ms a call)")
    print(f"bare dspy.Predict: {count / theirs:.0f} pairs/s ({1000 * theirs / count / 2:.2f} ms a call)")
    print(
        f"ratio of times: median {statistics.median(ratios):.2f}, {min(ratios):.2f} to {max(ratios):.2f} over 5 rounds"
    )


if __name__ == "__main__":
    main()
