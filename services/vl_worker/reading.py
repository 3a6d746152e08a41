"""The text of an answer to what is stored: pure functions from (profile, place, text) to readings of regions.

One region is asked for by its label, so its answer is one thing. A page is asked for as it is, and its blocks are the model's own: they get
ids of their own (`v000`, beside the layout's `r000`), boxes in page units, and stand in place of the regions that the page had for
the VL model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from services.vl_worker.agreement import doubt_of
from services.vl_worker.asking import Judged
from services.vl_worker.cells import with_boxes
from services.vl_worker.grammars.grounding import SCALE, Part, parse_grounding
from services.vl_worker.grammars.html_table import parse_html_table, split_html_table
from services.vl_worker.grammars.latex import is_formula, parse_latex
from services.vl_worker.grammars.otsl import is_otsl, parse_otsl
from services.vl_worker.grammars.prose import heading, parse_prose
from services.vl_worker.guards import Fault, Place, fault_of_parts, fault_of_table, place_of
from services.vl_worker.loops import is_looping
from shared.contracts.document import Table, Unit, Warning, rounded
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.layout import Doubt, PageLayout, Region, RegionReading, TextLine
from shared.settings import Vl
from shared.vlm.profile import Profile

SAME_PICTURE = 0.5
"""Share of a picture that the model found which lies in one of the layout's: it is the same, and the layout's stays."""
_PARAGRAPHS = re.compile(r"\n[ \t]*\n\s*")
INSIDE = 0.5
"""Share of a line in a block from which it is the block's."""


# --- one region -------------------------------------------------------------------------------------------------------


def read_region(
    text: str, region: Region, unit: Unit, page_no: int, profile: Profile, settings: Vl
) -> Judged[RegionReading]:
    """The answer for one region. Raises `DocfleetError(corrupt)` where it is not in the form it was asked for."""
    kind = region.label
    reading = RegionReading(region_id=region.region_id, method="vl", model=name_of(profile, settings))
    if kind == "table":
        around = split_html_table(text)
        if around is not None and (is_looping(around[0]) or is_looping(around[2])):
            return None, "repetition"
        table = _table_in(text, page_no, settings)
        fault = fault_of_table(table, place_of(region, unit))
        if fault is not None:
            return None, fault
        said = " ".join(cell.text for cell in table.cells)
        return replace(reading, table=with_boxes(table, region), doubts=_doubts(said, region.lines, settings)), None
    words = _ungrounded(text, profile, settings)
    said = parse_latex(words) if kind == "formula" else parse_prose(words, code=kind == "code")
    if kind in ("title", "section_header"):
        said = heading(said)
    if not said:
        return None, "empty"
    if is_looping(said):  # a table in the answer may have hidden it from the first look
        return None, "repetition"
    if len(said) > place_of(region, unit).characters(kind):
        return None, "overlong"
    if kind == "formula":
        return replace(reading, latex=said), None
    return replace(reading, text=said, doubts=_doubts(said, region.lines, settings)), None


def name_of(profile: Profile, settings: Vl) -> str:
    """The model of a block: the served name, and the profile it was asked with."""
    model = settings.model if settings.model and profile.name == settings.profile else profile.model
    return f"{model}@{profile.name}"


def _table_in(text: str, page_no: int, settings: Vl) -> Table:
    if is_otsl(text):
        return parse_otsl(text, page_no=page_no, max_cells=settings.max_table_cells)
    return parse_html_table(text, page_no=page_no, max_cells=settings.max_table_cells)


def _ungrounded(text: str, profile: Profile, settings: Vl) -> str:
    """The words of an answer with boxes: a region's box is the layout's, whatever the model says of it."""
    if "<|" not in text:
        return text
    parts = parse_grounding(text, labels=profile.labels, max_parts=settings.max_blocks)
    return "\n".join(part.text for part in parts if part.text)


def _doubts(said: str, lines: Sequence[TextLine], settings: Vl) -> list[Doubt]:
    doubt = doubt_of(said, lines, settings.disagreement)
    return [] if doubt is None else [doubt]


# --- a page -----------------------------------------------------------------------------------------------------------


class PageBlocks(msgspec.Struct, frozen=True):
    """What the model found on a page, and what is doubtful about the page as a whole."""

    regions: list[RegionReading]
    warnings: list[Warning] = []


def read_page(text: str, layout: PageLayout, profile: Profile, settings: Vl) -> Judged[PageBlocks]:
    """The answer for one page. Raises `DocfleetError(corrupt)` where it is not in the form it was asked for."""
    parts = parse_grounding(text, labels=profile.labels, max_parts=settings.max_blocks)
    if len(parts) == 1 and parts[0].box is None and split_html_table(text) is None:
        parts = [Part("text", "text", None, each) for each in _PARAGRAPHS.split(parts[0].text)[: settings.max_blocks]]
    fault = fault_of_parts(parts)
    if fault is not None:
        return None, fault
    maker = _Page(layout, profile, settings)
    for part in parts:
        fault = maker.add(part)
        if fault is not None:
            return None, fault
    if len(maker.said) > Place(width=layout.width, height=layout.height, unit=layout.unit).characters("page"):
        return None, "overlong"
    lines = [line for region in layout.regions if region.read_by == "vl" for line in region.lines]
    doubt = doubt_of(maker.said, lines, settings.disagreement)
    warnings = [] if doubt is None else [Warning(code=doubt.code, message=doubt.message, page_no=layout.page_no)]
    return PageBlocks(maker.regions, warnings), None


class _Page:
    """Blocks of a page, as they are read."""

    def __init__(self, layout: PageLayout, profile: Profile, settings: Vl) -> None:
        self.regions: list[RegionReading] = []
        self.said = ""
        self._layout, self._settings = layout, settings
        self._model = name_of(profile, settings)
        self._box: list[float] | None = None

    def add(self, part: Part) -> Fault | None:
        """One block of the model; a table in its text makes three of it."""
        box = self._in_page_units(part)
        split = split_html_table(part.text)
        if split is None and is_otsl(part.text):
            split = ("", part.text, "")
        if split is None:
            self._add_text(part, part.text, box)
            return None
        before, markup, after = split
        if is_looping(before) or is_looping(after):
            return "repetition"
        self._add_text(part, before, box, beside_table=True)
        table = _table_in(markup, self._layout.page_no, self._settings)
        lines = [line for region in self._layout.regions for line in region.lines if _inside(line.bbox, box) >= INSIDE]
        region = Region(
            region_id="",
            label="table",
            raw_label=part.raw,
            bbox=box,
            confidence=1.0,
            found_by="model",
            read_by="vl",
            lines=lines,
        )
        place = place_of(region, self._layout.unit) if part.box is not None else Place()
        fault = fault_of_table(table, place)
        if fault is not None:
            return fault
        self.said += " " + " ".join(cell.text for cell in table.cells)
        self._append(RegionReading(region_id="", method="vl", label="table", table=with_boxes(table, region), bbox=box))
        self._add_text(part, after, box, beside_table=True)
        return None

    def _add_text(self, part: Part, text: str, box: list[float], *, beside_table: bool = False) -> None:
        label = "text" if beside_table else part.label
        if label == "picture":
            if not beside_table and not self._is_known_picture(box):
                self._append(RegionReading(region_id="", method="vl", label="picture", bbox=box))
            return
        if not beside_table and (label == "formula" or is_formula(text)):
            self._add_formula(text, box)
            return
        said = parse_prose(text, code=label == "code")
        if label == "text" and said.startswith("#") and "\n" not in said:
            label = "section_header"
        if label in ("title", "section_header"):
            said = heading(said)
        if said:
            self.said += " " + said
            self._append(RegionReading(region_id="", method="vl", label=label, text=said, bbox=box))

    def _add_formula(self, text: str, box: list[float]) -> None:
        try:
            self._append(RegionReading(region_id="", method="vl", label="formula", latex=parse_latex(text), bbox=box))
        except DocfleetError as error:
            if error.code is not ErrorCode.corrupt:
                raise
            doubt = Doubt(code="not_read", message=f"a formula, kept as text: {error.message}")
            said = parse_prose(text)
            if said:
                self._append(
                    RegionReading(region_id="", method="vl", label="formula", text=said, bbox=box, doubts=[doubt])
                )

    def _append(self, reading: RegionReading) -> None:
        region_id = f"p{self._layout.page_no:05d}-v{len(self.regions):03d}"
        self.regions.append(replace(reading, region_id=region_id, model=self._model))

    def _in_page_units(self, part: Part) -> list[float]:
        """The block's box; of a block without one that of the block before it, or the page."""
        width, height = self._layout.width, self._layout.height
        if part.box is not None:
            x0, y0, x1, y1 = part.box
            self._box = [
                rounded(x0 / SCALE * width),
                rounded(y0 / SCALE * height),
                rounded(x1 / SCALE * width),
                rounded(y1 / SCALE * height),
            ]
        return list(self._box or [0.0, 0.0, width, height])

    def _is_known_picture(self, box: list[float]) -> bool:
        known = (region.bbox for region in self._layout.regions if region.read_by == "none")
        return any(_inside(box, other) >= SAME_PICTURE for other in known)


def _inside(inner: Sequence[float], outer: Sequence[float]) -> float:
    """Share of a box's area that lies in another."""
    width = min(inner[2], outer[2]) - max(inner[0], outer[0])
    height = min(inner[3], outer[3]) - max(inner[1], outer[1])
    area = (inner[2] - inner[0]) * (inner[3] - inner[1])
    return max(width, 0.0) * max(height, 0.0) / area if area > 0 else 0.0
