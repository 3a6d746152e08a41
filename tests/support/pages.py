"""Layouts made of a few words, for tests of what is composed from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from services.assembler.document.document import DocumentInput, compose_document
from services.assembler.document.page import PageInput, compose_page
from shared.contracts.codec import encode
from shared.contracts.document import Label, OutlineEntry, ParsedDocument
from shared.contracts.layout import (
    ComposedPage,
    Inspection,
    PageGeometry,
    PageLayout,
    Reading,
    ReadLine,
    Region,
    RegionReading,
    TextLine,
)
from shared.contracts.options import Options
from shared.contracts.records import SourceInfo
from tests.support.schema import assert_valid_document

WIDTH, HEIGHT = 600.0, 800.0


def lines(
    x: float,
    y: float,
    texts: Sequence[str],
    *,
    size: float = 10,
    pitch: float = 14,
    width: float | None = None,
    bold: bool = False,
) -> list[TextLine]:
    """Native lines one below the other; each is as wide as its text, or `width`."""
    out = []
    for index, text in enumerate(texts):
        wide = width if width is not None else sum(size if ord(c) > 0x2E80 else size / 2 for c in text)
        top = y + index * pitch
        out.append(TextLine(bbox=[x, top, x + wide, top + size * 1.2], text=text, font_size=size, bold=bold))
    return out


def region(index: int, label: Label, content: Sequence[TextLine], *, page_no: int = 1, **more: Any) -> Region:
    """A region around its lines (or with the box `bbox` where it has none), read natively unless said otherwise."""
    own = more.pop("bbox", [0.0, 0.0, 1.0, 1.0])
    boxes = [line.bbox for line in content] or [own]
    box = [min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes)]
    fields = {"raw_label": label, "confidence": 0.9, "found_by": "model", "read_by": "native", **more}
    return Region(region_id=f"p{page_no:05d}-r{index:03d}", label=label, bbox=box, lines=list(content), **fields)


def layout(regions: Sequence[Region], page_no: int = 1, **more: Any) -> PageLayout:
    """A layout of a page of `WIDTH` x `HEIGHT` points."""
    fields = {"width": WIDTH, "height": HEIGHT, "unit": "pt", "kind": "native", **more}
    return PageLayout(document_id="d", generation=0, page_no=page_no, regions=list(regions), **fields)


def reading(task_id: str, regions: Sequence[RegionReading], page_no: int = 1, **more: Any) -> Reading:
    """A reading of some regions."""
    fields = {"layout_sha256": None, **more}
    return Reading(document_id="d", generation=0, page_no=page_no, task_id=task_id, regions=list(regions), **fields)


def read_region(of: Region, texts: Sequence[str], confidence: float = 0.98) -> RegionReading:
    """The reading of a region whose lines have boxes: these texts in these boxes."""
    read = [
        ReadLine(bbox=line.bbox, text=text, confidence=confidence) for line, text in zip(of.lines, texts, strict=True)
    ]
    return RegionReading(region_id=of.region_id, method="det_rec", model="reader@1", confidence=confidence, lines=read)


def page(content: PageLayout | None, page_no: int = 1, **more: Any) -> ComposedPage:
    """A composed page."""
    given = PageInput(
        document_id="d", generation=0, page_no=page_no, width=WIDTH, height=HEIGHT, unit="pt", layout=content, **more
    )
    return compose_page(given)


def inspection(pages: int, *, outline: Sequence[OutlineEntry] = (), **options: Any) -> Inspection:
    """An inspection of a PDF with that many pages, all alike."""
    return Inspection(
        document_id="d",
        generation=0,
        source=SourceInfo(bucket="b", key="k.pdf", sha256="0" * 64),
        options=Options(**options),
        options_hash="o",
        pipeline_fingerprint="f",
        unit="pt",
        pages=[PageGeometry(width=WIDTH, height=HEIGHT)] * pages,
        selected=f"1-{pages}",
        outline=list(outline),
        opened_at=100.0,
        ingest_s=1.0,
        submitted_at=98.0,
    )


def document(
    pages: Sequence[ComposedPage], total: int | None = None, *, outline: Sequence[OutlineEntry] = (), **more: Any
) -> tuple[ParsedDocument, str]:
    """A valid document and its Markdown."""
    total = len(pages) if total is None else total
    fields = {"selected": f"1-{total}" if total else "", "now": 200.0, "pipeline_version": "0", **more}
    given = DocumentInput(inspection=inspection(total, outline=outline), **fields)
    composed, markdown = compose_document(given, pages)
    assert markdown is not None
    return assert_valid_document(encode(composed)), markdown
