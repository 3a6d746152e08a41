"""A document through its child as the layout worker reads it, page by page or, without pages, as a flow."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from shared.contracts.errors import DocfleetError
from shared.documents.opener import Documents
from shared.documents.sniff import DOCX


async def read_all(
    documents: Documents,
    path: Path,
    filename: str,
    *,
    picture: Literal["none", "auto", "always"] = "auto",
    at_most: int = 100,
) -> tuple[int, list[object]]:
    """Number of pages, and what could be read of each of the first `at_most`.

    Raises what inspecting raises, and what the last page raises where no page can be read.
    """
    found = await documents.inspect(path, filename=filename)
    if found.mime_type == DOCX:
        flow, _ = await documents.read_flow(path, found.mime_type, pictures=True)
        return len(found.pages), [flow]
    read: list[object] = []
    last: DocfleetError | None = None
    for page_no in range(1, min(at_most, len(found.pages)) + 1):
        try:
            page, shown = await documents.open_page(path, found.mime_type, page_no, picture=picture)
        except DocfleetError as error:
            last = error
        else:
            shown.close()
            read.append(page)
    if last is not None and not read:
        raise last
    return len(found.pages), read
