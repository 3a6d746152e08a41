"""How much a page's content streams unpack to, found out before anybody reads them.

A few kilobytes can unpack to gigabytes, through a chain of filters to as many more. MuPDF reads such a stream piece by piece, so memory
holds, but it reads all of it. Here deflated data is unpacked into nothing, piece by piece, only as far as the limit, and only where what
there is could come to much at all. Pictures need no such count: MuPDF takes of them what width, height and depth say, and these are checked.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from pymupdf import mupdf

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.documents.limits import Bounds

_EXPANSION = {"FlateDecode": 1032, "Fl": 1032, "LZWDecode": 2731, "LZW": 2731, "RunLengthDecode": 64, "RL": 64}
"""How many bytes one byte becomes at most: deflate's 258 bytes for 2 bits, 4,096 bytes for an LZW code of 12 bits, 128 bytes for 2."""
_ASCII = {"ASCII85Decode": 4, "A85": 4, "ASCIIHexDecode": 1, "AHx": 1}
"""A85's `z` is four bytes."""
_HARMLESS_BYTES = 2**24
"""What cannot come to more is not counted; an ordinary page costs nothing."""
_PIECE = 2**20


class Streams:
    """The content streams of one document's pages and of the forms on them, each counted once."""

    def __init__(self, document: Any, limits: Bounds) -> None:
        self._document = document
        self._limits = limits
        self._sizes: dict[int, int] = {}

    def check(self, page: Any, page_no: int) -> None:
        """Raise `resource_limit` where the page's content unpacks to more than `limits.max_stream_bytes`, or that of all pages looked at so
        far to more than `limits.max_decoded_bytes`."""
        for xref in (*page.get_contents(), *(form[0] for form in page.get_xobjects())):
            if xref not in self._sizes:
                self._sizes[xref] = self._size(xref, page_no)
        if sum(self._sizes.values()) > self._limits.max_decoded_bytes:
            raise DocfleetError(
                ErrorCode.resource_limit,
                f"the document's content unpacks to more than limits.max_decoded_bytes ({self._limits.max_decoded_bytes}) allows",
                page_no=page_no,
            )

    def _size(self, xref: int, page_no: int) -> int:
        """Bytes a stream unpacks to; 0 for one that is small."""
        filters = re.findall(r"/(\w+)", self._document.xref_get_key(xref, "Filter")[1])
        if not any(name in _EXPANSION for name in filters):
            return 0
        raw: bytes = self._document.xref_stream_raw(xref) or b""
        most = len(raw)
        for name in filters:
            most *= _EXPANSION.get(name, _ASCII.get(name, 1))
        if most <= _HARMLESS_BYTES:
            return 0
        limit = self._limits.max_stream_bytes
        if all(name in ("FlateDecode", "Fl") for name in filters):
            size = _count(raw, len(filters), limit)
        elif most > limit:
            size = self._unpacked(xref, limit)
        else:
            size = 0
        if size > limit:
            raise DocfleetError(
                ErrorCode.resource_limit,
                f"the page's content unpacks to more than limits.max_stream_bytes ({limit}) allows",
                page_no=page_no,
            )
        return size

    def _unpacked(self, xref: int, limit: int) -> int:
        """The same through other filters, which are MuPDF's to undo, in the memory this process may have. It calls a bomb by name itself."""
        try:
            return len(self._document.xref_stream(xref) or b"")
        except mupdf.FzErrorBase as error:
            return limit + 1 if "compression bomb" in str(error) else 0


class _TooMuch(Exception):
    pass


def _count(data: bytes, layers: int, limit: int) -> int:
    """Bytes after so many layers of deflate; `limit` + 1 as soon as any layer has more than `limit`."""
    pieces: Iterable[bytes] = (data,)
    for _ in range(layers):
        pieces = _inflated(pieces, limit)
    try:
        return sum(map(len, pieces))
    except _TooMuch:
        return limit + 1


def _inflated(pieces: Iterable[bytes], limit: int) -> Iterator[bytes]:
    unpacker = zlib.decompressobj()
    total = 0
    for piece in pieces:
        left = piece
        while left and not unpacker.eof:
            try:
                unpacked = unpacker.decompress(left, _PIECE)
            except zlib.error:
                return  # damaged: a reader goes as far as this, or less
            total += len(unpacked)
            if total > limit:
                raise _TooMuch
            yield unpacked
            left = unpacker.unconsumed_tail
