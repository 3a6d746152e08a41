"""The whole fleet, running: documents submitted through Kafka's protocol and the store, taken when `docs.parsed` names their result.

Every document is submitted as a replay (generation 1), which is never answered from the cache of documents, and the crop cache is off.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.lib.recpath import without_caches
from benchmarks.peers.serve import Request, serve
from benchmarks.quality import page_texts
from docfleet.client import Client
from docfleet.embedded import EmbeddedFleet

PATIENCE_S = 1800.0


def main() -> None:
    with EmbeddedFleet(overrides={"rec": without_caches()}) as fleet, Client(fleet.settings) as client:

        def read(request: Request) -> dict[str, Any]:
            submission = client.submit(Path(request["pdf"]), generation=1)
            parsed = client.wait(submission.document_id, PATIENCE_S)
            document = client.document(submission.document_id, 1)
            return {"pages": page_texts(document), "status": parsed.status, "cache_hits": parsed.totals.cache_hits}

        serve(read, "five services on the in-process broker, started before")


if __name__ == "__main__":
    main()
