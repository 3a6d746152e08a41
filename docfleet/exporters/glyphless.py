"""A font without shapes, for text that is found and copied but never seen.

Every character of a document gets a code of its own, and a table in the PDF (ToUnicode) says what it stands for: any Unicode text comes out of
the file as it went in, whatever fonts a reader has. Widths are half an em, and one em for wide characters.
"""

from __future__ import annotations

import struct
import unicodedata
from collections.abc import Iterable
from typing import Any

EM = 1000
"""Units per em; half-width characters are 500 wide."""
ASCENT, DESCENT = 0.8, 0.2
"""Of an em above and below the base line; together one line."""
MOST = 65_000
"""Characters with a code of their own; 16 bits hold little more. What is beyond comes out as U+FFFD."""
_LATEST = 0xFFFD


class Codes:
    """The codes of the characters of the text of one PDF: narrow ones first, then wide ones, each in the order of Unicode; 0 is no character."""

    def __init__(self, characters: Iterable[str]) -> None:
        known = sorted({*characters, " ", chr(_LATEST)}, key=lambda c: (_is_wide(c), c))
        if len(known) > MOST:
            known = sorted({*known[: MOST - 1], chr(_LATEST)}, key=lambda c: (_is_wide(c), c))
        self._codes = {character: code for code, character in enumerate(known, 1)}
        self._embedded: int | None = None
        self._narrow = sum(not _is_wide(character) for character in known)

    def shown(self, text: str) -> str:
        """The operand of `Tj`: hex digits of the codes of a text."""
        other = self._codes[chr(_LATEST)]
        return "".join(f"{self._codes.get(character, other):04x}" for character in text)

    def width(self, text: str) -> float:
        """Width of a text at size 1."""
        return sum(1.0 if _is_wide(character) else 0.5 for character in text)

    def embedded(self, pdf: Any) -> int:
        """Put the font into a `pymupdf.Document`, once; returns the number (xref) of the object a page's resources name."""
        if self._embedded is not None:
            return self._embedded
        count = len(self._codes)
        program = _stream(pdf, _truetype(), f"/Length1 {len(_truetype())}")
        to_unicode = _stream(pdf, self._to_unicode())
        to_glyph = _stream(pdf, bytes(2 * (count + 1)))
        descriptor = _object(
            pdf,
            "<</Type/FontDescriptor/FontName/GlyphLess/Flags 4/FontBBox[0 -200 1000 800]/ItalicAngle 0/Ascent 800"
            f"/Descent -200/CapHeight 800/StemV 80/FontFile2 {program} 0 R>>",
        )
        wide = f"/W[{self._narrow + 1} {count} {EM}]" if count > self._narrow else ""
        font = _object(
            pdf,
            "<</Type/Font/Subtype/CIDFontType2/BaseFont/GlyphLess/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)"
            f"/Supplement 0>>/FontDescriptor {descriptor} 0 R/DW {EM // 2}{wide}/CIDToGIDMap {to_glyph} 0 R>>",
        )
        self._embedded = _object(
            pdf,
            f"<</Type/Font/Subtype/Type0/BaseFont/GlyphLess/Encoding/Identity-H/DescendantFonts[{font} 0 R]"
            f"/ToUnicode {to_unicode} 0 R>>",
        )
        return self._embedded

    def _to_unicode(self) -> bytes:
        """The CMap from codes to UTF-16 (PDF 32000-1, 9.10.3), in groups of 100 as CMaps have them at most."""
        rows = [f"<{code:04x}> <{character.encode('utf-16-be').hex()}>" for character, code in self._codes.items()]
        groups = [rows[i : i + 100] for i in range(0, len(rows), 100)]
        lines = [
            "/CIDInit /ProcSet findresource begin 12 dict begin begincmap",
            "/CIDSystemInfo <</Registry (Adobe) /Ordering (UCS) /Supplement 0>> def",
            "/CMapName /Adobe-Identity-UCS def /CMapType 2 def",
            "1 begincodespacerange <0000> <ffff> endcodespacerange",
        ]
        for group in groups:
            lines += [f"{len(group)} beginbfchar", *group, "endbfchar"]
        lines.append("endcmap CMapName currentdict /CMap defineresource pop end end")
        return "\n".join(lines).encode("ascii")


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in ("W", "F")


def _object(pdf: Any, source: str) -> int:
    xref: int = pdf.get_new_xref()
    pdf.update_object(xref, source)
    return xref


def _stream(pdf: Any, data: bytes, entries: str = "") -> int:
    xref = _object(pdf, f"<<{entries}>>")
    pdf.update_stream(xref, data, compress=True)
    return xref


def _truetype() -> bytes:
    """A TrueType program with one empty glyph: the tables that a font inside a PDF needs (PDF 32000-1, 9.9), and no others."""
    head = struct.pack(
        ">IIIIHHQQhhhhHHhhh", 0x10000, 0x10000, 0, 0x5F0F3CF5, 0, EM, 0, 0, 0, -200, 1000, 800, 0, 8, 2, 0, 0
    )
    hhea = struct.pack(">IhhhHhhhhhhhhhhhH", 0x10000, 800, -200, 0, 1000, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1)
    maxp = struct.pack(">IHHHHHHHHHHHHHH", 0x10000, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0)
    hmtx = struct.pack(">Hh", EM // 2, 0)
    tables = {
        b"glyf": bytes(4),
        b"head": head,
        b"hhea": hhea,
        b"hmtx": hmtx,
        b"loca": struct.pack(">HH", 0, 0),
        b"maxp": maxp,
    }
    offset = 12 + 16 * len(tables)
    directory, body = b"", b""
    for name, data in tables.items():
        padded = data + bytes(-len(data) % 4)
        directory += struct.pack(">4sIII", name, _sum(padded), offset + len(body), len(data))
        body += padded
    # 6 tables: searchRange 64, entrySelector 2, rangeShift 32
    return struct.pack(">IHHHH", 0x10000, len(tables), 64, 2, 32) + directory + body


def _sum(data: bytes) -> int:
    words: tuple[int, ...] = struct.unpack(f">{len(data) // 4}I", data)
    return sum(words) & 0xFFFFFFFF
