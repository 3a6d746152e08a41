"""docfleet's recognition path; what that is, is said in `benchmarks.lib.recpath`."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.lib.recpath import RecPath, settings_for
from benchmarks.peers.serve import Request, serve
from shared.engines.open import open_engine


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="docfleet-bench-") as scratch:
        settings = settings_for(Path(scratch))
        engine = open_engine(settings.engines)
        loop = asyncio.new_event_loop()

        async def make() -> RecPath:
            path = RecPath(settings)
            await path.start()
            return path

        path = loop.run_until_complete(make())

        def read(request: Request) -> dict[str, Any]:
            pages = loop.run_until_complete(path.read(Path(request["pdf"])))
            hits = sum(reading.cache_hits for page in pages for reading in page.readings)
            errors = [error.message for page in pages for reading in page.readings for error in reading.errors]
            return {"pages": [page.text for page in pages], "cache_hits": hits, "errors": errors}

        try:
            serve(read, f"{engine.name} {engine.version} {engine.precision}, layout_worker and rec_worker, no Kafka")
        finally:
            loop.run_until_complete(path.stop())


if __name__ == "__main__":
    main()
