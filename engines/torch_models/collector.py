"""Requests of several threads, answered together by one thread: what waits when the last batch ends is the next one."""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Generic, TypeVar

QUIET = 0.005  # seconds without a new request after which those that wait are answered
MOST = 64  # requests that are answered together

Asked = TypeVar("Asked")
Result = TypeVar("Result")


@dataclass
class Job(Generic[Asked, Result]):
    """A request and the answer to come.

    Attributes:
        until: the monotonic time after which nobody waits for the answer.
    """

    request: Asked
    until: float
    answer: "Future[Result]" = field(default_factory=Future)


class Collector(Generic[Asked, Result]):
    """Collects requests for a function that answers many at once.

    Args:
        work: answers jobs by `job.answer.set_result`, some perhaps before the others; what it raises is the answer of
            those left.
    """

    def __init__(self, work: Callable[[Sequence[Job[Asked, Result]]], None]) -> None:
        self._work, self._waiting = work, queue.SimpleQueue[Job[Asked, Result]]()
        self._lock, self._thread = threading.Lock(), threading.Thread()  # not started

    def ask(self, request: Asked, until: float) -> Result:
        """The answer; raises what the work raises."""
        return self.ask_all([request], until)[0].result()

    def ask_all(self, requests: Sequence[Asked], until: float) -> "list[Future[Result]]":
        """The answers to come."""
        jobs: list[Job[Asked, Result]] = [Job(request, until) for request in requests]
        for job in jobs:
            self._waiting.put(job)
        self._start()
        return [job.answer for job in jobs]

    def _start(self) -> None:
        with self._lock:
            if not self._thread.is_alive():  # nor is it in a process that was forked
                self._thread = threading.Thread(target=self._run, daemon=True, name="dicast-torch")
                self._thread.start()

    def _run(self) -> None:
        while True:
            jobs = self._collect()
            for job in jobs:
                if job.until <= time.monotonic():  # nobody waits for the answer
                    job.answer.set_exception(TimeoutError("the time for the answer is up"))
            jobs = [job for job in jobs if not job.answer.done()]
            if not jobs:
                continue
            try:
                self._work(jobs)
                error: BaseException = RuntimeError("the batch ended without an answer")
            except BaseException as raised:  # raised where the answers are waited for
                error = raised
            for job in jobs:
                if not job.answer.done():
                    job.answer.set_exception(error)

    def _collect(self) -> list[Job[Asked, Result]]:
        jobs = [self._waiting.get()]
        while len(jobs) < MOST:
            try:
                jobs.append(self._waiting.get(timeout=QUIET))
            except queue.Empty:
                break
        return jobs
