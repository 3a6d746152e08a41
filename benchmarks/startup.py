"""Wall time from the command to the files, for one page: `./dev bench startup [--rounds 5]`.

Runs `docfleet parse` on samples/page.pdf (born-digital) and samples/scan.pdf in turn, after one round that is not counted
(models and compiled networks are in the cache then), and prints minimum, median and maximum.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SAMPLES = Path(__file__).parents[1] / "samples"


def parse(file: Path) -> float:
    """Seconds of one run."""
    with tempfile.TemporaryDirectory() as out:
        started = time.monotonic()
        subprocess.run(
            [sys.executable, "-m", "docfleet.cli.main", "parse", str(file), "-o", out], check=True, capture_output=True
        )
        return time.monotonic() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    files = [SAMPLES / "page.pdf", SAMPLES / "scan.pdf"]
    for file in files:
        parse(file)
    times: dict[str, list[float]] = {file.name: [] for file in files}
    for _ in range(args.rounds):
        for file in files:
            times[file.name].append(parse(file))
    for name, values in times.items():
        print(
            f"{name}: min {min(values):.2f} s, median {statistics.median(values):.2f} s, max {max(values):.2f} s ({len(values)} runs)"
        )


if __name__ == "__main__":
    main()
