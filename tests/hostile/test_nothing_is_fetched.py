"""Nothing that a document names is fetched and nothing in it is run: a listening socket sees no connection, a file no change."""

from __future__ import annotations

import asyncio
import io
import socket
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.contracts.errors import DocfleetError
from shared.documents.opener import Documents
from shared.settings import Limits
from tests.support.pdfs import Pdf, text_at
from tests.support.reading import read_all

pytestmark = pytest.mark.integration


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(50)
        server.setblocking(False)
        yield server


def pdf_that_calls(url: str, file: Path) -> bytes:
    """Links, actions, an external stream, an external picture, a script, a launch: each names `url` or `file`."""
    pdf = Pdf()
    remote = f"<< /Type /Filespec /FS /URL /F ({url}/stream) >>"
    outside = pdf.add(f"<< /Length 0 /F {remote} /FFilter /FlateDecode >>", b"")
    picture = pdf.add(
        f"<< /Type /XObject /Subtype /Image /Width 9 /Height 9 /BitsPerComponent 8 /ColorSpace /DeviceGray /F {remote} >>",
        b"",
    )
    reference = f"/Ref << /F << /Type /Filespec /F ({file}) /UF ({file}) >> /Page 0 >>"
    form = pdf.add(f"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] {reference} >>", b"0 0 9 9 re f")
    link = f"<< /Type /Annot /Subtype /Link /Rect [0 0 612 792] /A << /S /URI /URI ({url}/link) >> >>"
    opening = (
        f"/AA << /O << /S /JavaScript /JS (app.launchURL\\('{url}/js'\\); this.getURL\\('{url}/get'\\);) >> >>"
        f" /Annots [{link} << /Type /Annot /Subtype /Screen /Rect [0 0 9 9]"
        f" /A << /S /Launch /F ({file}) /Win << /F ({file}) /O (open) >> >> >>]"
    )
    objects = f"/XObject << /Im0 {picture} 0 R /Fm0 {form} 0 R >>"
    pdf.page(
        text_at(72, 700, "calls out") + " q 99 0 0 99 0 0 cm /Im0 Do Q /Fm0 Do",
        f"/MediaBox [0 0 612 792] {opening}",
        objects,
    )
    pdf.page(outside)
    catalog = (
        f"/OpenAction << /S /SubmitForm /F << /FS /URL /F ({url}/form) >> >> /URI << /Base ({url}/) >>"
        f" /Names << /JavaScript << /Names [(a) << /S /JavaScript /JS (this.submitForm\\('{url}/names'\\)) >>] >> >>"
    )
    return pdf.bytes(catalog)


def docx_that_calls(url: str, file: Path) -> bytes:
    """An external picture, template and style sheet, fields that include, and a DTD with an external entity."""
    out = io.BytesIO()
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    external = "".join(
        f'<Relationship Id="x{n}" Type="{relations}/{kind}" Target="{target}" TargetMode="External"/>'
        for n, (kind, target) in enumerate(
            [
                ("image", f"{url}/picture.png"),
                ("attachedTemplate", f"{url}/template.dotm"),
                ("styles", f"{url}/styles.xml"),
                ("image", f"file://{file}"),
                ("frame", f"\\\\127.0.0.1\\share\\{file.name}"),
                ("subDocument", f"{url}/sub.docx"),
            ]
        )
    )
    field = (
        f'<w:fldSimple w:instr="INCLUDEPICTURE &quot;{url}/field.png&quot;"><w:r><w:t>a field</w:t></w:r></w:fldSimple>'
    )
    picture = (
        '<w:r><w:drawing><a:blip xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
        f'xmlns:r="{relations}" r:link="x0"/></w:drawing></w:r>'
    )
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
            'relationships+xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
            'wordprocessingml.document.main+xml"/></Types>',
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="r" Type="{relations}/officeDocument" '
            'Target="word/document.xml"/></Relationships>',
        )
        archive.writestr(
            "word/_rels/document.xml.rels", f'<Relationships xmlns="{package}/relationships">{external}</Relationships>'
        )
        archive.writestr(
            "word/document.xml",
            f'<!DOCTYPE d SYSTEM "{url}/dtd" [<!ENTITY x SYSTEM "file://{file}"><!ENTITY y SYSTEM "{url}/entity">]>'
            f'<w:document xmlns:w="{word}"><w:body><w:p><w:r><w:t>words &x;&y;</w:t></w:r>{field}{picture}</w:p></w:body></w:document>',
        )
    return out.getvalue()


def svg_that_calls(url: str) -> bytes:
    return f'<svg xmlns="http://www.w3.org/2000/svg"><image href="{url}/i.png" width="9" height="9"/></svg>'.encode()


async def test_no_connection_is_made_and_no_file_is_read(tmp_path: Path, listener: socket.socket) -> None:
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    secret = tmp_path / "secret.txt"
    secret.write_text("the content of another file")
    documents = Documents(Limits())
    texts = []
    try:
        for name, data in [
            ("a.pdf", pdf_that_calls(url, secret)),
            ("a.docx", docx_that_calls(url, secret)),
            ("a.svg", svg_that_calls(url)),
        ]:
            path = tmp_path / name
            path.write_bytes(data)
            try:
                _, read = await read_all(documents, path, name, picture="always")
                texts.append(repr(read))
            except DocfleetError as error:
                texts.append(error.message)
        await asyncio.sleep(0.2)
        with pytest.raises(BlockingIOError):
            listener.accept()
    finally:
        await documents.close()
    assert any("calls out" in text for text in texts)
    assert not any("content of another file" in text for text in texts)
