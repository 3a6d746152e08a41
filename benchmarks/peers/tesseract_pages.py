"""tesseract's command, one process per core and one thread in each (its own threads double the time on two cores), eng and chi_sim."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks.peers.serve import Request, serve

LANGUAGES = "eng+chi_sim"


def _text(picture: str) -> str:
    command = ["tesseract", picture, "stdout", "-l", LANGUAGES]
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}
    return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> None:
    about = subprocess.run(["tesseract", "--version"], check=True, capture_output=True, text=True).stdout.split("\n")[0]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:

        def read(request: Request) -> dict[str, Any]:
            return {"pages": list(pool.map(_text, request["pictures"]))}

        serve(read, f"{about}, {LANGUAGES}, one process per core, OMP_THREAD_LIMIT=1")


if __name__ == "__main__":
    main()
