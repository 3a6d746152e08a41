"""Pages of a PDF as picture files, for programs that take pictures: the embedded scan where the page is one, else drawn at 200 dpi."""

from __future__ import annotations

from pathlib import Path

import pymupdf

DPI = 200


def pictures(pdf: Path, folder: Path) -> list[Path]:
    """One file per page, in order, written below `folder`."""
    files = []
    with pymupdf.open(pdf) as document:
        for page in document:
            images = page.get_images(full=True)
            stem = folder / f"{pdf.stem}-{page.number + 1:04d}"
            if len(images) == 1 and not page.get_text().strip():
                embedded = document.extract_image(images[0][0])
                file = stem.with_suffix("." + embedded["ext"])
                file.write_bytes(embedded["image"])
            else:
                file = stem.with_suffix(".png")
                page.get_pixmap(dpi=DPI).save(file)
            files.append(file)
    return files
