"""What a rec_worker and its children hold in memory over many pages of all shapes: `./dev bench memory [--quick]`.

Pages are generated (`tests/support/mixed_pages.py`): every one has another size and other lines, some are looked at for lines, some are
tables and seals. Memory is resident bytes, libraries included, after each hundred pages. Targets: at most 1.2 GB for the worker
with its engine child, and from page 100 to the last within 10 %. Exit code 1 when one is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from benchmarks.lib.machine import Report, header
from shared.engines.open import available
from shared.settings import Settings
from tests.support.mixed_pages import Memory, read

MOST = 1_200 * 10**6
SPREAD = 0.10


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="150 pages")
    parser.add_argument("--pages", type=int, default=1_000)
    parser.add_argument("--lines", type=int, default=5, help="lines of a page, about")
    parser.add_argument("--engine", default="auto", choices=("auto", "openvino", "onnxruntime"))
    parser.add_argument("--out", type=Path, help="file of the raw result")
    args = parser.parse_args()
    pages, every = (150, 25) if args.quick else (args.pages, 100)
    report = Report("memory", quick=args.quick, out=args.out)
    report.say(*header("memory", quick=args.quick, packages=("openvino", "onnxruntime", "opencv-python-headless")), "")
    kind = available()[0] if args.engine == "auto" else args.engine
    report.say(f"engine {kind}; resident MB", f"{'pages':>6} {'worker':>7} {'engine child':>13} {'other children':>15}")

    def show(look: Memory) -> None:
        others = sum(look.children) - look.engine
        report.say(f"{look.pages:6d} {look.worker / 1e6:7.0f} {look.engine / 1e6:13.0f} {others / 1e6:15.0f}")

    with tempfile.TemporaryDirectory(prefix="docfleet-memory-") as folder:
        settings = Settings(
            objects={"kind": "folder", "folder": Path(folder) / "objects"},  # type: ignore[arg-type]
            engines={"kind": kind},  # type: ignore[arg-type]
        )
        looks = asyncio.run(read(settings, pages, every=every, lines=args.lines, seen=show))
    sums = [look.worker + look.engine for look in looks if look.pages >= min(100, pages)]
    growth = max(abs(one / sums[0] - 1) for one in sums)
    report.say(
        "",
        f"worker and engine child: at most {max(sums) / 1e6:.0f} MB (target {MOST / 1e6:.0f}); "
        f"from page {min(100, pages)} on within {growth:.1%} (target {SPREAD:.0%})",
    )
    report.write()
    return 0 if max(sums) <= MOST and growth <= SPREAD else 1


if __name__ == "__main__":
    sys.exit(main())
