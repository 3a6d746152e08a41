"""Load: documents that are submitted one after the other while something is broken."""

from __future__ import annotations

import hashlib
import json
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Self

from confluent_kafka import Producer
from msgspec.structs import replace

from tests.faults.observed import Expected
from tests.faults.servers import Servers
from tests.faults.sources import Source

BUCKET = "incoming"


def tenant_hash(document_id: str) -> str:
    """Each document is a tenant of its own, so that none is answered from another's result; this is that tenant's name in keys."""
    return hashlib.sha256(document_id.encode()).hexdigest()[:32]


class Submitter:
    """Puts sources into the store and envelopes into docs.incoming, by plain clients."""

    def __init__(self, servers: Servers) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": servers.bootstrap,
                "partitioner": "murmur2_random",
                "enable.idempotence": True,
                "delivery.timeout.ms": 300_000,
                "log_level": 2,
            }
        )

    def submit(self, document_id: str, source: str) -> None:
        """Does not wait for the broker; `flush` does."""
        value = {
            "document_id": document_id,
            "source": {"bucket": BUCKET, "key": source},
            "tenant": document_id,
        }
        self._producer.produce("docs.incoming", json.dumps(value).encode(), document_id.encode())
        self._producer.poll(0)

    def flush(self, seconds: float = 120.0) -> None:
        """Wait until the broker has all of them."""
        left = self._producer.flush(seconds)
        assert left == 0, f"{left} submissions were not acknowledged within {seconds:g} s"


def upload(servers: Servers, sources: Sequence[Source], bucket: str = "docfleet") -> None:
    """Make the buckets and put the files of the load into the store."""
    servers.put(bucket, "faults/here", b"")  # an object of nobody's, so that the bucket is there
    for source in sources:
        servers.put(BUCKET, source.name, source.data)


class Load:
    """Context manager: keeps some documents under way until it is left: a random source is submitted whenever fewer are open.

    So the fleet has work all the time, and no more of it on a slow machine. `submitted` by document id.
    """

    def __init__(
        self,
        submitter: Submitter,
        known: Mapping[str, Expected],
        name: str,
        random: random.Random,
        rate: float,
        most: int = 1_000_000,
        is_full: Callable[[], bool] = lambda: False,
    ) -> None:
        """`known`: what is expected of a document of each source, by the source's name. `name`: beginning of every document's id.

        At most `rate` documents a second and `most` in all, and none while `is_full` says so, but for the first.
        """
        self._submitter = submitter
        self._known = known
        self._name = name
        self._random = random
        self._pause_s = 1.0 / rate
        self._most = most
        self._is_full = is_full
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)
        self.submitted: dict[str, Expected] = {}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join(10)
        self._submitter.flush()

    def _run(self) -> None:
        # Every source once, in random order, then any.
        order = self._random.sample(sorted(self._known), len(self._known))
        while not self._ending.is_set() and len(self.submitted) < self._most:
            if self.submitted and self._is_full():
                self._ending.wait(0.1)
                continue
            source = order.pop() if order else self._random.choice(sorted(self._known))
            document_id = f"{self._name}-{len(self.submitted):04d}"
            self.submitted[document_id] = expected(self._known[source], document_id)
            self._submitter.submit(document_id, source)
            self._ending.wait(self._pause_s)

    def wait_for(self, documents: int, seconds: float = 60.0) -> None:
        """Until so many have been submitted."""
        deadline = time.monotonic() + seconds
        while len(self.submitted) < documents and time.monotonic() < deadline:
            time.sleep(0.05)


def expected(known: Expected, document_id: str) -> Expected:
    """What a document of the same source is expected to come to."""
    return replace(known, document_id=document_id)
