"""Readings of whole pages: a document that is sent again, under whatever name, costs a hash of its pictures and not a single crop.

Exact, as the crop cache is: the key holds the bytes of the picture as it lies in the store, and everything else the engine child is told
that can change what it answers. Answers with errors are not remembered, so that another try is one.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict

import msgspec

from services.rec_worker.call import Looks, PageRead, PageToRead
from shared.contracts.codec import decode, encode
from shared.contracts.layout import PageLayout


def page_key(page: PageToRead, jpeg: bytes | None) -> bytes:
    """16 bytes of blake2b over the picture and the request, without whose page it is and how urgent."""
    plain = msgspec.structs.replace(
        page, document_id="", picture=None, lane="first", due_in_s=None, coming=0, trace=None
    )
    digest = hashlib.blake2b(encode(plain), digest_size=16)
    digest.update(b"\0" if jpeg is None else jpeg)
    return digest.digest()


def page_with(page: PageToRead, layout: PageLayout, width: int, height: int) -> PageToRead:
    """The request with the size of its decoded picture: the part of the page that the layout says, where it is one.

    A picture as large as the page is the whole, whatever the layout says: an attempt that ended before its layout was stored may have
    stored it (a picture is written once).
    """
    whole, box = (layout.picture_width, layout.picture_height), layout.picture_box
    if box is None or whole == (width, height):
        return msgspec.structs.replace(page, picture=(width, height))
    return msgspec.structs.replace(page, picture=(width, height), picture_box=box, picture_whole=whole)


class PageCache:
    """Least recently used answers, at most `limit` bytes of them (0 keeps none). Of one event loop; models never change while it lives."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: OrderedDict[bytes, bytes] = OrderedDict()
        self.nbytes = 0

    def __len__(self) -> int:
        return len(self._known)

    def get(self, key: bytes) -> PageRead | None:
        """The answer of such a page, as one whose crops were all known; none when there is none."""
        if (found := self._known.get(key)) is None:
            return None
        self._known.move_to_end(key)
        answer = decode(found, PageRead)
        return msgspec.structs.replace(answer, cache_hits=answer.crops)

    def keep(self, key: bytes, answer: PageRead) -> None:
        """Remember an answer."""
        if answer.errors or key in self._known:
            return
        data = encode(msgspec.structs.replace(answer, facts=[], looks=Looks()))
        self._known[key] = data
        self.nbytes += len(data)
        while self.nbytes > self._limit:
            _, old = self._known.popitem(last=False)
            self.nbytes -= len(old)
