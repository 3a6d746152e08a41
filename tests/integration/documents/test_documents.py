"""Documents through their child: hostile bytes end as typed errors, the next document is read, nothing is left behind."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import subprocess
import sys
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from PIL import Image

from shared.children.block import Block
from shared.children.errors import ChildDied
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.documents.opener import Documents
from shared.settings import Limits
from tests.support.pdfs import Pdf, contents, scan_page, text_at

pytestmark = pytest.mark.integration


@pytest.fixture
async def documents() -> AsyncIterator[Documents]:
    one = Documents(Limits(child_memory_bytes=512 * 2**20, page_timeout_s=30))
    yield one
    await one.close()


async def still_works(documents: Documents, folder: Path) -> None:
    path = folder / "good.pdf"
    path.write_bytes(contents(["still reading"]))
    assert len((await documents.inspect(path)).pages) == 1
    page, pictures = await documents.open_page(path, "application/pdf", 1, picture="none")
    pictures.close()
    assert [line.text for line in page.lines] == ["still reading"]


async def test_a_page_and_its_pictures(documents: Documents, tmp_path: Path) -> None:
    path = tmp_path / "scan.pdf"
    pdf = Pdf()
    number, jpeg = pdf.image(scan_page(850, 1100))
    pdf.page("q 306 0 0 396 0 0 cm /Im0 Do Q", "/MediaBox [0 0 306 396]", f"/XObject << /Im0 {number} 0 R >>")
    path.write_bytes(pdf.bytes())
    page, pictures = await documents.open_page(path, "application/pdf", 1, layout_picture=True)
    with pictures:
        assert page.full_page_image
        assert pictures.small is None
        assert pictures.jpeg is not None
        assert pictures.full is not None
        assert pictures.jpeg[1].tobytes() == jpeg
        width, height, decoded = await documents.decode(pictures.jpeg[1])
        with decoded:
            assert (width, height) == (850, 1100)
            assert decoded.tobytes() == pictures.full[1].tobytes()
    _, pictures = await documents.open_page(path, "application/pdf", 1, picture="none", layout_picture=True)
    with pictures:
        assert pictures.small is not None
        assert (pictures.small[0].width, pictures.small[0].height) == (619, 800)
    with Block.of(b"not a jpeg") as block, pytest.raises(DocfleetError) as error:
        await documents.decode(block)
    assert error.value.code is ErrorCode.corrupt


async def test_memory_is_bounded(documents: Documents, tmp_path: Path) -> None:
    zeros = zlib.compress(zlib.compress(b"\0" * 400_000_000, 9), 9)
    jpx = io.BytesIO()
    Image.new("L", (9_000, 9_000), 99).save(jpx, "JPEG2000")
    pdf = Pdf()
    content = pdf.add("<< /Filter [/FlateDecode /FlateDecode] >>", zeros)
    size = "<< /Type /XObject /Subtype /Image /Width {0} /Height {0} /BitsPerComponent 8"
    flate = pdf.add(size.format(11_000) + " /ColorSpace /DeviceRGB /Filter [/FlateDecode /FlateDecode] >>", zeros)
    wavelet = pdf.add(size.format(9_000) + " /ColorSpace /DeviceGray /Filter /JPXDecode >>", jpx.getvalue())
    pdf.page(text_at(72, 700, "text"))
    pdf.page(content)
    for image in (flate, wavelet):
        pdf.page("q 612 0 0 792 0 0 cm /Im0 Do Q", resources=f"/XObject << /Im0 {image} 0 R >>")
    path = tmp_path / "bomb.pdf"
    path.write_bytes(pdf.bytes())
    assert path.stat().st_size < 50_000
    outcomes = []
    for page_no in (1, 2, 3, 4):
        try:
            _, pictures = await documents.open_page(path, "application/pdf", page_no, picture="always")
            with pictures:
                assert pictures.full is not None
                outcomes.append(f"brightness {int(pictures.full[1].array((pictures.full[1].nbytes,)).mean())}")
        except DocfleetError as error:
            outcomes.append(error.code)
        await still_works(documents, tmp_path)
    # MuPDF reads a deflated picture in pieces, so only what has to be decoded whole is beyond this child's memory.
    assert outcomes == ["brightness 254", ErrorCode.resource_limit, "brightness 0", ErrorCode.resource_limit]


async def test_an_image_beyond_its_limit_costs_the_picture_not_the_text(tmp_path: Path) -> None:
    path = tmp_path / "wide.pdf"
    pdf = Pdf()
    number, _ = pdf.image(scan_page(850, 1100))
    content = f"q 306 0 0 396 0 0 cm /Im0 Do Q {text_at(20, 300, 'words')}"
    pdf.page(content, "/MediaBox [0 0 306 396]", f"/XObject << /Im0 {number} 0 R >>")
    path.write_bytes(pdf.bytes())
    documents = Documents(Limits(max_image_pixels=850 * 1100 - 1))
    try:
        for options in ({"picture": "always"}, {"picture": "none", "layout_picture": True}):
            with pytest.raises(DocfleetError) as error:
                await documents.open_page(path, "application/pdf", 1, **options)  # type: ignore[arg-type]
            assert (error.value.code, error.value.page_no) == (ErrorCode.resource_limit, 1)
        page, pictures = await documents.open_page(path, "application/pdf", 1, picture="none")
        pictures.close()
        assert [line.text for line in page.lines] == ["words"]
    finally:
        await documents.close()


async def test_a_child_that_is_killed_loses_only_what_was_in_it(documents: Documents, tmp_path: Path) -> None:
    await still_works(documents, tmp_path)
    path = tmp_path / "in-it.pdf"
    path.write_bytes(contents(["words"]))
    pid = documents._child.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)  # so that it cannot have answered before it dies
    call = asyncio.create_task(documents.inspect(path))
    await asyncio.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(ChildDied):
        await call
    await still_works(documents, tmp_path)


async def test_a_file_that_is_replaced_is_opened_anew(documents: Documents, tmp_path: Path) -> None:
    path = tmp_path / "same-name.pdf"
    for text in ("first", "second"):
        fresh = tmp_path / "fresh"
        fresh.write_bytes(contents([text]))
        os.replace(fresh, path)
        page, pictures = await documents.open_page(path, "application/pdf", 1, picture="none")
        pictures.close()
        assert [line.text for line in page.lines] == [text]
    path.unlink()
    with pytest.raises(DocfleetError) as error:
        await documents.inspect(path)
    assert error.value.code is ErrorCode.source_missing


async def test_many_documents_leave_no_files_open(documents: Documents, tmp_path: Path) -> None:
    paths = []
    for number in range(12):
        paths.append(tmp_path / f"{number}.pdf")
        paths[-1].write_bytes(contents([f"document {number}", "two"]))
    await still_works(documents, tmp_path)
    mine = len(os.listdir("/proc/self/fd"))

    async def read(path: Path, page_no: int) -> str:
        page, pictures = await documents.open_page(path, "application/pdf", page_no, picture="always", dpi=72)
        pictures.close()
        return page.lines[0].text

    texts = await asyncio.gather(*(read(path, page_no) for page_no in (1, 2) for path in paths))
    assert texts == [f"document {number}" for number in range(12)] + ["two"] * 12
    assert len(os.listdir("/proc/self/fd")) == mine
    assert len(os.listdir(f"/proc/{documents._child.pid}/fd")) < 30


def test_the_child_imports_no_engine_and_pymupdf_only_for_pdf() -> None:
    script = (
        "import sys, shared.documents.child\n"
        "print([name for name in ('pymupdf', 'pydantic', 'openvino', 'onnxruntime', 'cv2', 'confluent_kafka', 'minio', 'httpx')"
        " if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=Path(__file__).parents[3], check=True
    )
    assert done.stdout.strip() == "[]"
