"""Cases from people who run document parsers (inputs that break or stall a parser), each with an input made here and the right outcome."""

from __future__ import annotations

import time
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from shared.children.errors import ChildStalled
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.documents.opener import Documents
from shared.settings import Limits
from tests.support.pdfs import Pdf, contents, text_at
from tests.support.reading import read_all

pytestmark = pytest.mark.integration


@pytest.fixture
async def documents() -> AsyncIterator[Documents]:
    one = Documents(Limits(page_timeout_s=4))
    yield one
    await one.close()


async def still_works(documents: Documents, folder: Path) -> None:
    path = folder / "good.pdf"
    path.write_bytes(contents(["still reading"]))
    assert (await read_all(documents, path, "good.pdf"))[0] == 1


def fax(height: int) -> bytes:
    """Group 4 data of a white page of so many rows, a multiple of 8: a bit for each row that is as the one above, and the end (ITU-T T.6)."""
    return b"\xff" * (height // 8) + b"\x00\x10\x01"


async def test_a_picture_of_a_third_of_a_gigapixel_costs_its_page_the_picture_and_not_the_text(
    documents: Documents, tmp_path: Path
) -> None:
    width, height = 24_688, 14_400
    pdf = Pdf()
    picture = pdf.add(
        f"<< /Type /XObject /Subtype /Image /Width {width} /Height {height} /BitsPerComponent 1 /ColorSpace /DeviceGray"
        f" /Filter /CCITTFaxDecode /DecodeParms << /K -1 /Columns {width} /Rows {height} >> >>",
        fax(height),
    )
    pdf.page(
        "q 612 0 0 792 0 0 cm /Im0 Do Q " + text_at(72, 700, "words"), resources=f"/XObject << /Im0 {picture} 0 R >>"
    )
    path = tmp_path / "fax.pdf"
    path.write_bytes(pdf.bytes())
    with pytest.raises(DocfleetError) as refused:
        await documents.open_page(path, "application/pdf", 1, picture="always")
    assert (refused.value.code, refused.value.page_no) == (ErrorCode.resource_limit, 1)
    page, pictures = await documents.open_page(path, "application/pdf", 1, picture="none")
    pictures.close()
    assert [line.text for line in page.lines] == ["words"]


async def test_a_page_of_five_metres_is_drawn_smaller_with_its_text(documents: Documents, tmp_path: Path) -> None:
    pdf = Pdf()
    pdf.page(text_at(100, 14_000, "far up", size=300), "/MediaBox [0 0 14400 14400]")
    path = tmp_path / "large.pdf"
    path.write_bytes(pdf.bytes())
    page, pictures = await documents.open_page(path, "application/pdf", 1, picture="always")
    with pictures:
        assert pictures.full is not None
        assert pictures.full[0].width * pictures.full[0].height <= 16_100_000
    assert [line.text for line in page.lines] == ["far up"]
    assert [warning.code for warning in page.warnings] == ["render_scaled"]


async def test_a_page_that_takes_for_ever_is_given_up_and_the_next_document_is_read(
    documents: Documents, tmp_path: Path
) -> None:
    endless = b"0 0 m 1 1 l S " * 14_000_000  # a stroke, many million times, below the limit of bytes
    pdf = Pdf()
    pdf.page(pdf.add("<< /Filter /FlateDecode >>", zlib.compress(endless, 9)))
    path = tmp_path / "slow.pdf"
    path.write_bytes(pdf.bytes())
    began = time.monotonic()
    with pytest.raises(ChildStalled):
        await documents.open_page(path, "application/pdf", 1, picture="always")
    assert time.monotonic() - began < 15
    await still_works(documents, tmp_path)


@pytest.mark.parametrize(
    ("what", "content"),
    [
        ("a box of no height", "1 0 0 rg 72 700 200 0.1 re f"),
        ("a box of no area", "1 0 0 rg 72 700 0 0 re f"),
        ("text of no size", text_at(72, 700, "tiny", size=0)),
        ("text of negative size", text_at(300, 300, "back", size=-12)),
        ("empty text", "BT /F1 12 Tf 72 700 Td () Tj ET"),
        ("a matrix that flattens", "q 0 0 0 0 300 300 cm " + text_at(0, 0, "flat") + " Q"),
        ("numbers beyond measure", "1e38 0 0 1e38 -1e38 -1e38 cm " + text_at(1e30, 1e30, "away")),
        ("unbalanced state", "q q q Q " + text_at(72, 700, "words") + " [garbage"),
    ],
)
async def test_degenerate_marks_are_survived(documents: Documents, tmp_path: Path, what: str, content: str) -> None:
    pdf = Pdf()
    pdf.page(content)
    path = tmp_path / "odd.pdf"
    path.write_bytes(pdf.bytes())
    page, pictures = await documents.open_page(path, "application/pdf", 1, picture="always", layout_picture=True)
    pictures.close()
    for line in page.lines:
        assert 0 <= line.bbox[0] <= line.bbox[2] <= page.width, what
        assert 0 <= line.bbox[1] <= line.bbox[3] <= page.height, what


@pytest.mark.parametrize("cycle", ["outline", "pages", "form", "objects"])
async def test_cycles_end(documents: Documents, tmp_path: Path, cycle: str) -> None:
    pdf = Pdf()
    catalog = ""
    if cycle == "outline":
        number = len(pdf._objects) + 1
        pdf.add(f"<< /Title (round) /Parent {number} 0 R /First {number} 0 R /Last {number} 0 R /Next {number} 0 R >>")
        pdf.page(text_at(72, 700, "words"))
        catalog = f"/Outlines {number} 0 R"
    elif cycle == "form":
        number = len(pdf._objects) + 1
        pdf.add(
            f"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /Me {number} 0 R >> >> >>",
            b"/Me Do",
        )
        pdf.page("/Me Do " + text_at(72, 700, "words"), resources=f"/XObject << /Me {number} 0 R >>")
    elif cycle == "pages":
        pdf.page(text_at(72, 700, "words"))
        pdf._pages.append(2)  # the page tree is a kid of itself
    else:
        number = len(pdf._objects) + 1
        pdf.add(f"{number} 0 R")
        pdf.page(text_at(72, 700, "words"), f"/MediaBox [0 0 612 792] /Rotate {number} 0 R")
    path = tmp_path / "round.pdf"
    path.write_bytes(pdf.bytes(catalog))
    try:
        _, read = await read_all(documents, path, "round.pdf", picture="always", at_most=3)
        assert any("words" in repr(page) for page in read)
    except DocfleetError as error:
        assert error.code is ErrorCode.corrupt  # noqa: PT017  either is an honest end
    await still_works(documents, tmp_path)


async def test_arrays_nested_a_million_deep_end(documents: Documents, tmp_path: Path) -> None:
    pdf = Pdf()
    deep = pdf.add("[" * 1_000_000 + "]" * 1_000_000)
    pdf.page("[" * 1_000_000 + text_at(72, 700, "words"), f"/MediaBox [0 0 612 792] /Deep {deep} 0 R")
    path = tmp_path / "deep.pdf"
    path.write_bytes(pdf.bytes())
    try:
        await read_all(documents, path, "deep.pdf", picture="always")
    except DocfleetError as error:
        assert error.code in (ErrorCode.corrupt, ErrorCode.resource_limit)  # noqa: PT017
    await still_works(documents, tmp_path)
