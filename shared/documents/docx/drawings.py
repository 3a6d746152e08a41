"""Drawings: pictures and text boxes, each once although Word writes most of them twice (`mc:AlternateContent`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from shared.documents.docx.xml import Element, attribute, name

_UNDERSTOOD = frozenset({"wps", "wpg", "wpc", "wp14", "w14", "w15", "w16", "a14", "v", "o", "m"})
"""Namespaces that a `mc:Choice` may require and that are read here; of others the fallback is taken."""


class PictureAt(NamedTuple):
    """A picture: the id of its relationship, or none for a chart or drawing without one, and its alternative text."""

    relationship: str | None
    alt: str
    kind: str = "picture"


@dataclass
class Drawing:
    """What is drawn at one place, in the file's order."""

    pictures: list[PictureAt] = field(default_factory=list)
    boxes: list[Element] = field(default_factory=list)
    """`w:txbxContent` elements: paragraphs and tables of text boxes."""


def chosen(element: Element) -> Iterator[Element]:
    """The one branch of an `mc:AlternateContent` that is read."""
    choices = [one for one in element if name(one) == "mc:Choice"]
    for one in choices:
        if set((one.get("Requires") or "").split()) <= _UNDERSTOOD:
            yield one
            return
    fallback = [one for one in element if name(one) == "mc:Fallback"]
    yield from (fallback or choices)[:1]


def drawing_of(element: Element) -> Drawing:
    """Pictures and text boxes of a `w:drawing`, `w:pict` or `w:object`. What is in a text box is left to whoever reads that."""
    out = Drawing()
    _walk(element, out, "")
    return out


def _walk(element: Element, out: Drawing, alt: str) -> None:
    for one in element:
        kind = name(one)
        if kind in ("wp:docPr", "pic:cNvPr"):
            alt = (one.get("descr") or "").strip() or alt
        elif kind == "v:shape":
            _walk(one, out, (one.get("alt") or "").strip() or alt)
        elif kind == "w:txbxContent":
            out.boxes.append(one)
        elif kind == "a:blip":
            out.pictures.append(PictureAt(attribute(one, "r:embed") or attribute(one, "r:link"), alt))
        elif kind == "v:imagedata":
            out.pictures.append(PictureAt(attribute(one, "r:id"), alt or (one.get("title") or "").strip()))
        elif kind == "c:chart":
            out.pictures.append(PictureAt(attribute(one, "r:id"), alt, "chart"))
        elif kind == "dgm:relIds":
            out.pictures.append(PictureAt(attribute(one, "r:dm"), alt, "diagram"))
        elif kind == "mc:AlternateContent":
            for other in chosen(one):
                _walk(other, out, alt)
        else:
            _walk(one, out, alt)
