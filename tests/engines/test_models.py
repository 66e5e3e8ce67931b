"""Model strings: what they mean, what they refuse, and where the calls go."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dicast.cli import run
from dicast.engines.model_string import DEFAULT_MODEL, ModelString
from dicast.engines.models import Roles, get_lm
from dicast.errors import ModelError
from dicast.testing import MockServer


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("openai/gpt-4o-mini", ("openai", "gpt-4o-mini", None)),
        ("openai:/gpt-4o-mini", ("openai", "gpt-4o-mini", None)),  # MLflow's spelling
        ("openai/org/name@http://h:1/v1/", ("openai", "org/name", "http://h:1/v1")),
        ("hosted_vllm/qwen", ("hosted_vllm", "qwen", "http://127.0.0.1:8000/v1")),
        ("ollama/llama3:8b", ("ollama", "llama3:8b", "http://127.0.0.1:11434/v1")),
        ("local//models/x.gguf", ("local", "/models/x.gguf", None)),
    ],
)
def test_a_model_string_names_provider_model_and_endpoint(text, parts, monkeypatch):
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "OLLAMA_API_BASE", "HOSTED_VLLM_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    parsed = ModelString.parse(text)
    assert (parsed.provider, parsed.model, parsed.endpoint) == parts


def test_a_base_url_in_the_environment_makes_an_endpoint(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8123/v1")
    assert ModelString.parse("openai/x").identity == "openai/x@http://127.0.0.1:8123/v1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gpt-4o", "a model string has a provider and a name"),
        ("qwen2.5-coder-1.5b", "Did you mean local/qwen2.5-coder-1.5b"),
        ("openai/", "a model string has a provider and a name"),
        ("openai::/x", "a model string has a provider and a name"),
        ("openai/x@http://", "is not an http(s) address"),
        ("openai/x@127.0.0.1:8000/v1", "the part after @ is not an address. Write it in full, as in @http://HOST/v1"),
        ("vllm/x@", "the part after @ is not an address"),
        ("openai/x@http://host/v1?key=sk-1", "its address holds a user, a key or a query"),
        (
            "openai/x@http://me:secret@host/v1",
            "its address holds a user, a key or a query. Put the key in OPENAI_API_KEY",
        ),
    ],
)
def test_a_wrong_model_string_is_reported(text, expected):
    with pytest.raises(ModelError) as caught:
        ModelString.parse(text)
    assert expected in str(caught.value)
    assert "secret" not in str(caught.value)


ODD_ADDRESSES = [
    *(
        "http://127.0.0.1:80O0/v1",
        "http://127.0.0.1:99999/v1",
        "http://localhost:8000:/v1",
        "http://[::1",
        "http://a..b/v1",
    ),
    *("http://h:0/v1", "http://h/v 1", "http:///v1", f"http://{'a' * 64}/v1", "localhost:8000:/v1", "[::1"),
]


@pytest.mark.parametrize("address", ODD_ADDRESSES)
def test_an_odd_address_is_refused_in_one_line(address, monkeypatch):
    with pytest.raises(ModelError, match="address") as error:
        ModelString.parse(f"openai/m@{address}")
    assert "\n" not in str(error.value)
    monkeypatch.setenv("OPENAI_API_BASE", address)
    with pytest.raises(ModelError):
        ModelString.parse("openai/m")


@settings(max_examples=300, deadline=None)
@given(
    st.text() | st.text().map("openai/m@http://{}".format) | st.text(alphabet="ahtp:/@[]%.0129?#").map("a/b@{}".format)
)
def test_any_text_is_a_model_or_a_model_error(text):
    try:
        parsed = ModelString.parse(text)
    except ModelError as error:
        str(error).encode()
    else:
        assert ModelString.parse(parsed.identity) == parsed


def test_roles_fall_back_to_the_judge_and_then_to_the_default():
    roles = Roles.parse("local/a.gguf,criteria=openai/b")
    assert (roles["criteria"], roles["judgment"]) == ("openai/b", "local/a.gguf")
    assert Roles.parse("criteria=openai/b")["judgment"] == DEFAULT_MODEL
    assert str(roles) == "judge=local/a.gguf,criteria=openai/b"


@pytest.mark.parametrize("text", ["", "judge=", "openai/a,openai/b", "criteria=openai/a,criteria=openai/b"])
def test_wrong_roles_are_refused(text):
    with pytest.raises(ModelError):
        Roles.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "m@http://h/v1?key=SECRET",
        "openai/m@http://h/v1?key=SECRET",
        "openai/m@http://h/v1?a=1,key=SECRET",
        "openai/m@http://h/v1#SECRET",
        "judge=openai/m@https://SECRET@h/v1",
        "openai/a,criteria=openai/m@http://h/v1?key=SECRET,",
        "openai/m@http://h?key=SECRET\n",
    ],
)
def test_a_key_in_an_address_is_not_repeated_whatever_else_is_wrong(text):
    for parse in (Roles.parse, ModelString.parse):
        with pytest.raises(ModelError, match="its address holds a user, a key or a query") as caught:
            parse(text)
        assert "SECRET" not in str(caught.value)


def test_one_string_is_one_lm_so_that_equal_calls_meet():
    assert get_lm("openai/same@http://127.0.0.1:9/v1") is get_lm("openai/same@http://127.0.0.1:9/v1")


def test_a_key_in_a_dotenv_file_is_used_and_the_environment_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOSTED_VLLM_API_KEY", raising=False)
    Path(".env").write_text("HOSTED_VLLM_API_KEY=from-the-file\nOPENAI_API_KEY=not-this-one\n")
    Path("pairs.jsonl").write_text(json.dumps({"query": "q", "response_a": "x", "response_b": "y"}) + "\n")
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
    with MockServer() as server:
        for provider in ("hosted_vllm", "openai"):
            arguments = ["judge", "--cases", "pairs.jsonl", "--out", provider, "--json"]
            assert run([*arguments, "--lm", f"{provider}/m@{server.url}"]) == 0
    monkeypatch.delenv("HOSTED_VLLM_API_KEY", raising=False)  # load_dotenv has set it
    assert set(server.authorizations) == {"Bearer from-the-file", "Bearer from-the-environment"}


@pytest.mark.slow
def test_a_provider_without_a_native_route_goes_through_litellm_and_gets_the_stripped_key(tmp_path):
    code = (
        "import dicast\n"
        "case = dicast.Case(id='1', query='q', candidates=[{'text': 'x'}, {'text': 'y'}])\n"
        "for readout in ('generate', 'probability'):\n"
        "    verdict = dicast.judge('direct', lm='lm_studio/m', readout=readout, grading='pairwise')(case)\n"
        "    assert (verdict.status, verdict.usage.calls) == ('scored', 2), verdict\n"
        "import sys\n"
        "print('litellm.main' in sys.modules)\n"
    )
    with MockServer() as server:
        environment = {"LM_STUDIO_API_BASE": f"{server.url}\r", "LM_STUDIO_API_KEY": "sk-DUMMY\r"}
        environment |= {"DICAST_ANSWERS": str(tmp_path)}
        result = subprocess.run(
            [sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True
        )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "True"
    assert server.request_counts.total() == 4
    assert set(server.authorizations) == {"Bearer sk-DUMMY"}
