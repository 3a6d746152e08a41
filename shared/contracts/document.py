"""The parsed document, schema 1.0.0 (output.md): what people consume.

Flat, in docling's vocabulary (`label`, `content_layer`, `prov`, `page_no`), so that a page can be streamed when it is done.
Bytes are canonical; what may differ between two runs of the same input (`VOLATILE`) is left out of `content_hash`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from shared.contracts.codec import SCHEMA_VERSION, decode, encode, sha256
from shared.contracts.errors import ErrorInfo
from shared.contracts.records import PageStatus, SourceInfo, Status, Timings, Totals

Unit = Literal["pt", "px"] | None
PageKind = Literal["native", "scanned", "mixed", "blank"]
Method = Literal["native", "direct_rec", "det_rec", "vl", "docx", "form"]
ContentLayer = Literal["body", "furniture", "invisible", "background", "notes"]
Label = Literal[
    "title",
    "section_header",
    "text",
    "list_item",
    "table",
    "picture",
    "caption",
    "formula",
    "code",
    "footnote",
    "page_header",
    "page_footer",
    "page_number",
    "seal",
    "checkbox",
    "form_field",
    "reference",
    "aside_text",
]
WarningCode = Literal[
    "repaired",
    "render_scaled",
    "exif_orientation",
    "vl_truncated",
    "vl_fallback",
    "vl_unavailable",
    "vl_disagreement",
    "bad_unicode",
    "low_confidence",
    "table_structure",
    "not_read",
]


class Warning(msgspec.Struct, frozen=True, kw_only=True):
    """Something a careful reader should know; the result is complete all the same."""

    code: WarningCode
    message: str
    page_no: int | None = None
    block_id: str | None = None


class OutlineEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A bookmark of the source."""

    level: int
    title: str
    page_no: int | None = None


class Confidence(msgspec.Struct, frozen=True, kw_only=True):
    """0..1 each, none where nothing was measured; `grade` in words."""

    layout: float | None = None
    text: float | None = None
    table: float | None = None
    overall: float | None = None
    grade: Literal["poor", "fair", "good", "excellent"] | None = None


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A page as displayed."""

    page_no: int
    width: float
    height: float
    unit: Unit
    rotation: int = 0
    dpi: float | None = None
    status: PageStatus
    kind: PageKind
    kind_reason: list[str] = []
    confidence: Confidence = Confidence()
    languages: list[str] = []
    image_uri: str | None = None


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """Where a block, or a part of it, stands."""

    page_no: int
    bbox: list[float] | None = None
    polygon: list[list[float]] | None = None
    char_span: list[int] | None = None
    """Half-open range of `Block.text` that stands here."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a block as it stands on the page."""

    bbox: list[float]
    text: str
    confidence: float | None = None
    page_no: int | None = None
    """Set where the block stands on several pages; else the line is on the block's page."""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell of a table; `row` and `col` are 0-based."""

    row: int
    col: int
    row_span: int = 1
    col_span: int = 1
    text: str = ""
    column_header: bool = False
    row_header: bool = False
    bbox: list[float] | None = None
    page_no: int | None = None


class TablePart(msgspec.Struct, frozen=True, kw_only=True):
    """Half-open range of rows of a table that stand on one page."""

    page_no: int
    rows: list[int]


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A grid of cells."""

    num_rows: int
    num_cols: int
    cells: list[Cell]
    html: str
    parts: list[TablePart] = []


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """A half-open range of characters of `Block.text` that leads somewhere."""

    start: int
    end: int
    uri: str
    """As the source has it: never followed by docfleet; `#name` is a place in the document itself."""


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """One thing of the document, with where it stands and how it was read."""

    id: str
    order: int
    label: Label
    raw_label: str
    level: int | None = None
    """Of a heading 1..6, of a title 0; of a list item of a DOCX how deep it stands, 0 outermost."""
    content_layer: ContentLayer = "body"
    text: str = ""
    prov: list[Provenance] = []
    writing_mode: Literal["horizontal_tb", "vertical_rl"] = "horizontal_tb"
    angle: float = 0.0
    """Whole degrees by which its own text is turned clockwise on the displayed page, 0..359; 0 is upright. Blocks that were read have 0."""
    parent_id: str | None = None
    section_id: str | None = None
    confidence: float | None = None
    method: Method = "native"
    model: str | None = None
    fallback_from: str | None = None
    reason: str | None = None
    """Why it was read the way it was, in words, where that is not plain: the decision of the router or of the reader."""
    route: str | None = None
    """Row of `layout.route` that decided who reads it; none where no row was needed."""
    lines: list[Line] = []
    table: Table | None = None
    latex: str | None = None
    image_uri: str | None = None
    caption_ids: list[str] = []
    footnote_ids: list[str] = []
    links: list[Link] = []
    font_size: float | None = None
    """Median size of its lines in points; none where nothing is known."""
    bold: bool = False


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A heading and what it owns."""

    id: str
    title: str
    level: int
    block_ids: list[str]
    page_start: int | None
    page_end: int | None
    children: list[Section] = []


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """Half-open character range of the Markdown that a block wrote."""

    block_id: str
    start: int
    end: int


class Markdown(msgspec.Struct, frozen=True, kw_only=True):
    """The Markdown of the document, stored beside it, and who wrote which characters."""

    uri: str | None = None
    text: str | None = None
    spans: list[Span] = []


class ModelRef(msgspec.Struct, frozen=True, kw_only=True):
    """A network that took part."""

    stage: str
    name: str
    version: str
    sha256: str | None = None


class Lineage(msgspec.Struct, frozen=True, kw_only=True):
    """What made this document."""

    pipeline_version: str
    pipeline_fingerprint: str
    options_hash: str
    models: list[ModelRef] = []
    trace_id: str | None = None


class ParsedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """`document.json`."""

    document_id: str
    generation: int
    source: SourceInfo
    status: Status
    schema_name: Literal["docfleet.parsed_document"] = "docfleet.parsed_document"
    schema_version: str = SCHEMA_VERSION
    errors: list[ErrorInfo] = []
    warnings: list[Warning] = []
    pages: list[Page] = []
    blocks: list[Block] = []
    sections: list[Section] = []
    outline: list[OutlineEntry] = []
    markdown: Markdown = Markdown()
    totals: Totals = Totals()
    timings: Timings = Timings()
    lineage: Lineage


def rounded(value: float) -> float:
    """Coordinates have two decimals."""
    return round(value + 0.0, 2)


def content_hash(document: bytes) -> str:
    """Hash by which two runs are compared: everything but timings, trace id, cache hits and confidences."""
    data = msgspec.to_builtins(decode(document, ParsedDocument))
    return sha256(encode(_stable(data)))


def _stable(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _stable(v) for k, v in value.items() if k not in VOLATILE}
    if isinstance(value, list):
        return [_stable(v) for v in value]
    return value


VOLATILE = frozenset({"timings", "trace_id", "cache_hits", "confidence"})
"""Fields that may differ between two runs of the same input."""
