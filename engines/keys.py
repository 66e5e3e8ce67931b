"""API keys and addresses of providers, read from the environment in one place.

Keys end with a line feed or a carriage return where a secret store or a file with Windows line ends gives them; they
are stripped. A key that no HTTP header can carry is refused by the NAME of its variable: its value must not
be repeated by an error of a library. Every key that is read is removed from all texts that leave dicast.
"""

import os
import re
from collections.abc import Iterable

from ..errors import ModelError
from ..redaction import register_secret

KEY_NAMES = ("_API_KEY", "_API_TOKEN", "_AUTH_TOKEN", "_SECRET_ACCESS_KEY")
ADDRESS_NAMES = ("_API_BASE", "_BASE_URL")
UNSENDABLE = re.compile(r"[^\x20-\x7e\xa0-\xff]")  # in an HTTP header: visible characters of Latin-1 and spaces


def variable(name: str) -> str | None:
    """The stripped value of an environment variable; None when it is unset or empty.

    Raises:
        ModelError: it holds a control character or a letter outside Latin-1; the message holds no part of the value.
    """
    value = os.environ.get(name, "").strip()
    if not value:
        return None
    if UNSENDABLE.search(value):
        raise ModelError(
            f"{name}: holds a character that no HTTP header can carry. Set it again, without line breaks and in plain "
            "letters."
        )
    return value


def key_of(provider: str) -> str | None:
    """The user's key for a provider (`OPENAI_API_KEY`, ...); None without one. Raises ModelError as `variable`."""
    key = variable(f"{prefix_of(provider)}_API_KEY")
    register_secret(key)
    return key


def address_of(provider: str) -> str | None:
    """The address that the environment gives a provider (`OPENAI_API_BASE`, then `OPENAI_BASE_URL`), without a final
    slash; None without one. Raises ModelError as `variable`."""
    prefix = prefix_of(provider)
    addresses = (variable(prefix + name) for name in ADDRESS_NAMES)
    return next((address.rstrip("/") for address in addresses if address), None)


def prefix_of(provider: str) -> str:
    """What the names of a provider's variables begin with."""
    return re.sub(r"\W", "_", provider).upper()


def missing_key(model: str, names: Iterable[str]) -> str:
    """What to say of a model whose key is in none of these variables."""
    return f"model {model!r}: no API key. Set {' or '.join(names)} in the environment or in .env."


def strip_environment(provider: str) -> None:
    """Strip the keys and addresses in the environment, for libraries that read them there on their own.

    Raises:
        ModelError: as `variable`, for the variables of this provider.
    """
    for name, value in list(os.environ.items()):
        is_key = name.upper().endswith(KEY_NAMES)
        if not is_key and not name.upper().endswith(ADDRESS_NAMES):
            continue
        if name.startswith(f"{prefix_of(provider)}_"):
            variable(name)
        if value != value.strip():
            os.environ[name] = value.strip()
        if is_key:
            register_secret(value.strip())
