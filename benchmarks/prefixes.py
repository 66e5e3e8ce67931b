"""How many prompt tokens must `direct` compute for a verdict, by layout and by the order of its questions?

Both layouts, with the questions of a case asked at once or in turn. On a local model the counts are
llama.cpp's own (`cache_n`); with --tokenizer nothing is asked: the prompts are counted, each without the longest
beginning that an earlier prompt of the set had, which is what a server with a perfect prefix cache computes.

    python benchmarks/prefixes.py --cases pandalm --limit 12 --lm local/smollm2-135m
    python benchmarks/prefixes.py --cases pandalm --limit 60 --tokenizer tokenizer.json
"""

import argparse
import multiprocessing
import os
import tempfile
import threading
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import dspy
from dspy.lm15 import Request

import dicast
from dicast.data import Case
from dicast.data.split import sample
from dicast.engines.models import get_lm
from dicast.engines.pace import Pace, paced
from dicast.engines.providers.local import LocalEngine
from dicast.judging import build
from dicast.testing import ScriptedLM
from dicast.workflows.case_source import CaseSource

LAYOUTS = ("separate", "shared")


@dataclass
class Count:
    """Prompt tokens of some verdicts."""

    verdicts: int = 0
    calls: int = 0
    sent: int = 0
    computed: int = 0
    seconds: float = 0.0

    def row(self, *names: str) -> str:
        """A line of the table, a verdict."""
        figures = [
            f"{self.calls / self.verdicts:.1f}",
            *(f"{n / self.verdicts:,.0f}" for n in (self.sent, self.computed)),
        ]
        saved = f"{100 * (1 - self.computed / self.sent):.0f} %"
        return f"| {' | '.join([*names, *figures, saved, f'{self.seconds / self.verdicts:.2f}'])} |"


class Trie:
    """The prompts that were read, as a tree of tokens."""

    def __init__(self) -> None:
        self.root: dict[int, Any] = {}

    def add(self, tokens: list[int]) -> int:
        """The tokens of a prompt that no earlier one began with; the last one is always computed."""
        place, known = self.root, 0
        for number, token in enumerate(tokens):
            if token in place and known == number:
                known += 1
            place = place.setdefault(token, {})
        return max(len(tokens) - known, 1)


def counted(cases: list[Case], layout: str, tokenizer: Path) -> Count:
    """The tokens of the prompts under a perfect prefix cache, in ChatML."""
    from tokenizers import Tokenizer

    encoder, read, count = Tokenizer.from_file(str(tokenizer)), Trie(), Count(verdicts=len(cases))

    def answer(request: Request) -> dict[str, Any]:
        user = "".join(part.text for part in request.messages[-1].parts)
        turns = (("system", request.system), ("user", user))
        text = "".join(f"<|im_start|>{role}\n{said}<|im_end|>\n" for role, said in turns) + "<|im_start|>assistant\n"
        tokens = encoder.encode(text, add_special_tokens=False).ids
        count.calls += 1
        count.sent += len(tokens)
        count.computed += read.add(tokens)
        return {"token_probabilities": dict.fromkeys(("A", "B", "1", "2", "3", "4", "5"), 0.1)}

    judge = build("direct", layout=layout)
    with paced(Pace(in_turn=True)), dspy.context(lm=ScriptedLM(answer)):
        for case in cases:
            judge(case)
    return count


def measured(cases: list[Case], layout: str, *, in_turn: bool, lm: str) -> Count:
    """The tokens that llama.cpp computed, in a run of the package; for a process that does nothing else."""
    count, lock = Count(verdicts=len(cases)), threading.Lock()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DICAST_ANSWERS"] = folder  # nothing that is stored, and nothing left behind
        transport = get_lm(lm).transport
        usage = transport._usage

        def noted(response: Any, wire: Any, seconds: float) -> Any:
            with lock:
                count.calls += 1
                count.sent += response.usage.input_tokens
                count.computed += response.usage.input_tokens - (response.usage.cache_read_tokens or 0)
            return usage(response, wire, seconds)

        transport._usage = noted  # type: ignore[method-assign,assignment]
        LocalEngine.in_turn = in_turn
        started = time.process_time()
        dicast.run(build("direct", layout=layout), cases, out=Path(folder) / "run", lm=lm)
        count.seconds = time.process_time() - started
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", required=True, help="a public set or a file of pairs")
    parser.add_argument("--limit", type=int, default=12, help="pairs drawn")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lm", default="local/smollm2-135m")
    parser.add_argument("--tokenizer", type=Path, help="a tokenizer.json: count prompts, ask nobody")
    options = parser.parse_args()
    pairs = (case for case in CaseSource(options.cases).cases() if case.is_pair)
    cases = list(sample(pairs, options.limit, options.seed))
    print("| layout | questions | calls | sent | computed | read again | CPU s |\n" + "| --- " * 7 + "|")
    if options.tokenizer:
        for layout in LAYOUTS:
            print(counted(cases, layout, options.tokenizer).row(layout, "in turn"), flush=True)
        return
    for layout, in_turn in (("separate", False), ("separate", True), ("shared", False), ("shared", True)):
        with multiprocessing.get_context("spawn").Pool(1) as pool:  # a server without anything in its cache
            count = pool.apply(partial(measured, cases, layout, in_turn=in_turn, lm=options.lm))
        print(count.row(layout, "in turn" if in_turn else "at once"), flush=True)


if __name__ == "__main__":
    main()
