"""DOCX files as a test wants them: the XML of their parts in an archive, nothing that a writer would add."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

from shared.contracts.layout import FlowBlock
from shared.documents.docx.document import DocxFile
from shared.documents.flow import FlowAnswer, FlowCall
from shared.documents.limits import bounds_of
from shared.settings import Limits

SPACES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    ' xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    ' xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    ' xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"'
    ' xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    ' xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"'
    ' xmlns:v="urn:schemas-microsoft-com:vml"'
)
_KIND = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/"


def part(root: str, inner: str) -> str:
    """A part of the file: its root element, `w:styles`, and what is in it."""
    return f'<?xml version="1.0" encoding="UTF-8"?><{root} {SPACES}>{inner}</{root}>'


def p(*runs: str, style: str = "", properties: str = "") -> str:
    """A paragraph; a run is text, or XML where it begins with `<`."""
    style = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{style}{properties}</w:pPr>{''.join(one if one.startswith('<') else r(one) for one in runs)}</w:p>"


def r(text: str, properties: str = "") -> str:
    """A run of text."""
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def ins(*runs: str) -> str:
    """A tracked insertion."""
    return f'<w:ins w:id="1" w:author="a">{"".join(r(one) for one in runs)}</w:ins>'


def gone(*texts: str) -> str:
    """A tracked deletion."""
    runs = "".join(f'<w:r><w:delText xml:space="preserve">{one}</w:delText></w:r>' for one in texts)
    return f'<w:del w:id="2" w:author="a">{runs}</w:del>'


def tc(*paragraphs: str, properties: str = "") -> str:
    """A cell; a paragraph is text, or XML where it begins with `<`."""
    inner = "".join(one if one.startswith("<") else p(one) for one in paragraphs)
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{inner}</w:tc>"


def tbl(*rows: list[str], properties: str = "") -> str:
    """A table of rows of cells."""
    inner = "".join(f"<w:tr>{''.join(row)}</w:tr>" for row in rows)
    return f"<w:tbl><w:tblPr>{properties}</w:tblPr>{inner}</w:tbl>"


def listed(num: int, level: int) -> str:
    """Properties of a paragraph in a list."""
    return f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{num}"/></w:numPr>'


def docx(
    body: str,
    *,
    parts: Mapping[str, str | bytes] | None = None,
    links: Mapping[str, tuple[str, str]] | None = None,
    external: Mapping[str, tuple[str, str]] | None = None,
    raw: str | None = None,
) -> bytes:
    """A file whose text is `body`.

    `parts`: name in `word/` to content, found by its kind (`styles.xml`); `links`: relationship id to (kind, part);
    `external`: id to (kind, address); `raw`: the whole of `document.xml` in place of `body`.
    """
    relations = [
        f'<Relationship Id="part{index}" Type="{_KIND}{name.removesuffix(".xml")}" Target="{name}"/>'
        for index, name in enumerate(parts or {})
        if "/" not in name
    ]
    relations += [f'<Relationship Id="{i}" Type="{_KIND}{k}" Target="{t}"/>' for i, (k, t) in (links or {}).items()]
    relations += [
        f'<Relationship Id="{i}" Type="{_KIND}{k}" Target="{t}" TargetMode="External"/>'
        for i, (k, t) in (external or {}).items()
    ]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{_PACKAGE}relationships"><Relationship Id="d" Type="{_KIND}officeDocument"'
            ' Target="word/document.xml"/></Relationships>',
        )
        file.writestr("word/document.xml", raw or part("w:document", f"<w:body>{body}</w:body>"))
        file.writestr(
            "word/_rels/document.xml.rels",
            f'<Relationships xmlns="{_PACKAGE}relationships">{"".join(relations)}</Relationships>',
        )
        for name, content in (parts or {}).items():
            file.writestr(f"word/{name}", content)
    return out.getvalue()


def read(data: bytes, folder: Path, *, pictures: bool = False, **limits: int) -> FlowAnswer:
    """What is read of a file, in this process. Raises what reading raises."""
    path = folder / "file.docx"
    path.write_bytes(data)
    file = DocxFile(path, bounds_of(Limits(**limits)))  # type: ignore[arg-type]
    try:
        answer, blocks = file.read_flow(FlowCall(path=str(path), mime_type="", pictures=pictures))
    finally:
        file.close()
    for block in blocks:
        block.close()
    return answer


def texts(blocks: list[FlowBlock], layer: str = "body") -> list[str]:
    """The texts of one layer."""
    return [block.text for block in blocks if block.layer == layer]
