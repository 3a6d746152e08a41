"""Links of a PDF page: where they are, where they lead, and which characters lie under them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pymupdf
from pymupdf import mupdf

from shared.contracts.layout import LinkArea
from shared.documents.annotations import storable
from shared.documents.frame import Frame

MOST = 2_000
"""Links of a page that are looked at; a page of a long register has some 300."""
_MAX_URI = 8_192
"""Characters of an address; longer ones are data, not places."""


def links_of(page: Any, frame: Frame, loaded: int, lines: Iterable[dict[str, Any]]) -> list[LinkArea]:
    """Links of a `pymupdf.Page` (rotation 0) to addresses and to pages of the document, in their order; what starts programs or opens files is none.

    `loaded` is the rotation that the page had when it was loaded: MuPDF keeps the boxes of links as they were then. `lines` are those of
    the page's own text, as PyMuPDF's rawdict has them. Raises what MuPDF raises.
    """
    then = Frame(*frame.unrotated, loaded)
    back = Frame(then.width, then.height, -loaded)
    found = [(back.box(rect), uri) for rect, uri in _leading(page)]
    if not found:
        return []
    characters, centres = _characters(lines)
    return [
        LinkArea(bbox=frame.clipped(frame.box(rect)), uri=uri, text=_under(rect, characters, centres))
        for rect, uri in found
    ]


def _leading(page: Any) -> Iterator[tuple[Sequence[float], str]]:
    # PyMuPDF's own list of links takes twenty times as long: it looks for the object of each.
    link = mupdf.fz_load_links(pymupdf._as_fz_page(page))
    for _ in range(MOST):
        if not link.m_internal:
            return
        rect, uri = link.rect(), _address(page.parent, link.uri() or "")
        box = rect.x0, rect.y0, rect.x1, rect.y1
        if uri and len(uri) <= _MAX_URI and all(map(math.isfinite, box)):
            yield box, storable(uri)
        link = link.next()


def _address(document: Any, uri: str) -> str | None:
    """Where a link leads; none for files, programs, and places that are not there."""
    if not uri.startswith("#"):
        return None if uri.startswith("file:") else uri
    page = document.resolve_link(uri)[0]
    return f"#page={page + 1}" if 0 <= page < document.page_count else None  # as RFC 8118 writes a page of a PDF


def _characters(lines: Iterable[dict[str, Any]]) -> tuple[list[str], np.ndarray]:
    """The page's characters in the order of the file with a blank after each line, and their centres, float64 [n, 2]; blanks added have none."""
    characters: list[str] = []
    centres: list[tuple[float, float]] = []
    for line in lines:
        for span in line["spans"]:
            for char in span["chars"]:
                x0, y0, x1, y1 = char["bbox"]
                characters.append(char["c"])
                centres.append(((x0 + x1) / 2, (y0 + y1) / 2))
        characters.append(" ")
        centres.append((math.nan, math.nan))
    return characters, np.array(centres, dtype=np.float64).reshape(-1, 2)


def _under(rect: Sequence[float], characters: Sequence[str], centres: np.ndarray) -> str:
    x0, y0, x1, y1 = rect
    inside = (centres[:, 0] >= x0) & (centres[:, 0] <= x1) & (centres[:, 1] >= y0) & (centres[:, 1] <= y1)
    places: list[int] = np.flatnonzero(inside).tolist()
    text = "".join(
        characters[place] if index == 0 or place == places[index - 1] + 1 else " " + characters[place]
        for index, place in enumerate(places)
    )
    return storable(" ".join(text.split()))
