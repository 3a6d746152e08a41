"""Running headers and footers: which of those that the sections name are shown on any page."""

from __future__ import annotations

from shared.documents.docx.xml import Element, attribute, child, name, switched

_KINDS = {"w:headerReference": "header", "w:footerReference": "footer"}


class Running:
    """Collects what the sections of a document refer to."""

    def __init__(self) -> None:
        self._found: list[tuple[str, str, str, bool]] = []

    def see(self, element: Element) -> None:
        """Take in the section that ends with this child of the body, if one does."""
        section = element if name(element) == "w:sectPr" else child(element, "w:pPr", "w:sectPr")
        first = bool(switched(section, "w:titlePg")) if section is not None else False
        for one in section if section is not None else ():
            kind = _KINDS.get(name(one))
            if kind is not None:
                self._found.append((kind, attribute(one, "r:id") or "", attribute(one, "w:type") or "default", first))

    def shown(self, *, even: bool) -> list[tuple[str, str]]:
        """Kind and relationship of each, in order. `even`: left and right pages differ; a first page's own only where its section has one."""
        return [
            (kind, reference)
            for kind, reference, when, first in self._found
            if when == "default" or (when == "even" and even) or (when == "first" and first)
        ]
