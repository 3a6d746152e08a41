"""Short documents that pass a long one do not close it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.children.preference import BULK_EVERY
from shared.documents.child import DocumentChild
from shared.documents.limits import bounds_of
from shared.documents.page import PageCall
from shared.settings import Limits
from tests.support.pdfs import contents

pytestmark = pytest.mark.unit
PAGES = 6


def test_a_long_document_is_opened_once_while_short_ones_pass_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    plain = DocumentChild._opened

    def counted(self: DocumentChild, path: Path, mime_type: str, password: str | None):
        opened.append(path.name)
        return plain(self, path, mime_type, password)

    monkeypatch.setattr(DocumentChild, "_opened", counted)
    child = DocumentChild(bounds_of(Limits()))

    def page(path: Path, number: int) -> None:
        call = PageCall(path=str(path), mime_type="application/pdf", page_no=number, dpi=72, picture="none")
        child.open_page(call, [])

    long = tmp_path / "long.pdf"
    long.write_bytes(contents([f"page {number}" for number in range(PAGES)]))
    shorts = 0
    for number in range(PAGES):
        page(long, number + 1)
        for _ in range(BULK_EVERY - 1):
            shorts += 1
            short = tmp_path / f"short-{shorts}.pdf"
            short.write_bytes(contents([f"document {shorts}"]))
            page(short, 1)
    assert opened.count("long.pdf") == 1
    assert len(opened) == 1 + shorts
