"""What the stages store for each other: inspection, layout, readings, composed page.

Frames: `bbox` is `[x0, y0, x1, y1]` in units of the page as displayed (points for PDF, pixels for images), origin top left;
`quad` is four corners `[x0, y0, x1, y1, x2, y2, x3, y3]` in pixels of the page's picture, clockwise from the top left of the text.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from shared.contracts.codec import SCHEMA_VERSION
from shared.contracts.document import (
    Block,
    ContentLayer,
    Label,
    Link,
    Method,
    ModelRef,
    OutlineEntry,
    Page,
    PageKind,
    Table,
    Unit,
    Warning,
    WarningCode,
)
from shared.contracts.errors import ErrorInfo
from shared.contracts.options import Options
from shared.contracts.records import ObjectRef, SourceInfo, Status, TaskRef, Totals

Hidden = Literal[
    "render_mode",
    "transparent",
    "background_colour",
    "covered",
    "clipped",
    "tiny",
    "outside",
    "ocr_layer",
    "hidden_field",
]
"""Why text cannot be seen: it is painted with text rendering mode 3 (`render_mode`), with an opacity below a twentieth, in the colour
of what lies under it, under something opaque, clipped away, smaller than a point, or off the page; it is the text layer of a scan that was read anew
(`ocr_layer`), or the value of a form field that is not shown (`hidden_field`)."""


class PageGeometry(msgspec.Struct, frozen=True, kw_only=True):
    """A page as displayed."""

    width: float
    height: float
    rotation: int = 0


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """`inspect.json`: all that later stages need to know about a document. Written once, by ingest."""

    document_id: str
    generation: int
    source: SourceInfo
    options: Options
    options_hash: str
    pipeline_fingerprint: str
    unit: Unit
    pages: list[PageGeometry]
    selected: str
    vl_profile: str | None = None
    range_size: int = 0
    """Pages per VL range task; 0 means that `vl: document` is read page by page."""
    tenant: str | None = None
    submitted_at: float | None = None
    opened_at: float = 0.0
    ingest_s: float = 0.0
    trace_id: str | None = None
    outline: list[OutlineEntry] = []
    warnings: list[Warning] = []
    schema_version: str = SCHEMA_VERSION


class TextLine(msgspec.Struct, frozen=True, kw_only=True):
    """A text line: native (with text) or detected (with a quad, to be read)."""

    bbox: list[float]
    text: str | None = None
    quad: list[float] | None = None
    confidence: float | None = None
    """Of the detection, 0..1; none for native lines."""
    font_size: float | None = None
    """Points."""
    bold: bool = False
    italic: bool = False
    monospace: bool = False
    vertical: bool = False
    """A CJK column read top to bottom."""
    angle: float = 0.0
    """Whole degrees by which native text is turned clockwise on the displayed page, 0..359; 0 is upright. Of detected lines nobody knows it: 0."""
    hidden: Hidden | None = None
    """Why it cannot be seen; none for what is seen."""


class GridCell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell of a table between its ruling lines; `row` and `col` are 0-based."""

    row: int
    col: int
    row_span: int = 1
    col_span: int = 1
    bbox: list[float]


class Grid(msgspec.Struct, frozen=True, kw_only=True):
    """The cells of a table as they are drawn: by row and column, none on another, all places of the grid covered."""

    cells: list[GridCell]
    slope: float = 0.0
    """Fall of the table's rows, dy by dx, on a skewed scan. Boxes of cells are those of the table turned upright about the middle of
    the region's box."""


class Region(msgspec.Struct, frozen=True, kw_only=True):
    """One thing on a page."""

    region_id: str
    label: Label
    raw_label: str
    bbox: list[float]
    confidence: float
    found_by: Literal["model", "native", "leftover", "colour"]
    read_by: Literal["native", "rec", "vl", "none"]
    """Who reads it: its own text, the recogniser, the VL model, or nobody (pictures)."""
    direct: bool = False
    """Small and single-line: recognised without detection."""
    lines: list[TextLine] = []
    grid: Grid | None = None
    """Of a table whose ruling lines say where its cells are."""
    reason: str | None = None
    """Why it is read the way it is, where that is not plain."""
    route: str | None = None
    """Row of `layout.route` that decided who reads it; none where no row was needed."""
    picture_id: str | None = None
    """Region of the picture this text stands in: numbers of an axis, words of a diagram."""


class LinkArea(msgspec.Struct, frozen=True, kw_only=True):
    """A link of a page: what is clicked on."""

    bbox: list[float]
    uri: str
    """As the source has it, never followed; `#page=3` is a page of the document itself."""
    text: str = ""
    """The characters of the page's own text that lie under it, blanks collapsed; empty where there are none (a picture, a scan)."""


class FlowBlock(msgspec.Struct, frozen=True, kw_only=True):
    """One thing of a document that is text without places (DOCX), in the order of reading."""

    label: Label
    raw_label: str
    """Name of its style, or what it is in the file (`footnote`, `comment`, `text box`)."""
    layer: ContentLayer = "body"
    text: str = ""
    level: int | None = None
    """Of a heading 1..6, of a title 0; of a list item how deep it stands, 0 outermost."""
    table: Table | None = None
    latex: str | None = None
    links: list[Link] = []
    image_key: str | None = None
    """Where the picture is stored; none where nobody asked for pictures, or it cannot be shown."""
    place: list[float] | None = None
    """Box of a picture that is read, in pixels of the page's stored picture."""
    owner: int | None = None
    """Index of the block that this belongs to: what a note was put to, what a caption describes, where a deletion was."""
    reason: str | None = None
    """Why it is in its layer, or lacks something, in words."""


class PageLayout(msgspec.Struct, frozen=True, kw_only=True):
    """`{page}.layout.json`: where everything is on a page. Regions are in the order of their ids."""

    document_id: str
    generation: int
    page_no: int
    width: float
    height: float
    unit: Unit
    rotation: int = 0
    kind: PageKind
    kind_reason: list[str] = []
    languages: list[str] = []
    slope: float = 0.0
    """Fall of the text lines, dy by dx, of a skewed scan; 0 where the page is level. All boxes are hulls on the page as displayed
    (`shared.contracts.upright`)."""
    picture_key: str | None = None
    picture_width: int | None = None
    picture_height: int | None = None
    """Pixels of the picture of the whole page as displayed, which `quad`s are in."""
    picture_box: list[int] | None = None
    """The part `[left, top, right, bottom]` of that picture which is stored, in its pixels, where only little of it is to be looked at (a seal
    on a page of native text); none where all of it is."""
    dpi: float | None = None
    regions: list[Region] = []
    flow: list[FlowBlock] | None = None
    """All there is of a document without geometry, in place of regions; none where pages have places."""
    invisible: list[TextLine] = []
    """Text of the page that cannot be seen, each line with the reason in `hidden`."""
    notes: list[TextLine] = []
    """Text of annotations that pop up beside the page: comments, sticky notes."""
    links: list[LinkArea] = []
    tasks: list[TaskRef] = []
    models: list[ModelRef] = []
    warnings: list[Warning] = []
    layout_s: float = 0.0
    schema_version: str = SCHEMA_VERSION


class ReadLine(msgspec.Struct, frozen=True, kw_only=True):
    """A text line after reading."""

    bbox: list[float]
    text: str
    confidence: float
    vertical: bool = False


class Doubt(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader of one block should know; becomes a `Warning` that names the block."""

    code: WarningCode
    message: str


class RegionReading(msgspec.Struct, frozen=True, kw_only=True):
    """What was read in a region."""

    region_id: str
    method: Method
    model: str | None = None
    confidence: float | None = None
    text: str | None = None
    """Text as the VL model gave it; none where `lines` hold it."""
    lines: list[ReadLine] = []
    table: Table | None = None
    latex: str | None = None
    fallback_from: str | None = None
    label: Label | None = None
    bbox: list[float] | None = None
    """Set where the reader found the region itself (VL page mode)."""
    doubts: list[Doubt] = []


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """`{page}.read/{task_id}.json`: the answer to one task, for one page."""

    document_id: str
    generation: int
    page_no: int
    task_id: str
    layout_sha256: str | None
    regions: list[RegionReading]
    models: list[ModelRef] = []
    warnings: list[Warning] = []
    errors: list[ErrorInfo] = []
    """Of parts of the page that could not be read, while the rest was; they belong into the page's errors."""
    cache_hits: int = 0
    seconds: float = 0.0
    schema_version: str = SCHEMA_VERSION


class TaskError(msgspec.Struct, frozen=True, kw_only=True):
    """`{page}.error/{task_id}.json`: why a task has no answer."""

    task_id: str
    error: ErrorInfo
    schema_version: str = SCHEMA_VERSION


class ComposedPage(msgspec.Struct, frozen=True, kw_only=True):
    """`{page}.page.json`: one finished page, readable while the rest of the document is still running."""

    document_id: str
    generation: int
    page: Page
    blocks: list[Block]
    errors: list[ErrorInfo] = []
    warnings: list[Warning] = []
    models: list[ModelRef] = []
    ocr_regions: int = 0
    vl_regions: int = 0
    cache_hits: int = 0
    layout_s: float = 0.0
    rec_s: float = 0.0
    vl_s: float = 0.0
    assemble_s: float = 0.0
    schema_version: str = SCHEMA_VERSION


class CacheEntry(msgspec.Struct, frozen=True, kw_only=True):
    """`cache/…`: points to the result of a `success`, for another document with the same content, options and models."""

    document_id: str
    generation: int
    source: SourceInfo
    result: ObjectRef
    markdown: ObjectRef | None = None
    totals: Totals = Totals()
    warnings_total: int = 0
    schema_version: str = SCHEMA_VERSION


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """`cache/….lease/{number}`: this document is being computed, others with the same content wait. Seconds since the epoch."""

    document_id: str
    taken_at: float
    expires_at: float
    schema_version: str = SCHEMA_VERSION


class DoneMark(msgspec.Struct, frozen=True, kw_only=True):
    """`done/{document_id}`: the highest generation of a document that ended, and how; for reconcile."""

    document_id: str
    generation: int
    status: Status
    removed: bool = False
    """Its objects were purged or erased; the mark stays, so that nobody submits it again."""
    schema_version: str = SCHEMA_VERSION
