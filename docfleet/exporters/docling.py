"""DoclingDocument JSON (docling-core, `docling_core.types.doc.DoclingDocument`).

Our labels and layers are docling's own words already; what differs is that docling keeps items in lists by kind, with pointers
(`#/texts/3`) between them. Items of a list are in a group; captions, notes and the words inside a picture are children of what they belong to.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from docfleet.exporters.common import address, attached, marked
from shared.contracts.document import Block, Cell, ParsedDocument, Provenance

VERSION = "1.7.0"
"""Schema version that is claimed: a reader refuses a minor version above its own, and nothing newer than this one is used."""
_TEXTS = {
    "title": "title",
    "section_header": "section_header",
    "list_item": "list_item",
    "caption": "caption",
    "formula": "formula",
    "code": "code",
    "footnote": "footnote",
    "page_header": "page_header",
    "page_footer": "page_footer",
    "reference": "reference",
}
"""Our label to docling's; all others are `text`."""
_SELECTED, _UNSELECTED = "☑☒✓✔", "☐□"
"""Signs of a check box at the beginning of its text."""
_MAX_LEVEL = 100
"""Of a section header, as docling has it."""
_UNKNOWN = frozenset({"image/webp", "image/jp2"})
"""Types that docling-core may refuse: it asks the `mimetypes` of Python, which before 3.13 knows these only where a system file lists them."""


def docling(document: ParsedDocument) -> dict[str, Any]:
    """The document as plain data of a DoclingDocument. Pages without geometry are left out, and so are places on them."""
    return _Writer(document).written()


class _Writer:
    """Items by kind while they are being numbered. Invariant: every item is a child of exactly one other."""

    def __init__(self, document: ParsedDocument) -> None:
        self._document = document
        self._owner = attached(document)
        self._sizes = {page.page_no: (page.width, page.height) for page in document.pages if page.unit is not None}
        self._by_kind: dict[str, list[dict[str, Any]]] = {"texts": [], "pictures": [], "tables": [], "groups": []}
        self._body = _root("body")

    def written(self) -> dict[str, Any]:
        document = self._document
        items: dict[str, dict[str, Any]] = {}
        blocks = sorted(document.blocks, key=lambda block: block.order)
        owned = {id_ for id_ in self._owner if self._root_of(id_) is not None}
        list_group: dict[str, Any] | None = None
        for block in blocks:
            if block.id in owned:
                continue
            if block.label != "list_item" or block.table is not None:
                list_group = None
                items[block.id] = self._item(block, self._body)
                continue
            if list_group is None or list_group["content_layer"] != block.content_layer:
                layer = block.content_layer
                list_group = self._add("groups", self._body, content_layer=layer, name="list", label="list")
            items[block.id] = self._item(block, list_group)
        for block in blocks:
            if block.id in owned:
                items[block.id] = self._item(block, items[self._root_of(block.id) or ""])
        self._link(blocks, items)
        return {
            "schema_name": "DoclingDocument",
            "version": VERSION,
            "name": (document.source.filename or document.document_id).rsplit(".", 1)[0] or document.document_id,
            "origin": self._origin(),
            "furniture": _root("furniture"),
            "body": self._body,
            **self._by_kind,
            "key_value_items": [],
            "form_items": [],
            "pages": {
                str(number): {"size": {"width": width, "height": height}, "page_no": number}
                for number, (width, height) in self._sizes.items()
            },
        }

    def _root_of(self, id_: str) -> str | None:
        """What a caption or note stands with, up to something that stands for itself; none where they form a ring."""
        seen = {id_}
        while (owner := self._owner.get(id_)) is not None:
            if owner in seen:
                return None
            seen.add(owner)
            id_ = owner
        return id_

    def _link(self, blocks: Iterable[Block], items: dict[str, dict[str, Any]]) -> None:
        for block in blocks:
            item = items[block.id]
            if "captions" in item:
                item["captions"] = [_ref(items[id_]) for id_ in block.caption_ids if self._root_of(id_) == block.id]
                item["footnotes"] = [_ref(items[id_]) for id_ in block.footnote_ids if self._root_of(id_) == block.id]

    def _origin(self) -> dict[str, Any] | None:
        source = self._document.source
        if source.mime_type is None or source.sha256 is None:
            return None
        return {
            "mimetype": source.mime_type if source.mime_type not in _UNKNOWN else "application/octet-stream",
            "binary_hash": int(source.sha256[:16], 16),
            "filename": source.filename or source.key,
        }

    def _add(self, kind: str, parent: dict[str, Any], **fields: Any) -> dict[str, Any]:
        item = {**fields, "self_ref": f"#/{kind}/{len(self._by_kind[kind])}", "parent": _ref(parent), "children": []}
        self._by_kind[kind].append(item)
        parent["children"].append(_ref(item))
        return item

    def _item(self, block: Block, parent: dict[str, Any]) -> dict[str, Any]:
        common: dict[str, Any] = {"content_layer": block.content_layer, "prov": self._prov(block)}
        if block.table is not None:
            return self._add("tables", parent, label="table", **common, **_floating(), data=_data(block))
        if block.label == "picture" or (block.label == "seal" and not block.text.strip()):
            picture = self._add("pictures", parent, label="picture", **common, **_floating(), annotations=[])
            if block.text.strip():
                self._add("texts", picture, label="text", **common, orig=block.text, text=block.text)
            return picture
        common.update(_hyperlink(block))
        text = {"orig": block.text, "text": block.text}
        if block.label == "list_item":
            marker, rest, counted = marked(block.text)
            own = {"marker": marker or "-", "enumerated": counted, "orig": block.text, "text": rest}
            return self._add("texts", parent, label="list_item", **common, **own)
        if block.label == "section_header":
            level = min(_MAX_LEVEL, max(1, block.level or 1))
            return self._add("texts", parent, label="section_header", **common, **text, level=level)
        if block.label == "formula":
            return self._add(
                "texts", parent, label="formula", **common, orig=block.text, text=block.latex or block.text
            )
        if block.label == "code":
            return self._add("texts", parent, label="code", **common, **text, **_floating(), code_language="unknown")
        if block.label == "checkbox":
            label, words = _checkbox(block.text)
            return self._add("texts", parent, label=label, **common, orig=block.text, text=words)
        if block.label == "page_number":
            return self._add("texts", parent, label=self._furniture(block), **common, **text)
        return self._add("texts", parent, label=_TEXTS.get(block.label, "text"), **common, **text)

    def _furniture(self, block: Block) -> str:
        """docling has no page numbers: they are header or footer by where they stand."""
        for place in block.prov:
            if place.bbox is not None and place.page_no in self._sizes:
                upper = (place.bbox[1] + place.bbox[3]) / 2 < self._sizes[place.page_no][1] / 2
                return "page_header" if upper else "page_footer"
        return "page_footer"

    def _prov(self, block: Block) -> list[dict[str, Any]]:
        return [
            {"page_no": place.page_no, "bbox": _box(place.bbox), "charspan": _span(place, block)}
            for place in block.prov
            if place.bbox is not None and place.page_no in self._sizes
        ]


def _floating() -> dict[str, list[Any]]:
    return {"captions": [], "references": [], "footnotes": []}


def _root(layer: str) -> dict[str, Any]:
    return {
        "self_ref": f"#/{layer}",
        "parent": None,
        "children": [],
        "content_layer": layer,
        "name": "_root_",
        "label": "unspecified",
    }


def _ref(item: dict[str, Any]) -> dict[str, str]:
    return {"$ref": item["self_ref"]}


def _box(box: Iterable[float]) -> dict[str, Any]:
    left, top, right, bottom = box
    return {"l": left, "t": top, "r": right, "b": bottom, "coord_origin": "TOPLEFT"}


def _span(place: Provenance, block: Block) -> list[int]:
    return list(place.char_span) if place.char_span is not None else [0, len(block.text)]


def _hyperlink(block: Block) -> dict[str, str]:
    """docling has one link an item: that of a text which is a link as a whole."""
    if len(block.links) != 1:
        return {}
    (link,) = block.links
    whole = block.text[link.start : link.end].strip() == block.text.strip() != ""
    return {"hyperlink": link.uri} if whole and (address(link.uri) or "#").startswith(("http", "mailto:")) else {}


def _checkbox(text: str) -> tuple[str, str]:
    """The label says the state, so its sign is no part of the text."""
    sign, words = text.lstrip()[:1], text.lstrip()[1:].lstrip()
    if sign and sign in _SELECTED:
        return "checkbox_selected", words
    return "checkbox_unselected", words if sign and sign in _UNSELECTED else text


def _data(block: Block) -> dict[str, Any]:
    table = block.table
    assert table is not None  # asked for by the caller
    return {
        "table_cells": [_cell(cell) for cell in table.cells],
        "num_rows": table.num_rows,
        "num_cols": table.num_cols,
    }


def _cell(cell: Cell) -> dict[str, Any]:
    return {
        "bbox": _box(cell.bbox) if cell.bbox is not None else None,
        "row_span": cell.row_span,
        "col_span": cell.col_span,
        "start_row_offset_idx": cell.row,
        "end_row_offset_idx": cell.row + cell.row_span,
        "start_col_offset_idx": cell.col,
        "end_col_offset_idx": cell.col + cell.col_span,
        "text": cell.text,
        "column_header": cell.column_header,
        "row_header": cell.row_header,
        "row_section": False,
    }
