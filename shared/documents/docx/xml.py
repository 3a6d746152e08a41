"""Names of WordprocessingML elements, and the only way XML of a document is parsed here.

Transitional and strict files use different namespaces for the same elements; both are one name here (`w:p`, `m:oMath`, `a:blip`).
No entity is expanded, no DTD is loaded, nothing is fetched, and libxml2's own bounds on depth (256) and size (10 MB a text) stay on.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, BinaryIO

from lxml import etree

from shared.contracts.errors import DocfleetError, ErrorCode

_OOXML = "http://schemas.openxmlformats.org/"
_STRICT = "http://purl.oclc.org/ooxml/"
_SPACES = {
    f"{_OOXML}wordprocessingml/2006/main": "w",
    f"{_STRICT}wordprocessingml/main": "w",
    f"{_OOXML}officeDocument/2006/math": "m",
    f"{_STRICT}officeDocument/math": "m",
    f"{_OOXML}drawingml/2006/main": "a",
    f"{_STRICT}drawingml/main": "a",
    f"{_OOXML}drawingml/2006/wordprocessingDrawing": "wp",
    f"{_STRICT}drawingml/wordprocessingDrawing": "wp",
    f"{_OOXML}drawingml/2006/picture": "pic",
    f"{_STRICT}drawingml/picture": "pic",
    f"{_OOXML}drawingml/2006/chart": "c",
    f"{_STRICT}drawingml/chart": "c",
    f"{_OOXML}drawingml/2006/diagram": "dgm",
    f"{_OOXML}officeDocument/2006/relationships": "r",
    f"{_STRICT}officeDocument/relationships": "r",
    f"{_OOXML}package/2006/relationships": "rel",
    f"{_OOXML}package/2006/content-types": "ct",
    f"{_OOXML}markup-compatibility/2006": "mc",
    "http://schemas.microsoft.com/office/word/2010/wordprocessingShape": "wps",
    "http://schemas.microsoft.com/office/word/2010/wordml": "w14",
    "urn:schemas-microsoft-com:vml": "v",
}
"""ECMA-376 and ISO/IEC 29500 (part 1 strict, part 4 transitional), and what Word 2007 and 2010 added."""

_NAMESPACES: dict[str, list[str]] = {}
for _uri, _prefix in _SPACES.items():
    _NAMESPACES.setdefault(_prefix, []).append(_uri)

Element = Any
"""An lxml element: lxml has no types of its own."""

_SAFE = {
    "resolve_entities": False,
    "no_network": True,
    "load_dtd": False,
    "dtd_validation": False,
    "huge_tree": False,
    "remove_comments": True,
    "remove_pis": True,
}
_BOUNDS = ("huge", "limit", "depth", "too long", "too deep")
"""Words of libxml2 where it stopped because of its own bounds, and not because the XML is wrong."""


def name(element: Element) -> str:
    """The element's name with the usual prefix, `w:p`; of an unknown namespace the bare local name with a colon before it."""
    tag = element.tag
    return _name(tag) if isinstance(tag, str) else ""


@lru_cache(maxsize=4096)
def _name(tag: str) -> str:
    space, _, local = tag[1:].rpartition("}") if tag[:1] == "{" else ("", "", tag)
    return f"{_SPACES.get(space, '')}:{local}"


@lru_cache(maxsize=512)
def _full(prefixed: str) -> tuple[str, ...]:
    prefix, _, local = prefixed.partition(":")
    return tuple(f"{{{space}}}{local}" for space in _NAMESPACES[prefix])


def attribute(element: Element | None, prefixed: str, default: str | None = None) -> str | None:
    """An attribute by its prefixed name, `w:val`; `default` where element or attribute are not there."""
    if element is None:
        return default
    for full in _full(prefixed):
        value = element.get(full)
        if value is not None:
            return str(value)
    return default


def number(element: Element | None, prefixed: str, default: int | None = None) -> int | None:
    """An attribute as an integer; `default` where it is missing or no number. Numbers beyond ten digits are none."""
    value = (attribute(element, prefixed) or "").strip()
    if not value.lstrip("-").isdecimal() or len(value) > 10:
        return default
    return int(value)


def child(element: Element | None, *path: str) -> Element | None:
    """The first element down a path of prefixed names; none where a step is missing."""
    for step in path:
        if element is None:
            return None
        element = next((one for one in element if name(one) == step), None)
    return element


def switched(element: Element | None, prefixed: str) -> bool | None:
    """A toggle such as `w:b` among the children: its value, none where it is not there. Without `w:val` it is on."""
    found = child(element, prefixed)
    if found is None:
        return None
    return (attribute(found, "w:val") or "true") not in ("0", "false", "off", "none")


def parsed(data: bytes, part: str) -> Element:
    """The root of a small part. Raises `corrupt`, `resource_limit`."""
    try:
        return etree.fromstring(data, etree.XMLParser(**_SAFE))
    except etree.XMLSyntaxError as error:
        raise _fault(error, part) from error


def pieces(stream: BinaryIO, part: str, within: str, wanted: frozenset[str]) -> Iterator[Element]:
    """The children of the element `within` with these names, one at a time, in order; each is emptied after use.

    So that a document is never in memory as a whole: a tree is five to ten times as large as its text. Raises like `parsed`.
    """
    tags = [full for one in wanted for full in _full(one)]
    try:
        for _, element in etree.iterparse(stream, events=("end",), tag=tags, **_SAFE):
            parent = element.getparent()
            if parent is None or name(parent) != within or parent.getparent() is None:
                continue
            yield element
            element.clear()
            while element.getprevious() is not None:
                del parent[0]
    except etree.XMLSyntaxError as error:
        raise _fault(error, part) from error


def _fault(error: Exception, part: str) -> DocfleetError:
    words = str(error).lower()
    if any(word in words for word in _BOUNDS):
        return DocfleetError(
            ErrorCode.resource_limit, f"{part} of the document is nested deeper than 256 or has a text above 10 MB"
        )
    return DocfleetError(ErrorCode.corrupt, f"{part} of the document is no well-formed XML")
