"""The addresses of servers that the user has named on this machine, as OpenSSH remembers hosts in known_hosts.

They lie in one private file in DICAST_HOME: scheme, host and port, no paths, models or keys. A file that cannot be read
or written is passed over: the user is then asked for --trust again.
"""

import json
from pathlib import Path
from urllib.parse import urlsplit

from ..engines.jsonl import write_whole
from ..errors import DicastError
from ..parsing import load_json, read_text
from ..paths import home

FILE = "known_addresses.json"
MOST = 1000  # addresses; the oldest go first
PORTS = {"http": 80, "https": 443}


def is_remembered(endpoint: str) -> bool:
    """Whether the user has named the server of this address before, in a run or with --trust."""
    return _server(endpoint) in _listed("addresses")


def was_typed(endpoint: str) -> bool:
    """Whether the user wrote this address, and did not only trust a file that names it."""
    return _server(endpoint) in _listed("typed")


def remember(endpoint: str, *, typed: bool = True) -> None:
    """Note that the user has named the server of this address; `typed`: by writing it."""
    server, names = _server(endpoint), ("addresses", *(("typed",) if typed else ()))
    listed = {name: _listed(name) for name in ("addresses", "typed")}
    if all(server in listed[name] for name in names):
        return
    for name in names:
        listed[name] = [*(known for known in listed[name] if known != server), server][-MOST:]
    try:
        path = _path()
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(listed, indent=2) + "\n")
    except (OSError, DicastError):
        return


def _path() -> Path:
    return home() / FILE


def _listed(name: str) -> list[str]:
    try:
        content = load_json(read_text(_path()))
    except (DicastError, ValueError):
        return []
    addresses = content.get(name) if isinstance(content, dict) else None
    return [address for address in addresses if isinstance(address, str)] if isinstance(addresses, list) else []


def _server(endpoint: str) -> str:
    parts = urlsplit(endpoint)
    host = str(parts.hostname).rstrip(".").lower()
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{parts.port or PORTS[parts.scheme]}"
