"""The engine of docs/extending.md, installed from the page; and engines of packages that are broken."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from extending import blocks, entry_points

import dicast
from dicast.cli import run
from dicast.engines.engine import ENGINES
from dicast.engines.models import default_workers, get_lm
from dicast.errors import DeclarationError

PAIR = dicast.Case(id="1", query="Name a prime.", candidates=[{"text": "9"}, {"text": "7"}])


@pytest.fixture
def gateway(monkeypatch):
    """A server of the page's protocol, which prefers the response that is shown second; the models it was asked for."""
    models = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            models.append(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["model"])
            text = "[[ ## better ## ]]\nB\n\n[[ ## completed ## ]]"
            reply = json.dumps({"text": text, "read": 20, "written": 3}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    monkeypatch.setenv("GATEWAY_URL", f"http://127.0.0.1:{server.server_address[1]}")
    yield models
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_engine_of_the_page_answers_a_judge(install, gateway):
    install("desk_gateway", blocks("An engine", "python")[0], entry_points("An engine"))
    judge = dicast.judge("direct", lm="gateway/judge-one", readout="generate", grading="pairwise", order="one")
    verdict = judge(PAIR)
    assert (verdict.status, verdict.winner) == ("scored", "b")
    assert (verdict.usage.calls, verdict.usage.prompt_tokens, verdict.usage.completion_tokens) == (1, 20, 3)
    assert gateway == ["judge-one"]
    assert default_workers(["gateway/judge-one"]) == 8
    assert "gateway" in ENGINES


def test_the_command_of_the_page_runs(install, gateway, tmp_path, monkeypatch, capsys):
    install("desk_gateway", blocks("An engine", "python")[0], entry_points("An engine"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.jsonl").write_text(PAIR.model_dump_json() + "\n")
    (command,) = blocks("An engine", "sh")
    assert run([*command.split()[1:], "--set", "grading=pairwise", "--out", "out"]) == 0
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["identity"]["lm"] == "gateway/judge-large"


def test_a_broken_engine_breaks_its_own_models_alone(install):
    install("broken_engine", "1 / 0", "[dicast.engines]\nbroken = broken_engine:Engine\n")
    assert get_lm("openai/m@http://127.0.0.1:9/v1")
    with pytest.raises(DeclarationError, match=r"engine 'broken': its package cannot be loaded \(division by zero\)"):
        get_lm("broken/m")


def test_an_entry_point_that_is_no_engine_says_so(install):
    install("no_engine", "engine = 3", "[dicast.engines]\nnumber = no_engine:engine\n")
    with pytest.raises(DeclarationError, match="engine 'number': is a int. Name a subclass of dicast's Engine"):
        get_lm("number/m")
