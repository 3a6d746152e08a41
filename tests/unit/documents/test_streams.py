"""Content that unpacks to more than anybody wants to read is refused before it is read, and ordinary content is not."""

from __future__ import annotations

import random
import time
import tracemalloc
import zlib
from pathlib import Path

import pymupdf
import pytest

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.documents.limits import Bounds, bounds_of
from shared.documents.streams import Streams
from shared.settings import Limits
from tests.support.pdfs import FONT, Pdf

pytestmark = pytest.mark.unit
MIB = 2**20
REFUSED = (ErrorCode.resource_limit, 1)


def bounds(**limits: int) -> Bounds:
    return bounds_of(Limits(**limits))  # type: ignore[arg-type]


def checked(folder: Path, pdf: Pdf, limits: Bounds, pages: int = 1) -> tuple[ErrorCode, int | None] | None:
    """What the pages are refused with, and at which; none where they are not."""
    path = folder / "a.pdf"
    path.write_bytes(pdf.bytes())
    with pymupdf.open(path) as document:
        streams = Streams(document, limits)
        try:
            for number in range(pages):
                streams.check(document[number], number + 1)
        except DocfleetError as error:
            return error.code, error.page_no
    return None


def with_content(filters: str, data: bytes, parameters: str = "") -> Pdf:
    pdf = Pdf()
    content = pdf.add(f"<< /Filter {filters} {parameters} >>", data)
    pdf.page(content)
    return pdf


def deflated(data: bytes, layers: int = 1) -> bytes:
    for _ in range(layers):
        data = zlib.compress(data, 9)
    return data


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_a_chain_of_filters_is_counted_to_its_end(tmp_path: Path, layers: int) -> None:
    data = deflated(b"q Q " * (10 * MIB), layers)
    pdf = with_content("[" + " /FlateDecode" * layers + "]", data)
    assert checked(tmp_path, pdf, bounds(max_stream_bytes=39 * MIB)) == REFUSED
    assert checked(tmp_path, pdf, bounds(max_stream_bytes=40 * MIB)) is None


def test_a_predictor_hides_nothing(tmp_path: Path) -> None:
    data = deflated(b"\\2" + b"q Q " * (10 * MIB))
    pdf = with_content("/FlateDecode", data, "/DecodeParms << /Predictor 12 /Columns 4 >>")
    assert checked(tmp_path, pdf, bounds(max_stream_bytes=32 * MIB)) == REFUSED


def test_other_filters_are_counted_too(tmp_path: Path) -> None:
    data = deflated(b"\x81q" * (1 * MIB))  # run lengths: 128 times the letter
    pdf = with_content("[/FlateDecode /RunLengthDecode]", data)
    assert checked(tmp_path, pdf, bounds(max_stream_bytes=64 * MIB)) == REFUSED
    plain = with_content("/RunLengthDecode", b"\x81q" * (1 * MIB))
    assert checked(tmp_path, plain, bounds(max_stream_bytes=127 * MIB)) == REFUSED
    assert checked(tmp_path, plain, bounds(max_stream_bytes=128 * MIB)) is None


def test_a_form_on_the_page_counts_as_its_content(tmp_path: Path) -> None:
    pdf = Pdf()
    form = pdf.add(
        f"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /Font << {FONT} >> >> /Filter /FlateDecode >>",
        deflated(b"q Q " * (10 * MIB)),
    )
    pdf.page("/Fm0 Do", resources=f"/XObject << /Fm0 {form} 0 R >>")
    assert checked(tmp_path, pdf, bounds(max_stream_bytes=39 * MIB)) == REFUSED


def test_pages_add_up_and_what_they_share_counts_once(tmp_path: Path) -> None:
    data = deflated(b"q Q " * (5 * MIB))
    own, shared = Pdf(), Pdf()
    common = shared.add("<< /Filter /FlateDecode >>", data)
    for _ in range(3):
        content = own.add("<< /Filter /FlateDecode >>", data)
        own.page(content)
        shared.page(common)
    limits = bounds(max_decoded_bytes=50 * MIB)
    assert checked(tmp_path, own, limits, pages=3) == (ErrorCode.resource_limit, 3)
    assert checked(tmp_path, own, limits, pages=2) is None
    assert checked(tmp_path, shared, limits, pages=3) is None


def test_counting_holds_nothing_and_stops_at_the_limit(tmp_path: Path) -> None:
    pdf = with_content("[/FlateDecode /FlateDecode]", deflated(b"\0" * (400 * MIB), 2))
    tracemalloc.start()
    began = time.process_time()
    assert checked(tmp_path, pdf, bounds(max_stream_bytes=8 * MIB)) == REFUSED
    assert time.process_time() - began < 2.0
    assert tracemalloc.get_traced_memory()[1] < 16 * MIB
    tracemalloc.stop()


def test_damaged_data_ends_where_it_is_damaged(tmp_path: Path) -> None:
    data = deflated(b"q Q " * (10 * MIB))
    pdf = with_content("/FlateDecode", data[: len(data) // 2] + random.Random(1).randbytes(40_000))
    assert checked(tmp_path, pdf, bounds(max_stream_bytes=39 * MIB)) is None
