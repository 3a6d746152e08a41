"""The layout stage without a fleet, page by page, with the CPU seconds of its steps; `--fast` without the layout network."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.peers.serve import Request, serve
from services.layout_worker.alone import Alone
from shared.contracts.options import Options
from shared.settings import Settings


async def _pages(alone: Alone, pdf: Path, count: int, options: Options) -> Counter[str]:
    steps: Counter[str] = Counter()
    for number in range(1, count + 1):
        for step in (await alone.page(pdf, number, options))[1]:
            steps[step.name] += step.cpu_s  # type: ignore[assignment]
    return steps


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fast", action="store_true")
    options = Options(layout="fast" if parser.parse_args().fast else "auto")
    with asyncio.Runner() as runner:
        alone = Alone(Settings())
        runner.run(alone.__aenter__())

        def read(request: Request) -> dict[str, Any]:
            count = len(request["pictures"])
            steps = runner.run(_pages(alone, Path(request["pdf"]), count, options))
            return {"pages": [""] * count, "steps": steps}

        try:
            serve(read, f"docfleet's layout stage, layout: {options.layout}, {len(os.sched_getaffinity(0))} cores")
        finally:
            runner.run(alone.__aexit__(None, None, None))


if __name__ == "__main__":
    main()
