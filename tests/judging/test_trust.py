"""A judge file from elsewhere sends no text to an address that only it names, unless the user says so."""

import json
import stat
from pathlib import Path

import pytest

import dicast
from dicast.cli import run as command
from dicast.errors import DeclarationError, ModelError
from dicast.judging import trust
from dicast.judging.trust import admitted, destination_of, is_typed
from dicast.optimizers.structure.space import with_settings
from dicast.testing import MockServer

FAR = "openai/m@http://judge.example:8000/v1"
ROWS = [{"id": str(n), "query": "q", "response_a": "x", "response_b": "yy", "label": "b"} for n in range(4)]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    for name in ("OPENAI_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    Path("pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))


def save(model, path="far.judge.json"):
    dicast.save(dicast.judge("direct"), path, lm=model)
    return path


@pytest.mark.parametrize(
    ("model", "destination"),
    [
        ("local/qwen2.5-coder-1.5b", "local"),
        ("openai/gpt-4o-mini", "provider"),
        (FAR, "address"),
        ("openai/m@http://10.0.0.5/v1", "address"),
        ("openai/m@http://127.0.0.1:8000/v1", "this machine"),
        ("openai/m@http://127.9.9.9/v1", "this machine"),
        ("openai/m@http://localhost:8000/v1", "this machine"),
        ("openai/m@http://[::1]:8000/v1", "this machine"),
        ("openai/m@http://2130706433/v1", "this machine"),
        ("openai/m@http://localhost.evil.example/v1", "address"),
        ("ollama/llama3", "this machine"),
        ("openai/m@http://169.254.169.254/latest", "metadata"),
        ("openai/m@http://2852039166/v1", "metadata"),
        ("openai/m@http://0xA9FEA9FE/v1", "metadata"),
        ("openai/m@http://0251.0376.0251.0376/v1", "metadata"),
        ("openai/m@http://[::ffff:169.254.169.254]/v1", "metadata"),
        ("openai/m@http://[fe80::1]/v1", "metadata"),
        ("openai/m@http://[fd00:ec2::254]/v1", "metadata"),
        ("openai/m@http://metadata.google.internal/v1", "metadata"),
        ("openai/m@http://Metadata.Google.Internal./v1", "metadata"),
    ],
)
def test_where_texts_go_is_read_off_the_model_string(model, destination):
    assert destination_of(model) == destination


def test_an_address_that_the_environment_names_is_the_users(monkeypatch):
    monkeypatch.setenv("OPENAI_API_BASE", "http://judge.example:8000/v1")
    assert destination_of(FAR) == "named by the user"
    assert admitted(FAR, "x.judge.json", trust=False) == "texts go to judge.example:8000 (named by x.judge.json)"


def test_lines_say_where_texts_go():
    assert admitted("local/any", "f", trust=False) == ""
    assert admitted("openai/gpt-4o-mini", "f", trust=False) == "texts go to openai (named by f)"
    here = admitted("openai/m@http://127.0.0.1:9/v1", "f", trust=False)
    assert here == "texts go to 127.0.0.1:9, this machine (named by f)"
    with pytest.raises(
        ModelError, match=r"f: texts would go to judge.example:8000, which only this file names.*--trust"
    ):
        admitted(FAR, "f", trust=False)


@pytest.mark.parametrize("model", ["openai/m@http://169.254.169.254/v1", "openai/m@http://metadata/v1"])
def test_addresses_of_credentials_are_refused_even_when_trusted(model):
    with pytest.raises(ModelError, match="where a machine gets its own credentials"):
        admitted(model, "f", trust=True)


def test_a_name_that_leads_to_such_an_address_is_refused_too(monkeypatch):
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(trust.socket, "getaddrinfo", lambda *_, **__: [(0, 0, 0, "", ("169.254.169.254", 0))])
    with pytest.raises(ModelError, match="judge.example:8000, where a machine gets its own credentials"):
        admitted(FAR, "f", trust=True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["judge", "--judge", "far.judge.json", "--cases", "pairs.jsonl", "--out", "out"],
        ["judge", "--judge", "far.judge.json", "--cases", "pairs.jsonl", "--explain", "1"],
        ["compile", "far.judge.json", "--cases", "pairs.jsonl"],
        ["cascade", "far.judge.json", "far.judge.json", "--cases", "pairs.jsonl"],
    ],
)
def test_every_verb_refuses_before_anything_is_sent_or_written(arguments, capsys):
    save(FAR)
    before = set(Path().iterdir())
    assert command(arguments) == 3
    error = " ".join(capsys.readouterr().err.split())
    assert "far.judge.json: texts would go to judge.example:8000, which only this file names" in error
    assert "add --trust" in error
    assert set(Path().iterdir()) == before


def test_a_check_of_a_judge_file_refuses_too():
    dicast.save(
        dicast.judge("direct"), "far.judge.json", lm=FAR, training={"after": {"hits": 8, "n": 10, "accuracy": 0.8}}
    )
    with pytest.raises(ModelError, match="which only this file names"):
        dicast.check("far.judge.json", "pairs.jsonl")


def test_python_needs_the_same_word():
    save(FAR)
    with pytest.raises(ModelError, match="trust=True in Python"):
        dicast.judge("far.judge.json")
    with pytest.raises(ModelError, match="trust=True in Python"):
        dicast.run("far.judge.json", ROWS, out="out")
    from dicast.judging import build

    with pytest.raises(ModelError, match="far.judge.json: texts would go to"):
        build("far.judge.json").stages()[0].lm  # noqa: B018 - asking for the LM is what a call does first
    assert dicast.judge("far.judge.json", trust=True).stages()[0].admitted
    assert dicast.judge("far.judge.json", lm="openai/gpt-4o-mini").stages()[0].trusted


def test_a_model_of_the_user_makes_the_file_a_judge_like_any_other(capsys):
    save(FAR)
    with MockServer() as server:
        options = ["--lm", server.model_string(), "--out", "out"]
        assert command(["judge", "--judge", "far.judge.json", "--cases", "pairs.jsonl", *options]) == 0
        assert server.request_counts.total() > 0
    assert "texts go to" not in capsys.readouterr().err


def test_a_server_of_this_machine_is_used_and_said(capsys):
    with MockServer() as server:
        save(server.model_string())
        assert command(["judge", "--judge", "far.judge.json", "--cases", "pairs.jsonl", "--out", "out"]) == 0
        assert f"texts go to {server.url.split('/')[2]}, this machine (named by far.judge.json)" in " ".join(
            capsys.readouterr().err.split()
        )


def test_what_is_trusted_stays_so_in_copies_and_searched_structures():
    judge = dicast.judge(save(FAR), trust=True)
    for other in (judge.deepcopy(), with_settings(judge, {"order": "one"})):
        assert all(stage.admitted and not stage.trusted for stage in other.stages())
        assert all(stage.named_by == "far.judge.json" for stage in other.stages())
    searched = with_settings(judge, {"model": "openai/gpt-4o-mini"})
    assert all(stage.trusted and not stage.named_by for stage in searched.stages())


def remembered():
    path = Path("home/known_addresses.json")
    return json.loads(path.read_text())["addresses"] if path.exists() else None


def test_a_server_that_the_user_named_once_is_trusted_from_then_on_and_gets_no_key():
    save(FAR)
    dicast.judge("direct", lm=FAR).admit()
    assert remembered() == ["http://judge.example:8000"]
    assert stat.S_IMODE(Path("home/known_addresses.json").stat().st_mode) == 0o600
    judge = dicast.judge("far.judge.json")
    assert judge.stages()[0].admitted
    assert not judge.stages()[0].trusted  # `get_lm(trusted=False)` sends no key
    assert admitted(FAR, "f", trust=False) == "texts go to judge.example:8000 (named by f)"
    assert destination_of("openai/other@http://JUDGE.example.:8000/v2") == "named by the user"
    for other in ("http://judge.example:8001/v1", "https://judge.example:8000/v1", "http://a.judge.example:8000/v1"):
        assert destination_of(f"openai/m@{other}") == "address"


def test_trust_is_remembered_and_a_refusal_is_not():
    save(FAR)
    with pytest.raises(ModelError, match="trust=True"):
        dicast.judge("far.judge.json")
    assert remembered() is None
    dicast.judge("far.judge.json", trust=True)
    assert remembered() == ["http://judge.example:8000"]
    assert dicast.judge("far.judge.json").stages()[0].admitted


def test_an_address_is_typed_only_where_the_user_wrote_it():
    save(FAR)
    dicast.judge("far.judge.json", trust=True)
    assert not is_typed(FAR)  # a file named it, and the user trusted the file
    dicast.judge("direct", lm=FAR).admit()
    assert is_typed(FAR)
    assert remembered() == ["http://judge.example:8000"]
    for model, typed in (("openai/m@http://127.0.0.1:9/v1", True), ("local/m", True), ("openai/gpt-4o-mini", True)):
        assert is_typed(model) == typed
    dicast.judge("direct", lm="openai/m@http://169.254.169.254/v1").admit()
    assert not is_typed("openai/m@http://169.254.169.254/v1")


def test_this_machine_providers_and_addresses_of_credentials_are_not_remembered():
    for model in ("openai/m@http://127.0.0.1:9/v1", "openai/gpt-4o-mini", "openai/m@http://169.254.169.254/v1"):
        dicast.judge("direct", lm=model).admit()
    assert remembered() is None


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]", b'{"addresses": 5}', b'{"addresses": [5, null]}'])
def test_a_damaged_file_of_addresses_is_passed_over(content):
    Path("home").mkdir()
    Path("home/known_addresses.json").write_bytes(content)
    assert destination_of(FAR) == "address"
    dicast.judge("direct", lm=FAR).admit()
    assert remembered() == ["http://judge.example:8000"]


def test_a_home_that_cannot_be_written_is_passed_over():
    Path("home").write_text("a file")
    dicast.judge("direct", lm=FAR).admit()
    assert destination_of(FAR) == "address"


def test_a_remembered_name_that_leads_to_credentials_is_refused(monkeypatch):
    dicast.judge("direct", lm=FAR).admit()
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(trust.socket, "getaddrinfo", lambda *_, **__: [(0, 0, 0, "", ("169.254.169.254", 0))])
    with pytest.raises(ModelError, match="where a machine gets its own credentials"):
        admitted(FAR, "f", trust=False)


@pytest.mark.parametrize("word", ["no", "yes", 1, None])
def test_trust_is_true_or_false(word):
    save(FAR)
    with pytest.raises(DeclarationError, match="trust: must be True or False"):
        dicast.judge("far.judge.json", trust=word)


@pytest.mark.parametrize(
    "line",
    [f"space: {{model: [{FAR}]}}", f"prompts: gepa\nprompt_lm: {FAR}", f"criteria: learn\ncriteria_lm: {FAR}"],
)
def test_an_address_that_only_a_recipe_file_names_needs_trust(line, monkeypatch):
    Path("steps.yaml").write_text(line + "\n")
    with pytest.raises(ModelError, match=r"recipe steps.yaml: texts would go to judge.example:8000, which only this"):
        dicast.compile("direct", "pairs.jsonl", lm="openai/m@http://127.0.0.1:9/v1", recipe_file="steps.yaml")
    assert not Path("compiled").exists()


def test_a_server_that_a_recipe_file_names_gets_no_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-user-123456")
    lines: list[str] = []
    rows = [{**row, "id": str(n), "query": f"q {n}", "label": "ab"[n % 2]} for n, row in enumerate(ROWS * 15)]
    with MockServer() as mine, MockServer() as theirs:
        Path("steps.yaml").write_text(f"trials: 4\nspace: {{model: [{theirs.model_string()}]}}\n")

        class Notices(dicast.workflows.Progress):
            def notice(self, text: str) -> None:
                lines.append(text)

        dicast.compile("direct", rows, lm=mine.model_string(), recipe_file="steps.yaml", progress=Notices())
        assert any(line.endswith("this machine (named by recipe steps.yaml)") for line in lines)
        assert set(mine.authorizations) == {"Bearer sk-of-the-user-123456"}
        assert theirs.requests
        assert "Bearer sk-of-the-user-123456" not in theirs.authorizations
