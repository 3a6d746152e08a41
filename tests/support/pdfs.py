"""PDF files for tests, written object by object, so that each holds exactly what its test is about."""

from __future__ import annotations

import io
import zlib
from collections.abc import Sequence

from PIL import Image

FONT = "/F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"


class Pdf:
    """Objects of a PDF; `bytes()` makes the file."""

    def __init__(self) -> None:
        self._objects: list[bytes] = []
        self._pages: list[int] = []
        self._reserve()  # 1: catalog
        self._reserve()  # 2: page tree

    def add(self, body: str, stream: bytes | None = None) -> int:
        """An object; its number."""
        data = body.encode("latin-1")
        if stream is not None:
            data = data[:-2] + b" /Length %d >>\nstream\n" % len(stream) + stream + b"\nendstream"
        self._objects.append(data)
        return len(self._objects)

    def page(
        self,
        content: str | bytes | int,
        keys: str = "/MediaBox [0 0 612 792]",
        resources: str = "",
    ) -> int:
        """A page with Helvetica as F1; `content` in PDF's own coordinates, or the number of its object."""
        data = content.encode("latin-1") if isinstance(content, str) else content
        number = data if isinstance(data, int) else self.add("<< >>", data)
        page = self.add(
            f"<< /Type /Page /Parent 2 0 R {keys} /Contents {number} 0 R"
            f" /Resources << /Font << {FONT} >> {resources} >> >>"
        )
        self._pages.append(page)
        return page

    def image(self, image: Image.Image, keys: str = "", *, jpeg: bool = True, quality: int = 80) -> tuple[int, bytes]:
        """An image object, as JPEG or deflated; its number and the stream's bytes."""
        space = {"L": "/DeviceGray", "RGB": "/DeviceRGB", "CMYK": "/DeviceCMYK"}[image.mode]
        if jpeg:
            out = io.BytesIO()
            image.save(out, "JPEG", quality=quality)
            data, filters = out.getvalue(), "/DCTDecode"
        else:
            data, filters = zlib.compress(image.tobytes()), "/FlateDecode"
        head = f"<< /Type /XObject /Subtype /Image /Width {image.width} /Height {image.height}"
        body = f"{head} /ColorSpace {space} /BitsPerComponent 8 /Filter {filters} {keys} >>"
        return self.add(body, data), data

    def bytes(self, catalog: str = "") -> bytes:
        kids = " ".join(f"{page} 0 R" for page in self._pages)
        self._objects[0] = f"<< /Type /Catalog /Pages 2 0 R {catalog} >>".encode()
        self._objects[1] = f"<< /Type /Pages /Kids [{kids}] /Count {len(self._pages)} >>".encode()
        out = bytearray(b"%PDF-1.7\n")
        offsets: list[int] = []
        for number, body in enumerate(self._objects, 1):
            offsets.append(len(out))
            out += b"%d 0 obj\n" % number + body + b"\nendobj\n"
        start = len(out)
        out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(offsets) + 1)
        out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
        out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(offsets) + 1, start)
        return bytes(out)

    def _reserve(self) -> None:
        self._objects.append(b"")


def one_page(content: str | bytes, keys: str = "/MediaBox [0 0 612 792]", resources: str = "") -> bytes:
    pdf = Pdf()
    pdf.page(content, keys, resources)
    return pdf.bytes()


def text_at(x: float, y: float, text: str, size: float = 12, before: str = "") -> str:
    return f"q {before} BT /F1 {size} Tf {x} {y} Td ({text}) Tj ET Q\n"


def scan_page(width: int, height: int) -> Image.Image:
    """Something that looks like a scan: dark strokes on light paper, a red spot, different in all four corners."""
    image = Image.new("RGB", (width, height), (250, 248, 245))
    for number in range(6):
        top = height * (number + 1) // 10
        image.paste((20, 20, 25), (width // 10, top, width * (9 - number) // 10, top + max(2, height // 80)))
    image.paste((200, 20, 30), (width // 8, height * 3 // 4, width // 4, height * 7 // 8))
    return image


def contents(files: Sequence[str]) -> bytes:
    """A document of one page per text, each at 72, 700 in 12 points."""
    pdf = Pdf()
    for text in files:
        pdf.page(text_at(72, 700, text))
    return pdf.bytes()
