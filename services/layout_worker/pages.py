"""One page from its file to its layout, by two children: the document child opens it, the engine child looks at it.

Knows no store and no Kafka: the stage (`service`) and whoever wants the layout of a page by itself (`alone`) work alike.
Every call is awaited, so while one page is in the engine child, the next is opened in the document child.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from services.layout_worker import flowing
from services.layout_worker.finding import find_lines
from services.layout_worker.flowing import StoredPicture
from services.layout_worker.found import Look, LookRequest
from services.layout_worker.keeping import holds, part_to_keep, within
from services.layout_worker.page import assemble, plan
from services.layout_worker.steps import Steps
from services.layout_worker.trust.comparing import Comparer
from services.layout_worker.trust.fonts import Doubt, doubts_of
from shared.children.child import Child
from shared.contracts.layout import Inspection, PageLayout
from shared.documents.opener import Documents
from shared.documents.page import OpenedPage, Pictures
from shared.documents.passwords import password_of
from shared.engines.open import start_timeout_s, streams
from shared.settings import Settings, for_engine_child

PROGRAM = "services.layout_worker.engine.program:create"

PROOF_DPI = 150
"""Resolution at which lines of a native page are read to settle a doubt: 8 points are 17 pixels."""

How = Literal["none", "auto", "always"]


class LaidOut(msgspec.Struct, frozen=True, kw_only=True):
    """A page's layout, and the JPEG to be stored under `layout.picture_key` where that names one."""

    layout: PageLayout
    jpeg: bytes | None = None
    pictures: list[StoredPicture] = []
    """Those in a document without pages."""


class Pages:
    """The two children. `start` before use, `close` after."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.documents = Documents(settings.limits)
        self.engine = Child(
            PROGRAM,
            for_engine_child(settings),
            name="layout-engine",
            recycle_bytes=settings.engines.recycle_bytes,
            call_timeout_s=settings.stage("layout_worker").call_timeout_s,
            start_timeout_s=start_timeout_s(settings.engines),
            threads=streams(settings.engines),
            noted=self._note,
        )
        self.starting = ""
        """How far the start is, in words."""
        self._comparer = Comparer(self.engine)

    def _note(self, note: str) -> None:
        self.starting = note

    def _doubts(self, opened: OpenedPage, inspection: Inspection) -> list[Doubt]:
        if opened.blank or inspection.options.ocr != "auto":
            return []
        return doubts_of(opened, self._settings.layout.compared_fonts)

    async def start(self) -> None:
        """Spawn both children and load the networks. Raises what `Child.start` raises."""
        await self.documents.start()
        await self.engine.start()

    async def close(self) -> None:
        """End both."""
        await self.engine.close()
        await self.documents.close()

    async def lay_out(self, path: Path, page_no: int, inspection: Inspection, steps: Steps | None = None) -> LaidOut:
        """The layout of page `page_no` (1-based) of the file. Raises what opening a page raises, `ChildDied`, `ChildStalled`."""
        step = (steps or Steps()).step
        if inspection.unit is None:
            with step("open"):
                return await self._flowing(path, page_no, inspection)
        with contextlib.ExitStack() as held:
            network = inspection.options.layout != "fast"
            with step("open"):
                opened, shown = await self._open(path, page_no, inspection, _how(inspection), layout_picture=network)
            held.enter_context(shown)
            with step("look"):
                look, scale = await self._look(opened, shown, inspection)
            rotation = None
            if look.turn:
                rotation = (opened.rotation + look.turn) % 360
                with step("open again"):
                    opened, shown = await self._open(
                        path, page_no, inspection, _how(inspection), layout_picture=network, rotation=rotation
                    )
                held.enter_context(shown)
                with step("look"):
                    look, scale = await self._look(opened, shown, inspection, turned=look)
            if doubts := self._doubts(opened, inspection):
                document = f"{inspection.document_id}/{inspection.generation}/{path}"
                proof = shown.full
                if proof is None and self._comparer.unsettled(document, doubts):
                    with step("open again"):
                        _, proofs = await self._open(
                            path, page_no, inspection, "always", layout_picture=False, rotation=rotation, dpi=PROOF_DPI
                        )
                    held.enter_context(proofs)
                    proof = proofs.full
                with step("compare"):
                    verdicts, asked = await self._comparer.settle(document, doubts, opened, proof)
            else:
                verdicts, asked = {}, []
            with step("plan"):
                planned = await asyncio.to_thread(
                    plan, opened, look, scale, inspection, page_no, self._settings, verdicts
                )
            if planned.picture and shown.full is None:
                with step("open again"):
                    _, shown = await self._open(
                        path,
                        page_no,
                        inspection,
                        "always",
                        layout_picture=False,
                        rotation=rotation,
                        parts=planned.looked_at,
                    )
                held.enter_context(shown)
            with step("lines"):
                lines = await find_lines(self.engine, opened, planned, shown)
            size = shown.full[0].page_size if shown.full is not None else None
            models = [*look.models, *asked, *lines.models]
            with step("assemble"):
                layout = await asyncio.to_thread(
                    assemble,
                    opened,
                    planned,
                    lines.lines,
                    size,
                    models,
                    inspection,
                    page_no,
                    self._settings,
                    lines.strokes,
                )
            part = part_to_keep(layout, inspection)
            if layout.picture_key is not None and shown.full is not None and not holds(shown.full[0], part):
                with step("open again"):  # what was drawn was planned for less than came out
                    _, shown = await self._open(
                        path, page_no, inspection, "always", layout_picture=False, rotation=rotation
                    )
                held.enter_context(shown)
            with step("encode"):
                return await self._with_jpeg(layout, shown, part)

    async def _with_jpeg(self, layout: PageLayout, shown: Pictures, part: list[int] | None = None) -> LaidOut:
        """The layout, and its picture's JPEG where it names one: it is only encoded now where that was not for nothing.

        Of a picture that has to be encoded only `part` is, where there is one, in pixels of the whole page's picture.
        """
        if layout.picture_key is None or shown.full is None:
            return LaidOut(layout=layout)
        if shown.jpeg is not None:
            with shown.jpeg[1] as jpeg:
                return LaidOut(layout=layout, jpeg=jpeg.tobytes())
        layout = msgspec.structs.replace(layout, picture_box=part)
        with await self.documents.encode(shown.full, within(shown.full[0], part)) as jpeg:
            return LaidOut(layout=layout, jpeg=jpeg.tobytes())

    async def _flowing(self, path: Path, page_no: int, inspection: Inspection) -> LaidOut:
        """The layout of a document that is text without places. An engine takes part only where it has pictures to be read."""
        answer, data = await self.documents.read_flow(
            path,
            inspection.source.mime_type or "",
            password=password_of(self._settings, inspection.options.password_ref),
            pictures=inspection.options.pictures,
            places=inspection.options.ocr != "off",
        )
        layout, pictures = await asyncio.to_thread(flowing.layout_of, answer, data, inspection, page_no)
        if not answer.places:
            return LaidOut(layout=layout, pictures=pictures)
        sheet = await self._sheet(path, page_no, inspection)
        return LaidOut(layout=flowing.with_pictures(layout, sheet.layout), jpeg=sheet.jpeg, pictures=pictures)

    async def _sheet(self, path: Path, page_no: int, inspection: Inspection) -> LaidOut:
        """What is to be read on the sheet with the pictures of such a document."""
        options = flowing.reading_options(inspection.options)
        inspection = msgspec.structs.replace(inspection, options=options)
        opened, shown = await self._open(path, page_no, inspection, "always", layout_picture=False)
        with shown:
            upright = Look(boxes=[], seals=[], ink=0.0)  # pictures stand as the document shows them
            look, scale = await self._look(opened, shown, inspection, turned=upright)
            planned = await asyncio.to_thread(plan, opened, look, scale, inspection, page_no, self._settings)
            lines = await find_lines(self.engine, opened, planned, shown)
            size = (shown.full[0].width, shown.full[0].height) if shown.full is not None else None
            models = [*look.models, *lines.models]
            layout = await asyncio.to_thread(
                assemble, opened, planned, lines.lines, size, models, inspection, page_no, self._settings, lines.strokes
            )
            return await self._with_jpeg(layout, shown)

    async def _open(
        self,
        path: Path,
        page_no: int,
        inspection: Inspection,
        picture: How,
        *,
        layout_picture: bool,
        rotation: int | None = None,
        dpi: int | None = None,
        parts: Sequence[Sequence[float]] = (),
    ) -> tuple[OpenedPage, Pictures]:
        """`dpi`: of a picture that is looked at and not stored; none is `layout.dpi`. `parts`: all that will be looked at, none is the page."""
        return await self.documents.open_page(
            path,
            inspection.source.mime_type or "",
            page_no,
            password=password_of(self._settings, inspection.options.password_ref),
            picture=picture,
            layout_picture=layout_picture,
            dpi=dpi or self._settings.layout.dpi,
            jpeg=dpi is None,
            jpeg_may_wait=True,
            rotation=rotation,
            parts=parts,
        )

    async def _look(
        self, opened: OpenedPage, shown: Pictures, inspection: Inspection, turned: Look | None = None
    ) -> tuple[Look, tuple[float, float]]:
        """What the engine child sees at a glance, and pixels per page unit of the picture it was shown.

        Which way up a page stands is asked where it has no text of its own to tell; `turned` is that answer when the page was opened anew.

        The full picture where there is one: the network wants another shape than the page's, and what is resampled twice it reads
        worse (a scanned page of two columns: 12 sure boxes of the full picture, 2 of the small one).
        Without a picture there is nothing to see: with `layout: fast` a page that is all native text is drawn by nobody.
        """
        picture = shown.full or shown.small
        if picture is None or opened.blank:
            return Look(boxes=[], seals=[], ink=0.0), (1.0, 1.0)
        size, pixels = picture
        own_text = any(line.visible and line.text.strip() for line in opened.lines)
        scan = inspection.options.ocr != "off" and not own_text
        request = LookRequest(
            width=size.width,
            height=size.height,
            layout=inspection.options.layout != "fast",
            upright=turned is not None or not scan,
            scan=scan,
        )
        look, _ = await self.engine.call("look", request, [pixels], returns=Look)
        if turned is not None:
            look = msgspec.structs.replace(look, turn=turned.turn, models=[*turned.models, *look.models])
        return look, (size.width / opened.width, size.height / opened.height)


def _how(inspection: Inspection) -> How:
    """Whether the page's picture is made at once."""
    options = inspection.options
    if options.pictures or options.ocr == "force":
        return "always"
    return "none" if options.ocr == "off" else "auto"
