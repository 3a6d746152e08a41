"""`docfleet parse`, from the command to the files: a fleet is started, used and ended for every request. No overlays are drawn."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.peers.serve import Request, serve
from benchmarks.quality import page_texts
from shared.contracts.codec import decode
from shared.contracts.document import ParsedDocument

OPTIONS = ["--no-overlays", "--timings"]


def _read(request: Request) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "docfleet.cli.main", "parse", request["pdf"], "-o", out, *OPTIONS]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        result = Path(out) / (Path(request["pdf"]).stem + ".json")
        if not result.exists():
            return {"error": f"exit code {done.returncode}: {(done.stdout + done.stderr)[-300:]}"}
        document = decode(result.read_bytes(), ParsedDocument)
    return {"pages": page_texts(document), "status": document.status, "ready_s": ready_s(done.stdout)}


def ready_s(output: str) -> float | None:
    """Seconds from the command until the document was opened, from the lines of `--timings`; what came before is starting up."""
    found = re.search(r"([\d.]+) s …\s+[\d.]+ s\s+DocumentOpened", output)
    return float(found[1]) if found else None


if __name__ == "__main__":
    serve(_read, f"docfleet parse {' '.join(OPTIONS)}, start and end of the fleet included")
