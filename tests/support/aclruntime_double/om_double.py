"""What the double calls an om file: a line of JSON, then the ONNX file it was made of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

MAGIC = b"OM of the double "


def write(path: Path, head: dict[str, Any], onnx: bytes) -> None:
    """`head`: soc, mode, gears (lists of shapes, one per input), inputs and outputs (name, dtype, shape), output_bytes."""
    path.write_bytes(MAGIC + json.dumps(head).encode() + b"\n" + onnx)


def read(path: Path) -> tuple[dict[str, Any], bytes]:
    """Head and ONNX file. Raises `ValueError` for a file that is no om of the double."""
    first, _, rest = path.read_bytes().partition(b"\n")
    if not first.startswith(MAGIC):
        raise ValueError("not an om of the double")
    return json.loads(first.removeprefix(MAGIC)), rest
