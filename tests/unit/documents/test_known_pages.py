"""The last few pages of a PDF are remembered, because a second opening is usually for the picture alone."""

from __future__ import annotations

from pathlib import Path

import pymupdf
import pytest

from shared.documents.limits import bounds_of
from shared.documents.page import PageCall
from shared.documents.pdf import PdfFile
from shared.settings import Limits

pytestmark = pytest.mark.unit


def test_a_page_opened_again_for_its_picture_is_not_looked_at_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = pymupdf.open()
    for number in range(6):
        document.new_page().insert_text((72, 90), f"Page {number + 1}")
    document.save(tmp_path / "six.pdf")
    file = PdfFile(tmp_path / "six.pdf", None, bounds_of(Limits()))
    looked: list[int] = []
    plain = PdfFile._look

    def counted(self, page, frame, own, page_no):
        looked.append(page_no)
        return plain(self, page, frame, own, page_no)

    monkeypatch.setattr(PdfFile, "_look", counted)

    def opened(page_no, picture="none", rotation=None):
        call = PageCall(
            path="", mime_type="application/pdf", page_no=page_no, dpi=72, picture=picture, rotation=rotation
        )
        answer, blocks = file.open_page(call)
        for block in blocks:
            block.close()
        return answer

    first, second = opened(1), opened(1, "always")
    assert looked == [1]
    assert second.full is not None
    assert first.page.lines == second.page.lines
    opened(1, rotation=90)
    assert looked == [1, 1], "in another frame it is another page"
    for number in range(2, 6):
        opened(number)
    opened(5)
    opened(1)
    assert looked == [1, 1, 2, 3, 4, 5, 1], "the last few are remembered, not all"
    file.close()
