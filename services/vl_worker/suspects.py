"""Requests that were under way when a server went away: one that is there each time may be what kills it.

Without this such a request would be asked again whenever the server is back, and nobody would ever get an answer.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict

from services.vl_worker.endpoint import Endpoint
from services.vl_worker.wire import Call

KEPT = 4_096
"""Requests remembered; more are not in flight in any one process (`vl.max_in_flight`)."""


class Suspects:
    """Counts outages per request, by the bytes of its body. `most` outages are too many."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seen: OrderedDict[bytes, set[tuple[str, int]]] = OrderedDict()

    def present(self, call: Call, endpoint: Endpoint) -> bool:
        """The request was cut by the present outage of the endpoint; true when that was once too often."""
        key = hashlib.blake2b(call.body, digest_size=16).digest()
        seen = self._seen.setdefault(key, set())
        self._seen.move_to_end(key)
        seen.add((endpoint.name, endpoint.outages))
        if len(self._seen) > KEPT:
            self._seen.popitem(last=False)
        if len(seen) < self._most:
            return False
        del self._seen[key]
        return True
