"""Marks of footnotes and endnotes: counted in the order of the text, as Word shows them."""

from __future__ import annotations

from shared.documents.docx.numerals import numeral

_RAISED = str.maketrans("0123456789ivxlcdm", "⁰¹²³⁴⁵⁶⁷⁸⁹ⁱᵛˣˡᶜᵈᵐ")
_FORMS = {"footnote": "decimal", "endnote": "lowerRoman"}
"""Formats where the document says nothing else (ECMA-376 part 1, 17.11.18)."""


class Marks:
    """Which mark each note has. A note that is cited again keeps its mark."""

    def __init__(self, forms: dict[str, str] | None = None) -> None:
        """`forms`: number formats by kind of note (`footnote`, `endnote`), where the document's settings say."""
        self._forms = {**_FORMS, **(forms or {})}
        self._known: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}

    def of(self, kind: str, note: str) -> str:
        """The raised mark of a note."""
        known = self._known.get((kind, note))
        if known is None:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            known = numeral(self._counts[kind], self._forms.get(kind, "decimal")).translate(_RAISED)
            self._known[kind, note] = known
        return known
