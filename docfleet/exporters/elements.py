"""Elements as Unstructured's partitioners give them: a list of typed elements with metadata.

Coordinates are the four corners from the top left against the clock, in the units of the page (`PixelSpace` is Unstructured's name for a
frame with its origin at the top left, whatever the unit). Headings are `Title` with `category_depth`, and the elements they own name
them in `parent_id`.
"""

from __future__ import annotations

import hashlib
from typing import Any

from docfleet.exporters.common import address, heading_of
from shared.contracts.document import Block, ParsedDocument
from shared.contracts.tables import html_of

_TYPES = {
    "title": "Title",
    "section_header": "Title",
    "text": "NarrativeText",
    "list_item": "ListItem",
    "picture": "Image",
    "seal": "Image",
    "caption": "FigureCaption",
    "formula": "Formula",
    "code": "CodeSnippet",
    "footnote": "Footer",
    "page_header": "Header",
    "page_footer": "Footer",
    "page_number": "PageNumber",
    "reference": "NarrativeText",
}
"""Our label to Unstructured's type; all others are `UncategorizedText`."""


def elements(document: ParsedDocument) -> list[dict[str, Any]]:
    """The elements of the layers body and furniture as plain data, in reading order."""
    by_id = {block.id: block for block in document.blocks}
    heads = heading_of(document, by_id)
    sizes = {page.page_no: (page.width, page.height) for page in document.pages if page.unit is not None}
    languages = {page.page_no: page.languages for page in document.pages}
    above = _parents(document, heads)
    out = []
    for block in sorted(document.blocks, key=lambda block: block.order):
        if block.content_layer not in ("body", "furniture"):
            continue
        parent = block.parent_id if block.parent_id in by_id else above.get(block.id)
        metadata = {
            "filename": document.source.filename,
            "filetype": document.source.mime_type,
            "parent_id": _id(document, parent) if parent else None,
            **_place(block, sizes),
        }
        metadata["languages"] = languages.get(metadata.get("page_number", 0)) or None
        kind = _TYPES.get(block.label, "UncategorizedText")
        if block.table is not None:
            kind = "Table"
            metadata["text_as_html"] = html_of(sorted(block.table.cells, key=lambda cell: (cell.row, cell.col)))
        if kind == "Title":
            metadata["category_depth"] = 0 if block.label == "title" else max(1, block.level or 1)
        if kind == "Image":
            metadata["image_path"] = block.image_uri
        links = [link for link in block.links if address(link.uri) is not None]
        if links:
            metadata["link_urls"] = [link.uri for link in links]
            metadata["link_texts"] = [block.text[link.start : link.end] for link in links]
        element: dict[str, Any] = {
            "type": kind,
            "element_id": _id(document, block.id),
            "text": (block.latex or block.text) if kind == "Formula" else block.text,
            "metadata": {key: value for key, value in metadata.items() if value is not None},
        }
        out.append(element)
    return out


def _id(document: ParsedDocument, block_id: str) -> str:
    """32 hex digits as Unstructured has them; from what names the block, so that the same document gives the same ids."""
    return hashlib.sha256(f"{document.document_id}\n{document.generation}\n{block_id}".encode()).hexdigest()[:32]


def _parents(document: ParsedDocument, heads: dict[str, str]) -> dict[str, str]:
    """Block id to the id of the heading that owns it; a heading is owned by the one above it."""
    out: dict[str, str] = {}
    stack: list[tuple[Any, str | None]] = [(section, None) for section in document.sections]
    while stack:
        section, outer = stack.pop()
        head = heads.get(section.id, outer)
        for block_id in section.block_ids:
            parent = outer if block_id == head else head
            if parent is not None:
                out[block_id] = parent
        stack += [(child, head) for child in section.children]
    return out


def _place(block: Block, sizes: dict[int, tuple[float, float]]) -> dict[str, Any]:
    if not block.prov:
        return {}
    place = block.prov[0]
    if place.bbox is None or place.page_no not in sizes:
        return {"page_number": place.page_no}
    x0, y0, x1, y1 = place.bbox
    width, height = sizes[place.page_no]
    coordinates = {
        "points": [[x0, y0], [x0, y1], [x1, y1], [x1, y0]],
        "system": "PixelSpace",
        "layout_width": width,
        "layout_height": height,
    }
    return {"page_number": place.page_no, "coordinates": coordinates}
