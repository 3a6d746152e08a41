"""What runs in the child processes: bytes in, bytes out. The page child and the document child are two of these."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from services.assembler.compose.calls import DocumentReply, DocumentRequest, PageReply, PageRequest, StoredDocument
from services.assembler.compose.parts import encoded
from services.assembler.document.document import compose_document
from services.assembler.document.page import PageInput, compose_page
from shared.children.block import Block
from shared.contracts.codec import decode, encode, sha256
from shared.contracts.document import ParsedDocument
from shared.contracts.errors import DocfleetError, ErrorCode, Phase
from shared.contracts.layout import ComposedPage, PageLayout, Reading
from shared.contracts.records import MAX_PARSED_ERRORS

FALLBACKS = frozenset({"vl_fallback", "vl_truncated"})
"""Warnings after which the same fleet might read the same content better another time. A fleet without a VL model
(`vl_unavailable`) would not: that there is none is part of its fingerprint."""


class Program:
    """Composes pages and documents."""

    def page(self, argument: PageRequest, blocks: list[Block]) -> tuple[PageReply, list[Block]]:
        """`page.json` of a page. A reading that belongs to another layout is left out and listed as an error."""
        started = time.perf_counter()
        lines = _lines(blocks)
        layout_bytes = next(lines) if argument.laid_out else b""
        layout = decode(layout_bytes, PageLayout) if argument.laid_out else None
        layout_sha256 = sha256(layout_bytes)
        readings, errors = [], list(argument.errors)
        for line in lines:
            reading = decode(line, Reading)
            if reading.layout_sha256 in (None, layout_sha256):
                readings.append(reading)
                continue
            foreign = DocfleetError(ErrorCode.internal, f"the reading {reading.task_id} belongs to another layout")
            errors.append(foreign.info(Phase.assemble, argument.page_no))
        page = compose_page(
            PageInput(
                document_id=argument.document_id,
                generation=argument.generation,
                page_no=argument.page_no,
                width=argument.width,
                height=argument.height,
                unit=argument.unit,
                rotation=argument.rotation,
                layout=layout,
                readings=readings,
                errors=errors,
                image_uri=argument.image_uri,
            )
        )
        page = replace(page, assemble_s=round(time.perf_counter() - started, 4))
        return PageReply(page_no=argument.page_no), [Block.of(encode(page))]

    def document(self, argument: DocumentRequest, blocks: list[Block]) -> tuple[DocumentReply, list[Block]]:
        """`document.json` and the Markdown of a document."""
        started = time.perf_counter()
        document, markdown = compose_document(argument.given, (decode(line, ComposedPage) for line in _lines(blocks)))
        spent = document.timings.assemble_s + time.perf_counter() - started
        document = replace(document, timings=replace(document.timings, assemble_s=round(spent, 3)))
        out = [Block.of_parts(encoded(document))]
        if markdown is not None:
            out.append(Block.of(markdown.encode()))
        return _described(document), out

    def describe(self, argument: StoredDocument, blocks: list[Block]) -> tuple[DocumentReply, list[Block]]:
        """What records say of a stored document."""
        return _described(decode(blocks[0].tobytes(), ParsedDocument)), []


def create(settings: object) -> Program:
    """The factory that `shared.children` calls; composing has no settings."""
    return Program()


def _lines(blocks: Sequence[Block]) -> Iterator[bytes]:
    for block in blocks:
        yield from block.tobytes().splitlines() if block.nbytes else []


def _described(document: ParsedDocument) -> DocumentReply:
    return DocumentReply(
        status=document.status,
        source=document.source,
        markdown=document.markdown.uri is not None,
        totals=document.totals,
        timings=document.timings,
        errors=document.errors[:MAX_PARSED_ERRORS],
        errors_total=len(document.errors),
        warnings_total=len(document.warnings),
        models=document.lineage.models,
        fallbacks=sum(block.fallback_from is not None for block in document.blocks)
        + sum(warning.code in FALLBACKS for warning in document.warnings),
    )
