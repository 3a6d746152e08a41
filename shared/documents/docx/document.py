"""A DOCX as one page without geometry: its text in order, then its notes; running headers first and footers last."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from shared.children.block import Block
from shared.contracts.document import Label, Warning
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.layout import FlowBlock, PageGeometry
from shared.documents import sniff
from shared.documents.docx.archive import Archive
from shared.documents.docx.captions import tied
from shared.documents.docx.inline import Runs
from shared.documents.docx.marks import Marks
from shared.documents.docx.media import described, packed, raster_parts
from shared.documents.docx.notes import comments, notes
from shared.documents.docx.numbering import Numbering
from shared.documents.docx.running import Running
from shared.documents.docx.sheet import drawn, places, sheet_of
from shared.documents.docx.story import BLOCKS, Story, Told
from shared.documents.docx.styles import Styles
from shared.documents.docx.xml import Element, attribute, child, parsed, pieces
from shared.documents.flow import FlowAnswer, FlowCall
from shared.documents.limits import Bounds
from shared.documents.page import Inspected, OpenedPage, PageAnswer, PageCall
from shared.documents.pictures import jpeg_of
from shared.documents.pictures import packed as packed_page

_PAGE_NUMBER = re.compile(r"[-–—\s]*\d{1,5}[-–—\s]*")


class DocxFile:
    """An open DOCX. Nothing that it refers to outside its archive is ever opened, and no macro or field is run."""

    def __init__(self, path: Path, limits: Bounds) -> None:
        """Raises `corrupt`, `encrypted`, `resource_limit`."""
        self._limits = limits
        self._rasters: dict[int, str] | None = None
        """Parts of the pictures by the blocks that show them, once the document was read."""
        self._archive = Archive(path, limits)
        try:
            self._part = self._archive.main_part()
            self._relationships = self._archive.relationships(self._part)
        except BaseException:
            self._archive.close()
            raise

    def close(self) -> None:
        self._archive.close()

    def inspect(self) -> Inspected:
        """One page without size. Raises `corrupt` where the part with the text holds nothing."""
        with self._archive.open(self._part) as stream:
            if not stream.read(1):
                raise DocfleetError(ErrorCode.corrupt, "the text of the DOCX is empty: its file seems to be cut")
        return Inspected(mime_type=sniff.DOCX, unit=None, pages=[PageGeometry(width=0.0, height=0.0)])

    def open_page(self, call: PageCall) -> tuple[PageAnswer, list[Block]]:
        """The sheet with the document's pictures, in pixels; blank where it has none. Raises `corrupt`, `resource_limit`."""
        if call.page_no != 1:
            raise DocfleetError(ErrorCode.corrupt, f"there is no page {call.page_no}", page_no=call.page_no)
        if self._rasters is None:
            self._told()
        self._archive.fresh()
        sheet = sheet_of(list((self._rasters or {}).values()), self._archive, self._limits)
        size = (float(sheet.width), float(sheet.height))
        if not sheet.placed:
            page = OpenedPage(page_no=1, width=0.0, height=0.0, unit=None, blank=True)
            return packed_page(page, small=None, full=None, jpeg=None)
        page = OpenedPage(
            page_no=1,
            width=size[0],
            height=size[1],
            unit="px",
            image_coverage=1.0,
            full_page_image=True,
            image_boxes=[[0.0, 0.0, *size]],
        )
        if call.picture == "none":
            return packed_page(page, small=None, full=None, jpeg=None)
        image = drawn(sheet, self._archive, self._limits)
        return packed_page(page, small=None, full=image, jpeg=jpeg_of(image) if call.jpeg else None)

    def read_flow(self, call: FlowCall) -> tuple[FlowAnswer, list[Block]]:
        """All of it, and its pictures where they are asked for. Raises `corrupt`, `resource_limit`."""
        told = self._told()
        shown = described(told, self._archive, self._relationships)
        self._archive.fresh()
        found, data = packed(told, self._archive, self._relationships) if call.pictures else ([], b"")
        boxes: dict[int, list[float]] = {}
        warnings: list[Warning] = []
        if call.places and self._rasters:
            self._archive.fresh()
            sheet = sheet_of(list(self._rasters.values()), self._archive, self._limits)
            boxes = places(sheet, self._rasters)
            if sheet.left_out:
                message = f"pictures that are not read, for all of them are more than limits.max_page_pixels: {sheet.left_out}"
                warnings.append(Warning(code="not_read", message=message, page_no=1))
        answer = FlowAnswer(blocks=tied(shown), pictures=found, places=boxes, warnings=warnings)
        return answer, [Block.of(data)] if data else []

    def _told(self) -> Told:
        """All blocks of the document. Raises `corrupt`, `resource_limit`."""
        self._archive.fresh()
        styles, settings = Styles(self._first("styles")), self._settings()
        marks = Marks(settings)
        numbering = Numbering(self._first("numbering"), styles)

        def story(part: str) -> Story:
            return Story(styles, numbering, Runs(styles, self._archive.relationships(part), marks))

        main, running = story(self._part), Running()
        with self._archive.open(self._part) as stream:
            for element in pieces(stream, "the text", "w:body", BLOCKS | {"w:sectPr"}):
                running.see(element)
                main.read([element])
                self._check(main.told)
        told = main.told
        for kind in ("footnote", "endnote"):
            notes(told, kind, self._root(f"{kind}s"), story(self._named(f"{kind}s")), marks)
        comments(told, self._root("comments"), story(self._named("comments")))
        told = self._with_running(told, running, story)
        self._check(told)
        self._rasters = raster_parts(told, self._archive, self._relationships)
        return told

    def _with_running(self, told: Told, running: Running, story: Callable[[str], Story]) -> Told:
        """Running headers before the text and footers after it, each text once."""
        even = child(self._root("settings"), "w:evenAndOddHeaders") is not None
        seen: set[tuple[str, str]] = set()
        found: dict[str, list[FlowBlock]] = {"header": [], "footer": []}
        for kind, reference in running.shown(even=even):
            target = self._relationships.get(reference)
            if target is None or target.external or not self._archive.has(target.target):
                continue
            part = story(target.target)
            part.read(parsed(self._archive.read(target.target), f"a {kind}"))
            for block in part.told.blocks:
                if block.layer == "body" and block.text.strip() and (kind, block.text) not in seen:
                    seen.add((kind, block.text))
                    found[kind].append(_furniture(block, kind))
        return told.between(found["header"], found["footer"])

    def _check(self, told: Told) -> None:
        limit = self._limits.max_flow_characters
        if told.characters > limit:
            raise DocfleetError(
                ErrorCode.resource_limit,
                f"the document has more characters than the {limit} of limits.max_flow_characters",
                page_no=1,
            )

    def _settings(self) -> dict[str, str]:
        """Number formats of notes, where the document says."""
        root = self._root("settings")
        found = {kind: attribute(child(root, f"w:{kind}Pr", "w:numFmt"), "w:val") for kind in ("footnote", "endnote")}
        return {kind: form for kind, form in found.items() if form}

    def _named(self, kind: str) -> str:
        """The part that the text refers to as `kind`; empty where there is none."""
        found = (one.target for one in self._relationships.values() if one.kind == kind and not one.external)
        return next((part for part in found if self._archive.has(part)), "")

    def _first(self, kind: str) -> bytes | None:
        part = self._named(kind)
        return self._archive.read(part) if part else None

    def _root(self, kind: str) -> Element | None:
        data = self._first(kind)
        return parsed(data, f"the part {kind}") if data else None


def _furniture(block: FlowBlock, kind: str) -> FlowBlock:
    """A paragraph or table of a running header or footer; a number alone is the page's, as it was when the file was saved."""
    label: Label = "page_header" if kind == "header" else "page_footer"
    if _PAGE_NUMBER.fullmatch(block.text):
        label = "page_number"
    return replace(block, label=label, layer="furniture", level=None, table=None, owner=None)
