"""MinerU's `content_list.json`: a flat list of what can be read, in reading order, as MinerU 2.5 and newer write it.

Boxes are whole numbers 0..1000 of the page's width and height, pages are counted from 0. Running heads, feet, page numbers, side notes and
footnotes are in the list with types of their own; text that cannot be seen and annotations are not.
"""

from __future__ import annotations

from typing import Any

from docfleet.exporters.common import attached
from shared.contracts.document import Block, ParsedDocument
from shared.contracts.tables import html_of

_TYPES = {
    "page_header": "header",
    "page_footer": "footer",
    "page_number": "page_number",
    "footnote": "page_footnote",
    "aside_text": "aside_text",
}
"""Our label to MinerU's type; all others that hold text are `text`."""


def content_list(document: ParsedDocument) -> list[dict[str, Any]]:
    """The entries as plain data."""
    by_id = {block.id: block for block in document.blocks}
    owner = attached(document)
    sizes = {page.page_no: (page.width, page.height) for page in document.pages if page.unit is not None}
    out: list[dict[str, Any]] = []
    for block in sorted(document.blocks, key=lambda block: block.order):
        host = by_id.get(owner.get(block.id, ""))
        if block.content_layer not in ("body", "furniture") or (host is not None and _is_floating(host)):
            continue
        if block.label in ("list_item", "reference") and block.table is None and block.text:
            kind = "ref_text" if block.label == "reference" else "text"
            place = _place(block, sizes)
            last = out[-1] if out else None
            if (
                last is not None
                and last["type"] == "list"
                and (last["sub_type"], last["page_idx"]) == (kind, place["page_idx"])
            ):
                last["list_items"].append(block.text)
                if "bbox" in last and "bbox" in place:
                    last["bbox"] = _around(last["bbox"], place["bbox"])
                continue
            out.append({"type": "list", "sub_type": kind, "list_items": [block.text], **place})
            continue
        content = _content(block, by_id)
        if content is not None:
            out.append({**content, **_place(block, sizes)})
    return out


def _content(block: Block, by_id: dict[str, Block]) -> dict[str, Any] | None:
    captions = [by_id[id_].text for id_ in block.caption_ids if id_ in by_id]
    notes = [by_id[id_].text for id_ in block.footnote_ids if id_ in by_id]
    if block.table is not None:
        body = html_of(sorted(block.table.cells, key=lambda cell: (cell.row, cell.col)))
        return {
            "type": "table",
            "img_path": "",
            "table_caption": captions,
            "table_footnote": notes,
            "table_body": body,
        }
    if block.label in ("picture", "seal"):
        path = block.image_uri or ""
        return {
            "type": "image",
            "img_path": path,
            "image_caption": captions,
            "image_footnote": notes,
            "content": block.text,
        }
    if block.label == "formula" and (block.latex or block.text):
        return {"type": "equation", "text": f"$$\n{block.latex or block.text}\n$$", "text_format": "latex"}
    if block.label == "code":
        return {"type": "code", "sub_type": "code", "code_caption": captions, "code_body": block.text}
    if not block.text:
        return None
    if block.label in ("title", "section_header"):
        level = 1 if block.label == "title" else max(1, block.level or 1)
        return {"type": "text", "text": block.text, "text_level": level}
    return {"type": _TYPES.get(block.label, "text"), "text": block.text}


def _is_floating(block: Block) -> bool:
    """Whether its captions are written with it."""
    return block.table is not None or block.label in ("picture", "seal", "code")


def _place(block: Block, sizes: dict[int, tuple[float, float]]) -> dict[str, Any]:
    """The first place of a block; entries name one page only."""
    if not block.prov:
        return {"page_idx": 0}
    place = block.prov[0]
    if place.bbox is None or place.page_no not in sizes:
        return {"page_idx": place.page_no - 1}
    width, height = sizes[place.page_no]
    x0, y0, x1, y1 = place.bbox
    bbox = [
        min(1000, max(0, int(value * 1000 / side)))
        for value, side in ((x0, width), (y0, height), (x1, width), (y1, height))
    ]
    return {"bbox": bbox, "page_idx": place.page_no - 1}


def _around(one: list[int], other: list[int]) -> list[int]:
    return [
        min(one[0], other[0]),
        min(one[1], other[1]),
        max(one[2], other[2]),
        max(one[3], other[3]),
    ]
