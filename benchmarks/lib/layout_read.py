"""What the layout benchmark needs beyond the layout stage: pages read and composed, so that the classes a user gets can be scored too.

The reader's own engine child and document child, without broker and store; composing is a pure function. A composed page is given back in
the form of a layout, one region a block and a page of it, so that one set of rules scores both.
"""

from __future__ import annotations

from types import TracebackType

from services.assembler.document.page import PageInput, compose_page
from services.layout_worker.pages import LaidOut
from services.rec_worker.call import PageRead, PageToRead
from services.rec_worker.pages import page_with
from shared.children.block import Block as Shared
from shared.children.child import Child
from shared.contracts.document import Block
from shared.contracts.layout import PageLayout, Reading, Region, TextLine
from shared.documents.opener import Documents
from shared.settings import Settings, for_engine_child


class PageReader:
    """A context manager: both children live while it lasts. One page at a time."""

    def __init__(self, settings: Settings) -> None:
        self._documents = Documents(settings.limits, name="decode")
        self._engine = Child(
            "services.rec_worker.program:create", for_engine_child(settings), name="rec-engine", call_timeout_s=300
        )

    async def __aenter__(self) -> PageReader:
        await self._documents.start()
        await self._engine.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._engine.close()
        await self._documents.close()

    async def read(self, page: LaidOut) -> list[Reading]:
        """The answer to the page's one task of the recogniser; none where it has none. Raises what the children raise."""
        layout = page.layout
        regions = [region for region in layout.regions if region.read_by == "rec"]
        if not regions:
            return []
        asked = PageToRead(
            document_id=layout.document_id,
            page_no=layout.page_no,
            width=layout.width,
            height=layout.height,
            regions=regions,
        )
        blocks: list[Shared] = []
        try:
            if page.jpeg is not None:
                with Shared.of(page.jpeg) as jpeg:
                    width, height, pixels = await self._documents.decode(jpeg)
                blocks.append(pixels)
                asked = page_with(asked, layout, width, height)
            answer, _ = await self._engine.call("read", asked, blocks, returns=PageRead)
        finally:
            for block in blocks:
                block.close()
        return [
            Reading(
                document_id=layout.document_id,
                generation=layout.generation,
                page_no=layout.page_no,
                task_id="rec",
                layout_sha256=None,
                regions=answer.regions,
            )
        ]


def composed(layout: PageLayout, readings: list[Reading]) -> PageLayout:
    """The composed page as a layout: its blocks of the body and its furniture as regions, with their lines and labels."""
    page = compose_page(
        PageInput(
            document_id=layout.document_id,
            generation=layout.generation,
            page_no=layout.page_no,
            width=layout.width,
            height=layout.height,
            unit=layout.unit,
            layout=layout,
            readings=readings,
        )
    )
    regions = [region for block in page.blocks for region in _regions(block)]
    return PageLayout(
        document_id=layout.document_id,
        generation=layout.generation,
        page_no=layout.page_no,
        width=layout.width,
        height=layout.height,
        unit=layout.unit,
        kind=layout.kind,
        regions=regions,
    )


def _regions(block: Block) -> list[Region]:
    """A block as regions, one for each place it stands in; a line is with the place that holds its middle."""
    if block.content_layer not in ("body", "furniture"):
        return []
    places = [place.bbox for place in block.prov if place.bbox is not None]
    out = []
    for number, bbox in enumerate(places):
        lines = [
            TextLine(bbox=line.bbox, text=line.text)
            for line in block.lines
            if line.bbox is not None and _place(line.bbox, places) == number
        ]
        out.append(
            Region(
                region_id=f"{block.id}/{number}",
                label=block.label,
                raw_label=block.raw_label,
                bbox=bbox,
                confidence=1.0,
                found_by="model",
                read_by="rec" if block.method in ("direct_rec", "det_rec") else "native",
                lines=lines,
            )
        )
    return out


def _place(box: list[float], places: list[list[float]]) -> int:
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    inside = (n for n, p in enumerate(places) if p[0] <= x <= p[2] and p[1] <= y <= p[3])
    return next(inside, 0)
