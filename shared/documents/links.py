"""Links of a PDF page: where they are, where they lead, and which characters lie under them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pymupdf

from shared.contracts.layout import LinkArea
from shared.documents.annotations import storable
from shared.documents.frame import Frame

MOST = 2_000
"""Links of a page that are looked at; a page of a long register has some 300."""
_MAX_URI = 8_192
"""Characters of an address; longer ones are data, not places."""


def links_of(page: Any, frame: Frame) -> list[LinkArea]:
    """Links of a `pymupdf.Page` (rotation 0) to addresses and to pages of the document, in their order; what starts programs or opens files is none.

    Raises what MuPDF raises.
    """
    if page.first_link is None:
        return []
    found = [(rect, uri) for rect, uri in _leading(page)]
    if not found:
        return []
    characters, centres = _characters(page)
    return [
        LinkArea(bbox=frame.clipped(frame.box(rect)), uri=uri, text=_under(rect, characters, centres))
        for rect, uri in found
    ]


def _leading(page: Any) -> Iterator[tuple[Sequence[float], str]]:
    for number, link in enumerate(page.get_links()):
        if number >= MOST:
            return
        uri = link.get("uri") if link["kind"] == pymupdf.LINK_URI else None
        if link["kind"] in (pymupdf.LINK_GOTO, pymupdf.LINK_NAMED) and link.get("page", -1) >= 0:
            uri = f"#page={link['page'] + 1}"  # as RFC 8118 writes a page of a PDF
        if uri and len(uri) <= _MAX_URI and all(map(math.isfinite, link["from"])):
            yield tuple(link["from"]), storable(uri)


def _characters(page: Any) -> tuple[list[str], np.ndarray]:
    """The page's characters in the order of the file with a blank after each line, and their centres, float64 [n, 2]; blanks added have none."""
    characters: list[str] = []
    centres: list[tuple[float, float]] = []
    for block in page.get_text("rawdict", flags=pymupdf.TEXT_PRESERVE_WHITESPACE)["blocks"]:
        for line in block.get("lines", ()):
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
