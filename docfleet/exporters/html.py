"""One self-contained page for people: the pages as pictures beside what was read in them, lit up both ways under the pointer.

Nothing is loaded from anywhere: pictures are in the page as `data:` addresses, and a content security policy lets only the one style sheet and the
one script run whose digests it names. All text is escaped; of the document's own markup nothing is passed on (tables are written from cells).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources

from docfleet.exporters.common import address, marked
from shared.contracts.document import Block, Page, ParsedDocument
from shared.contracts.tables import html_of

_LAYERS = {
    "furniture": "running heads and feet",
    "notes": "notes",
    "invisible": "not visible on the page",
    "background": "off the page",
}
"""Layers beside the body, and what they are called in front of people."""


def html(document: ParsedDocument, pictures: Mapping[int, bytes]) -> bytes:
    """The page, UTF-8. `pictures`: page number to a JPEG of the whole page as displayed; a page without one is drawn as an empty sheet."""
    style, script = (
        resources.files("docfleet.exporters").joinpath(name).read_text() for name in ("view.css", "view.js")
    )
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    title = escape(_plain(document.source.filename or document.document_id))
    by_page: dict[int, list[Block]] = {}
    boxed: dict[int, list[Block]] = {}
    for block in sorted(document.blocks, key=lambda block: block.order):
        by_page.setdefault(block.prov[0].page_no if block.prov else 1, []).append(block)
        for page_no in sorted({place.page_no for place in block.prov}):
            boxed.setdefault(page_no, []).append(block)
    out = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title>",
        f"<style>{style}</style></head><body>",
        f"<header><h1>{title}</h1><p>{escape(_summary(document))}</p>{_contents(document)}</header><main>",
    ]
    for page in document.pages:
        if page.status != "skipped" or page.page_no in by_page:
            out += _page(page, boxed.get(page.page_no, []), by_page.get(page.page_no, []), pictures.get(page.page_no))
    out.append(f"</main><script>{script}</script></body></html>\n")
    return "\n".join(out).encode("utf-8", "replace")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _plain(text: str) -> str:
    """Without characters that HTML does not have: controls other than line breaks and tabs."""
    return "".join(c if c in "\n\t" or not (ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0) else "\ufffd" for c in text)


def _text(text: str) -> str:
    return escape(_plain(text), quote=True)


def _summary(document: ParsedDocument) -> str:
    totals = document.totals
    parts = [
        document.status.replace("_", " "),
        f"{totals.pages_ok} of {_counted(totals.pages, 'page')}",
        _counted(totals.blocks, "block"),
        _counted(totals.tables, "table"),
        _counted(totals.chars, "character"),
        *([_counted(len(document.errors), "error")] if document.errors else []),
    ]
    return " · ".join(parts)


def _counted(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


def _contents(document: ParsedDocument) -> str:
    """The headings as links; none where there are no sections."""
    lines: list[str] = []
    stack = [(section, 0) for section in reversed(document.sections)]
    while stack:
        section, depth = stack.pop()
        if section.title and section.block_ids:
            target = _text(section.block_ids[0])
            lines.append(f'<li class="d{min(depth, 5)}"><a href="#{target}">{_text(section.title)}</a></li>')
        stack += [(child, depth + 1) for child in reversed(section.children)]
    return f"<details><summary>Contents</summary><ul>{''.join(lines)}</ul></details>" if lines else ""


def _page(page: Page, blocks: Sequence[Block], own: Sequence[Block], picture: bytes | None) -> list[str]:
    number = page.page_no
    facts = [f"page {number}", page.kind, *([page.status] if page.status != "ok" else [])]
    if page.confidence.grade is not None:
        facts.append(page.confidence.grade)
    out = [f'<section class="page" id="page-{number}"><h2>{_text(" · ".join(facts))}</h2><div class="sides">']
    if page.unit is not None and page.width > 0 and page.height > 0:
        out.append(_sheet(page, blocks, picture))
    out.append('<div class="words">')
    out += _body([block for block in own if block.content_layer == "body"])
    for layer, name in _LAYERS.items():
        inside = [block for block in own if block.content_layer == layer]
        if inside:
            out.append(f'<details class="layer"><summary>{name} ({len(inside)})</summary>')
            out += [_block(block) for block in inside]
            out.append("</details>")
    out.append("</div></div></section>")
    return out


def _sheet(page: Page, blocks: Sequence[Block], picture: bytes | None) -> str:
    """The picture under the boxes, as SVG in units of the page."""
    size = f'width="{page.width:g}" height="{page.height:g}"'
    parts = [
        f'<svg class="sheet" viewBox="0 0 {page.width:g} {page.height:g}" role="img" aria-label="page {page.page_no}">',
        f'<rect class="paper" {size}/>',
    ]
    if picture is not None:
        data = base64.b64encode(picture).decode()
        parts.append(f'<image {size} preserveAspectRatio="none" href="data:image/jpeg;base64,{data}"/>')
    for block in sorted(blocks, key=_area, reverse=True):  # small ones on top, or they could not be pointed at
        for place in block.prov:
            if place.page_no != page.page_no or place.bbox is None:
                continue
            x0, y0, x1, y1 = place.bbox
            parts.append(
                f'<rect class="box in-{block.content_layer} is-{block.label}" data-block="{_text(block.id)}" x="{x0:g}" y="{y0:g}" '
                f'width="{max(0.0, x1 - x0):g}" height="{max(0.0, y1 - y0):g}"><title>{_text(_told(block))}</title></rect>'
            )
    parts.append("</svg>")
    return "".join(parts)


def _area(block: Block) -> tuple[float, int]:
    boxes = [place.bbox for place in block.prov if place.bbox is not None]
    return max(((b[2] - b[0]) * (b[3] - b[1]) for b in boxes), default=0.0), block.order


def _told(block: Block) -> str:
    """What is known of a block, in a line."""
    parts = [block.label.replace("_", " "), block.method.replace("_", " ")]
    if block.confidence is not None:
        parts.append(f"{block.confidence:.0%} sure")
    if block.reason:
        parts.append(block.reason)
    return " · ".join(parts)


def _body(blocks: Sequence[Block]) -> list[str]:
    out: list[str] = []
    in_list = False
    for block in blocks:
        item = block.label == "list_item" and block.table is None
        if item != in_list:
            out.append("<ul>" if item else "</ul>")
            in_list = item
        out.append(_block(block))
    return [*out, "</ul>"] if in_list else out


def _block(block: Block) -> str:
    depth = f" l{min(5, block.level)}" if block.label == "list_item" and block.level else ""
    common = f'id="{_text(block.id)}" class="block is-{block.label}{depth}" data-block="{_text(block.id)}" tabindex="0" title="{_text(_told(block))}"'
    if block.table is not None:
        cells = sorted(block.table.cells, key=lambda cell: (cell.row, cell.col))
        return f"<div {common}>{_plain(html_of(cells))}</div>"
    if block.label in ("title", "section_header"):
        level = min(6, max(1, (block.level or 0) + 2))
        return f"<h{level} {common}>{_linked(block)}</h{level}>"
    if block.label == "list_item" and block.content_layer == "body":
        marker, rest, counted = marked(block.text)
        words = _linked(block, len(block.text) - len(rest))
        shown = f'<span class="marker">{_text(marker)}</span> {words}' if counted else words
        return f"<li {common}>{'' if counted else '• '}{shown}</li>"
    if block.label == "code":
        return f"<pre {common}>{_text(block.text)}</pre>"
    if block.latex:
        return f"<p {common}><code>{_text(block.latex)}</code></p>"
    if block.label in ("picture", "seal"):
        return f"<p {common}>[{block.label}]{' ' if block.text else ''}{_lines(block.text)}</p>"
    return f"<p {common}>{_linked(block)}</p>"


def _linked(block: Block, start: int = 0) -> str:
    """The text from `start` on, its links as links where they lead to somewhere that is safe to follow by hand."""
    out, at = [], start
    for link in sorted(block.links, key=lambda one: one.start):
        target = address(link.uri)
        if target is None or link.start < at or not link.start < link.end <= len(block.text):
            continue
        out.append(_lines(block.text[at : link.start]))
        away = "" if target.startswith("#") else ' target="_blank" rel="noopener noreferrer"'
        out.append(f'<a href="{_text(target)}"{away}>{_lines(block.text[link.start : link.end])}</a>')
        at = link.end
    return "".join(out) + _lines(block.text[at:])


def _lines(text: str) -> str:
    return "<br>".join(_text(line) for line in text.split("\n"))
