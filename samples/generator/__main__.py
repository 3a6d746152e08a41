"""Writes NAME.pdf and NAME.json for each generated document."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import msgspec

from samples.generator import generate
from samples.generator.templates import TEMPLATES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--pages", type=int, default=40, help="at least so many, without the scanned ones")
    parser.add_argument("--out", type=Path, required=True, help="folder")
    parser.add_argument("--scan", action="store_true", help="also write a scanned twin of each document")
    parser.add_argument("--template", action="append", default=[], choices=[template.name for template in TEMPLATES])
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    started, pages = time.monotonic(), 0
    for made in generate(args.seed, args.pages, scan=args.scan, templates=tuple(args.template)):
        (args.out / f"{made.truth.name}.pdf").write_bytes(made.pdf)
        truth = msgspec.json.format(msgspec.json.encode(made.truth), indent=1)
        (args.out / f"{made.truth.name}.json").write_bytes(truth)
        pages += len(made.truth.pages)
    print(f"{pages} pages of seed {args.seed} in {time.monotonic() - started:.1f} s: {args.out}")


if __name__ == "__main__":
    main()
