"""Text quality against exact truth: `./dev bench quality [--bench ../shared/bench] [--results OUT] [NAME...]`.

Runs `docfleet parse` on the files of the bench folder that have a truth (`NAME.pdf`, `NAME.json`, and `metrics.py`, which scores)
and prints the character error rates of each: `line` (each true line against its best match on the page), `ordered` (the page
as a whole, in the order of the truth) and `bag` (missing or extra characters). With `--results`, documents parsed before are scored.

The text of a page is that of its blocks in their order; running headers and footers come first, because the truth lists them first;
a table is its cells, row by row. Seals and pictures are left out: the truth's score ignores them. `ordered` is given twice: with the parts of
a foot from left to right, as they are read, and `as listed`, the page's number before what stands left of it, as this truth has it: on
`forms10` that alone is 0.72 %. The target is for the second. Exit code 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from shared.contracts.codec import decode
from shared.contracts.document import ParsedDocument

ROOT = Path(__file__).parents[1]
TARGETS = {"small3": (0.4, 0.6), "forms10": (0.4, 0.6), "small3_scan": (0.6, 1.5), "forms10_scan": (0.6, 1.5)}
"""Largest `line` and `ordered as listed` error rate in per cent."""


def page_texts(document: ParsedDocument, *, numbers_first: bool = False) -> list[str]:
    """One text per page, pages without any included; `numbers_first` lists the page's number before the rest of its foot."""
    furniture: dict[int, list[str]] = {page.page_no: [] for page in document.pages}
    body: dict[int, list[str]] = {page.page_no: [] for page in document.pages}
    blocks = document.blocks
    if numbers_first:
        blocks = sorted(blocks, key=lambda block: {"page_header": 0, "page_number": 1}.get(block.label, 2))
    for block in blocks:
        if block.label in ("seal", "picture") or block.content_layer not in ("body", "furniture"):
            continue
        part = furniture if block.content_layer == "furniture" else body
        for place in block.prov:
            if block.table is not None:
                cells = [c for c in block.table.cells if (c.page_no or block.prov[0].page_no) == place.page_no]
                text = "\n".join(cell.text for cell in cells)
            else:
                text = block.text[slice(*place.char_span)] if place.char_span else block.text
            part[place.page_no].append(text)
    return ["\n".join([*furniture[page.page_no], *body[page.page_no]]) for page in document.pages]


def scores(bench: Path) -> Any:
    """The bench folder's own `metrics` module."""
    spec = importlib.util.spec_from_file_location("bench_metrics", bench / "metrics.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(TARGETS), metavar="NAME", help="files without their suffix")
    parser.add_argument("--bench", type=Path, default=ROOT.parent / "shared" / "bench")
    parser.add_argument("--results", type=Path, help="folder of documents already parsed")
    parser.add_argument(
        "--per-kind", action="store_true", help="also print the line error rate of each kind of element"
    )
    args = parser.parse_args()
    if not (args.bench / "metrics.py").exists():
        print(f"skipped: there is no bench folder at {args.bench} (--bench names another)")
        return 0
    metrics = scores(args.bench)
    missed = 0
    with tempfile.TemporaryDirectory() as scratch:
        out = args.results or Path(scratch)
        if args.results is None:
            started = time.monotonic()
            files = [str(args.bench / f"{name}.pdf") for name in args.names]
            subprocess.run([sys.executable, "-m", "docfleet.cli.main", "parse", *files, "-o", str(out)], check=False)
            print(f"parsed in {time.monotonic() - started:.1f} s")
        for name in args.names:
            document = decode((out / f"{name}.json").read_bytes(), ParsedDocument)
            truth = str(args.bench / f"{name}.json")
            found = metrics.score(truth, page_texts(document))
            listed = metrics.score(truth, page_texts(document, numbers_first=True))["cer_ordered"]
            line, ordered = TARGETS.get(name, (100.0, 100.0))
            good = found["cer_line"] <= line and listed <= ordered
            missed += not good
            print(
                f"{name:14} line {found['cer_line']:5.2f} % (<= {line}), ordered {found['cer_ordered']:5.2f} %, "
                f"as listed {listed:5.2f} % (<= {ordered}), "
                f"bag {found['cer_bag']:5.2f} %, {found['chars']} characters, {document.status}: {'ok' if good else 'MISSED'}"
            )
            if args.per_kind:
                print(f"{'':14} {found['per_cat']}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
