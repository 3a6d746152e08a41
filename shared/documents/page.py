"""What travels between the document child and its parent: documents inspected, pages opened.

Frame of every box: `[x0, y0, x1, y1]` of the page as displayed (rotation, CropBox ∩ MediaBox and UserUnit applied), origin top
left, points for PDF and pixels for images. Boxes of what is seen lie inside the page.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from shared.children.block import Block
from shared.contracts.document import OutlineEntry, Unit, Warning
from shared.contracts.layout import Hidden, LinkArea, PageGeometry

Origin = Literal["contents", "annotation", "widget"]
"""What shows a text: the page's contents, an annotation, or a form field."""


class Inspected(msgspec.Struct, frozen=True, kw_only=True):
    """A document that can be opened."""

    mime_type: str
    unit: Unit
    pages: list[PageGeometry]
    outline: list[OutlineEntry] = []
    warnings: list[Warning] = []


class NativeLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a page's own text. Font facts are those of most of its characters."""

    bbox: list[float]
    text: str
    font_name: str
    font: str = ""
    """The name in the file, with the prefix that tells subsets of one font apart."""
    font_size: float
    """Points as displayed."""
    bold: bool = False
    """Nearly all of the line is."""
    italic: bool = False
    monospace: bool = False
    superscript: bool = False
    """Every character of the line is raised."""
    vertical: bool = False
    """Set top to bottom (writing mode 1), as CJK columns are."""
    angle: float = 0.0
    """Degrees by which the text is turned clockwise on the displayed page, -180..180; 0 is upright."""
    color: str = "#000000"
    """Fill colour, `#rrggbb`."""
    visible: bool = True
    hidden: Hidden | None = None
    """Set when `visible` is false."""
    origin: Origin = "contents"
    """Whether the page itself, an annotation or a form field shows it."""
    bad_unicode: bool = False
    """The font does not say which characters these are: replacement or private-use characters, control codes, glyph names."""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A drawn horizontal or vertical line, or a filled box that is as thin as one. Parts of one line are one rule."""

    bbox: list[float]
    """With the line's thickness."""
    horizontal: bool


class FilledBox(msgspec.Struct, frozen=True, kw_only=True):
    """A box painted in one opaque colour, not white, thicker than a rule: ground of cells, frames, bars."""

    bbox: list[float]
    color: str
    """`#rrggbb`."""


class Annotation(msgspec.Struct, frozen=True, kw_only=True):
    """An annotation or a form field.

    Text that it shows on the page (a form's values, FreeText, stamps) is among `OpenedPage.lines` with `origin` `annotation` or
    `widget`, at its place and in its font. What is left to be taken from here: the state of check boxes and radio buttons
    (`checked is not None`; the mark itself is no line), names of fields, and notes that only pop up (`shown` is false).
    """

    bbox: list[float]
    kind: Literal["annotation", "widget"]
    subtype: str
    """`FreeText`, `Stamp`, `Text`, `CheckBox`, … as PDF names it; `Password` for a field that shows dots, whose value is nowhere."""
    text: str = ""
    name: str = ""
    """Name of a form field."""
    checked: bool | None = None
    """State of a check box or radio button."""
    shown: bool = True
    """Whether it can be seen on the page as what it is: for check boxes and fields that they are not hidden, for annotations that their
    text is painted (FreeText, stamps). Comments of other annotations are text that is not shown."""


class OpenedPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page: its own text, and what is drawn on it."""

    page_no: int
    width: float
    height: float
    unit: Unit
    rotation: int = 0
    """Degrees clockwise the document asks for (already applied): 0, 90, 180, 270."""
    dpi: float | None = None
    """Resolution of `Pictures.full`: rendered pixels per inch; for images what the file says, none where it says nothing."""
    scale: float = 1.0
    """Pixels of `Pictures.full` per unit of the page, as the picture's width says."""
    lines: list[NativeLine] = []
    guessed_fonts: list[str] = []
    """`NativeLine.font` of embedded fonts that say nothing about their characters: codes were taken for characters."""
    unembedded_fonts: list[str] = []
    """`NativeLine.font` of fonts that the file only names: what is drawn is another font's idea of them, so pictures prove nothing."""
    image_coverage: float = 0.0
    """Share of the page that pictures cover, 0..1."""
    full_page_image: bool = False
    """One picture covers (nearly) the whole page, as in a scan."""
    drawn_coverage: float = 0.0
    """Share of the page that vector drawings touch, 0..1, boxes of paths added up without their overlaps."""
    blank: bool = False
    """Nothing is painted: no visible text, no image, no drawing."""
    rules: list[Rule] = []
    filled_boxes: list[FilledBox] = []
    image_boxes: list[list[float]] = []
    annotations: list[Annotation] = []
    links: list[LinkArea] = []
    warnings: list[Warning] = []


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """Size of a picture whose pixels are in a block: uint8 RGB, shape (height, width, 3), C order."""

    width: int
    height: int
    box: list[int] | None = None
    """The part `[left, top, right, bottom]` of the whole page's picture that the block holds; none is all of it. `width` and `height` are
    those of the block."""
    whole: tuple[int, int] | None = None
    """Width and height of the whole page's picture, where the block holds a part of it."""

    @property
    def page_size(self) -> tuple[int, int]:
        """Width and height, in pixels, of the whole page at the picture's scale."""
        return self.whole or (self.width, self.height)


class PageAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A page on the wire; the blocks follow in the order small, full, jpeg, those that are there."""

    page: OpenedPage
    small: Picture | None = None
    full: Picture | None = None
    jpeg: Picture | None = None


class Pictures:
    """The pictures of a page as displayed. Close them when done."""

    def __init__(
        self,
        small: tuple[Picture, Block] | None,
        full: tuple[Picture, Block] | None,
        jpeg: tuple[Picture, Block] | None,
    ) -> None:
        self.small = small
        """For the layout network, about 800 pixels on the long side."""
        self.full = full
        """At the asked resolution, bounded by `limits.max_page_pixels`."""
        self.jpeg = jpeg
        """`full` as JPEG bytes, to be stored; the size is that of the picture."""

    def close(self) -> None:
        for pair in (self.small, self.full, self.jpeg):
            if pair is not None:
                pair[1].close()

    def __enter__(self) -> Pictures:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class InspectCall(msgspec.Struct, frozen=True, kw_only=True):
    """Open a document and look at all its pages."""

    path: str
    filename: str | None = None
    password: str | None = None


class PageCall(msgspec.Struct, frozen=True, kw_only=True):
    """Open one page; see `Documents.open_page`."""

    path: str
    mime_type: str
    page_no: int
    dpi: int
    password: str | None = None
    picture: Literal["none", "auto", "always"] = "auto"
    layout_picture: bool = False
    jpeg: bool = True
    jpeg_may_wait: bool = False
    """Leave the encoding to a later `EncodeCall` where it costs something and may never be needed."""
    rotation: int | None = None
    """Show the page at this rotation instead of the document's own: 0, 90, 180, 270."""
    parts: list[list[float]] = []
    """Boxes in units of the page: a full picture that has to be drawn need only show these (`part.part_of`). None means the whole page."""


class EncodeCall(msgspec.Struct, frozen=True, kw_only=True):
    """Encode a picture as JPEG, or the part `box` (`[left, top, right, bottom]`, pixels) of it. Block 0: uint8 RGB, shape (height, width, 3)."""

    width: int
    height: int
    box: list[int] | None = None


class DecodeCall(msgspec.Struct, frozen=True, kw_only=True):
    """Decode a JPEG to RGB pixels."""
