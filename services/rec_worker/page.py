"""How a page is read: what each region needs, all lines of the page together, then what only shows afterwards.

A region's lines are known from the layout (detected once for the whole page), except where a vision-language model was to
read it and could not, or where it is small and single-line (`direct`: the region is the line). A direct region or a seal that is not
read surely is looked at again with line detection. Text the page itself gives (a line with `text`) is taken as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import msgspec
import numpy as np

from services.rec_worker import crops, tables
from services.rec_worker.call import PageRead, PageToRead
from services.rec_worker.crops import Pixels, Quad
from services.rec_worker.frame import Frame
from services.rec_worker.inference import Text
from services.rec_worker.read import LineCrop, LineFailed, LineReader, Tally, Ticket
from services.rec_worker.seals import Seals, lines_of, smoothed
from services.rec_worker.work import Wanted, Work
from shared.contracts.document import ModelRef, Table, Warning, WarningCode, rounded
from shared.contracts.errors import DocfleetError, ErrorCode, ErrorInfo, Phase
from shared.contracts.layout import ReadLine, Region, RegionReading, TextLine
from shared.models.lines import DetectedLine
from shared.models.table import TableGrid


class _Named(Protocol):
    @property
    def ref(self) -> ModelRef: ...


Tool = TypeVar("Tool", bound=_Named)


class Detector(_Named, Protocol):
    """Finds text lines; `shared.models.lines.LineDetector`."""

    def detect(self, picture: Pixels) -> list[DetectedLine]: ...


class Structure(_Named, Protocol):
    """Finds the grid of a table; `shared.models.table.TableStructure`."""

    def read(self, picture: Pixels) -> TableGrid: ...


@dataclass
class Tools:
    """The networks a page may need; those that few pages need are opened when the first one comes."""

    lines: LineReader
    reader: ModelRef
    detector: Callable[[], Detector]
    structure: Callable[[], Structure]
    seals: Callable[[], Seals]
    low_confidence: float


class PageReading:
    """One call. Not shared between threads."""

    def __init__(self, page: PageToRead, picture: Pixels | None, tools: Tools, ticket: Ticket) -> None:
        self._page = page
        self._frame = Frame(page.width, page.height, picture, page.picture_box, page.picture_whole)
        self._tools = tools
        self._ticket = ticket
        self._tally = Tally()
        self._models: dict[str, ModelRef] = {}
        self._warnings: list[Warning] = []
        self._errors: list[ErrorInfo] = []

    def read(self) -> PageRead:
        """Read all regions. Raises `DocfleetError` (`internal`, or the engine's own) when it fails on every line, `MemoryError` when it has
        no more memory."""
        with self._tools.lines.cutting(self._ticket):
            works = [self._found(region) for region in self._page.regions]
        self._read(works)
        direct = sum(work.direct for work in works)
        again = [work for work in works if work.second != "none" and work.confidence < self._tools.low_confidence]
        if again:
            with self._tools.lines.cutting(self._ticket):
                others = [Work(work.region, self._looked_again(work)) for work in again]
            self._read(others)
            for work, other in zip(again, others, strict=True):
                if work.better(other):
                    works[works.index(work)] = other
        readings = [self._reading(work) for work in works]
        self._warn(works)
        return PageRead(
            regions=readings,
            models=list(self._models.values()),
            warnings=self._warnings,
            errors=self._errors,
            crops=self._tally.crops,
            cache_hits=self._tally.cache_hits,
            blank=self._tally.blank,
            direct=direct,
            direct_fallbacks=sum(work.direct for work in again),
        )

    # --- what is to be read -------------------------------------------------------------------------------------------

    def _found(self, region: Region) -> Work:
        silent = any(line.text is None for line in region.lines) or not region.lines
        if region.label == "seal" and silent and self._frame.has_picture:
            return Work(region, self._seal(region), "seal")
        if region.lines:
            return Work(region, [self._wanted(line) for line in region.lines])
        if region.direct and self._frame.has_picture:
            quad = self._frame.quad(region.bbox)
            return Work(region, [Wanted(region.bbox, self._cut(quad), crops.is_tall(quad))], "direct")
        return Work(region, self._detected(region))

    def _wanted(self, line: TextLine) -> Wanted:
        if line.text is not None:
            confidence = 1.0 if line.confidence is None else line.confidence
            return Wanted(line.bbox, None, line.vertical, Text(line.text, confidence))
        quad = self._frame.quad(line.bbox) if line.quad is None else self._frame.placed(line.quad)
        return Wanted(line.bbox, self._cut(quad), line.vertical)

    def _detected(self, region: Region) -> list[Wanted]:
        picture, begin = self._frame.part(region.bbox, margin=True)
        detector = self._use(self._tools.detector())
        quads = [line.quad + begin for line in detector.detect(picture)]
        return [Wanted(self._frame.box(quad), self._cut(quad), crops.is_tall(quad)) for quad in quads]

    def _looked_again(self, work: Work) -> list[Wanted]:
        """Lines of a region that was not read surely: found in it, for a seal in its picture without the speckles of a stamp."""
        if work.second == "direct":
            return self._detected(work.region)
        picture, begin = self._frame.part(work.region.bbox, margin=True)
        smooth = smoothed(picture)
        quads = [line.quad for line in self._use(self._tools.detector()).detect(smooth)]
        if not quads:
            return [self._wanted(line) for line in work.region.lines]
        return [Wanted(self._frame.box(quad + begin), LineCrop.of(smooth, quad), crops.is_tall(quad)) for quad in quads]

    def _seal(self, region: Region) -> list[Wanted]:
        picture, begin = self._frame.part(region.bbox, margin=True)
        found = lines_of(self._use(self._tools.seals()), picture)
        return [Wanted(self._frame.box(line.polygon + begin), line.crop, False) for line in found]

    # --- reading ------------------------------------------------------------------------------------------------------

    def _read(self, works: Sequence[Work]) -> None:
        wanted = [(line, line.crop) for work in works for line in work.lines if line.crop is not None]
        if not wanted:
            return
        self._models.setdefault("reader", self._tools.reader)
        texts = self._tools.lines.read([crop for _, crop in wanted], self._ticket, self._tally)
        failed = [text for text in texts if isinstance(text, LineFailed)]
        if any(isinstance(failure.error, MemoryError) for failure in failed):
            raise MemoryError  # the child is then replaced
        if len(failed) == len(texts):
            raise _failure(failed[0], "every line of the page")
        for (line, _), text in zip(wanted, texts, strict=True):
            line.text = text

    def _reading(self, work: Work) -> RegionReading:
        region = work.region
        for number, line in enumerate(work.lines):
            if isinstance(line.text, LineFailed):
                error = _failure(line.text, f"line {number + 1} of {region.region_id}", region.region_id)
                self._errors.append(error.info(Phase.rec, self._page.page_no))
        lines = [
            ReadLine(
                bbox=[rounded(value) for value in self._frame.inside(line.bbox)],
                text=line.text.text,
                confidence=round(line.text.confidence, 4),
                vertical=line.vertical,
            )
            for line in work.lines
            if isinstance(line.text, Text) and line.text.text
        ]
        native = bool(work.lines) and all(line.crop is None for line in work.lines)
        model = None if native else f"{self._tools.reader.name}@{self._tools.reader.version}"
        return RegionReading(
            region_id=region.region_id,
            method="native" if native else "direct_rec" if work.direct else "det_rec",
            model=model,
            confidence=round(work.confidence, 4) if lines else None,
            lines=lines,
            table=self._table(region, lines) if region.label == "table" and region.grid is None else None,
            fallback_from=self._page.fallback_from,
        )

    def _table(self, region: Region, lines: list[ReadLine]) -> Table | None:
        table, why = self._grid(region, lines)
        if table is None:
            self._warn_of("table_structure", f"{region.region_id}: kept as lines, its structure was not found ({why})")
        return table

    def _grid(self, region: Region, lines: list[ReadLine]) -> tuple[Table | None, str]:
        """The table, or why there is none. What lies around its lines is looked at first: a region may reach further than its table."""
        if not self._frame.has_picture:
            return None, "the page has no picture"
        why = ""
        for box in [*([tables.around(lines)] if lines else []), region.bbox]:
            picture, begin = self._frame.part(box, margin=False)
            grid = self._use(self._tools.structure()).read(picture)
            cells = [
                msgspec.structs.replace(
                    cell, bbox=self._frame.box(np.array(cell.bbox, dtype=np.float32).reshape(2, 2) + begin)
                )
                for cell in grid.cells
            ]
            table, doubt = tables.build(cells, lines, page_no=self._page.page_no)
            if table is not None and grid.complete:
                return table, ""
            why = why or doubt or "it is larger than the model can say"
        return None, why

    # --- warnings -----------------------------------------------------------------------------------------------------

    def _warn(self, works: Sequence[Work]) -> None:
        for work in works:
            if work.region.label == "formula":
                self._warn_of("not_read", f"{work.region.region_id}: a formula, read as plain text")
        silent = [work.region.region_id for work in works if not work.characters]
        if silent:
            self._warn_of("not_read", f"no text was found in {len(silent)} regions ({', '.join(silent[:5])})")

    def _cut(self, quad: Quad) -> LineCrop:
        return LineCrop.of(self._frame.pixels, quad)

    def _warn_of(self, code: WarningCode, message: str) -> None:
        self._warnings.append(Warning(code=code, message=message, page_no=self._page.page_no))

    def _use(self, tool: Tool) -> Tool:
        self._models.setdefault(tool.ref.name, tool.ref)
        return tool


def _failure(failed: LineFailed, what: str, region_id: str | None = None) -> DocfleetError:
    error = failed.error
    if isinstance(error, DocfleetError):
        return DocfleetError(error.code, f"the recogniser failed on {what}: {error.message}", region_id=region_id)
    name = type(error).__name__
    return DocfleetError(ErrorCode.internal, f"the recogniser failed on {what} ({name})", region_id=region_id)
