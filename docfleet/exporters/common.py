"""What several formats need: text that XML may hold, the marker of a list item, whose caption is whose."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from shared.contracts.document import Block, ParsedDocument, Section

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 forbids (section 2.2, production Char)."""
_SAFE = re.compile(r"(?:https?|ftp|mailto|tel):[^\s\x00-\x1f]+\Z", re.I)
_PAGE = re.compile(r"#page=([1-9]\d{0,8})\Z")
_BULLET = re.compile(r"\s*([•‣▪▫■□◆◇●○◦∙·–—*➢➤✓✔►▶-])(?:\s+|(?<=[•‣▪▫■□◆◇●○◦➢➤✓✔►▶]))(?=\S)")
_NUMBER = re.compile(
    r"\s*([(（\[]?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})(?:[)）\]]|[.．、](?=\s|[^\d\s]))|[\u2460-\u2473])\s*(?=\S)"
)


def xml_text(text: str) -> str:
    """Text with every character that XML 1.0 forbids as U+FFFD."""
    return _NO_XML.sub("\ufffd", text)


def xml_bytes(root: ElementTree.Element, doctype: str = "") -> bytes:
    """A document with its declaration, indented, ending with a line break."""
    ElementTree.indent(root)
    body = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{doctype}{body}\n'.encode()


def marked(text: str) -> tuple[str, str, bool]:
    """The marker of a list item, its text, and whether the marker counts: `("2.", "Peel", True)`; no marker: `("", text, False)`."""
    if found := _BULLET.match(text):
        return found[1], text[found.end() :], False
    if found := _NUMBER.match(text):
        return found[1], text[found.end() :], True
    return "", text, False


def address(uri: str) -> str | None:
    """Where a link leads, if it may be followed from a page: web, mail, telephone, or a page of the document (`#page-3`); none for all else."""
    page = _PAGE.match(uri)
    if page:
        return f"#page-{page[1]}"
    return uri.strip() if _SAFE.match(uri.strip()) else None


def attached(document: ParsedDocument) -> dict[str, str]:
    """Id of every block that is the caption or note of another, to that other's id; of two, the first in reading order."""
    known = {block.id for block in document.blocks}
    out: dict[str, str] = {}
    for block in document.blocks:
        for other in (*block.caption_ids, *block.footnote_ids):
            if other in known and other != block.id:
                out.setdefault(other, block.id)
    return out


def section_paths(document: ParsedDocument) -> dict[str, list[Section]]:
    """Section id to the sections from the root to it; those without a title (text before the first heading) are left out of paths."""
    out: dict[str, list[Section]] = {}
    stack: list[tuple[Section, list[Section]]] = [(section, []) for section in document.sections]
    while stack:
        section, above = stack.pop()
        path = [*above, section] if section.title else above
        out[section.id] = path
        stack += [(child, path) for child in section.children]
    return out


def heading_of(document: ParsedDocument, by_id: dict[str, Block]) -> dict[str, str]:
    """Section id to the id of its heading block; sections without one are left out."""
    out: dict[str, str] = {}
    stack = list(document.sections)
    while stack:
        section = stack.pop()
        first = by_id.get(section.block_ids[0]) if section.block_ids else None
        if first is not None and section.title and first.label in ("title", "section_header"):
            out[section.id] = first.id
        stack += section.children
    return out
