"""Several pages in one answer: a `<PAGE>` before each (baidu/Unlimited-OCR 582efd9, modeling_unlimitedocr.py)."""

from __future__ import annotations

SEPARATOR = "<PAGE>"


def split_pages(text: str, wanted: int) -> list[str] | None:
    """The text of each page, or none when there are not `wanted` of them: then nobody knows which is which.

    What stands before the first separator belongs to no page; if it is more than blanks, the answer is not of this form.
    """
    before, *pages = text.split(SEPARATOR, wanted + 1)
    if before.strip() or len(pages) != wanted:
        return None
    return [page.strip() for page in pages]
