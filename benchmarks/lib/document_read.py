"""Documents through layout, reading and assembly: the workers' own code in front, the document library behind.

What the networks found can be kept in a folder, by the bytes of the document: work on the assembly needs them only once.
"""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

from benchmarks.lib.recpath import DocumentRead, RecPath
from services.assembler.document.document import DocumentInput, compose_document
from services.assembler.document.page import PageInput, compose_page
from shared.contracts.codec import decode, encode
from shared.contracts.document import ParsedDocument


async def read(path_of: RecPath, pdf: Path, kept: Path | None) -> DocumentRead:
    """Layouts and readings of a file, from `kept` where it has them."""
    known = await asyncio.to_thread(_known, pdf, kept)
    if known is not None:
        return known
    found = await path_of.document(pdf)
    if kept is not None:
        await asyncio.to_thread(_file(pdf, kept).write_bytes, encode(found))
    return found


def _known(pdf: Path, kept: Path | None) -> DocumentRead | None:
    file = _file(pdf, kept) if kept is not None else None
    return decode(file.read_bytes(), DocumentRead) if file is not None and file.exists() else None


def _file(pdf: Path, kept: Path) -> Path:
    kept.mkdir(parents=True, exist_ok=True)
    return kept / f"{hashlib.blake2b(pdf.read_bytes(), digest_size=12).hexdigest()}.json"


def composed(found: DocumentRead) -> tuple[ParsedDocument, str]:
    """The document and its Markdown."""
    inspection = found.inspection
    pages = [
        compose_page(
            PageInput(
                document_id=inspection.document_id,
                generation=inspection.generation,
                page_no=number,
                width=page.layout.width,
                height=page.layout.height,
                unit=inspection.unit,
                layout=page.layout,
                readings=page.readings,
            )
        )
        for number, page in enumerate(found.pages, 1)
    ]
    given = DocumentInput(inspection=inspection, selected=inspection.selected, now=0.0, pipeline_version="benchmark")
    document, markdown = compose_document(given, pages)
    return document, markdown or ""
