"""Options of a model string, which say how its model is called: `openai/gpt-5-mini,reasoning=low,timeout=600`.

    temperature, top_p, max_tokens, seed, reasoning   how answers are written, where the judge does not say
    timeout          seconds until the first byte of an answer; goes before --timeout
    api_version      of the API, for azure/ models
    header.NAME      an HTTP header of each request; its value is that of the environment variable that is named

A header's value is never in a model string, so that no file and no log can hold it; it is removed from every text that
leaves, as keys are. Headers and timeouts belong to a machine: no part of a model's identity, and not saved.
"""

import math
import os
import re
from dataclasses import dataclass
from typing import Any

from ..errors import ModelError
from ..parsing import shown
from ..redaction import register_secret
from .decoding_values import NAMES, WHOLE, checked
from .keys import variable

OTHERS = ("timeout", "api_version")
HEADER = "header."
KNOWN = f"{', '.join((*NAMES, *OTHERS))}, {HEADER}NAME"
OPTION = re.compile(rf"\s*({'|'.join((*NAMES, *OTHERS))}|header\.[^=,/@]*)\s*=(.*)", re.DOTALL)
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # a token of RFC 9110, section 5.6.2
VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
VERSION = re.compile(r"[\w.-]{1,40}")
OF_HTTP = ("host", "content-length", "content-type", "transfer-encoding", "connection")  # set by the client itself
LONGEST_TIMEOUT = 86_400.0  # seconds


@dataclass(frozen=True)
class ModelOptions:
    """How a model is called.

    Attributes:
        values: of `decoding_values.NAMES`, each with its name, in this order.
        timeout: seconds until the first byte of an answer; None: as the run says.
        api_version: of the API; empty: the provider's own.
        headers: names of HTTP headers, each with the environment variable that holds its value.
    """

    values: tuple[tuple[str, Any], ...] = ()
    timeout: float | None = None
    api_version: str = ""
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def decoding(self) -> dict[str, Any]:
        """How answers are written, by name."""
        return dict(self.values)

    @property
    def text(self) -> str:
        """What changes answers, as it is written behind a model's name; empty where there is nothing."""
        values = self.decoding | ({"api_version": self.api_version} if self.api_version else {})
        return "".join(f",{name}={_short(value)}" for name, value in values.items())

    def header_values(self) -> dict[str, str]:
        """The headers with their values.

        Raises:
            ModelError: a variable is not set, or holds what no header can carry.
        """
        values = {}
        for header, name in self.headers:
            value = variable(name)
            if value is None:
                raise ModelError(f"{HEADER}{header}: the environment variable {name} is not set. Set it.")
            register_secret(value)
            values[header] = value
        return values


def is_option(text: str) -> bool:
    """Whether a part of a model string between commas is an option, and no further model or role."""
    return OPTION.fullmatch(text) is not None


def read_options(parts: list[str], model: str) -> ModelOptions:
    """The options of a model.

    Args:
        parts: as in `reasoning=low`.
        model: what messages call the model.

    Raises:
        ModelError: an unknown option, a repeated option, or a value that it cannot take.
    """
    values: dict[str, Any] = {}
    headers: dict[str, str] = {}
    for part in parts:
        match = OPTION.fullmatch(part)
        if match is None:
            raise ModelError(f"model {model!r}: {part.partition('=')[0]!r} is no option. Its options: {KNOWN}.")
        name, value = match[1].strip(), match[2].strip()
        if name in values or name.removeprefix(HEADER) in headers:
            raise ModelError(f"model {model!r}: the option {name} is there twice.")
        if name.startswith(HEADER):
            headers[name.removeprefix(HEADER)] = _variable_of_header(name, value)
            continue
        try:
            values[name] = _value(name, value)
        except ValueError as error:
            raise ModelError(f"model {model!r}, {name}: {error}.") from None
    decoding = tuple((name, values[name]) for name in NAMES if name in values)
    return ModelOptions(decoding, values.get("timeout"), values.get("api_version", ""), tuple(headers.items()))


def _value(name: str, text: str) -> Any:
    if name == "api_version":
        if not VERSION.fullmatch(text):
            raise ValueError(f"must be a version such as 2024-10-21, got {shown(text)}")
        return text
    if name == "reasoning":
        return checked(name, text)
    try:
        number = int(text) if name in WHOLE else float(text)
    except ValueError:
        raise ValueError(f"must be {'a whole number' if name in WHOLE else 'a number'}, got {shown(text)}") from None
    if name != "timeout":
        return checked(name, number)
    if not math.isfinite(number) or not 0 < number <= LONGEST_TIMEOUT:
        raise ValueError(f"must be seconds above 0 and at most {LONGEST_TIMEOUT:g}, got {shown(text)}")
    return number


def _variable_of_header(option: str, name: str) -> str:
    """The environment variable of a header; what is no variable's name may be a secret, and is not repeated."""
    header = option.removeprefix(HEADER)
    if not HEADER_NAME.fullmatch(header) or header.lower() in OF_HTTP:
        raise ModelError(f"{HEADER}{header}: is no header that can be set. Leave it out.")
    if not VARIABLE_NAME.fullmatch(name) or name not in os.environ:
        register_secret(name)
        raise ModelError(
            f"{HEADER}{header}: its value is no environment variable that is set. Write {HEADER}{header}=VARIABLE and "
            "put the header's value into this variable; a value in a model string would be saved and logged."
        )
    return name


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
