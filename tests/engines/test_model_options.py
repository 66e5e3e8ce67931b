"""Options of model strings: what is sent, what is refused, and that no header's value is written anywhere."""

import json
from pathlib import Path

import pytest
from judges import PAIR

import dicast
from dicast.cli import run
from dicast.engines import models
from dicast.engines.lm import MeteredLM
from dicast.engines.model_string import ModelString, entries
from dicast.engines.models import Roles, get_lm, resolved_identity
from dicast.errors import DeclarationError, ModelError
from dicast.judging.judge_file import load, save
from dicast.redaction import redact
from dicast.testing import MockServer

VALUE = "team-value-0451"
WRITTEN = {"readout": "generate", "grading": "pairwise", "order": "one"}


@pytest.fixture(autouse=True)
def header_of_the_team(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAM", VALUE)


def sent(server: MockServer) -> dict[str, object]:
    body = server.requests[-1]
    return {name: body[name] for name in body if name not in ("model", "messages", "response_format")}


def test_options_of_a_model_are_sent_with_what_it_writes():
    with MockServer() as server:
        model = server.model_string() + ",temperature=1,max_tokens=4000,seed=3,reasoning=low"
        assert dicast.judge("direct", lm=model, **WRITTEN)(PAIR).status == "scored"
    assert sent(server) == {"temperature": 1.0, "max_tokens": 4000, "seed": 3, "reasoning_effort": "low"}


def test_a_setting_of_the_judge_goes_before_an_option_of_its_model():
    with MockServer() as server:
        judge = dicast.judge("direct", lm=server.model_string() + ",temperature=1,reasoning=high", **WRITTEN)
        judge.set(temperature=0.5, **{"judgment.reasoning": "off"})
        judge(PAIR)
    assert sent(server) == {"temperature": 0.5, "max_tokens": 32, "reasoning_effort": "none"}


def test_each_role_has_the_options_of_its_own_model():
    text = "judge=openai/a,reasoning=low,timeout=600,criteria=local/qwen2.5-coder-1.5b,correction=openai/b,seed=2"
    assert dict(Roles.parse(text)) == {
        "judge": "openai/a,reasoning=low,timeout=600",
        "criteria": "local/qwen2.5-coder-1.5b",
        "correction": "openai/b,seed=2",
    }
    assert str(Roles.parse(text)) == text
    judge = dicast.judge("fennec", lm={"judge": "openai/a,reasoning=low", "criteria": "openai/b"})
    assert {seat.role: seat.model for seat in judge.seats()}["judgment"] == "openai/a,reasoning=low"


def test_the_identity_names_what_changes_answers_in_one_order_and_nothing_else():
    parsed = ModelString.parse("openai/x@http://h/v1,reasoning=low,header.X-Team=TEAM,timeout=9,temperature=0.50")
    assert parsed.identity == "openai/x@http://h/v1,temperature=0.5,reasoning=low"
    assert ModelString.parse(parsed.identity).identity == parsed.identity
    assert resolved_identity("openai/x@http://h/v1,timeout=9") == "openai/x@http://h/v1"


def test_a_comma_in_a_name_is_no_option():
    assert ModelString.parse("local//tmp/a,b.gguf,seed=1").model == "/tmp/a,b.gguf"
    assert entries("judge=openai/a,seed=1") == ["judge=openai/a,seed=1"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("reasonin=low", "'reasonin' is no option. Its options: temperature, top_p, max_tokens, seed, reasoning,"),
        ("reasoning=deep", 'reasoning: must be one of off, minimal, low, medium, high, xhigh, max, got "deep"'),
        ("temperature=3", "temperature: must be between 0 (greedy) and 2, got 3"),
        ("max_tokens=4k", 'max_tokens: must be a whole number, got "4k"'),
        ("timeout=0", "timeout: must be seconds above 0"),
        ("timeout=nan", "timeout: must be seconds above 0"),
        ("seed=1,seed=2", "the option seed is there twice"),
        ("header.X-Team=TEAM,header.X-Team=TEAM", "the option header.X-Team is there twice"),
        ("header.Host=TEAM", "header.Host: is no header that can be set"),
        ("api_version=2024-10-21?x", "api_version: must be a version such as 2024-10-21"),
    ],
)
def test_a_wrong_option_is_refused(options: str, expected: str):
    with pytest.raises(ModelError) as refused:
        ModelString.parse(f"openai/x,{options}")
    assert expected in str(refused.value)


def test_a_word_that_is_no_option_is_no_role_without_a_model_either():
    with pytest.raises(ModelError, match="'resoning' is no option, and as a role it has no model"):
        Roles.parse("openai/x,resoning=low")


def test_a_header_s_value_goes_to_the_server_and_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("pairs.jsonl").write_text(
        json.dumps({"query": "q", "response_a": "l", "response_b": "r", "label": "a"}) + "\n"
    )
    with MockServer() as server:
        model = server.model_string() + ",header.X-Team=TEAM"
        command = ["judge", "--judge", "direct", "--cases", "pairs.jsonl", "--lm", model, "--out", "out"]
        assert run(command) == 0
        assert {headers.get("x-team") for headers in server.headers} == {VALUE}
        judge = dicast.judge("direct", lm=model)
        save(judge, "saved.judge.json")
        assert load("saved.judge.json").seats()[0].model == server.model_string()
    written = capsys.readouterr()
    texts = [path.read_text() for path in Path().rglob("*") if path.suffix in {".json", ".jsonl", ".html", ".txt"}]
    assert len(texts) > 3
    assert not any(VALUE in text for text in [*texts, written.out, written.err, repr(judge)])
    assert redact(f"echo: {VALUE}") == "echo: [key removed]"


def test_a_header_s_value_in_the_model_string_is_refused_and_not_repeated():
    with pytest.raises(ModelError, match="its value is no environment variable that is set") as refused:
        ModelString.parse("openai/x,header.X-Team=s3cr3t-of-mine")
    assert "s3cr3t" not in str(refused.value)
    assert redact("s3cr3t-of-mine") == "[key removed]"


def test_an_address_that_only_a_file_names_gets_no_header():
    with MockServer() as server:
        model = server.model_string() + ",header.X-Team=TEAM"
        get_lm(model, trusted=False, cache=False)("hello")
        assert "x-team" not in server.headers[-1]


def test_the_timeout_of_a_model_goes_before_that_of_the_run():
    with MockServer(delay=0.3) as server:
        lm = get_lm(server.model_string() + ",timeout=0.05", cache=False)
        with pytest.raises(Exception, match=r"nothing came from the server for 0\.05 s|no whole answer within 0\.1 s"):
            lm("hello")
        assert get_lm(server.model_string(), cache=False)("hello")


# LiteLLM builds its types at the first call, of which pydantic warns.
@pytest.mark.filterwarnings("ignore:Item .* is using the `ReadOnly` qualifier:UserWarning")
def test_an_api_version_is_sent_to_azure_s_address_and_refused_elsewhere(monkeypatch: pytest.MonkeyPatch):
    """https://learn.microsoft.com/azure/ai-foundry/openai/reference: `?api-version=`, the key in the header api-key."""
    monkeypatch.setenv("AZURE_API_KEY", "azure-key-0000")
    with MockServer() as server:
        address = f"@{server.url.removesuffix('/v1')}"
        lm = get_lm(f"azure/chat{address},api_version=2024-10-21,header.X-Team=TEAM", cache=False)
        assert isinstance(lm, MeteredLM)
        lm("hello")
        assert server.paths[-1] == "/openai/deployments/chat/chat/completions?api-version=2024-10-21"
        assert (server.headers[-1]["api-key"], server.headers[-1]["x-team"]) == ("azure-key-0000", VALUE)
        with pytest.raises(ModelError, match="api_version is an option of azure/ models"):
            get_lm(f"openai/chat{address},api_version=2024-10-21")


def test_one_lm_for_one_string_and_its_options():
    with MockServer() as server:
        first, again = (get_lm(server.model_string() + ",timeout=9") for _ in range(2))
        assert first is again is not get_lm(server.model_string())
        assert first.model == get_lm(server.model_string()).model  # so that answers are kept across timeouts
    for lm in models._lms.values():
        lm.transport.close()
    models._lms.clear()


YAML = "judges: texts\ninstructions: Judge.\nscale: 1..5\ncriteria: [brief]\n"


def test_a_yaml_judge_takes_decoding_by_role_as_every_judge_does(tmp_path: Path):
    path = tmp_path / "brief.yaml"
    path.write_text(YAML + "judgment.temperature: 0.4\nreasoning: off\n")
    settings = dicast.judge(str(path)).settings()
    assert (settings["temperature"], settings["reasoning"]) == (0.4, "off")
    path.write_text(YAML + "criteria.temperature: 0.4\n")
    with pytest.raises(DeclarationError, match="there is no role 'criteria'. Its roles: judge, judgment"):
        dicast.judge(str(path))
    path.write_text(YAML + "temperature: 0.3\njudge.temperature: 0.4\n")
    with pytest.raises(DeclarationError, match="temperature is there twice"):
        dicast.judge(str(path))
