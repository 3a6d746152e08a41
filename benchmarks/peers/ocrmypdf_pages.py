"""ocrmypdf's command with one job per core; the text comes from its sidecar. No PDF/A and no optimising: only text is wanted."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.peers.serve import Request, serve

OPTIONS = ["--mode", "force", "--output-type", "none", "-l", "eng+chi_sim", "--quiet"]


def _read(request: Request) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        sidecar = Path(folder) / "text.txt"
        jobs = ["--jobs", str(len(os.sched_getaffinity(0)))]
        command = [sys.executable, "-m", "ocrmypdf", *OPTIONS, *jobs, "--sidecar", str(sidecar), request["pdf"], "-"]
        subprocess.run(command, env={**os.environ, "OMP_THREAD_LIMIT": "1"}, check=True, stdout=subprocess.DEVNULL)
        return {"pages": sidecar.read_text(encoding="utf-8").split("\f")[: len(request["pictures"])]}


if __name__ == "__main__":
    serve(_read, f"ocrmypdf {version('ocrmypdf')}, {' '.join(OPTIONS)}, one job per core, OMP_THREAD_LIMIT=1")
