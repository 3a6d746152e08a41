"""Pages of which it is known what of their own text is to be used, what is to be read, and what nobody sees.

Every page holds lines at known places (`Line`), drawn as text, as a picture, or both; the truth goes with them.
"""

from __future__ import annotations

import io
import random
import zlib
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import pymupdf
from PIL import Image

from tests.support import broken_fonts
from tests.support.pdfs import Pdf, text_at

WIDTH, HEIGHT = 595.0, 842.0
LEFT, TOP, PITCH, SIZE = 72.0, 120.0, 26.0, 12.0
HEADER = "Quarterly report of the northern harbour office"
FOOTER = "Page three of the spring edition, printed in May"
ENGLISH = (
    "The harbour took in four hundred and twelve ships during the spring,",
    "which is more than in any other spring since the counting began.",
    "Most of them carried timber and grain, some of them carried wool,",
    "and three of them carried nothing at all and left again next day.",
    "The crane on the second pier was out of order for eleven days, so",
    "that six ships had to wait for more than a week before they left.",
)
OTHER = (
    "Beekeeping in the valley goes back to the monks of the old abbey,",
    "who sold their honey at the market until the river changed its bed.",
    "Today some forty families keep bees, mostly on the southern slopes,",
    "where the lime trees stand and the heather flowers until September.",
    "A good year brings twenty kilos a hive, a wet one hardly any at all,",
    "and the price has doubled since the border stations were taken down.",
)
GERMAN = (
    "Der Hafen nahm im Frühjahr vierhundertzwölf Schiffe auf,",
    "mehr als in jedem anderen Frühjahr seit Beginn der Zählung.",
    "Die meisten brachten Holz und Getreide, einige auch Wolle,",
)
RUSSIAN = (
    "Весной порт принял четыреста двенадцать судов,",
    "больше, чем в любую другую весну с начала подсчёта.",
)
CHINESE = (
    "今年春天港口共接待了四百一十二艘船，",
    "比以往任何一个春天都多。",
    "其中大多数运来的是木材和粮食，也有一些运来羊毛，",
    "还有三艘什么也没有装，第二天就离开了。",
    "第二码头的起重机坏了十一天，所以有六艘船等了一个多星期。",
)
CODES = (
    "QX-7741-KZRT  9F3A-BC21-77DE  RTKW",
    "ZP-0092-VVHJ  1E5C-40AA-9B3D  QWLM",
    "HK-5530-XBNT  C7D2-8F01-6A4E  ZZTP",
    "GV-2217-PLQK  0B9E-D3C5-12F8  NKRW",
)

Kind = Literal["native", "scanned", "mixed", "blank"]


class Line(NamedTuple):
    """A line of the page and where its base line begins (points from the top left)."""

    text: str
    y: float
    x: float = LEFT


class Truth(NamedTuple):
    """What is right for a page."""

    kind: Kind
    native: Sequence[str] = ()
    """Texts that are used as they are, each once."""
    read: Sequence[Line] = ()
    """Lines that are read from the picture, each once."""
    hidden: dict[str, str] = {}  # noqa: RUF012
    """Texts that are kept apart, and why."""
    reason: str = ""
    """What `kind_reason` must contain."""


class Case(NamedTuple):
    name: str
    make: Callable[[], bytes]
    pages: Sequence[Truth]


CASES: list[Case] = []


def case(name: str, *pages: Truth) -> Callable[[Callable[[], bytes]], Callable[[], bytes]]:
    def listed(make: Callable[[], bytes]) -> Callable[[], bytes]:
        CASES.append(Case(name, make, pages))
        return make

    return listed


def lines_of(texts: Sequence[str], top: float = TOP) -> list[Line]:
    return [Line(text, top + PITCH * index) for index, text in enumerate(texts)]


class Sheet:
    """A page that is drawn on."""

    def __init__(self, document: Any = None) -> None:
        self.document = pymupdf.open() if document is None else document
        self.page = self.document.new_page(width=WIDTH, height=HEIGHT)

    def write(self, lines: Sequence[Line], font: str = "helv", size: float = SIZE, **more: Any) -> Sheet:
        for line in lines:
            self.page.insert_text((line.x, line.y), line.text, fontname=font, fontsize=size, **more)
        return self

    def write_embedded(self, lines: Sequence[Line], name: str = "F9", of: str = "helv", size: float = SIZE) -> Sheet:
        broken_fonts.embed(self.page, name, of)
        return self.write(lines, name, size)

    def claim(
        self, texts: Sequence[str], change: broken_fonts.Change | None, name: str = "F9", of: str = "helv"
    ) -> Sheet:
        """Let the font of these texts claim what `change` says."""
        claims = broken_fonts.claims("".join(texts), change, of) if change else None
        broken_fonts.to_unicode(self.document, self.page, name, claims)
        return self

    def picture(self, lines: Sequence[Line], where: pymupdf.Rect | None = None, **how: Any) -> Sheet:
        """The lines as a picture over the page, or over the part `where` of it."""
        area = where or self.page.rect
        self.page.insert_image(area, stream=scan(lines, area, **how))
        return self

    def bytes(self) -> bytes:
        return done(self.document)


def done(document: Any) -> bytes:
    document.subset_fonts()
    return bytes(document.tobytes(garbage=3, deflate=True, no_new_id=True))


def scan(lines: Sequence[Line], area: pymupdf.Rect, *, font: str = "helv", dpi: int = 200, form: str = "jpeg") -> bytes:
    """A picture of part of a page that shows these lines, as a scanner makes it."""
    paper = pymupdf.open()
    page = paper.new_page(width=WIDTH, height=HEIGHT)
    for line in lines:
        page.insert_text((line.x, line.y), line.text, fontname=font, fontsize=SIZE)
    drawn = page.get_pixmap(dpi=dpi, clip=area, colorspace=pymupdf.csGRAY)
    image = Image.frombytes("L", (drawn.w, drawn.h), drawn.samples)
    out = io.BytesIO()
    if form == "jpeg":
        noise = Image.effect_noise(image.size, 12).point(lambda v: (v - 128) // 2 + 128)
        Image.blend(image, noise, 0.12).convert("RGB").save(out, "JPEG", quality=80)
    else:
        image.point(lambda v: 255 * (v > 140)).convert("1").save(out, "PNG")
    return out.getvalue()


BODY = lines_of(ENGLISH)
NATIVE = Truth("native", ENGLISH)
SCANNED = Truth("scanned", read=BODY)
"""Of a page that is only a picture of the English lines."""


# Native pages: their text is used, whatever it looks like.


@case("native", NATIVE)
def native() -> bytes:
    return Sheet().write(BODY).bytes()


@case("native in an embedded font", NATIVE)
def native_embedded() -> bytes:
    return Sheet().write_embedded(BODY).bytes()


@case("native german", Truth("native", GERMAN))
def native_german() -> bytes:
    return Sheet().write_embedded(lines_of(GERMAN)).bytes()


@case("native russian, which the recogniser cannot read", Truth("native", RUSSIAN))
def native_russian() -> bytes:
    return Sheet().write_embedded(lines_of(RUSSIAN)).bytes()


@case("native chinese", Truth("native", CHINESE))
def native_chinese() -> bytes:
    return Sheet().write_embedded(lines_of(CHINESE), of="china-s").bytes()


@case("native short chinese title, no sentences to judge by", Truth("native", ("采购合同",)))
def native_chinese_title() -> bytes:
    return Sheet().write_embedded(lines_of(("采购合同",)), of="china-s", size=20).bytes()


@case("native codes that are no words", Truth("native", CODES, reason="believed, compared with the picture"))
def native_codes() -> bytes:
    return Sheet().write_embedded(lines_of(CODES)).bytes()


@case("native numbers", Truth("native", ("12.50", "1,204", "77.3 %", "2026-05-21")))
def native_numbers() -> bytes:
    return Sheet().write_embedded(lines_of(("12.50", "1,204", "77.3 %", "2026-05-21"))).bytes()


@case("native turned", NATIVE)
def native_turned() -> bytes:
    sheet = Sheet().write(BODY)
    sheet.page.set_rotation(90)
    return sheet.bytes()


@case("native with a small logo", NATIVE)
def native_logo() -> bytes:
    sheet = Sheet().write(BODY)
    sheet.page.insert_image(pymupdf.Rect(500, 40, 530, 70), stream=_blob())
    return sheet.bytes()


def _blob() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (60, 60), (20, 90, 160)).save(out, "PNG")
    return out.getvalue()


# Scans without a text layer.


@case("scan", SCANNED)
def scanned() -> bytes:
    return Sheet().picture(BODY).bytes()


@case("black and white scan", SCANNED)
def scanned_bilevel() -> bytes:
    return Sheet().picture(BODY, form="png").bytes()


@case("scan in strips", SCANNED)
def scanned_strips() -> bytes:
    sheet = Sheet()
    for top, bottom in ((0, 187), (187, 300), (300, HEIGHT)):
        sheet.picture(BODY, pymupdf.Rect(0, top, WIDTH, bottom))
    return sheet.bytes()


@case("scan, cropped to its lower half", Truth("scanned", read=[Line(one.text, one.y - 160) for one in BODY[2:]]))
def scanned_cropped() -> bytes:
    sheet = Sheet().picture(BODY)
    sheet.page.set_cropbox(pymupdf.Rect(0, 160, WIDTH, HEIGHT))
    return sheet.bytes()


# Scans with a text layer by somebody else.


def layered(texts: Sequence[Line], *, under: bool = False, shown: Sequence[Line] = BODY) -> Sheet:
    sheet = Sheet()
    if under:
        sheet.write(texts)
    sheet.picture(shown)
    return sheet if under else sheet.write(texts, render_mode=3)


@case("scan with a good layer", Truth("scanned", ENGLISH, reason="ocr_layer used: like the picture by"))
def layer_good() -> bytes:
    return layered(BODY).bytes()


@case("scan over its layer", Truth("scanned", ENGLISH, reason="ocr_layer used"))
def layer_under() -> bytes:
    return layered(BODY, under=True).bytes()


@case(
    "scan with a good layer and a typed stamp",
    Truth("mixed", (*ENGLISH, "Received on the third of May"), reason="ocr_layer used"),
)
def layer_and_stamp() -> bytes:
    return layered(BODY).write([Line("Received on the third of May", 700)]).bytes()


@case(
    "scan with a good layer and a lie where the paper is blank",
    Truth("scanned", ENGLISH, hidden={"The official total is one dollar": "ocr_layer"}, reason="ocr_layer used"),
)
def layer_with_lie() -> bytes:
    return layered([*BODY, Line("The official total is one dollar", 640)]).bytes()


@case("scan with half a layer", Truth("scanned", ENGLISH[:3], read=BODY[3:], reason="ocr_layer used"))
def layer_half() -> bytes:
    return layered(BODY[:3]).bytes()


@case("chinese scan with a good layer", Truth("scanned", CHINESE, reason="ocr_layer used"))
def layer_chinese() -> bytes:
    sheet = Sheet().picture(lines_of(CHINESE), font="china-s")
    return sheet.write(lines_of(CHINESE), "china-s", render_mode=3).bytes()


def _noisy(text: str, seed: int) -> str:
    dice = random.Random(seed)
    return "".join(dice.choice("ilcoe1t") if char.isalpha() and dice.random() < 0.35 else char for char in text)


def replaced(texts: Sequence[str], reason: str = "ocr_layer not used: like the picture by") -> Truth:
    return Truth("scanned", read=BODY, hidden=dict.fromkeys(texts, "ocr_layer"), reason=reason)


NOISY = [_noisy(text, index) for index, text in enumerate(ENGLISH)]


@case("scan with a layer full of mistakes", replaced(NOISY))
def layer_noisy() -> bytes:
    return layered(lines_of(NOISY)).bytes()


@case("scan with the layer of another page", replaced(OTHER))
def layer_other() -> bytes:
    return layered(lines_of(OTHER)).bytes()


@case("scan with a layer that slipped down by a line and a half", replaced(ENGLISH, "ocr_layer not used"))
def layer_slipped() -> bytes:
    return layered(lines_of(ENGLISH, TOP + 1.5 * PITCH)).bytes()


WRONG_LETTERS = ["".join(map(broken_fonts.shifted(3), text)) for text in ENGLISH]


@case("scan with a layer in a shifted font", replaced(WRONG_LETTERS))
def layer_shifted() -> bytes:
    return layered(lines_of(WRONG_LETTERS)).bytes()


# Native and scanned parts on one page.


@case("native header and footer over a raster body", Truth("mixed", (HEADER, FOOTER), read=BODY))
def header_over_raster() -> bytes:
    sheet = Sheet().picture(BODY, pymupdf.Rect(40, 95, 555, 760))
    return sheet.write([Line(HEADER, 60), Line(FOOTER, 800)]).bytes()


@case("native header on a full-page raster", Truth("mixed", (HEADER,), read=BODY))
def header_on_scan() -> bytes:
    return Sheet().picture(BODY).write([Line(HEADER, 60)]).bytes()


@case("native text above a picture with text", Truth("mixed", ENGLISH, read=lines_of(OTHER[:3], 500)))
def text_above_raster() -> bytes:
    return Sheet().write(BODY).picture(lines_of(OTHER[:3], 500), pymupdf.Rect(60, 470, 540, 600)).bytes()


@case(
    "native column beside a raster column",
    Truth(
        "mixed",
        ("Goods of the week", "Timber and grain", "Wool and salt"),
        read=[
            Line(text, 120 + 26 * i, 330)
            for i, text in enumerate(("Ships of the week", "Anna and Maria", "Storm and Wave"))
        ],
    ),
)
def column_beside_raster() -> bytes:
    right = [
        Line(text, 120 + 26 * i, 330)
        for i, text in enumerate(("Ships of the week", "Anna and Maria", "Storm and Wave"))
    ]
    sheet = Sheet().write(lines_of(("Goods of the week", "Timber and grain", "Wool and salt")))
    return sheet.picture(right, pymupdf.Rect(310, 90, 560, 220)).bytes()


# Broken fonts: what they claim is not what they show.


def unread(lines: Sequence[Line], reason: str, **more: Any) -> Truth:
    return Truth("scanned", read=lines, reason=reason, **more)


def broken(texts: Sequence[str], change: broken_fonts.Change | None, of: str = "helv") -> bytes:
    return Sheet().write_embedded(lines_of(texts), of=of).claim(texts, change, of=of).bytes()


@case("latin font without ToUnicode", unread(BODY, "bad_unicode_lines=6"))
def no_map() -> bytes:
    return broken(ENGLISH, None)


@case("chinese font without ToUnicode", unread(lines_of(CHINESE), "bad_unicode_lines="))
def no_map_chinese() -> bytes:
    return broken(CHINESE, None, "china-s")


@case("latin font shifted by 3", unread(BODY, "not believed"))
def shifted_latin() -> bytes:
    return broken(ENGLISH, broken_fonts.shifted(3))


@case("latin font shifted by -29, as from glyph numbers", unread(BODY, ""))
def shifted_gids() -> bytes:
    return broken(ENGLISH, broken_fonts.shifted(-29))


@case("chinese font shifted by 3", unread(lines_of(CHINESE), "not believed"))
def shifted_chinese() -> bytes:
    return broken(CHINESE, broken_fonts.shifted(3), "china-s")


@case("chinese font whose characters are exchanged among themselves", unread(lines_of(CHINESE), "not believed"))
def rotated_chinese() -> bytes:
    return broken(CHINESE, broken_fonts.rotated("".join(CHINESE), 3), "china-s")


@case("private use characters", unread(BODY, "bad_unicode_lines=6"))
def private_use() -> bytes:
    return broken(ENGLISH, lambda char: chr(0xF000 + ord(char)))


@case("replacement characters", unread(BODY, "bad_unicode_lines=6"))
def replacement() -> bytes:
    return broken(ENGLISH, lambda char: "\ufffd")


@case("numbers of glyphs as text", unread(BODY, "bad_unicode_lines=6"))
def cid_text() -> bytes:
    return broken(ENGLISH, lambda char: f"(cid:{ord(char) - 29})" if char != " " else " ")


@case("names of glyphs as text", unread(BODY, "bad_unicode_lines=6"))
def glyph_names_text() -> bytes:
    return broken(ENGLISH, lambda char: f"/G{ord(char):02X}" if char != " " else " ")


@case("only the heading's font is shifted", Truth("mixed", ENGLISH, read=[Line(HEADER, 60)], reason="not believed"))
def shifted_heading() -> bytes:
    sheet = Sheet().write_embedded([Line(HEADER, 60)], "H9").write(BODY)
    return sheet.claim([HEADER], broken_fonts.shifted(3), "H9").bytes()


@case(
    "two fonts of one name, one of them shifted",
    Truth("mixed", ENGLISH, read=lines_of(OTHER, 420), reason="not believed"),
)
def shifted_namesake() -> bytes:
    lower = Sheet().write_embedded(lines_of(OTHER, 420)).claim(OTHER, broken_fonts.shifted(3))
    sheet = Sheet().write_embedded(BODY)
    sheet.page.show_pdf_page(sheet.page.rect, lower.document, 0)
    return bytes(sheet.document.tobytes(deflate=True, no_new_id=True))  # not `done`: subsets get names of their own


@case("simple font with names like G21", unread([Line("Harbour", 142)], "bad_unicode_lines=1"))
def glyph_names() -> bytes:
    names = " ".join(f"/G{code:02X}" for code in range(32, 128))
    return _simple_font(
        "Harbour", f"/Encoding << /Type /Encoding /Differences [32 {names}] >>", {c: ord(c) for c in "Harbour"}
    )


@case("simple font that says nothing of its codes", unread([Line("Harbour", 142)], "guessed characters"))
def no_encoding() -> bytes:
    return _simple_font("Harbour", "", None)


def _simple_font(text: str, keys: str, codes: dict[str, int] | None) -> bytes:
    """One line in 24 points with its base line at 142 from the top."""
    if codes is None:
        data, codes = broken_fonts.codes_without_meaning(text)
    else:
        data = broken_fonts.font("china-s").buffer
    pdf = Pdf()
    file = pdf.add(f"<< /Filter /FlateDecode /Length1 {len(data)} >>", zlib.compress(data))
    descriptor = pdf.add(
        "<< /Type /FontDescriptor /FontName /ABCDEF+Odd /Flags 4 /FontBBox [0 -200 1000 900] /ItalicAngle 0 /Ascent 900"
        f" /Descent -200 /CapHeight 700 /StemV 80 /FontFile2 {file} 0 R >>"
    )
    widths = " ".join(["600"] * 224)
    number = pdf.add(
        f"<< /Type /Font /Subtype /TrueType /BaseFont /ABCDEF+Odd /FirstChar 32 /LastChar 255 /Widths [{widths}]"
        f" /FontDescriptor {descriptor} 0 R {keys} >>"
    )
    shown = bytes(codes[char] for char in text).hex()
    pdf.page(
        f"BT /F9 24 Tf 72 700 Td <{shown}> Tj ET", f"/MediaBox [0 0 {WIDTH} {HEIGHT}]", f"/Font << /F9 {number} 0 R >>"
    )
    return pdf.bytes()


# Hidden text: nobody sees it, so it is no text of the page.

SECRET = "The official total is one dollar"


def hidden(reason: str) -> Truth:
    return Truth("native", ENGLISH, hidden={SECRET: reason}, reason=f"1 {reason}")


def with_secret(**how: Any) -> Sheet:
    return Sheet().write(BODY).write([Line(SECRET, 420)], **how)


@case("white on white", hidden("background_colour"))
def white_on_white() -> bytes:
    return with_secret(color=(1, 1, 1)).bytes()


@case("red on red", hidden("background_colour"))
def red_on_red() -> bytes:
    sheet = Sheet().write(BODY)
    sheet.page.draw_rect(pymupdf.Rect(60, 400, 400, 430), color=None, fill=(0.8, 0, 0))
    return sheet.write([Line(SECRET, 420)], color=(0.8, 0, 0)).bytes()


@case("covered by a box", hidden("covered"))
def covered() -> bytes:
    sheet = with_secret()
    sheet.page.draw_rect(pymupdf.Rect(60, 400, 400, 430), color=None, fill=(0, 0, 0))
    return sheet.bytes()


@case("covered by a picture", hidden("covered"))
def covered_by_picture() -> bytes:
    sheet = with_secret()
    sheet.page.insert_image(pymupdf.Rect(60, 400, 400, 430), stream=_blob(), keep_proportion=False)
    return sheet.bytes()


@case("render mode 3 with nothing under it", hidden("render_mode"))
def mode_three() -> bytes:
    return with_secret(render_mode=3).bytes()


@case("smaller than a point", hidden("tiny"))
def tiny() -> bytes:
    return Sheet().write(BODY).write([Line(SECRET, 420)], size=0.6).bytes()


@case("wholly transparent", hidden("transparent"))
def transparent() -> bytes:
    return with_secret(fill_opacity=0.0, stroke_opacity=0.0).bytes()


@case("clipped away", hidden("clipped"))
def clipped() -> bytes:
    pdf = Pdf()
    body = "".join(text_at(line.x, HEIGHT - line.y, line.text) for line in BODY)
    pdf.page(f"{body} q 400 20 50 50 re W n {text_at(LEFT, 400, SECRET)} Q", f"/MediaBox [0 0 {WIDTH} {HEIGHT}]")
    return pdf.bytes()


@case("outside the crop", hidden("outside"))
def outside() -> bytes:
    sheet = with_secret()
    sheet.page.set_cropbox(pymupdf.Rect(0, 0, WIDTH, 380))
    return sheet.bytes()


@case(
    "one line of each, as in a report",
    Truth(
        "native",
        (*ENGLISH[:2],),
        hidden={
            "white ink": "background_colour",
            "red ink": "background_colour",
            "under a box": "covered",
            "mode three": "render_mode",
        },
    ),
)
def six_lines() -> bytes:
    sheet = (
        Sheet()
        .write(BODY[:2])
        .write([Line("white ink", 300)], color=(1, 1, 1))
        .write([Line("mode three", 330)], render_mode=3)
    )
    sheet.page.draw_rect(pymupdf.Rect(60, 345, 300, 366), color=None, fill=(1, 0, 0))
    sheet.write([Line("red ink", 360)], color=(1, 0, 0)).write([Line("under a box", 400)])
    sheet.page.draw_rect(pymupdf.Rect(60, 385, 300, 410), color=None, fill=(0.2, 0.2, 0.2))
    return sheet.bytes()


# Mixed documents: every page by itself.


@case("native, scan, native", NATIVE, SCANNED, Truth("native", OTHER))
def native_scan_native() -> bytes:
    document = pymupdf.open()
    Sheet(document).write(BODY)
    Sheet(document).picture(BODY)
    Sheet(document).write(lines_of(OTHER))
    return done(document)


@case(
    "a good layer, a bad one, and none",
    Truth("scanned", ENGLISH, reason="ocr_layer used"),
    replaced(OTHER),
    SCANNED,
)
def layers_of_all_kinds() -> bytes:
    document = pymupdf.open()
    for texts in (ENGLISH, OTHER, None):
        sheet = Sheet(document).picture(BODY)
        if texts:
            sheet.write(lines_of(texts), render_mode=3)
    return done(document)
