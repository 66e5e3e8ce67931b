"""Whatever a server answers, every case ends with one verdict or the run says why it stopped; a rerun scores them all.

Each run is `dicast judge` in this process, with a key in the environment that must stay out of everything it writes.
"""

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dicast.cli import run
from dicast.engines import models, retries
from dicast.testing import FAULTS, Fault, MockServer, Reply
from dicast.testing.faults import http

CASES = 12
KEY = "sk-DUMMY-0123456789-any-reply"
RAW = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
YAML = "judges: texts\ninstructions: You judge replies.\nscale: 1..5\ncriteria: [brief]\nexplain: true\n"
READ = ["direct", "--cases", "pairs.jsonl", "--set", "grading=pairwise", "--order", "one"]
JUDGES = {
    "read": READ,
    "written": [*READ, "--readout", "generate"],
    "text": ["brief.yaml", "--cases", "texts.jsonl", "--readout", "generate"],
}
pytestmark = pytest.mark.fault


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A working folder with cases, a home, a key that ends in CR, and retries without long pauses."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY + "\r")
    monkeypatch.setattr(retries, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(retries, "LONGEST_PAUSE", 0.1)
    both = [{"id": f"case-{n}", "query": f"question {n}"} for n in range(CASES)]
    pairs = [row | {"response_a": "left", "response_b": "right", "label": "a"} for row in both]
    texts = [row | {"response": "a reply"} for row in both]
    for name, rows in {"pairs.jsonl": pairs, "texts.jsonl": texts}.items():
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("brief.yaml").write_text(YAML)
    yield
    close_connections()


def close_connections() -> None:
    """Forget the LMs of this process, so that hundreds of servers leave no open sockets behind."""
    for lm in models._lms.values():
        lm.transport.close()
    models._lms.clear()


class Judging:
    """Runs of one judge in one folder, on a server; after each run everything that it wrote is searched."""

    def __init__(self, server: MockServer, judge: str, capsys: pytest.CaptureFixture[str], cases: int = CASES) -> None:
        self.server, self.judge, self.capsys, self.cases = server, judge, capsys, cases
        self.out = Path("runs") / f"{judge}-{len(list(Path('runs').glob('*')))}"

    def run(self, timeout: float = 0.2) -> int:
        command = ["judge", "--judge", *JUDGES[self.judge], "--out", str(self.out), "--timeout", str(timeout)]
        command += ["--limit", str(self.cases), "--workers", str(CASES)]
        code = run([*command, "--retry", "all", "--lm", self.server.model_string()])
        written = self.capsys.readouterr()
        self.errors = written.err
        assert "Traceback" not in written.err
        assert "unexpected error" not in written.err
        if code == 3:
            assert written.err.startswith("dicast: ")
        check_texts({"stdout": written.out, "stderr": written.err})
        return code

    def verdicts(self) -> list[dict[str, object]]:
        path = self.out / "verdicts.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def check_faulty_run(self) -> None:
        """The run ends; all cases have a verdict, unless it says why it stopped."""
        code = self.run()
        assert code in {0, 2, 3}, self.errors
        ids = Counter(row["case_id"] for row in self.verdicts())
        assert set(ids.values()) <= {1}
        assert len(ids) == self.cases or "cases failed so. Run again to continue." in self.errors
        assert all(row["status"] == "scored" or row["reason"] for row in self.verdicts())

    def check_healthy_rerun(self) -> None:
        self.server.healthy()
        assert self.run(timeout=60.0) == 0, self.errors
        assert Counter(row["case_id"] for row in self.verdicts()) == Counter(f"case-{n}" for n in range(self.cases))
        assert {row["status"] for row in self.verdicts()} == {"scored"}


def check_texts(texts: dict[str, str]) -> None:
    """No text holds the key or a raw control character; files of databases are searched for the key alone."""
    for path in Path().rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert KEY.encode() not in content, path
            if path.suffix in {".json", ".jsonl", ".txt", ".log", ".html", ".md", ""}:
                texts[str(path)] = content.decode(errors="replace")
    for name, text in texts.items():
        assert KEY not in text, name
        assert not RAW.search(text), name


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_costs_no_case(name: str, judge: str, capsys: pytest.CaptureFixture[str]) -> None:
    with MockServer(faults={name: 1.0}, seed=3) as server:
        judging = Judging(server, judge, capsys, cases=2 if name == "huge_answer" else CASES)
        judging.check_faulty_run()
        assert set(server.authorizations) <= {f"Bearer {KEY}"}, judging.errors  # on a busy machine none in .2 s
        server.set_faults({name: 0.3})
        judging.check_faulty_run()
        judging.check_healthy_rerun()
        assert set(server.authorizations) == {f"Bearer {KEY}"}


def test_reports_on_a_faulty_run_hold_no_key_and_no_escape(capsys: pytest.CaptureFixture[str]) -> None:
    with MockServer(faults={"echoed_headers": 0.5, "terminal_escapes": 0.4}, seed=1) as server:
        judging = Judging(server, "read", capsys)
        judging.check_faulty_run()
    details = {str(row["detail"]) for row in judging.verdicts()}
    assert any("[key removed]" in detail for detail in details)
    assert any("PWNED" in detail for detail in details)
    for command in (["evaluate", str(judging.out)], ["report", str(judging.out), "--out", "page.html"]):
        assert run(command) == 0
        written = capsys.readouterr()
        check_texts({"stdout": written.out, "stderr": written.err})
    assert list(Path().rglob("*.html"))


def check_drawn(reply: Callable[[dict[str, Any], int], bytes], judge: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Half of the replies are drawn ones; `reply` takes the good answer and the number of the reply."""
    numbers = itertools.count()
    fault = Fault("drawn", "", "", lambda exchange: Reply(http(reply(exchange.complete(), next(numbers)))))
    with MockServer(faults={fault: 0.5}) as server:
        judging = Judging(server, judge, capsys)
        judging.check_faulty_run()
        judging.check_healthy_rerun()
    close_connections()


def drawn(examples: int) -> settings:
    checks = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    return settings(max_examples=examples, deadline=None, derandomize=True, suppress_health_check=checks)


@drawn(25)
@given(bodies=st.lists(st.binary(max_size=300) | st.text(max_size=100).map(str.encode), min_size=1, max_size=5))
def test_any_bytes_cost_no_case(bodies: list[bytes], capsys: pytest.CaptureFixture[str]) -> None:
    check_drawn(lambda good, number: bodies[number % len(bodies)], "read", capsys)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just("\ud83d"),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=10), parts, max_size=3),
    max_leaves=6,
)
CHANGES = st.lists(st.tuples(st.integers(0, 10**6), JSON | st.just("DELETE")), min_size=1, max_size=4)


def changed(answer: Any, place: int, value: Any) -> Any:
    """The JSON with the part at a place, counted over all its parts, replaced or deleted."""
    places = list(places_of(answer))
    container, key = places[place % len(places)]
    if value == "DELETE":
        del container[key]
    else:
        container[key] = value
    return answer


def places_of(value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield value, key
        yield from places_of(part)


@drawn(60)
@given(changes=CHANGES, judge=st.sampled_from([*JUDGES]))
def test_any_change_of_an_answer_costs_no_case(
    changes: list[tuple[int, Any]], judge: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def change(good: dict[str, Any], number: int) -> bytes:
        return json.dumps(changed(good, *changes[number % len(changes)])).encode()

    check_drawn(change, judge, capsys)
