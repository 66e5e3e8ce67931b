"""Whether a server answers at an address at all, so that a wrong address is noticed before the first case."""

import socket
from urllib.parse import urlsplit

from ..errors import ModelError

PROBE_TIMEOUT = 5.0  # seconds


def check_connection(model: str, url: str) -> None:
    """Open a connection to the server of `url` and close it; nothing is sent.

    Raises:
        ModelError: nothing listens there; it names `model`.
    """
    address = urlsplit(url)
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        socket.create_connection((str(address.hostname), port), timeout=PROBE_TIMEOUT).close()
    except OSError as error:
        raise ModelError(
            f"model {model!r}: nothing answers at {url} ({error}). Start the server or fix the address."
        ) from None
