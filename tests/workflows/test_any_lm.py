"""Judging with any modern LM: servers that speak as their documentation says, each ends with coverage or one sentence.

The wire formats, and what each refuses, as documented or reported:
- OpenAI chat: https://platform.openai.com/docs/api-reference/chat (`logprobs`, `top_logprobs` up to 20).
- OpenAI reasoning models: https://platform.openai.com/docs/guides/reasoning; "Unsupported parameter: 'max_tokens' ...
  Use 'max_completion_tokens' instead" (teilomillet/gollm#33), "'temperature' does not support 0 with this model"
  (johny-b/llmcomp#69), no log-probabilities (UKGovernmentBEIS/inspect_ai#2739); hidden thoughts count as output.
- Claude: https://docs.anthropic.com/en/api/messages: content blocks, `stop_reason`, no log-probabilities at all.
- Gemini: https://ai.google.dev/api/generate-content: `candidates`, `thoughtsTokenCount`; "Logprobs is not enabled for
  models/gemini-2.5-pro" (mscraftsman/generative-ai#135); "Logprobs is not supported for the current model"
  (GoogleCloudPlatform/generative-ai#1536).
- vLLM: https://docs.vllm.ai/en/stable/features/reasoning_outputs/: Qwen3 thinks unless `chat_template_kwargs` has
  `enable_thinking: false`; the thought is in `reasoning` or `reasoning_content`.
- Ollama: https://docs.ollama.com/api/openai-compatibility: `reasoning_effort`, logprobs from 0.12.11 on
  (BerriAI/litellm#17165); earlier ones ignore the parameter.
- Azure: https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle: the v1 API at `/openai/v1` speaks as
  OpenAI's (tests/engines/test_model_options.py has the API with versions, through LiteLLM).
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dicast
from dicast.engines import models
from dicast.engines.asked_distributions import mark_of, stated_shares
from dicast.engines.known_reading import known_way
from dicast.engines.models import get_lm
from dicast.judging.judge_file import load, save
from dicast.testing import MockServer
from dicast.testing.faults import Exchange, Fault, Reply, error_text, http
from dicast.workflows.capability_check import asked_anew

Body = dict[str, Any]
THOUGHT = 700  # tokens
CASES = [{"id": str(n), "query": f"q {n}", "response_a": "left", "response_b": "right", "label": "b"} for n in range(4)]


def new_process() -> None:
    """Forget the LMs of this process, with their connections."""
    for lm in models._lms.values():
        lm.transport.close()
    models._lms.clear()


def refused(text: str) -> Reply:
    return Reply(http(error_text(text), 400))


def written(body: Body) -> str:
    """What a model writes to the prompts of this judge: a letter, JSON of a letter, or a distribution."""
    prompt = json.dumps(body)
    if "in percent" in prompt:
        return '{"A": 20, "B": 70, "C": 10}'
    if "smaller" in prompt:
        return '{"smaller": "first"}'
    return '{"better": "B"}' if "Answer with JSON" in prompt else "B"


def openai_chat(exchange: Exchange) -> Reply:
    answer = exchange.complete()
    if not exchange.body.get("logprobs"):
        answer["choices"][0]["message"]["content"] = written(exchange.body)
    return Reply(http(json.dumps(answer)))


def openai_reasoning(exchange: Exchange) -> Reply:
    body = exchange.body
    if "max_tokens" in body:
        return refused(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
    if body.get("temperature", 1) != 1:
        return refused(
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value."
        )
    if "logprobs" in body:
        return refused("Unsupported parameter: 'logprobs' is not supported with this model.")
    answer, most = exchange.complete(), body["max_completion_tokens"]
    is_cut = most <= THOUGHT
    answer["choices"][0] |= {"finish_reason": "length" if is_cut else "stop"}
    answer["choices"][0]["message"]["content"] = "" if is_cut else written(body)
    answer["usage"]["completion_tokens_details"] = {"reasoning_tokens": min(most, THOUGHT)}
    return Reply(http(json.dumps(answer)))


def claude(exchange: Exchange) -> Reply:
    content = [{"type": "text", "text": written(exchange.body)}]
    usage = {"input_tokens": 50, "output_tokens": 5}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": content, "usage": usage}
    return Reply(http(json.dumps(message | {"stop_reason": "end_turn", "stop_sequence": None})))


def gemini(exchange: Exchange) -> Reply:
    config = exchange.body.get("generationConfig", {})
    if config.get("responseLogprobs") or "logprobs" in config:
        return refused("Logprobs is not enabled for models/gemini-2.5-pro")
    is_cut = config.get("maxOutputTokens", 8192) <= THOUGHT
    parts = [] if is_cut else [{"text": written(exchange.body)}]
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "MAX_TOKENS" if is_cut else "STOP"}
    usage = {"promptTokenCount": 50, "thoughtsTokenCount": min(THOUGHT, config.get("maxOutputTokens", 8192))}
    usage |= {"candidatesTokenCount": 0 if is_cut else 1, "totalTokenCount": 800}
    return Reply(
        http(json.dumps({"candidates": [candidate | {"index": 0}], "usageMetadata": usage, "modelVersion": "g"}))
    )


def vllm_qwen(exchange: Exchange) -> Reply:
    body, answer = exchange.body, exchange.complete()
    if body.get("reasoning_effort") == "none":
        return refused(
            "1 validation error: reasoning_effort Input should be 'low', 'medium' or 'high'; got unsupported none"
        )
    choice = answer["choices"][0]
    if body.get("chat_template_kwargs") != {"enable_thinking": False}:
        is_cut = body["max_tokens"] <= THOUGHT
        text = None if is_cut else written(body)
        choice |= {"finish_reason": "length" if is_cut else "stop"}
        choice["message"] = {"role": "assistant", "content": text, "reasoning": "Okay, the left one"}
        for position in (choice.get("logprobs") or {}).get("content", []):
            position |= {"token": "<think>", "logprob": 0.0, "top_logprobs": [{"token": "<think>", "logprob": 0.0}]}
    elif not body.get("logprobs"):
        choice["message"]["content"] = written(body)
    return Reply(http(json.dumps(answer)))


def old_ollama(exchange: Exchange) -> Reply:
    """Before 0.12.11: log-probabilities that are asked for are ignored."""
    answer = exchange.complete()
    answer["choices"][0].pop("logprobs", None)
    answer["choices"][0]["message"]["content"] = written(exchange.body)
    return Reply(http(json.dumps(answer)))


SERVERS: dict[str, tuple[Callable[[Exchange], Reply], str, str]] = {
    "openai chat": (openai_chat, "openai/gpt-4o-mini@{url}", ""),
    "openai reasoning": (openai_reasoning, "openai/o4-mini@{url}", "read as the model states it"),
    "openai reasoning, native": (openai_reasoning, "openai/gpt-5-mini", "read as the model states it"),
    "claude": (claude, "anthropic/claude-sonnet-4-5", "read from 10 sampled answers"),
    "gemini": (gemini, "gemini/gemini-2.5-pro", "read as the model states it"),
    "vllm, thinking qwen": (vllm_qwen, "hosted_vllm/Qwen/Qwen3-8B@{url}", ""),
    "ollama": (old_ollama, "ollama/llama3@{url}", "read from 10 sampled answers"),
    "azure": (openai_chat, "azure/judge@{root}/openai/v1", ""),
}


@pytest.fixture(params=SERVERS)
def model(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A model string of a server of this kind, and what verdicts say of how it is read."""
    monkeypatch.chdir(tmp_path)
    speak, text, note = SERVERS[request.param]
    fault = Fault("speaks", "", "", speak, usable=True)
    probabilities = {"A": 0.24, "B": 0.75}
    with MockServer(token_probabilities=lambda body: probabilities, faults={fault: 1.0}) as server:
        root = server.url.removesuffix("/v1")
        for provider in ("OPENAI", "ANTHROPIC", "GEMINI", "AZURE"):
            monkeypatch.setenv(f"{provider}_API_KEY", "key-of-the-test")
        if "native" in request.param:
            monkeypatch.setattr("dicast.engines.model_string.default_endpoint", lambda provider: None)
            monkeypatch.setattr("dicast.engines.providers.hosted.native_engine", routed(server.url, "openai-chat"))
        elif "{" not in text:
            provider = text.partition("/")[0]
            address = root if provider == "anthropic" else f"{root}/v1beta"
            monkeypatch.setattr("dicast.engines.providers.hosted.native_engine", routed(address, provider))
        yield text.format(url=server.url, root=root), note
    new_process()


def routed(url: str, provider: str) -> Callable[..., Any]:
    """DSPy's native engine for a provider, whose address is that of the test's server."""
    from dicast.engines.providers.endpoint import native_engine

    return lambda seconds, **options: native_engine(seconds, base_urls={provider: url}, **options)


def test_every_model_is_judged_with_whole_coverage_and_the_verdict_says_how_it_was_read(model: tuple[str, str]):
    text, note = model
    judge = dicast.judge("direct", lm=text, readout="auto", grading="pairwise")
    run = [judge(case) for case in cases()]
    assert [verdict.status for verdict in run] == ["scored"] * 4, run[0].detail
    assert {verdict.winner for verdict in run} <= {"a", "b", "tie"}
    assert all(min(finding.mass_read or 0 for finding in verdict.findings) >= 0.95 for verdict in run)
    notes = {said for verdict in run for said in verdict.notes}
    assert all(note in said for said in notes) if note else notes == set()
    assert bool(notes) == bool(note)
    distribution = run[0].findings[0].distribution
    assert distribution
    assert min(distribution.values()) > 0


def test_after_check_a_dry_run_knows_how_every_model_is_read(model: tuple[str, str]):
    text, note = model
    asked_anew(get_lm(text, cache=False))
    way = "sampled" if "sampled" in note else "stated" if note else "tokens"
    assert known_way(text) == way


def test_every_model_writes_a_verdict(model: tuple[str, str]):
    text, _ = model
    judge = dicast.judge("direct", lm=text, readout="generate", grading="pairwise", order="one")
    verdict = judge(cases()[0])
    assert (verdict.status, verdict.winner) == ("scored", "b"), verdict.detail


def test_read_strictly_a_model_without_token_probabilities_gives_one_sentence(model: tuple[str, str]):
    text, note = model
    judge = dicast.judge("direct", lm=text, readout="probability", grading="pairwise")
    if not note:
        assert judge(cases()[0]).status == "scored"
        return
    try:
        sentence = judge(cases()[0]).detail
    except dicast.DeclarationError as error:
        sentence = str(error)
    assert "Use --readout auto" in sentence


def cases() -> list[dicast.Case]:
    pairs = [[{"text": row["response_a"]}, {"text": row["response_b"]}] for row in CASES]
    return [
        dicast.Case.model_validate({"id": str(n), "query": "q", "candidates": pair}) for n, pair in enumerate(pairs)
    ]


def test_the_way_is_decided_once_and_kept(monkeypatch: pytest.MonkeyPatch):
    fault = Fault("speaks", "", "", openai_reasoning, usable=True)
    with MockServer(faults={fault: 1.0}) as server:
        judge = dicast.judge("direct", lm=server.model_string(), readout="auto", grading="pairwise", order="one")
        judge(cases()[0])
        asked = len(server.requests)
        assert get_lm(server.model_string()).transport.card.now.way == "stated"
        new_process()
        judge(cases()[1].model_copy(update={"query": "another"}))
        assert len(server.requests) == asked + 1
    new_process()


def test_sampled_counts_are_smoothed_and_what_names_no_option_lowers_the_coverage():
    answers = ["B"] * 6 + ["A."] + ["neither"] * 3
    numbers = iter(range(10))
    with MockServer(answer=lambda body: answers[next(numbers)]) as server:
        judge = dicast.judge("direct", lm=server.model_string(), readout="sampled", grading="pairwise", order="one")
        verdict = judge(cases()[0])
    (finding,) = verdict.findings
    assert finding.mass_read == pytest.approx(0.7)
    assert finding.distribution == pytest.approx({"a": 1.5 / 8, "b": 6.5 / 8})  # (1 + 1/2) / (7 + 2/2)
    assert verdict.notes == ("read from 10 sampled answers",)
    new_process()


@pytest.mark.parametrize(
    ("text", "marks", "mark"),
    [
        ("B", "ABC", "B"),
        ("**b**", "ABC", "B"),
        ("B. Response B is better.", "ABC", "B"),
        ("A better answer is B", "ABC", "B"),
        ("The answer is C", "ABC", "C"),
        ("A or B", "ABC", None),
        ("", "ABC", None),
        ("7", ("1", "7", "10"), "7"),
        ("I give it 10", ("1", "7", "10"), "10"),
        ("Score: 7/10", ("1", "7", "10"), "7"),
    ],
)
def test_the_option_that_an_answer_names(text: str, marks: tuple[str, ...], mark: str | None):
    assert mark_of(text, marks) == mark


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ('{"A": 25, "B": 75}', [0.25, 0.75]),
        ('Surely: {"A": 0.2, "B": 0.6} as I see it', [0.25, 0.75]),
        ('{"B": 1}', [0.0, 1.0]),
        ('{"A": 0, "B": 0}', None),
        ('{"A": -1, "B": 2}', None),
        ('{"A": "most", "B": 2}', None),
        ("B", None),
    ],
)
def test_a_stated_distribution_is_read_whatever_is_around_it(text: str, shares: list[float] | None):
    assert stated_shares(text, "AB") == (shares if shares is None else pytest.approx(shares))


def test_a_judge_keeps_its_way_and_a_judge_without_one_says_nothing_of_it(tmp_path: Path):
    judge = dicast.judge("direct", readout="auto", letters=20)
    settings = judge.settings()
    assert (settings["readout"], settings["reading"], settings["letters"]) == ("probability", "auto", 20)
    save(judge, tmp_path / "a.judge.json")
    assert load(tmp_path / "a.judge.json").settings() == settings
    assert not {"reading", "letters"} & set(judge.set(readout="probability", letters=10).settings())
    assert not {"reading", "letters"} & set(dicast.judge("longer").hparams())
