"""The program of the document child: opens hostile bytes, keeps the last few documents open, imports no engine."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from PIL import Image

from shared.children.block import Block
from shared.children.preference import BULK_EVERY
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.documents import sniff
from shared.documents.flow import FlowAnswer, FlowCall
from shared.documents.images import ImageFileOpened, decode_jpeg
from shared.documents.limits import Bounds, check_bytes
from shared.documents.page import DecodeCall, EncodeCall, InspectCall, Inspected, PageAnswer, PageCall, Picture
from shared.documents.pictures import jpeg_of

KEEP_OPEN = BULK_EVERY + 1
"""Documents: pages of one document tend to come together, those of a handful interleave. While short documents pass a long one, its next
page comes after at most `BULK_EVERY - 1` of theirs, and it should be found open: a long one takes long to open."""


class Opened(Protocol):
    """A document of any kind."""

    def inspect(self) -> Inspected: ...

    def open_page(self, call: PageCall) -> tuple[PageAnswer, list[Block]]: ...

    def close(self) -> None: ...


@runtime_checkable
class Flowing(Protocol):
    """A document that is text without places."""

    def read_flow(self, call: FlowCall) -> tuple[FlowAnswer, list[Block]]: ...


class DocumentChild:
    """The calls of `Documents`, on this side of the process border. One at a time."""

    def __init__(self, limits: Bounds) -> None:
        self._limits = limits
        self._open: OrderedDict[tuple[object, ...], Opened] = OrderedDict()

    def inspect(self, argument: InspectCall, blocks: list[Block]) -> tuple[Inspected, list[Block]]:
        path = Path(argument.path)
        _check_readable(path)
        check_bytes(path.stat().st_size, self._limits)
        mime_type = sniff.mime_type_of(path, argument.filename)
        with self._document(path, mime_type, argument.password) as document:
            return document.inspect(), []

    def open_page(self, argument: PageCall, blocks: list[Block]) -> tuple[PageAnswer, list[Block]]:
        path = Path(argument.path)
        _check_readable(path)
        with self._document(path, argument.mime_type, argument.password) as document:
            return document.open_page(argument)

    def read_flow(self, argument: FlowCall, blocks: list[Block]) -> tuple[FlowAnswer, list[Block]]:
        path = Path(argument.path)
        _check_readable(path)
        with self._document(path, argument.mime_type, argument.password) as document:
            if not isinstance(document, Flowing):
                raise DocfleetError(ErrorCode.internal, f"{argument.mime_type!r:.100} is read page by page")
            return document.read_flow(argument)

    def encode(self, argument: EncodeCall, blocks: list[Block]) -> tuple[Picture, list[Block]]:
        picture = blocks[0].array((argument.height, argument.width, 3))
        if argument.box is not None:
            left, top, right, bottom = argument.box
            picture = picture[top:bottom, left:right]
        size = Picture(width=picture.shape[1], height=picture.shape[0])
        return size, [Block.of(jpeg_of(Image.fromarray(picture)))]

    def decode(self, argument: DecodeCall, blocks: list[Block]) -> tuple[Picture, list[Block]]:
        image = decode_jpeg(blocks[0].view(), self._limits)
        return Picture(width=image.width, height=image.height), [Block.of(np.asarray(image))]

    @contextlib.contextmanager
    def _document(self, path: Path, mime_type: str, password: str | None) -> Iterator[Opened]:
        """The open document; it is kept open unless something is wrong with it, for then its state is anybody's guess."""
        status = path.stat()
        # The file, not its name: a path may be used again for another document.
        key = (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size, mime_type, password)
        document = self._open.pop(key, None)
        if document is None:
            while len(self._open) >= KEEP_OPEN:
                self._open.popitem(last=False)[1].close()
            document = self._opened(path, mime_type, password)
        try:
            yield document
        except BaseException:
            document.close()
            raise
        self._open[key] = document

    def _opened(self, path: Path, mime_type: str, password: str | None) -> Opened:
        if mime_type == sniff.PDF:
            from shared.documents.pdf import PdfFile

            return PdfFile(path, password, self._limits)
        if mime_type in sniff.IMAGES:
            return ImageFileOpened(path, mime_type, self._limits)
        if mime_type == sniff.DOCX:
            from shared.documents.docx.document import DocxFile

            return DocxFile(path, self._limits)
        raise DocfleetError(ErrorCode.unsupported_type, f"{mime_type!r:.100} cannot be read; export it as PDF")


def _check_readable(path: Path) -> None:
    if not os.access(path, os.R_OK):
        raise DocfleetError(ErrorCode.source_missing, "the fetched copy of the document is gone; it is fetched again")


def create(limits: Bounds) -> DocumentChild:
    """Factory for `shared.children`."""
    # What Pillow remarks on odd files is said by our warnings where it matters.
    warnings.simplefilter("ignore")
    return DocumentChild(limits)
