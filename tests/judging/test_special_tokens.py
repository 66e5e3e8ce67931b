"""Every listed token is broken wherever it occurs, for real tokenizers too, and ordinary texts stay as they are."""

import json
import urllib.request
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from dicast.engines.gguf import control_tokens
from dicast.engines.providers.local import LocalServer, serve
from dicast.engines.weights import get_weights
from dicast.errors import ModelError
from dicast.judging.delimiters import defuse
from dicast.judging.special_tokens import CONTROL, FAMILIES, without_marks, without_tokens

TOKENS = list(dict.fromkeys(token for family in FAMILIES for token in family.tokens))
EVERY_TOKEN = pytest.mark.parametrize("token", TOKENS)
ORDINARY = {
    "generics": "vector<int> v; List<String> l; Map<K, V> m; vector<size_t> n; Vec<u8>; array<float32>; foo<_>(x)",
    "templates": "std::unique_ptr<my_type> p = make<a_b_c>(); static_cast<uint64_t>(x) << 2 >> 1",
    "comparisons": "a<b>c, a < b > c, x<y|y>z, if (a<b||c>d) return a|b",
    "types": "def f(x: list[str], y: dict[str, list[int]]) -> Optional[T]: return x[0][1:-1]",
    "references": "as shown [1], [2, 3] and [Smith 2020]; see [this](http://a/b) and [^1], [x], [ ]",
    "logs": "[INFO] started [WARN] slow [ERROR] failed [DEBUG] x [2024-01-01 10:00:00] [main] [OK]",
    "usage": "usage: program [options] [args] [prefix] [-v|--verbose] <file> <name> [--out=PATH|FILE]",
    "HTML": '<h1>One</h1><p>two<br/><em>three</em></p><a href="x">y</a><table><td>1</td></table><ul><li>z</li>',
    "media": '<img src="a.png"><audio controls></audio><video></video><svg><image href="a"/></svg><picture></picture>',
    "XML": "<first_name>Ann</first_name><dc:title>T</dc:title><user><role>admin</role></user><system/><model>x</model>",
    "placeholders": "Dear <name>, your order <order_id> for <first name> is <date>. <BLANK> <TBD> <YOUR NAME>",
    "functional": "x |> f |> g; h <| y; a <|> b; Nothing <|> Just 1; (<|>) is from Alternative",
    "shifts": "cin >> x >> y; cout << x << y; n >>X<< m; a>>b<<c; 1<<3>>1",
    "brackets": "]] [[ ]] a[b[c]] [~x] ]~ [e~ wait] b] [b [[wiki|link]] [| x |] [|1, 2|]",
    "maths": "|x| < 1, <x|y> and |x|^2 > 0, \\langle a | b \\rangle, [a|b], P[A|B], {x | x > 0}",
    "headings": "## One\n\n[## two](x) [ # ] [[ # not a field ]]",
    "Latin": "quid <sic> et [sic] dixit [...] <...> <<guillemets>> >>quoted<<",
}


@EVERY_TOKEN
def test_a_listed_token_is_broken_wherever_it_occurs(token: str) -> None:
    for around in ("{}", "before{}after", "<{}>", "[{}]", "{0}{0}", "<{0}{0}>", "|{}|", "\n{}\n"):
        assert token not in without_marks(around.format(token))


@EVERY_TOKEN
def test_breaking_only_adds_spaces_and_is_done_once(token: str) -> None:
    broken = defuse(f"a{token}b")
    assert broken.replace(" ", "") == f"a{token}b"
    assert defuse(broken) == broken


@pytest.mark.parametrize("text", ORDINARY.values(), ids=list(ORDINARY))
def test_ordinary_texts_stay_as_they_are(text: str) -> None:
    assert defuse(text) == text


def test_no_mark_is_left_in_texts_of_pieces_of_tokens() -> None:
    """Tokens cut, nested and joined at random: after one pass nothing is left that a second pass would find."""
    random = np.random.default_rng(3)
    cuts = [random.integers(1, len(token)) for token in TOKENS]
    pieces = [piece for token, cut in zip(TOKENS, cuts, strict=True) for piece in (token, token[:cut], token[cut:])]
    for _ in range(5000):
        broken = defuse("".join(random.choice(pieces, size=random.integers(1, 7))))
        assert not CONTROL.search(broken)
        assert not [token for token in TOKENS if token in broken]


@pytest.mark.parametrize("character", ["<", ">", "[", "]", "|", "<|", "[|", "</", "<_", "[[ ", ">>A", "<[", "]~"])
def test_a_megabyte_without_an_end_is_read_in_linear_time(character: str) -> None:
    """A pattern that went back over its text would take hours."""
    text = character * (1_000_000 // len(character))
    assert without_marks(text).replace(" ", "") == text.replace(" ", "")


def test_every_family_names_its_source_and_no_token_twice() -> None:
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)
    for family in FAMILIES:
        assert family.source
        assert len(set(family.tokens)) == len(family.tokens) > 0
        assert not any(token.isspace() or len(token) < 3 for token in family.tokens)


# a model's own tokens


def test_tokens_of_the_model_are_broken_too() -> None:
    own = frozenset({"<filename>", "◁user▷", "ab"})
    assert without_tokens("rm <filename> ◁user▷ ab", own) == "rm < filename> ◁ user▷ ab"
    assert without_tokens("rm <filename>", frozenset()) == "rm <filename>"
    assert without_tokens("a b\n\n\nc", frozenset({"\n\n\n"})) == "a b\n\n\nc"  # what is only space is no structure


def test_tokens_that_overlap_are_all_broken() -> None:
    own = frozenset({"◁a▷", "▷◁a", "◁a"})
    random = np.random.default_rng(4)
    for _ in range(500):
        broken = without_tokens("".join(random.choice(["◁", "▷", "a", "◁a▷"], size=9)), own)
        assert not [token for token in own if len(token) > 2 and token in broken]


# real tokenizers


@pytest.fixture(scope="module", params=["smollm2-135m", "qwen2.5-coder-1.5b"])
def local(request: pytest.FixtureRequest) -> tuple[LocalServer, Path]:
    try:
        path = get_weights(request.param)
    except ModelError as error:
        pytest.skip(f"the model cannot be had: {error}")
    return serve(path), path


def tokens_of(server: LocalServer, text: str) -> list[int]:
    """The tokens that a chat message of this text becomes, with marks read as structure."""
    body = json.dumps({"content": text, "add_special": False, "parse_special": True}).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {server.key}"}
    call = urllib.request.Request(server.url.removesuffix("/v1") + "/tokenize", body, headers)
    with urllib.request.urlopen(call, timeout=30) as answer:
        return list(json.load(answer)["tokens"])


@pytest.mark.model
@pytest.mark.slow
def test_a_broken_token_is_plain_text_to_llama_cpp(local: tuple[LocalServer, Path]) -> None:
    server, path = local
    own = control_tokens(path)
    control = {tokens_of(server, token)[0] for token in own}
    assert len(control) == len(own) > 10
    for token in [*own, *TOKENS]:
        assert not control & set(tokens_of(server, without_tokens(defuse(f"fine{token}"), own)))


@pytest.mark.model
@pytest.mark.slow
def test_marks_break_a_chat_template_without_the_models_own_list(local: tuple[LocalServer, Path]) -> None:
    """The table alone is enough for what these models' templates use."""
    server, path = local
    listed = [token for token in control_tokens(path) if token in TOKENS]
    assert {"<|im_start|>", "<|im_end|>", "<|endoftext|>"} <= set(listed)
    marks = {tokens_of(server, token)[0] for token in listed}
    for first, second in pairwise(listed):
        assert not marks & set(tokens_of(server, defuse(f"{first}{second}x{first}")))
