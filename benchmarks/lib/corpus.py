"""A corpus with a manifest (../shared/corpus): its entries, and its files parsed by `docfleet parse`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.lib.machine import ROOT
from shared.contracts.codec import decode
from shared.contracts.document import Block, ParsedDocument

FOLDER = ROOT.parent / "shared" / "corpus"


class Entry(NamedTuple):
    """A file and what is known of it; `truth` as the manifest has it."""

    path: Path
    name: str
    folder: str
    language: str
    truth: dict[str, Any]
    truth_by: str = ""
    """Where the truth is from, in the manifest's words."""

    def read(self, key: str) -> str:
        """The truth file that `truth[key]` names."""
        return (self.path.parents[1] / str(self.truth[key])).read_text(encoding="utf-8")


def entries(corpus: Path, folders: Sequence[str]) -> list[Entry]:
    """The files of these folders, in the manifest's order; none without a manifest."""
    manifest = corpus / "manifest.json"
    if not manifest.exists():
        return []
    listed = json.loads(manifest.read_text(encoding="utf-8"))
    listed = listed["files"] if isinstance(listed, dict) else listed
    found = []
    for one in listed:
        folder, _, file = one["file"].partition("/")
        if folder in folders:
            truth = one.get("truth") or {}
            by = one.get("truth_by") or ""
            found.append(Entry(corpus / one["file"], Path(file).stem, folder, one.get("language") or "", truth, by))
    return found


def parse(files: Sequence[Path], out: Path) -> None:
    """Parse these files, all in one fleet, into `out`; one that fails has no result there."""
    command = [sys.executable, "-m", "docfleet.cli.main", "parse", *map(str, files), "-o", str(out), "--no-overlays"]
    subprocess.run(command, check=False, cwd=ROOT)


def parsed(out: Path, entry: Entry) -> ParsedDocument | None:
    """What was parsed of a file; none where nothing was."""
    file = out / f"{entry.path.stem}.json"
    return decode(file.read_bytes(), ParsedDocument) if file.exists() else None


def pages(document: ParsedDocument, leave_out: Sequence[str] = ("picture",)) -> list[str]:
    """The text of each page as people read it: heads, then the blocks in their order, then feet; tables row by row."""
    found: list[str] = []
    for page in document.pages:
        body = [b for b in _on(document, page.page_no) if b.content_layer == "body" and b.label not in leave_out]
        edge = [b for b in _on(document, page.page_no) if b.content_layer == "furniture" and b.label not in leave_out]
        begin = min((_top(block, page.page_no) for block in body), default=0.0)
        heads = [block for block in edge if _top(block, page.page_no) < begin]
        feet = [block for block in edge if _top(block, page.page_no) >= begin]
        found.append("\n".join(text_of(block, page.page_no) for block in [*heads, *body, *feet]))
    return found


def text_of(block: Block, page_no: int) -> str:
    """What a block says on a page, in all its places there: a paragraph may go on in the next column."""
    if block.table is not None:
        first = block.prov[0].page_no
        return "\n".join(cell.text for cell in block.table.cells if (cell.page_no or first) == page_no)
    places = [place for place in block.prov if place.page_no == page_no]
    if any(place.char_span is None for place in places):
        return block.text
    return "\n".join(block.text[slice(*place.char_span)] for place in places if place.char_span)


def _on(document: ParsedDocument, page_no: int) -> list[Block]:
    blocks = [block for block in document.blocks if any(place.page_no == page_no for place in block.prov)]
    return sorted(blocks, key=lambda block: block.order)


def _top(block: Block, page_no: int) -> float:
    """Upper edge of a block on a page; 0 where the block has no place."""
    return next(place.bbox[1] if place.bbox else 0.0 for place in block.prov if place.page_no == page_no)
