"""Other layout programs, in their own environment: `pymupdf` (PyMuPDF 2's own layout, from the PDF), `rapid-layout` as its README calls it."""

from __future__ import annotations

import argparse
from importlib.metadata import version
from typing import Any

from benchmarks.peers.serve import Request, serve


def _pymupdf() -> None:
    import pymupdf
    import pymupdf4llm  # type: ignore[import-not-found]  # noqa: F401  (switches the layout on)

    def read(request: Request) -> dict[str, Any]:
        with pymupdf.open(request["pdf"]) as document:
            boxes = 0
            for page in document:
                page.get_layout()
                boxes += len(page.layout_information)
            return {"pages": [""] * document.page_count, "boxes": boxes}

    serve(read, f"pymupdf {version('pymupdf')} page.get_layout(), onnxruntime {version('onnxruntime')}")


def _rapid() -> None:
    from rapid_layout import RapidLayout  # type: ignore[import-not-found]

    engine = RapidLayout()

    def read(request: Request) -> dict[str, Any]:
        boxes = sum(len(engine(picture).boxes) for picture in request["pictures"])
        return {"pages": [""] * len(request["pictures"]), "boxes": boxes}

    serve(read, f"rapid-layout {version('rapid-layout')} RapidLayout()(picture), onnxruntime {version('onnxruntime')}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("program", choices=("pymupdf", "rapid-layout"))
    {"pymupdf": _pymupdf, "rapid-layout": _rapid}[parser.parse_args().program]()
