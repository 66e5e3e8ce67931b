"""dicast.testing's server under its earlier names."""

from dicast.testing import MockServer as Server

FAULTS = {"garbage": "invalid_json", "nothing": "closed_connection"}


class MockServer(Server):
    def __init__(self, faults=None, delay=0.0, reply=None, tokens=None, seed=0):
        super().__init__(reply, tokens, {FAULTS.get(name, name): p for name, p in (faults or {}).items()}, delay, seed)

    asked = property(lambda self: self.request_counts)
    bodies = property(lambda self: self.requests)
    keys = property(lambda self: self.authorizations)
    served_faults = property(lambda self: self.fault_counts)
    most_at_once = property(lambda self: self.peak_concurrency)


def serve(server: MockServer) -> MockServer:
    return server
