"""PDF fonts that say the wrong thing about their characters, made from fonts that MuPDF brings along."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pymupdf

Change = Callable[[str], str | None]
"""What a character claims to be; none leaves it out of the map."""


@cache
def font(name: str = "helv") -> Any:
    """`helv` has Latin, Greek and Cyrillic, `china-s` Chinese, Japanese and Latin."""
    return pymupdf.Font(name)


def embed(page: Any, name: str, of: str = "helv") -> str:
    """The font under this name on the page."""
    page.insert_font(fontname=name, fontbuffer=font(of).buffer)
    return name


def to_unicode(document: Any, page: Any, name: str, claims: Mapping[int, str] | None) -> None:
    """Replace the ToUnicode map of the font `name` of the page: glyph numbers and what they claim. None takes it away."""
    xref = next(one[0] for one in page.get_fonts() if one[4] == name)
    if claims is None:
        document.xref_set_key(xref, "ToUnicode", "null")
        return
    lines = [f"<{gid:04x}> <{text.encode('utf-16-be').hex()}>" for gid, text in sorted(claims.items())]
    blocks = [lines[i : i + 100] for i in range(0, len(lines), 100)]
    body = "\n".join(f"{len(part)} beginbfchar\n" + "\n".join(part) + "\nendbfchar" for part in blocks)
    stream = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def\n"
        f"1 begincodespacerange <0000> <ffff> endcodespacerange\n{body}\nendcmap end end\n"
    )
    number = document.get_new_xref()
    document.update_object(number, "<<>>")
    document.update_stream(number, stream.encode())
    document.xref_set_key(xref, "ToUnicode", f"{number} 0 R")


def claims(text: str, change: Change, of: str = "helv") -> dict[int, str]:
    """What each glyph of the text claims to be."""
    glyphs = {font(of).has_glyph(ord(char)): change(char) for char in sorted(set(text))}
    return {gid: claim for gid, claim in glyphs.items() if claim is not None}


def shifted(by: int) -> Change:
    """Every letter claims to be the one `by` places on; blanks stay."""
    return lambda char: char if char == " " else chr(ord(char) + by)


def rotated(text: str, by: int) -> Change:
    """Every character claims to be another one of the same text: all of them are common."""
    used = sorted(set(text) - {" "})
    return lambda char: char if char == " " else used[(used.index(char) + by) % len(used)]


def codes_without_meaning(text: str, of: str = "china-s") -> tuple[bytes, dict[str, int]]:
    """A TrueType font whose codes, from 34 on, stand for the characters of the text in their order, and these codes.

    Nothing but its `cmap` says so, as in files of old printer drivers.
    """
    used = list(dict.fromkeys(text))
    codes = {char: 34 + index for index, char in enumerate(used)}
    glyphs = [font(of).has_glyph(ord(char)) for char in used]
    subtable = struct.pack(">5H", 6, 10 + 2 * len(glyphs), 0, 34, len(glyphs)) + struct.pack(
        f">{len(glyphs)}H", *glyphs
    )
    cmap = struct.pack(">HHHHI", 0, 1, 1, 0, 12) + subtable
    return _with_table(font(of).buffer, b"cmap", cmap), codes


def _with_table(data: bytes, tag: bytes, content: bytes) -> bytes:
    """A TrueType file with one table replaced (offsets are laid out anew; checksums are left as they are)."""
    count = struct.unpack(">H", data[4:6])[0]
    entries = [struct.unpack(">4sIII", data[12 + 16 * i : 28 + 16 * i]) for i in range(count)]
    tables = {name: (checksum, data[offset : offset + length]) for name, checksum, offset, length in entries}
    tables[tag] = (0, content)
    head = bytearray(data[:4] + struct.pack(">H", len(tables)) + data[6:12])
    body = bytearray()
    start = 12 + 16 * len(tables)
    for name in sorted(tables):
        checksum, table = tables[name]
        head += struct.pack(">4sIII", name, checksum, start + len(body), len(table))
        body += table + b"\0" * (-len(table) % 4)
    return bytes(head + body)
