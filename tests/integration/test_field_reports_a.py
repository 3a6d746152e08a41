"""Field report A4, on archives that unpack to more than anybody has memory for. The other reports of part A are in `tests/hostile`."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.documents.opener import Documents
from shared.documents.sniff import DOCX
from shared.settings import Limits
from tests.support.docx import docx, p

pytestmark = pytest.mark.integration
MEGABYTE = 2**20
UNPACKED = 400 * MEGABYTE
MOST_MEMORY = 256 * MEGABYTE
"""Of the child; less than what it was given would unpack to."""


@pytest.fixture
async def documents() -> AsyncIterator[Documents]:
    one = Documents(Limits())
    yield one
    await one.close()


def with_main_part_of_spaces(path: Path) -> None:
    """A DOCX whose text is 400 MB of spaces."""
    small = path.with_suffix(".small")
    small.write_bytes(docx(p("x")))
    with (
        zipfile.ZipFile(small) as source,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as target,
    ):
        for name in source.namelist():
            if name != "word/document.xml":
                target.writestr(name, source.read(name))
                continue
            before, after = source.read(name).split(b"x</w:t>")
            with target.open(name, "w") as part:
                part.write(before)
                for _ in range(UNPACKED // MEGABYTE):
                    part.write(b" " * MEGABYTE)
                part.write(b"x</w:t>" + after)


def forge_sizes(path: Path) -> None:
    """Say everywhere in the archive that its largest member has 1,000 bytes."""
    with zipfile.ZipFile(path) as file:
        size = max(info.file_size for info in file.infolist())
    data = path.read_bytes()
    assert data.count(struct.pack("<I", size)) == 2, "in front of the member and in the directory"
    path.write_bytes(data.replace(struct.pack("<I", size), struct.pack("<I", 1_000)))


async def read(documents: Documents, path: Path) -> None:
    await documents.inspect(path)
    await documents.read_flow(path, DOCX)


def most_memory(documents: Documents) -> int:
    """Bytes that the child held at most so far."""
    status = Path(f"/proc/{documents.pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


async def refusal(documents: Documents, path: Path) -> ErrorCode:
    """The code that a document ends with; the child has not unpacked it, and reads on."""
    with pytest.raises(DocfleetError) as caught:
        await read(documents, path)
    assert most_memory(documents) < MOST_MEMORY
    good = path.with_name("good.docx")
    good.write_bytes(docx(p("still reading")))
    answer, _ = await documents.read_flow(good, DOCX)
    assert [block.text for block in answer.blocks] == ["still reading"]
    return caught.value.code


async def test_a4_spaces_of_400_megabytes(documents: Documents, tmp_path: Path) -> None:
    bomb = tmp_path / "spaces.docx"
    with_main_part_of_spaces(bomb)
    assert bomb.stat().st_size < 4 * MEGABYTE
    assert await refusal(documents, bomb) is ErrorCode.resource_limit
    forge_sizes(bomb)
    assert await refusal(documents, bomb) in (ErrorCode.corrupt, ErrorCode.resource_limit)


async def test_a4_five_thousand_members(documents: Documents, tmp_path: Path) -> None:
    many = tmp_path / "many.docx"
    many.write_bytes(docx(p("x"), parts={f"media/{index}.png": "x" for index in range(5_000)}))
    assert await refusal(documents, many) is ErrorCode.resource_limit
