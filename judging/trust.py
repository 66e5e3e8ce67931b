"""Where the texts of a judge file go. An address that only the file names is used when the user says so, or has named
it on this machine before; it still gets no key (`engines.models.get_lm`).

Addresses that hand out credentials of the machine (link-local ones, metadata services of clouds) are never used on the
word of a file.
"""

import ipaddress
import os
import socket
from collections.abc import Iterator
from typing import Literal
from urllib.parse import urlsplit

from ..engines.model_string import IN_PROCESS, ModelString, default_endpoint
from ..errors import ModelError
from .known_addresses import is_remembered, remember, was_typed

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Destination = Literal["local", "provider", "this machine", "named by the user", "address", "metadata"]

# Metadata services outside the link-local networks: AWS (IPv6), Alibaba, Azure; and names of such services.
METADATA_ADDRESSES = frozenset(map(ipaddress.ip_address, ("fd00:ec2::254", "100.100.100.200", "168.63.129.16")))
METADATA_NAMES = (
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "instance-data",
    "instance-data.ec2.internal",
)


def destination_of(model: str) -> Destination:
    """Where texts go that are sent to a model which a judge file names."""
    parsed = ModelString.parse(model)
    if parsed.endpoint is None:
        return "local" if parsed.provider in IN_PROCESS else "provider"
    host = _host(parsed.endpoint)
    address = _address(host)
    if host in METADATA_NAMES or (address is not None and _is_metadata(address)):
        return "metadata"
    if host == "localhost" or host.endswith(".localhost"):
        return "this machine"
    if address is not None and (address.is_loopback or address.is_unspecified):
        return "this machine"
    if parsed.endpoint == default_endpoint(parsed.provider) or is_remembered(parsed.endpoint):
        return "named by the user"
    return "address"


def remember_address(model: str, *, typed: bool = True) -> None:
    """Note that the user has named the address of this model, if it has one to which texts go over a network.

    Args:
        typed: the user wrote it, and did not only trust a file that names it.
    """
    if destination_of(model) in ("address", "named by the user"):  # the latter by the environment of this command
        remember(str(ModelString.parse(model).endpoint), typed=typed)


def is_typed(model: str) -> bool:
    """Whether texts and keys go to no address, to this machine, or to an address that the user wrote."""
    parsed = ModelString.parse(model)
    if destination_of(model) in ("local", "provider", "this machine"):
        return True
    return parsed.endpoint == default_endpoint(parsed.provider) or was_typed(str(parsed.endpoint))


def admitted(model: str, file: str, *, trust: bool) -> str:
    """The line that says where texts go; empty where they stay in this process.

    Args:
        model: a model string that a judge file names.
        file: the judge file.
        trust: the user trusts its addresses.

    Raises:
        ModelError: an address that only the file names, and that the user has not named before,
            without `trust`; or an address that no file may name.
    """
    destination, parsed = destination_of(model), ModelString.parse(model)
    if destination == "local":
        return ""
    if parsed.endpoint is None:
        return f"texts go to {parsed.provider} (named by {file})"
    place = urlsplit(parsed.endpoint).netloc
    leads_on = destination == "address" and trust
    leads_on |= destination == "named by the user" and is_remembered(parsed.endpoint)
    if leads_on and any(map(_is_metadata, _resolved(_host(parsed.endpoint)))):
        destination = "metadata"
    if destination == "metadata":
        raise ModelError(
            f"{file}: names {place}, where a machine gets its own credentials; no file may send texts there. Give "
            "another model with --lm."
        )
    if destination == "address" and not trust:
        raise ModelError(
            f"{file}: texts would go to {place}, which only this file names. If you know that server add --trust "
            f"(trust=True in Python), or name it yourself: --lm {model}"
        )
    suffix = ", this machine" if destination == "this machine" else ""
    return f"texts go to {place}{suffix} (named by {file})"


def _host(endpoint: str) -> str:
    return str(urlsplit(endpoint).hostname).rstrip(".").lower()


def _address(host: str) -> Address | None:
    """The address that a host is written as, also as one number or in hexadecimal; None for a name."""
    try:
        address: Address = ipaddress.ip_address(host)
    except ValueError:
        try:
            address = ipaddress.IPv4Address(socket.inet_aton(host))
        except (OSError, ValueError):
            return None
    return getattr(address, "ipv4_mapped", None) or address


def _is_metadata(address: Address) -> bool:
    return address.is_link_local or address in METADATA_ADDRESSES


def _resolved(host: str) -> Iterator[Address]:
    """The addresses of a name; none where it cannot be resolved, or a proxy resolves it."""
    if any(os.environ.get(name) for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY")):
        return
    try:
        entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return
    for *_, where in entries:
        if (address := _address(str(where[0]))) is not None:
            yield address
