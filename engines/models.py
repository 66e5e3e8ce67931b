"""The LMs that model strings name, and which LM answers which stage of a judge."""

import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..errors import ModelError
from .engine import Engine, engine_of
from .model_options import KNOWN
from .model_string import DEFAULT_MODEL, ModelString, entries, refuse_secret
from .weights import OnProgress

if TYPE_CHECKING:
    from .lm import MeteredLM

# Must be set before DSPy is first imported: without it the first use fetches price metadata over the network.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
# Must be set before LiteLLM is first imported: in its default mode DEV it loads every variable of a `.env` file.
os.environ.setdefault("LITELLM_MODE", "PRODUCTION")

_lms: "dict[tuple[ModelString, bool, bool], MeteredLM]" = {}
_lock = threading.Lock()
_without_keys: Counter[str] = Counter()  # identities of models, see `withholding_keys`


def get_lm(text: str, *, cache: bool = True, trusted: bool = True) -> "MeteredLM":
    """The LM of a model string; the same object for the same string, so that equal calls are made once.

    Args:
        trusted: the user has named its address. An address from a judge file gets no key, unless the environment names
            it as well (OPENAI_API_BASE, ...): else the author of a judge file could have the user's keys sent away.

    Raises:
        ModelError: an unknown model, a missing key or a weights file that cannot be used.
    """
    parsed = ModelString.parse(text)
    trusted = may_see_keys(parsed.identity, trusted)
    with _lock:
        key = (parsed, cache, trusted)
        if key not in _lms:
            from .capabilities import KeptCard
            from .lm import MeteredLM

            engine = engine_of(parsed)
            identity = card_identity(parsed)
            transport = engine.connect(parsed, trusted=trusted)
            transport.card = KeptCard.of(identity)
            _lms[key] = MeteredLM(identity, transport, cache=cache, options=parsed.options)
        return _lms[key]


def card_identity(model: ModelString) -> str:
    """The name under which what a model can do, and its answers, are kept.

    Raises:
        ModelError: weights that do not exist, or an address that cannot be used.
    """
    identity = engine_of(model).identity(model.without_options)
    return identity + (f",api_version={model.options.api_version}" if model.options.api_version else "")


def may_see_keys(identity: str, trusted: bool) -> bool:
    """Whether the user's key may go to the address of a model: the user has named it, and it is no file's now."""
    with _lock:
        return trusted and not _without_keys[identity]


@contextmanager
def withholding_keys(models: Iterable[str]) -> Iterator[None]:
    """Inside, in every thread, these model strings are those of a file: `get_lm` does not trust their addresses."""
    identities = [ModelString.parse(model).identity for model in models]
    with _lock:
        _without_keys.update(identities)
    try:
        yield
    finally:
        with _lock:
            _without_keys.subtract(identities)


def resolved_identity(text: str) -> str:
    """What answers a model string now: model, endpoint and a digest of its weights; no server is started or asked.

    It differs for another file of the same path and for another address behind the same name (OPENAI_BASE_URL).

    Raises:
        ModelError: an unknown model, or a weights file that does not exist.
    """
    parsed = ModelString.parse(text)
    return engine_of(parsed).identity(parsed.without_options) + parsed.options.text


class Roles(Mapping[str, str]):
    """Which model string answers which stage: `judge=...,criteria=...`; a lone string answers all of them. Options are
    those of the model before them.

    Example:
        >>> roles = Roles.parse("local/qwen2.5-coder-1.5b,criteria=openai/gpt-5-mini,reasoning=low")
        >>> roles["criteria"], roles["judgment"]
        ('openai/gpt-5-mini,reasoning=low', 'local/qwen2.5-coder-1.5b')
    """

    def __init__(self, models: Mapping[str, str]) -> None:
        self._models = dict(models)

    @classmethod
    def parse(cls, text: str | Mapping[str, str]) -> "Roles":
        """The roles of a text or of a mapping; raises ModelError for an empty entry, a role given twice, or what is
        neither."""
        if isinstance(text, Roles):
            return text
        if isinstance(text, Mapping):
            text = ",".join(f"{role}={model}" for role, model in text.items())
        if not isinstance(text, str):
            raise ModelError(f"lm: {text!r} is no model string. Write provider/model, or role=provider/model,...")
        refuse_secret(text)
        models: dict[str, str] = {}
        for part in entries(text):
            role, equals, model = part.strip().partition("=")
            if not equals or "/" in role:  # an option's sign
                role, model = "judge", part.strip()
            if not role or not model:
                raise ModelError(f"--lm {text!r}: {part!r} names no model. Write role=provider/model,... or one model.")
            if role in models:
                raise ModelError(f"--lm {text!r}: the role {role!r} is given twice.")
            if models and "/" not in model:
                raise ModelError(
                    f"--lm {text!r}: {role!r} is no option, and as a role it has no model. The options: {KNOWN}."
                )
            ModelString.parse(model)
            models[role] = model
        return cls(models)

    def __getitem__(self, role: str) -> str:
        return self._models.get(role) or self._models.get("judge") or DEFAULT_MODEL

    def __iter__(self) -> Iterator[str]:
        return iter(self._models)

    def __len__(self) -> int:
        return len(self._models)

    def __str__(self) -> str:
        if list(self._models) == ["judge"]:
            return self._models["judge"]
        return ",".join(f"{role}={model}" for role, model in self._models.items()) or DEFAULT_MODEL


def prepare(text: str, progress: OnProgress) -> None:
    """Make a model ready before the first case: fetch local weights, connect to the server, build the LM.

    Raises:
        ModelError: the weights cannot be fetched, or nothing listens at the endpoint.
    """
    parsed = ModelString.parse(text)
    engine_of(parsed).prepare(parsed, progress)
    get_lm(text)


def default_workers(models: Iterable[str]) -> int:
    """Cases judged at once by default: a local model is limited by the processor, a server by the network."""
    return min((engine_of(ModelString.parse(model)).workers for model in models if model), default=Engine.workers)


def asked_in_turn(models: Iterable[str]) -> bool:
    """Whether the questions of a case are asked one after another: where the engines of all its models say so."""
    engines = [engine_of(ModelString.parse(model)) for model in models if model]
    return bool(engines) and all(engine.in_turn for engine in engines)
