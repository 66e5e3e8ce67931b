"""The answer store: what was paid for is found again, by this process and others, and nothing it meets ends a run."""

import asyncio
import logging
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from stat import S_IMODE

import dspy
import pytest
from dspy.lm15 import Config, Message, Request

import dicast
from dicast.engines.answer_store import FILE, AnswerStore, default_store
from dicast.engines.answers_used import answers_of_judgment
from dicast.engines.ledger import Ledger, charge_to
from dicast.engines.lm import MeteredLM
from dicast.engines.models import get_lm
from dicast.errors import DeclarationError
from dicast.testing import MockServer, ScriptedLM

CASE = dicast.Case(id="1", query="q", candidates=[{"text": "x"}, {"text": "y"}])


def reading(lm, text="Which?"):
    """A request for the probabilities of the next token."""
    config = Config(max_tokens=1, temperature=0.0, logprobs=5)
    return Request(model=lm.model, messages=(Message.user(text),), config=config)


def on_disk(folder, answer=None):
    """A scripted model whose answers are kept in a folder; its name is always the same."""
    scripted = ScriptedLM(answer)
    lm = MeteredLM("scripted/kept", scripted.transport, store=AnswerStore(folder))
    return lm, scripted


def test_an_answer_is_found_again_by_another_process_with_all_its_probabilities(tmp_path):
    lm, first = on_disk(tmp_path, {"token_probabilities": {"A": 0.123456789, "B": 0.8, "\u2028ё🙂": 1e-300}})
    answers = [lm(reading(lm))]
    again, second = on_disk(tmp_path)
    with charge_to(Ledger(), "judgment") as ledger:
        answers.append(again(reading(again)))
    assert [answer.logprobs for answer in answers] == [answers[0].logprobs] * 2
    assert [answer.text for answer in answers] == ["B", "B"] or answers[0].text == answers[1].text
    assert (len(first.requests), len(second.requests)) == (1, 0)
    usage = ledger.total
    assert (usage.calls, usage.cached, usage.counted, usage.cached_tokens) == (0, 1, 1, 12)


def test_written_answers_are_found_again_and_count_their_tokens(tmp_path):
    lm, first = on_disk(tmp_path, "fine")
    assert lm("How?") == ["fine"]
    with charge_to(Ledger(), "judgment") as ledger:
        assert lm("How?") == ["fine"]
    assert (len(first.requests), ledger.total.cached, ledger.total.cached_tokens) == (1, 1, 12)


def test_samples_rollouts_and_copies_are_separate_answers(tmp_path):
    lm, scripted = on_disk(tmp_path, lambda request: f"answer {len(scripted.requests)}")
    assert lm("x", n=3) == ["answer 1", "answer 2", "answer 3"]
    assert lm("x", n=3) == ["answer 1", "answer 2", "answer 3"]
    assert lm("x", rollout_id=1, temperature=1.0) == ["answer 4"]
    assert lm.copy(rollout_id=2, temperature=1.0)("x") == ["answer 5"]
    assert lm.copy(rollout_id=2, temperature=1.0)("x") == ["answer 5"]
    assert len(scripted.requests) == 5


def test_calls_that_ask_for_no_cache_are_made_each_time(tmp_path):
    lm, scripted = on_disk(tmp_path, "fine")
    lm("x", cache=False), lm("x", cache=False), lm.copy(cache=False)("x")
    assert len(scripted.requests) == 3


def test_async_calls_share_the_answers_of_sync_calls(tmp_path):
    lm, scripted = on_disk(tmp_path, "fine")
    assert asyncio.run(lm.acall("x")) == lm("x") == ["fine"]
    assert len(scripted.requests) == 1


def test_programs_of_dspy_use_the_answers(tmp_path):
    lm, scripted = on_disk(tmp_path, {"answer": "fine"})
    with dspy.context(lm=lm, adapter=dspy.JSONAdapter()):
        predict = dspy.Predict("question -> answer")
        assert predict(question="How?").answer == predict(question="How?").answer == "fine"
        predict.deepcopy()(question="How?")
    assert len(scripted.requests) == 1


def test_a_failed_call_is_not_kept_and_equal_calls_that_waited_for_it_are_made(tmp_path):
    started = threading.Event()

    def answer(request):
        if not started.is_set():
            started.set()
            time.sleep(0.2)
            return RuntimeError("broken")
        return "fine"

    lm, scripted = on_disk(tmp_path, answer)
    answers = []

    def ask():
        try:
            answers.append(lm("x")[0])
        except Exception as error:
            answers.append(type(error).__name__)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == ["LMServerError", "fine", "fine", "fine"]
    assert len(scripted.requests) == 2


def test_forgotten_answers_are_asked_for_again_and_others_are_not(tmp_path):
    lm, scripted = on_disk(tmp_path, "fine")
    with answers_of_judgment() as judgment:
        lm("of the judgment")
        with answers_of_judgment() as stage:
            lm("of its stage")
    lm("of another judgment")
    stage.forget()
    lm("of the judgment"), lm("of another judgment")
    assert len(scripted.requests) == 3
    lm("of its stage")
    assert len(scripted.requests) == 4
    judgment.forget()
    lm("of the judgment"), lm("of its stage"), lm("of another judgment")
    assert len(scripted.requests) == 6


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_the_store_is_private(tmp_path):
    lm, _ = on_disk(tmp_path / "answers", "fine")
    lm("x")
    files = list((tmp_path / "answers").iterdir())
    assert len(files) >= 1
    assert {S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert S_IMODE((tmp_path / "answers").stat().st_mode) == 0o700


@pytest.mark.parametrize("damage", [b"", b"SQLite format 3\0" + b"\xff" * 5000, b"no database " * 1000])
def test_a_damaged_file_is_gone_without_and_said_once(tmp_path, caplog, damage):
    (tmp_path / FILE).write_bytes(damage)
    lm, scripted = on_disk(tmp_path, "fine")
    with caplog.at_level(logging.WARNING, logger="dicast"):
        for text in "abc":
            assert lm(text) == ["fine"]
    warnings = [record for record in caplog.records if record.name == "dicast"]
    assert len(warnings) == (1 if damage else 0)  # an empty file is an empty store
    assert len(scripted.requests) == 3


def test_a_damaged_answer_is_asked_for_again(tmp_path):
    lm, scripted = on_disk(tmp_path, "fine")
    lm("x")
    with sqlite3.connect(tmp_path / FILE) as file:
        file.execute("UPDATE answers SET answer = ?", (b'["m", "stop", [1, 2], [["text"]], []]',))
    assert lm("x") == ["fine"]
    assert len(scripted.requests) == 2


def test_where_no_folder_can_be_made_calls_are_made_and_one_warning_says_so(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    lm, scripted = on_disk(tmp_path / "file" / "answers", "fine")
    with caplog.at_level(logging.WARNING, logger="dicast"):
        assert [lm("x"), lm("x")] == [["fine"], ["fine"]]
    assert [record.name for record in caplog.records] == ["dicast"]
    assert len(scripted.requests) == 2


def test_a_full_disk_ends_the_writing_and_what_is_stored_is_still_found(tmp_path, caplog):
    lm, scripted = on_disk(tmp_path, "fine " * 1000)
    lm("before")
    lm.store._run(lambda file: file.execute("PRAGMA max_page_count = 1"))
    with caplog.at_level(logging.WARNING, logger="dicast"):
        for number in range(40):
            lm(f"{number} {'x' * 1000}")
        lm("before")
    assert ["full" in record.getMessage() for record in caplog.records] == [True]
    assert len(scripted.requests) == 41


def test_the_oldest_answers_make_room(tmp_path):
    store = AnswerStore(tmp_path, limit=1 << 20)
    for number in range(4000):
        store.put(number.to_bytes(32, "big"), b"x" * 1000)
    assert store.get((0).to_bytes(32, "big")) is None
    assert store.get((3999).to_bytes(32, "big")) == b"x" * 1000
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 12 << 20


@pytest.mark.parametrize("limit", ["abc", "-5", "10", "1e400", "∞", "5 QB", "9" * 5000])
def test_a_limit_that_is_no_size_is_refused_by_name(limit, monkeypatch):
    monkeypatch.setenv("DICAST_CACHE_LIMIT", limit)
    with pytest.raises(DeclarationError, match="DICAST_CACHE_LIMIT: must be a size"):
        default_store()


@pytest.mark.parametrize(
    ("limit", "size"), [("", 10 << 30), ("2000000", 2_000_000), ("5GB", 5 << 30), ("1.5g", 3 << 29)]
)
def test_a_limit_is_a_size(limit, size, monkeypatch):
    monkeypatch.setenv("DICAST_CACHE_LIMIT", limit)
    assert default_store().limit == size


WRITER = """
import sys
from pathlib import Path
from dicast.engines.answer_store import AnswerStore
store, name = AnswerStore(Path(sys.argv[1])), sys.argv[2]
for number in range(int(sys.argv[3])):
    store.put(f"{name} {number}".encode(), b"answer")
    print(number, flush=True)
"""


def write_answers(folder, name, count):
    command = [sys.executable, "-c", WRITER, str(folder), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_several_processes_share_the_file(tmp_path):
    writers = [write_answers(tmp_path, name, 300) for name in "abc"]
    errors = [writer.communicate(timeout=60)[1] for writer in writers]
    store = AnswerStore(tmp_path)
    assert errors == [""] * 3
    assert all(store.get(f"{name} {number}".encode()) == b"answer" for name in "abc" for number in range(300))


@pytest.mark.fault
def test_kill_nine_loses_no_answer_that_was_stored(tmp_path):
    writer = write_answers(tmp_path, "a", 1_000_000)
    assert writer.stdout is not None
    written = [int(writer.stdout.readline()) for _ in range(500)]
    os.kill(writer.pid, signal.SIGKILL)
    rest, _ = writer.communicate(timeout=60)
    written += [int(line) for line in rest.splitlines()[:-1]]
    store = AnswerStore(tmp_path)
    assert all(store.get(f"a {number}".encode()) == b"answer" for number in written)


def test_a_child_process_uses_the_store_of_its_parent(tmp_path):
    store = AnswerStore(tmp_path)
    store.put(b"parent", b"1")
    child = os.fork()
    if child == 0:
        store.put(b"child", store.get(b"parent") or b"0")
        os._exit(0)
    os.waitpid(child, 0)
    assert store.get(b"child") == b"1"


def test_a_model_at_another_address_has_other_answers():
    with MockServer() as first, MockServer() as second:
        for server in (first, second):
            lm = get_lm(f"openai/elsewhere@{server.url}")
            lm(reading(lm)), lm(reading(lm))
    assert (len(first.requests), len(second.requests)) == (1, 1)


POISONED = """
import os, pickle, sys
import dspy
from diskcache import FanoutCache

class Evil:
    def __reduce__(self):
        return (os.system, ("touch " + sys.argv[1],))

def poison():
    for shard in FanoutCache(os.environ["DSPY_CACHEDIR"], shards=16)._shards:
        for key in list(shard):
            shard.set(key, Evil())

import dicast
from dicast.testing import MockServer
case = dicast.Case(id="1", query="q", candidates=[{"text": "x"}, {"text": "y"}])
with MockServer() as server:
    asked = []
    for _ in range(2):
        lm = dspy.LM("openai/own", api_base=server.url, api_key="none")
        with dspy.context(lm=lm):
            verdict = dicast.judge("direct", readout="probability", grading="pairwise", order="one")(case)
        assert verdict.status == "scored", verdict
        asked.append(len(server.requests))
        poison()
        dspy.cache.reset_memory_cache()
print(asked)
"""


@pytest.mark.slow
def test_code_in_the_cache_of_dspy_does_not_run_for_an_lm_of_the_users_own(tmp_path):
    environment = os.environ | {"DSPY_CACHEDIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", POISONED, str(tmp_path / "code-ran")]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.stdout.strip() == "[1, 2]", result.stderr
    assert not (tmp_path / "code-ran").exists()
