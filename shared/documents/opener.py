"""The parent's view of documents: every call runs in a document child, so that hostile bytes never meet Kafka or an engine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from shared.children.block import Block
from shared.children.child import Child
from shared.documents.flow import FlowAnswer, FlowCall
from shared.documents.limits import bounds_of
from shared.documents.page import (
    DecodeCall,
    EncodeCall,
    InspectCall,
    Inspected,
    OpenedPage,
    PageAnswer,
    PageCall,
    Picture,
    Pictures,
)
from shared.settings import Limits


class Documents:
    """Opens documents in a child process of their own, which keeps the last few of them open."""

    def __init__(self, limits: Limits, *, name: str = "documents") -> None:
        # One thread: MuPDF is not thread safe, and who wants more at once starts more children.
        self._child = Child(
            "shared.documents.child:create",
            bounds_of(limits),
            name=name,
            memory_bytes=limits.child_memory_bytes,
            recycle_bytes=limits.child_memory_bytes // 4,
            call_timeout_s=limits.page_timeout_s,
        )

    @property
    def pid(self) -> int | None:
        """Process id of the child that runs now."""
        return self._child.pid

    async def start(self) -> None:
        """Spawn the child; not needed before the first call."""
        await self._child.start()

    async def close(self) -> None:
        """End the child."""
        await self._child.close()

    async def inspect(self, path: Path, *, filename: str | None = None, password: str | None = None) -> Inspected:
        """Find out by content what a file is, and the geometry of its pages.

        Raises `DocfleetError` with `encrypted` (a password is needed, or the given one is wrong), `corrupt`, `empty_file`,
        `unsupported_type`, `too_large` (bytes, pages), `resource_limit` (pixels, memory); `ChildDied`, `ChildStalled`.
        """
        call = InspectCall(path=str(path), filename=filename, password=password)
        inspected, _ = await self._child.call("inspect", call, returns=Inspected)
        return inspected

    async def open_page(
        self,
        path: Path,
        mime_type: str,
        page_no: int,
        *,
        password: str | None = None,
        picture: Literal["none", "auto", "always"] = "auto",
        layout_picture: bool = False,
        dpi: int = 200,
        jpeg: bool = True,
        jpeg_may_wait: bool = False,
        rotation: int | None = None,
        parts: Sequence[Sequence[float]] = (),
    ) -> tuple[OpenedPage, Pictures]:
        """Open page `page_no` (1-based) of a document that was inspected before.

        `picture` says whether `Pictures.full` (and, unless `jpeg` is false, its encoding) is made: `auto` makes it where
        much of what the page shows may not be in its own text; what small transparent images hold is left to who asked for
        `layout_picture`.
        `layout_picture` asks for `Pictures.small` where `Pictures.full` is not made: whoever looks at pages prefers the full one.
        `jpeg_may_wait` leaves the encoding out where the page has text and would have to be encoded: `encode` does it when it is needed.
        `parts` are boxes, in units of the page: where `Pictures.full` has to be drawn it may show these only (`Picture.box`).
        `rotation` (0, 90, 180, 270) shows the page so instead of as the document asks; everything is in that frame.
        A page above `limits.max_page_pixels` is rendered smaller, with the warning `render_scaled`. Raises like `inspect`.
        """
        call = PageCall(
            path=str(path),
            mime_type=mime_type,
            page_no=page_no,
            dpi=dpi,
            password=password,
            picture=picture,
            layout_picture=layout_picture,
            jpeg=jpeg,
            jpeg_may_wait=jpeg_may_wait,
            rotation=rotation,
            parts=[list(part) for part in parts],
        )
        answer, blocks = await self._child.call("open_page", call, returns=PageAnswer)
        following = iter(blocks)
        small, full, jpeg_picture = (
            (size, next(following)) if size is not None else None for size in (answer.small, answer.full, answer.jpeg)
        )
        return answer.page, Pictures(small, full, jpeg_picture)

    async def read_flow(
        self, path: Path, mime_type: str, *, password: str | None = None, pictures: bool = False, places: bool = False
    ) -> tuple[FlowAnswer, bytes]:
        """All of a document that is text without places (DOCX), and the bytes that `FlowAnswer.pictures` point into.

        `places`: where its pictures stand on the page's picture that `open_page` makes, so that they can be read.

        Raises `corrupt`, `resource_limit` (`limits.max_flow_characters`, `limits.max_unpacked_bytes`), `ChildDied`, `ChildStalled`.
        """
        call = FlowCall(path=str(path), mime_type=mime_type, password=password, pictures=pictures, places=places)
        answer, blocks = await self._child.call("read_flow", call, returns=FlowAnswer)
        data = b""
        for block in blocks:
            with block:
                data += block.tobytes()
        return answer, data

    async def encode(self, full: tuple[Picture, Block], box: list[int] | None = None) -> Block:
        """The JPEG of `Pictures.full`, or of the part `box` (pixels of the block) of it, in a block the caller closes.

        Raises `ChildDied`, `ChildStalled`.
        """
        size, pixels = full
        call = EncodeCall(width=size.width, height=size.height, box=box)
        _, blocks = await self._child.call("encode", call, [pixels], returns=Picture)
        return blocks[0]

    async def decode(self, jpeg: Block) -> tuple[int, int, Block]:
        """A stored page picture as (width, height, RGB pixels in a block the caller closes). Raises `corrupt`, `resource_limit`."""
        size, blocks = await self._child.call("decode", DecodeCall(), [jpeg], returns=Picture)
        return size.width, size.height, blocks[0]
