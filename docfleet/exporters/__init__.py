"""A parsed document in the formats of others: one file a format, pure functions.

`docfleet.exports` reads what they need and writes what they give; formats are named here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Name = Literal["docling", "content-list", "elements", "alto", "hocr", "pdf", "chunks", "html"]


@dataclass(frozen=True)
class Format:
    """A format: the suffix of its files after the document's name, what it is in words, and what it needs beside the document.

    `source`: the file that was parsed, for pictures of its pages; `wants_source`: better with it, possible without.
    """

    suffix: str
    meaning: str
    markdown: bool = False
    source: bool = False
    wants_source: bool = False


FORMATS: dict[Name, Format] = {
    "docling": Format(".docling.json", "DoclingDocument, as docling-core loads it"),
    "content-list": Format(".content_list.json", "content list of MinerU"),
    "elements": Format(".elements.json", "elements of Unstructured"),
    "alto": Format(".alto.xml", "ALTO 4.4"),
    "hocr": Format(".hocr", "hOCR 1.2"),
    "pdf": Format(".searchable.pdf", "searchable PDF", source=True),
    "chunks": Format(".chunks.jsonl", "pieces for retrieval, one JSON object a line", markdown=True),
    "html": Format(".html", "one page to look at, pages beside their text", wants_source=True),
}
