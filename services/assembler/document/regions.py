"""From a region and its reading to blocks: who read it, which paragraphs it has, what is known about them.

Block ids are provisional here (`region id`/index); `page` gives the final ones in the order of reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import mean, median

from msgspec.structs import replace

from services.assembler.document import captions, columns, mended, ruled, tables, words
from services.assembler.document.boxes import clipped, shared_area, union
from services.assembler.document.fonts import set_size
from services.assembler.document.paragraphs import is_form, paragraphs
from services.assembler.document.text import Piece, joined, rows
from shared.contracts.document import Block, ContentLayer, Label, Line, Method, Provenance, Table, rounded
from shared.contracts.layout import PageLayout, Reading, ReadLine, Region, RegionReading, TextLine

FURNITURE: frozenset[Label] = frozenset({"page_header", "page_footer", "page_number"})
WHOLE: frozenset[Label] = frozenset(
    {"title", "section_header", "caption", "formula", "page_header", "page_footer", "page_number"}
)
"""Labels whose lines are one text, wherever they break; unless they are fields of a form."""
KEPT_EMPTY: frozenset[Label] = frozenset({"picture", "table", "seal", "formula"})
"""Labels that say something without a text."""
FIELDS: frozenset[Label] = frozenset({"form_field", "checkbox"})
"""Labels of what may be an interactive field, whose value is the document's own data."""
SAME_PLACE = 0.7
"""Share of the smaller box from which two lines with the same text are one, drawn twice."""
PROSE = 0.85
"""Share of a region's width that every line but the last covers in prose."""
LONG = 5
"""Times its height from which on a line's slope means something."""
MIN_ADVANCE = 0.1
"""Width of a character, in page units, below which boxes say nothing about indentation."""
MAX_INDENT = 120
"""Blanks before a line of code, at most."""
HEIGHT_TO_SIZE = 0.75
"""Font size of a line whose box alone is known: line boxes of common fonts are about 1.3 times the size."""


def best_readings(readings: Iterable[Reading]) -> dict[str, RegionReading]:
    """Region id to its reading; of two, the VL model's, then that of the first task by name."""
    out: dict[str, RegionReading] = {}
    for reading in sorted(readings, key=lambda r: r.task_id):
        for region in reading.regions:
            known = out.get(region.region_id)
            if known is None or (region.method == "vl" and known.method != "vl"):
                out[region.region_id] = region
    return out


def skew(layout: PageLayout) -> float:
    """Slope of the page's text lines, as detected: the median of long ones, 0 where there are none."""
    slopes = []
    for region in layout.regions:
        for line in region.lines:
            if line.quad is not None and not line.vertical:
                x0, y0, x1, y1 = line.quad[:4]
                height = abs(line.quad[7] - y0)
                if x1 - x0 > LONG * height:
                    slopes.append((y1 - y0) / (x1 - x0))
    return median(slopes) if slopes else 0.0


def blocks_of(region: Region, reading: RegionReading | None, layout: PageLayout, slope: float = 0.0) -> list[Block]:
    """The blocks of a region in its own order; none for a region of text that has none. `slope` is the page's `skew`."""
    if reading is not None:
        pieces = _distinct(_read(line, slope) for line in reading.lines)
        method: Method = reading.method
        model = reading.model
    else:
        own = region.lines if region.read_by == "native" else []
        pieces = _distinct(_native(line) for line in own if line.text is not None and line.text.strip())
        method, model = "form" if region.label in FIELDS and region.raw_label == "widget" else "native", None
    label = reading.label if reading is not None and reading.label is not None else region.label
    box = reading.bbox if reading is not None and reading.bbox is not None else region.bbox
    common = _Common(region, reading, layout, label, method, model)
    beside = _columns(region, reading, pieces) if label == "table" else []
    if beside:
        label = "text"
        common = _Common(region, reading, layout, label, method, model)
        groups = [group for column in beside for group in paragraphs(column)]
        return _paragraphs(common, groups)
    if label == "table":
        if named := _with_caption(common, pieces):
            return named
        table = _grid(region, reading, pieces, layout, box)
        if table is not None or not pieces:
            return [_table(common, box, pieces, table)]
        label = "text"  # one column: whatever it was taken for, its lines are text
    if label == "formula" and reading is not None and not reading.latex and words.is_prose(pieces):
        label = "text"
    if label in WHOLE and is_form(pieces):
        label = "text"
    common = _Common(region, reading, layout, label, method, model)
    if label == "seal":
        return [_seal(common, box, pieces)]
    if label == "code":
        lines = [piece for group in paragraphs(pieces, whole=True) for piece in group]
        return [common.block(0, box, _code(lines), lines)] if lines else []
    if reading is not None and reading.text is not None and (reading.text.strip() or reading.latex):
        return [common.block(0, box, reading.text.strip(), pieces)]
    out = _paragraphs(common, paragraphs(pieces, whole=label in WHOLE))
    # Whether a printed frame is a field is a guess; an interactive one is a fact, filled in or not.
    empty = label in KEPT_EMPTY or (label == "form_field" and method == "form")
    if not out and (empty or (reading is not None and reading.latex)):
        out = [common.block(0, box, "", [])]
    return out


def _seal(common: _Common, box: Sequence[float], pieces: Sequence[Piece]) -> Block:
    """A stamp is one thing as large as its ring, whatever of its writing was read and however far apart that stands."""
    lines = [piece for group in paragraphs(pieces, whole=True) for piece in group]
    return common.block(0, box, joined([piece.text for piece in lines]), lines)


def _columns(region: Region, reading: RegionReading | None, pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Columns of running text where the layout saw a table without drawn cells and no VL model says that it is one."""
    if region.grid is not None or (reading is not None and reading.method == "vl"):
        return []
    return columns.of_text(pieces)


def _paragraphs(common: _Common, groups: Sequence[list[Piece]]) -> list[Block]:
    return [
        common.block(index, union([piece.box for piece in group]), joined([piece.text for piece in group]), group)
        for index, group in enumerate(groups)
    ]


def apart(line: TextLine, index: int, layout: PageLayout, layer: ContentLayer) -> Block:
    """A line that is not part of what a reader sees, in its own layer: hidden (`reason` says how), off the page, or a note."""
    box = clipped(line.bbox, layout.width, layout.height)
    text = (line.text or "").strip()
    return Block(
        id=f"~{layer}{index:05d}",
        order=0,
        label="text",
        raw_label=layer,
        content_layer="background" if line.hidden == "outside" else layer,
        text=text,
        prov=[Provenance(page_no=layout.page_no, bbox=box, char_span=[0, len(text)])],
        font_size=line.font_size,
        reason=line.hidden,
    )


class _Common:
    """What all blocks of one region share."""

    def __init__(
        self,
        region: Region,
        reading: RegionReading | None,
        layout: PageLayout,
        label: Label,
        method: Method,
        model: str | None,
    ) -> None:
        self.region, self.reading, self.layout = region, reading, layout
        self.label, self.method, self.model = label, method, model

    def block(self, index: int, box: Sequence[float], text: str, pieces: Sequence[Piece]) -> Block:
        known = [piece.confidence for piece in pieces if piece.confidence is not None]
        sizes = [piece.font_size for piece in pieces if piece.font_size]
        confidence = mean(known) if known else (self.reading.confidence if self.reading else None)
        vertical = 2 * sum(piece.vertical for piece in pieces) > len(pieces)
        layer: ContentLayer = "furniture" if self.label in FURNITURE else "body"
        return Block(
            id=f"{self.region.region_id}/{index:03d}",
            order=0,
            label=self.label,
            raw_label=self.region.raw_label,
            content_layer=layer,
            text=text,
            prov=[Provenance(page_no=self.layout.page_no, bbox=self._inside(box), char_span=[0, len(text)])],
            writing_mode="vertical_rl" if vertical else "horizontal_tb",
            confidence=None if confidence is None else round(confidence, 4),
            method=self.method,
            model=self.model,
            fallback_from=self.reading.fallback_from if self.reading else None,
            reason=self.region.reason,
            route=self.region.route,
            lines=[
                Line(
                    bbox=self._inside(piece.box),
                    text=piece.text.strip(),
                    confidence=None if piece.confidence is None else round(piece.confidence, 4),
                )
                for piece in pieces
            ],
            latex=self.reading.latex if self.reading else None,
            font_size=rounded(median(sizes)) if sizes else None,
            bold=bool(pieces) and 2 * sum(piece.bold for piece in pieces) > len(pieces),
        )

    def _inside(self, box: Sequence[float]) -> list[float]:
        return clipped(box, self.layout.width, self.layout.height)


def _with_caption(common: _Common, pieces: Sequence[Piece]) -> list[Block]:
    """Caption and table, where the first row that was read in a table without drawn cells is its caption; else nothing."""
    if common.region.grid is not None or common.method != "det_rec" or not pieces:
        return []
    head = rows(pieces)[0]
    rest = [piece for piece in pieces if not any(piece is one for one in head)]
    if not captions.names_table(" ".join(piece.text for piece in head)):
        return []
    table = tables.from_pieces(rest, common.layout.page_no)
    if table is None:
        return []
    words = _Common(common.region, common.reading, common.layout, "caption", common.method, common.model)
    table = tables.finished(table, common.layout.page_no, common.layout.width, common.layout.height)
    text = joined([piece.text for piece in head])
    return [
        words.block(1, union([piece.box for piece in head]), text, head),
        _table(common, union([piece.box for piece in rest]), rest, table),
    ]


def _grid(
    region: Region,
    reading: RegionReading | None,
    pieces: Sequence[Piece],
    layout: PageLayout,
    box: Sequence[float],
) -> Table | None:
    """The grid of a table: the one that is drawn, or the reader's, unless no VL model saw it and its lines say otherwise.

    Lines that make a complete grid by themselves, with no fewer rows and columns than the network saw, are that grid; lines in one column
    as wide as the region are prose. On real tables the network knows better than the lines of an incomplete one (`mended` has the exceptions).
    """
    if region.grid is not None and pieces and (reading is None or reading.method != "vl"):
        drawn = ruled.from_grid(region.grid, region.bbox, pieces, layout.page_no)
        return tables.finished(drawn, layout.page_no, layout.width, layout.height)
    table = reading.table if reading is not None else None
    if table is not None and not table.cells:
        table = None
    if reading is None or reading.method != "vl":
        own = tables.from_pieces(pieces, layout.page_no)
        # Lines of the page's own text stand exactly where they stand: a network's idea of the grid is worth less.
        exact = bool(region.lines) and all(line.text is not None for line in region.lines)
        if table is None or (own is not None and (exact or _is_whole(own, table, len(pieces)))):
            table = own
        elif own is None and _is_prose(pieces, box):
            table = None
        elif own is not None and _is_of_others(own, table) and tables.is_regular(own, len(pieces)):
            table = own
        elif own is not None:
            table = mended.chosen(table, own, [word for piece in pieces for word in piece.text.split()])
    return None if table is None else tables.finished(table, layout.page_no, layout.width, layout.height)


def _is_whole(own: Table, seen: Table, lines: int) -> bool:
    """Whether the grid of so many lines needs no other: it is complete, and has what the network saw or each line in its own cell."""
    return tables.complete(own) and (tables.holds(own, seen) or tables.is_exact(own, lines))


def _is_of_others(own: Table, seen: Table) -> bool:
    """Whether the network took rows, or columns, together or apart."""
    more = own.num_cols - seen.num_cols
    return more >= 0 if own.num_rows != seen.num_rows else more > 0


def _is_prose(pieces: Sequence[Piece], box: Sequence[float]) -> bool:
    wide = [piece.box[2] - piece.box[0] for piece in pieces[:-1]]
    return len(pieces) > 1 and min(wide) >= PROSE * (box[2] - box[0])


def _table(common: _Common, box: Sequence[float], pieces: list[Piece], table: Table | None) -> Block:
    ordered = [piece for group in paragraphs(pieces, whole=True) for piece in group]
    block = common.block(0, box, "", ordered)
    return block if table is None else replace_table(block, table)


def replace_table(block: Block, table: Table) -> Block:
    """The block with another table, and the text that goes with it."""
    text = tables.plain(table)
    prov = [replace(place, char_span=[0, len(text)] if len(block.prov) == 1 else None) for place in block.prov]
    return replace(block, table=table, text=text, prov=prov)


def _code(lines: Sequence[Piece]) -> str:
    """Lines of code with their indentation, in steps of a character's width, as far as the boxes tell it."""
    left = min(piece.box[0] for piece in lines)
    step = median((p.box[2] - p.box[0]) / len(p.text) for p in lines)

    def indentation(piece: Piece) -> str:
        if piece.text[:1] == " " or step < MIN_ADVANCE:
            return ""
        return " " * min(MAX_INDENT, round((piece.box[0] - left) / step))

    return "\n".join(indentation(piece) + piece.text.rstrip() for piece in lines)


def _read(line: ReadLine, slope: float) -> Piece:
    """A read line; the upright box around a long line on a slope is higher than the line."""
    x0, y0, x1, y1 = line.bbox
    length, height = (y1 - y0, x1 - x0) if line.vertical else (x1 - x0, y1 - y0)
    height = max(0.5 * height, height - abs(slope) * length)
    return Piece(
        box=list(line.bbox),
        text=line.text,
        confidence=line.confidence,
        font_size=set_size(line.text, length, height) or height * HEIGHT_TO_SIZE,
        vertical=line.vertical,
    )


def _native(line: TextLine) -> Piece:
    return Piece(
        box=list(line.bbox),
        text=line.text or "",
        font_size=line.font_size,
        bold=line.bold,
        monospace=line.monospace,
        vertical=line.vertical,
        angle=line.angle,
    )


def _distinct(pieces: Iterable[Piece]) -> list[Piece]:
    """Without lines that were drawn twice (faux bold, a repeated form object): same text at the same place."""
    out: list[Piece] = []
    by_text: dict[str, list[Piece]] = {}
    for piece in sorted(pieces, key=lambda p: (p.box, p.text)):
        twins = by_text.setdefault(piece.text.strip(), [])
        if any(shared_area(piece.box, twin.box) > SAME_PLACE for twin in twins):
            continue
        twins.append(piece)
        out.append(piece)
    return out
