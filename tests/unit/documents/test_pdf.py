"""PDF pages: one frame for everything, hidden text apart, scans taken as they are, damage as a typed error."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pymupdf
import pytest
from PIL import Image

from shared.children.block import Block
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.documents.child import DocumentChild
from shared.documents.limits import bounds_of
from shared.documents.page import EncodeCall, InspectCall, Inspected, NativeLine, OpenedPage, PageCall, Pictures
from shared.settings import Limits
from tests.support.pdfs import FONT, Pdf, contents, one_page, scan_page, text_at

pytestmark = pytest.mark.unit


class Bench:
    """Files and the program that opens them, in this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0

    def write(self, data: bytes) -> Path:
        self.count += 1
        path = self.folder / f"{self.count}.pdf"
        path.write_bytes(data)
        return path

    def inspect(self, data: bytes, password: str | None = None, **limits: Any) -> Inspected:
        program = DocumentChild(bounds_of(Limits(**limits)))
        return program.inspect(InspectCall(path=str(self.write(data)), password=password), [])[0]

    def open(
        self, data: bytes, page_no: int = 1, *, limits: dict[str, Any] | None = None, **call: Any
    ) -> tuple[OpenedPage, Pictures]:
        program = DocumentChild(bounds_of(Limits(**(limits or {}))))
        wanted = PageCall(
            path=str(self.write(data)),
            mime_type="application/pdf",
            page_no=page_no,
            **{"dpi": 144, "picture": "none", **call},
        )
        answer, blocks = program.open_page(wanted, [])
        following = iter(blocks)
        sizes = (answer.small, answer.full, answer.jpeg)
        return answer.page, Pictures(*((size, next(following)) if size else None for size in sizes))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def pixels(pair: tuple[Any, Block] | None) -> np.ndarray[Any, Any]:
    assert pair is not None
    size, block = pair
    return block.array((size.height, size.width, 3))


def code_of(call: Any) -> ErrorCode:
    with pytest.raises(DocfleetError) as error:
        call()
    return error.value.code


GEOMETRIES = [
    "/MediaBox [0 0 612 792]",
    "/MediaBox [10 -100 622 692]",
    "/MediaBox [-50 -50 562 742] /CropBox [20 30 520 700]",
    "/MediaBox [0 0 612 792] /CropBox [50 50 5000 700]",
    "/MediaBox [0 0 306 396] /CropBox [10 10 300 390] /UserUnit 2",
]


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize("boxes", GEOMETRIES)
def test_text_rules_and_pixels_share_the_displayed_frame(bench: Bench, boxes: str, rotation: int) -> None:
    content = text_at(70, 200, "First line of the page") + text_at(70, 150, "and a second one", 20)
    content += "0.5 w 70 140 m 250 140 l S\n"
    page, pictures = bench.open(one_page(content, f"{boxes} /Rotate {rotation}"), picture="always")
    assert [line.text for line in page.lines] == ["First line of the page", "and a second one"]
    assert page.rotation == rotation
    upright = bench.open(one_page(content, boxes))[0]
    swapped = rotation in (90, 270)
    assert (page.width, page.height) == (
        (upright.height, upright.width) if swapped else (upright.width, upright.height)
    )
    unit = 2.0 if "UserUnit" in boxes else 1.0
    assert page.lines[1].font_size == 20 * unit
    assert {line.angle for line in page.lines} == {{0: 0.0, 90: 90.0, 180: 180.0, 270: -90.0}[rotation]}
    assert [rule.horizontal for rule in page.rules] == [not swapped]
    boxes_seen = [line.bbox for line in page.lines] + [rule.bbox for rule in page.rules]
    dark = pixels(pictures.full).min(axis=2) < 128
    assert dark.shape == (round(page.height * page.scale), round(page.width * page.scale))
    outside = dark.copy()
    for x0, y0, x1, y1 in boxes_seen:
        assert 0 <= x0 < x1 <= page.width
        assert 0 <= y0 < y1 <= page.height
        s = page.scale
        area = (slice(int(y0 * s) - 1, int(y1 * s) + 2), slice(int(x0 * s) - 1, int(x1 * s) + 2))
        assert dark[area].any(), "every box holds ink"
        outside[area] = False
    assert not outside.any(), "all ink is in a box"
    del dark


def test_font_facts(bench: Bench) -> None:
    data = one_page(
        "BT /B 14 Tf 72 700 Td (Bold) Tj ET BT /C 10 Tf 72 650 Td (code) Tj ET BT /I 10 Tf 1 0 0 rg 72 600 Td (slanted) Tj ET"
        " BT /F1 10 Tf 0 1 -1 0 300 300 Tm (upwards) Tj ET",
        resources="/Font << /B << /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold >> /C << /Type /Font /Subtype /Type1"
        " /BaseFont /Courier >> /I << /Type /Font /Subtype /Type1 /BaseFont /Times-Italic >> /F1 << /Type /Font /Subtype"
        " /Type1 /BaseFont /Helvetica >> >>",
    )
    lines = {line.text: line for line in bench.open(data)[0].lines}
    assert (lines["Bold"].bold, lines["Bold"].italic, lines["Bold"].font_size) == (True, False, 14.0)
    assert (lines["code"].monospace, lines["code"].bold) == (True, False)
    assert (lines["slanted"].italic, lines["slanted"].color) == (True, "#ff0000")
    assert lines["upwards"].angle == -90.0


@pytest.mark.parametrize(
    ("text", "bold"),
    [
        ("/B 12 Tf (A heading of the page) Tj", True),
        ("/F1 12 Tf (4.7 ) Tj /B 12 Tf (A heading of the page that is long enough) Tj", True),
        ("/B 12 Tf (A lead-in that is longer:) Tj /F1 12 Tf ( in what follows) Tj", False),
    ],
    ids=["bold", "but for its number", "most of it"],
)
def test_a_line_is_bold_when_nearly_all_of_it_is(bench: Bench, text: str, bold: bool) -> None:
    fonts = f"/Font << /B << /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold >> {FONT} >>"
    (line,) = bench.open(one_page(f"BT 72 700 Td {text} ET", resources=fonts))[0].lines
    assert line.bold is bold


def test_text_that_cannot_be_seen_is_kept_apart_with_its_reason(bench: Bench) -> None:
    content = (
        text_at(72, 740, "black")
        + text_at(72, 710, "white on white", before="1 1 1 rg")
        + "1 0 0 rg 70 670 200 20 re f\n"
        + text_at(72, 675, "red on red", before="1 0 0 rg")
        + text_at(72, 645, "covered")
        + "0 0 0 rg 60 635 200 25 re f\n"
        + "BT /F1 12 Tf 3 Tr 72 610 Td (mode three) Tj ET\n"
        + "BT 0 Tr /F1 0.5 Tf 72 590 Td (tiny print) Tj ET\n"
        + text_at(72, 570, "faint", before="/G0 gs")
        + text_at(700, 540, "beside the page")
        + "0 0 0.5 rg 60 500 200 25 re f\n"
        + text_at(72, 507, "white on blue", before="1 1 1 rg")
        + text_at(72, 475, "highlighted")
        + f"q 300 300 50 50 re W n {text_at(72, 440, 'clipped away')}{text_at(310, 310, 'cut short by a clip')} Q\n"
        + "/G1 gs 1 1 0 rg 60 465 200 25 re f\n"
    )
    resources = "/ExtGState << /G0 << /ca 0.01 >> /G1 << /BM /Multiply >> >>"
    page, _ = bench.open(one_page(content, resources=resources))
    assert {line.text: line.hidden for line in page.lines} == {
        "black": None,
        "white on white": "background_colour",
        "red on red": "background_colour",
        "covered": "covered",
        "mode three": "render_mode",
        "tiny print": "tiny",
        "faint": "transparent",
        "beside the page": "outside",
        "white on blue": None,
        "highlighted": None,
        "clipped away": "clipped",
        "cut short by a clip": None,
    }
    assert all(line.visible == (line.hidden is None) for line in page.lines)


def test_text_that_is_seen_in_spite_of_its_flags(bench: Bench) -> None:
    pdf = Pdf()
    shape = pdf.add("<< >>", b"600 0 d0 0 0 500 700 re f")
    type3 = pdf.add(
        "<< /Type /Font /Subtype /Type3 /FontBBox [0 0 600 700] /FontMatrix [0.001 0 0 0.001 0 0] /FirstChar 65 /LastChar 65"
        f" /CharProcs << /A {shape} 0 R >> /Encoding << /Type /Encoding /Differences [65 /A] >> /Widths [600] >>"
    )
    scaled = pdf.add(
        "<< /Type /Font /Subtype /Type3 /FontBBox [0 0 60 70] /FontMatrix [1 0 0 1 0 0] /FirstChar 66 /LastChar 66"
        f" /CharProcs << /B {pdf.add('<< >>', b'60 0 0 0 50 70 d1 0 0 50 70 re f')} 0 R >>"
        " /Encoding << /Type /Encoding /Differences [66 /B] >> /Widths [60] >>"
    )
    content = (
        "BT /T3 20 Tf 72 700 Td (AAA) Tj ET BT /T1 0.2 Tf 72 650 Td (BBB) Tj ET"
        " q BT 7 Tr /F1 30 Tf 72 600 Td (painted through) Tj ET 0 0 1 rg 60 590 400 40 re f Q"
        " BT 0 Tr /F1 0.5 Tf 72 500 Td (tiny print) Tj ET q BT 7 Tr /F1 30 Tf 72 400 Td (a clip and no paint) Tj ET Q"
    )
    pdf.page(content, resources=f"/Font << {FONT} /T3 {type3} 0 R /T1 {scaled} 0 R >>")
    page, _ = bench.open(pdf.bytes())
    assert {line.text: line.hidden for line in page.lines} == {
        "AAA": None,
        "BBB": None,
        "painted through": None,
        "tiny print": "tiny",
        "a clip and no paint": "transparent",
    }
    (odd,) = (line for line in page.lines if line.text == "BBB")
    assert 8 < odd.font_size < 30


def test_text_beside_the_part_that_a_clip_leaves_of_a_picture_is_seen(bench: Bench) -> None:
    pdf = Pdf()
    number, _ = pdf.image(Image.new("RGB", (50, 50), (180, 200, 220)))
    content = text_at(60, 620, "beside the cut picture") + text_at(420, 620, "under it")
    content += "q 400 600 150 50 re W n q 500 0 0 50 50 600 cm /Im0 Do Q Q"
    pdf.page(content, resources=f"/XObject << /Im0 {number} 0 R >>")
    page, _ = bench.open(pdf.bytes())
    assert {line.text: line.hidden for line in page.lines} == {"beside the cut picture": None, "under it": "covered"}


def test_text_on_what_is_not_a_box_is_never_called_hidden(bench: Bench) -> None:
    picture = Image.new("RGB", (50, 50), (0, 60, 0))
    pdf = Pdf()
    number, _ = pdf.image(picture)
    content = (
        f"q 200 0 0 50 50 600 cm /Im0 Do Q {text_at(60, 620, 'on a picture', before='1 1 1 rg')}"
        "0 0 0 rg 100 400 m 200 500 300 500 400 400 c f\n" + text_at(200, 420, "on a curve", before="1 1 1 rg")
    )
    pdf.page(content, resources=f"/XObject << /Im0 {number} 0 R >>")
    page, _ = bench.open(pdf.bytes())
    assert {line.text: line.hidden for line in page.lines} == {"on a picture": None, "on a curve": None}


def test_a_font_without_unicode_is_said(bench: Bench) -> None:
    document = pymupdf.open()
    page = document.new_page()
    page.insert_font(fontname="F9", fontbuffer=pymupdf.Font("helv").buffer)
    page.insert_text((72, 72), "an embedded font", fontname="F9")
    page.insert_text((72, 100), "plain")
    for xref in range(1, document.xref_length()):
        if document.xref_get_key(xref, "ToUnicode")[0] != "null":
            document.xref_set_key(xref, "ToUnicode", "null")
    page, pictures = bench.open(document.tobytes(), picture="auto")
    assert [line.bad_unicode for line in page.lines] == [True, False]
    assert pictures.full is not None, "what the text does not say must be read from the picture"


def test_fonts_whose_characters_are_guessed_are_named(bench: Bench) -> None:
    def type3(keys: str) -> bytes:
        pdf = Pdf()
        shape = pdf.add("<< >>", b"600 0 0 0 500 700 d1 0 0 500 700 re f")
        number = pdf.add(
            "<< /Type /Font /Subtype /Type3 /FontBBox [0 0 600 700] /FontMatrix [0.001 0 0 0.001 0 0] /FirstChar 65 /LastChar 65"
            f" /CharProcs << /g1 {shape} 0 R >> /Encoding << /Type /Encoding /Differences [65 /g1] >> /Widths [600] {keys} >>"
        )
        pdf.page("BT /F9 20 Tf 72 700 Td (AAA) Tj ET", resources=f"/Font << /F9 {number} 0 R >>")
        return pdf.bytes()

    page, _ = bench.open(type3(""))
    assert page.guessed_fonts == [page.lines[0].font]
    assert bench.open(type3("/ToUnicode 1 0 R"))[0].guessed_fonts == []
    named = bench.open(one_page(text_at(72, 700, "Helvetica")))[0]
    assert (named.guessed_fonts, named.unembedded_fonts) == ([], [named.lines[0].font])


def scan(
    keys: str = "/MediaBox [0 0 306 396]", extra: str = "", jpeg: Image.Image | None = None, **image: Any
) -> tuple[bytes, bytes]:
    pdf = Pdf()
    number, data = pdf.image(jpeg or scan_page(850, 1100), **image)
    pdf.page(f"q 306 0 0 396 0 0 cm /Im0 Do Q {extra}", keys, f"/XObject << /Im0 {number} 0 R >>")
    return pdf.bytes(), data


def test_a_scan_is_taken_as_it_is(bench: Bench) -> None:
    data, jpeg = scan(extra="BT 3 Tr /F1 12 Tf 20 300 Td (an invisible layer) Tj ET")
    page, pictures = bench.open(data, picture="auto", dpi=200, layout_picture=True)
    assert pictures.jpeg is not None
    assert pictures.jpeg[1].tobytes() == jpeg
    assert pixels(pictures.full).shape == (1100, 850, 3)
    assert (page.full_page_image, page.image_coverage, page.dpi) == (True, 1.0, 200.0)
    assert [line.hidden for line in page.lines] == ["render_mode"]
    assert pictures.small is None


def test_a_scan_that_is_clipped_to_its_page_is_taken_as_it_is(bench: Bench) -> None:
    pdf = Pdf()
    number, jpeg = pdf.image(scan_page(850, 1100))
    states = "/ExtGState << /G0 << /ca 1 >> >>"
    content = "q 0 0 306 396 re W* n /G0 gs q 306 0 0 396 0 0 cm /Im0 Do Q Q"
    pdf.page(content, "/MediaBox [0 0 306 396]", f"/XObject << /Im0 {number} 0 R >> {states}")
    pictures = bench.open(pdf.bytes(), picture="always", dpi=200)[1]
    assert pictures.jpeg is not None
    assert pictures.jpeg[1].tobytes() == jpeg


@pytest.mark.parametrize(
    ("what", "keys", "extra", "image"),
    [
        ("cropped", "/MediaBox [0 0 306 396] /CropBox [0 0 306 200]", "", {}),
        ("stamped", "/MediaBox [0 0 306 396]", "1 0 0 rg 10 10 50 50 re f", {}),
        ("written on", "/MediaBox [0 0 306 396]", text_at(20, 300, "typed"), {}),
        ("inverted", "/MediaBox [0 0 306 396]", "", {"keys": "/Decode [1 0 1 0 1 0]"}),
        ("four colours", "/MediaBox [0 0 306 396]", "", {"jpeg": scan_page(850, 1100).convert("CMYK")}),
        ("not a jpeg", "/MediaBox [0 0 306 396]", "", {"jpeg_": False}),
        ("far too fine", "/MediaBox [0 0 306 396]", "", {"jpeg": scan_page(1700, 2200)}),
        ("turned", "/MediaBox [0 0 306 396] /Rotate 90", "", {}),
        ("clipped", "/MediaBox [0 0 306 396]", "", {"before": "0 0 306 200 re W n"}),
        ("blended", "/MediaBox [0 0 306 396]", "", {"before": "1 1 0 rg 0 0 306 396 re f /G1 gs"}),
        ("faded", "/MediaBox [0 0 306 396]", "", {"before": "/G0 gs"}),
        ("clipped and turned", "/MediaBox [0 0 306 396] /Rotate 270", "", {"before": "0 0 306 200 re W n"}),
        ("upside down", "/MediaBox [0 0 306 396]", "", {"place": "306 0 0 -396 0 396"}),
        ("masked by colour", "/MediaBox [0 0 306 396]", "", {"keys": "/Mask [0 30 0 30 0 30]"}),
    ],
)
def test_a_scan_that_is_not_just_the_page_shows_what_mupdf_shows(
    bench: Bench, what: str, keys: str, extra: str, image: dict[str, Any]
) -> None:
    image = dict(image)
    source = image.pop("jpeg", None)
    options = {"jpeg": False} if image.pop("jpeg_", None) is False else {}
    pdf = Pdf()
    number, jpeg = pdf.image(source or scan_page(850, 1100), image.pop("keys", ""), **options)
    place = image.pop("place", "306 0 0 396 0 0")
    states = "/ExtGState << /G0 << /ca 0.3 >> /G1 << /BM /Multiply >> >>"
    content = f"{image.pop('before', '')} q {place} cm /Im0 Do Q {extra}"
    pdf.page(content, keys, f"/XObject << /Im0 {number} 0 R >> {states}")
    data = pdf.bytes()
    _, pictures = bench.open(data, picture="always", dpi=200)
    assert pictures.jpeg is not None
    assert pictures.jpeg[1].tobytes() != jpeg
    shown = pixels(pictures.full)
    drawn = pymupdf.open(stream=data, filetype="pdf")[0].get_pixmap(dpi=200)
    truth = Image.frombytes("RGB", (drawn.w, drawn.h), drawn.samples)
    assert abs(shown.shape[1] - truth.width) <= 1
    assert abs(shown.shape[0] - truth.height) <= 1
    small = [
        np.asarray(one.resize((60, 60), Image.Resampling.BOX), dtype=int) for one in (Image.fromarray(shown), truth)
    ]
    assert np.abs(small[0] - small[1]).max() < 20, what
    stored = np.asarray(Image.open(io.BytesIO(pictures.jpeg[1].tobytes())).convert("RGB"))
    assert stored.shape == shown.shape


def test_a_scan_in_a_form_that_clips_it(bench: Bench) -> None:
    pdf = Pdf()
    number, jpeg = pdf.image(scan_page(850, 1100))
    content = b"q 0 0 306 200 re W n q 306 0 0 396 0 0 cm /Im0 Do Q Q"
    form = pdf.add(
        f"<< /Type /XObject /Subtype /Form /BBox [0 0 306 396] /Resources << /XObject << /Im0 {number} 0 R >> >> >>",
        content,
    )
    pdf.page("/Fm0 Do", "/MediaBox [0 0 306 396]", f"/XObject << /Fm0 {form} 0 R >>")
    pictures = bench.open(pdf.bytes(), picture="always", dpi=200)[1]
    assert pictures.jpeg is not None
    assert pictures.jpeg[1].tobytes() != jpeg
    assert pixels(pictures.full)[:400].min() > 200, "what is clipped away is white"


def test_which_pages_need_a_picture(bench: Bench) -> None:
    def full(data: bytes) -> bool:
        return bench.open(data, picture="auto")[1].full is not None

    assert not full(one_page(text_at(72, 700, "only text")))
    assert not full(one_page(""))
    assert full(one_page("0 0 0 rg 72 700 m 90 700 l 80 720 l f"))
    header_and_scan, _ = scan("/MediaBox [0 0 612 792]", text_at(72, 750, "a native header over a scanned body"))
    assert full(header_and_scan)


@pytest.mark.parametrize(
    ("side", "transparent", "text", "full"),
    [
        (150, True, True, False),
        (150, False, True, True),
        (150, True, False, True),
        (300, True, True, True),
    ],
)
def test_a_page_of_text_is_not_drawn_for_a_stamp(
    bench: Bench, side: int, transparent: bool, text: bool, full: bool
) -> None:
    """Perhaps nothing of it is to be read: whoever looks at the page opens it again. A photograph is seen better in the large picture."""
    pdf = Pdf()
    mask, _ = pdf.image(Image.new("L", (40, 40), 200), jpeg=False)
    number, _ = pdf.image(scan_page(40, 40), f"/SMask {mask} 0 R" if transparent else "", jpeg=False)
    words = text_at(72, 750, "a letter with a stamp") if text else ""
    pdf.page(f"q {side} 0 0 {side} 300 200 cm /Im0 Do Q {words}", resources=f"/XObject << /Im0 {number} 0 R >>")
    pictures = bench.open(pdf.bytes(), picture="auto", layout_picture=True)[1]
    assert (pictures.full is not None) == full
    assert (pictures.small is None) == full
    assert bench.open(pdf.bytes(), picture="auto")[1].full is not None, "nobody would see the stamp"


def test_a_picture_that_may_be_for_nothing_is_encoded_when_it_is_asked_for(bench: Bench) -> None:
    data, _ = scan("/MediaBox [0 0 612 792]", text_at(72, 750, "a native header over a picture"))
    _, at_once = bench.open(data, picture="auto")
    _, later = bench.open(data, picture="auto", jpeg_may_wait=True)
    assert at_once.jpeg is not None
    assert later.jpeg is None
    assert later.full is not None
    size, block = later.full
    program = DocumentChild(bounds_of(Limits()))
    _, (jpeg,) = program.encode(EncodeCall(width=size.width, height=size.height), [block])
    assert jpeg.tobytes() == at_once.jpeg[1].tobytes()


def test_the_bytes_of_a_scan_are_always_there(bench: Bench) -> None:
    data, jpeg = scan()
    _, pictures = bench.open(data, picture="auto", jpeg_may_wait=True)
    assert pictures.jpeg is not None
    assert pictures.jpeg[1].tobytes() == jpeg


def test_blank(bench: Bench) -> None:
    for content in ("", "1 1 1 rg 0 0 612 792 re f", "BT /F1 12 Tf 3 Tr 72 700 Td (hidden) Tj ET"):
        assert bench.open(one_page(content))[0].blank
    assert not bench.open(one_page("0 0 0 rg 5 5 100 100 re f"))[0].blank
    pdf = Pdf()
    pdf._pages.append(pdf.add("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 100 100] >>"))
    assert bench.open(pdf.bytes())[0].blank


def test_geometry_and_outline(bench: Bench) -> None:
    document = pymupdf.open()
    for _ in range(3):
        document.new_page(width=400, height=600)
    document[1].set_rotation(90)
    document.set_toc([[1, "One", 1], [2, "One point one", 2], [1, "Two 二", 3]])
    inspected = bench.inspect(document.tobytes())
    assert [(page.width, page.height, page.rotation) for page in inspected.pages] == [
        (400.0, 600.0, 0),
        (600.0, 400.0, 90),
        (400.0, 600.0, 0),
    ]
    assert [(entry.level, entry.title, entry.page_no) for entry in inspected.outline] == [
        (1, "One", 1),
        (2, "One point one", 2),
        (1, "Two 二", 3),
    ]
    assert (inspected.mime_type, inspected.unit, inspected.warnings) == ("application/pdf", "pt", [])


def test_passwords(bench: Bench) -> None:
    document = pymupdf.open()
    document.new_page().insert_text((72, 72), "secret")
    closed = document.tobytes(encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="user", owner_pw="owner")
    assert code_of(lambda: bench.inspect(closed)) is ErrorCode.encrypted
    assert code_of(lambda: bench.inspect(closed, "wrong")) is ErrorCode.encrypted
    assert len(bench.inspect(closed, "user").pages) == 1
    assert [line.text for line in bench.open(closed, password="user")[0].lines] == ["secret"]
    restricted = document.tobytes(encryption=pymupdf.PDF_ENCRYPT_AES_128, owner_pw="owner", permissions=0)
    assert [line.text for line in bench.open(restricted)[0].lines] == ["secret"]


def test_a_password_is_not_remembered_for_who_has_none(bench: Bench) -> None:
    document = pymupdf.open()
    document.new_page()
    path = str(bench.write(document.tobytes(encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="u", owner_pw="o")))
    program = DocumentChild(bounds_of(Limits()))
    program.inspect(InspectCall(path=path, password="u"), [])
    assert code_of(lambda: program.inspect(InspectCall(path=path), [])) is ErrorCode.encrypted


def test_damage_is_repaired_with_a_warning_or_corrupt(bench: Bench) -> None:
    whole = contents(["one", "two"])
    for damaged in (whole[:-60], whole.replace(b"startxref\n", b"startxref\n7"), whole[whole.index(b"\n") :]):
        inspected = bench.inspect(damaged)
        assert len(inspected.pages) == 2
        assert [warning.code for warning in inspected.warnings] == ["repaired"]
    assert code_of(lambda: bench.inspect(b"%PDF-1.7\nnothing of a PDF")) is ErrorCode.corrupt
    assert code_of(lambda: bench.inspect(b"")) is ErrorCode.empty_file


def test_a_broken_page_is_listed_and_the_others_are_read(bench: Bench) -> None:
    pdf = Pdf()
    for number in range(4):
        pdf.page(text_at(72, 700, f"PAGE-{number + 1}") if number != 1 else "q q Q [garbage ( \x80\x81")
    looped = pdf._pages[2]
    pdf._objects[looped - 1] = b"<< /Type /Pages /Kids [%d 0 R] /Count 1 >>" % looped
    data = pdf.bytes()
    assert len(bench.inspect(data).pages) == 4
    texts = []
    for number in (1, 2, 4):
        texts += [line.text for line in bench.open(data, number)[0].lines]
    assert [one.code for one in bench.open(data, 2)[0].warnings] == ["repaired"]
    assert texts[0] == "PAGE-1"
    assert texts[-1] == "PAGE-4"
    assert code_of(lambda: bench.open(data, 3)) is ErrorCode.corrupt
    assert code_of(lambda: bench.open(data, 5)) is ErrorCode.corrupt


def test_limits(bench: Bench) -> None:
    data = contents([f"page {n}" for n in range(12)])
    assert code_of(lambda: bench.inspect(data, max_pages=11)) is ErrorCode.too_large
    assert code_of(lambda: bench.inspect(data, max_file_bytes=len(data) - 1)) is ErrorCode.too_large
    assert len(bench.inspect(data, max_pages=12, max_file_bytes=len(data)).pages) == 12
    flood = one_page(text_at(72, 700, "x" * 500))
    assert code_of(lambda: bench.open(flood, limits={"max_page_characters": 400})) is ErrorCode.resource_limit


def test_a_huge_page_is_drawn_smaller_and_says_so(bench: Bench) -> None:
    data = one_page(text_at(720, 700, "still here", 100), "/MediaBox [0 0 14400 14400]")
    page, pictures = bench.open(data, picture="always", dpi=200, limits={"max_page_pixels": 1_000_000})
    assert [line.text for line in page.lines] == ["still here"]
    assert [warning.code for warning in page.warnings] == ["render_scaled"]
    height, width, _ = pixels(pictures.full).shape
    assert 900_000 < width * height <= 1_002_001
    assert page.scale == pytest.approx(width / page.width)
    assert page.dpi == pytest.approx(page.scale * 72, abs=0.01)


def test_lines_can_always_be_stored(bench: Bench) -> None:
    unicode_map = (
        b"1 begincodespacerange <00> <ff> endcodespacerange 3 beginbfchar <41> <0001> <42> <d800> <43> <e001> endbfchar"
    )
    pdf = Pdf()
    number = pdf.add("<< >>", unicode_map)
    pdf.page(
        "BT /F2 12 Tf 72 700 Td (ABC) Tj ET",
        resources=f"/Font << /F2 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode {number} 0 R >> >>",
    )
    lines: list[NativeLine] = bench.open(pdf.bytes())[0].lines
    assert all(line.text.encode("utf-8") for line in lines)
    assert lines[0].bad_unicode


ODD_BOXES = [
    "",
    "/MediaBox [0 0 0 0]",
    "/MediaBox [0 0 0.001 0.001]",
    "/MediaBox [-1e38 -1e38 1e38 1e38]",
    "/MediaBox [0 0 1 1000000]",
    "/MediaBox [612 792 0 0]",
    "/MediaBox [(a) 0 612 792]",
    "/MediaBox [0 0 612 792] /CropBox [700 700 800 800]",
    "/MediaBox [0 0 612 792] /UserUnit 0",
    "/MediaBox [0 0 612 792] /UserUnit -1",
    "/MediaBox [0 0 612 792] /UserUnit 1e9",
    "/MediaBox [0 0 612 792] /Rotate 45",
    "/MediaBox [0 0 612 792] /Rotate -90",
]
ODD_CONTENTS = [
    "1e38 0 0 1e38 0 0 cm 0 0 1 1 re f " + text_at(1e30, 1, "far"),
    "0 0 0 0 0 0 cm 0 0 1 1 re S " + text_at(1, 1, "flat"),
    "BT /F1 1e30 Tf (big) Tj ET 1e20 w 0 0 m 10 0 l S",
    "BT /F1 -12 Tf 100 100 Td (backwards) Tj ET",
    "q " * 300 + "Q " * 400,
]


@pytest.mark.parametrize("boxes", ODD_BOXES)
@pytest.mark.parametrize("content", ODD_CONTENTS)
def test_odd_numbers_are_survived(bench: Bench, boxes: str, content: str) -> None:
    data = one_page(content, boxes)
    try:
        inspected = bench.inspect(data)
        page, pictures = bench.open(data, picture="always", layout_picture=True, limits={"max_page_pixels": 100_000})
    except DocfleetError as error:
        assert error.code in (ErrorCode.corrupt, ErrorCode.resource_limit)  # noqa: PT017
        return
    assert (inspected.pages[0].width, inspected.pages[0].height) == (page.width, page.height)
    assert pictures.full is not None
    assert pictures.full[0].width * pictures.full[0].height <= 110_000
    for line in page.lines:
        assert all(map(math.isfinite, [*line.bbox, line.font_size]))
        assert not line.visible or 0 <= line.bbox[0] <= line.bbox[2] <= page.width


def test_an_error_says_nothing_of_our_temporary_files(bench: Bench) -> None:
    for data in (
        b"%PDF-1.7\nnothing of a PDF",
        b"%PDF-",
        b"%PDF-1.4\n1 0 obj\n<</Type/Catalog>>\nendobj\ntrailer<</Root 1 0 R>>",
    ):
        with pytest.raises(DocfleetError) as caught:
            bench.inspect(data)
        assert bench.folder.name not in caught.value.message, caught.value.message
