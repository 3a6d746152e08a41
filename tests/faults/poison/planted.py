"""The remark that plants a poison in a PDF, behind its end, where no reader looks for content."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, get_args

Harm = Literal["segfault", "loop", "memory", "worker"]
HARMS: tuple[Harm, ...] = get_args(Harm)
PAGE = 2
"""The page that does harm; the others of the document are sound."""
_REMARK = re.compile(rb"%poison ([a-z]+)\s*$")


def planted(pdf: bytes, harm: Harm) -> bytes:
    """The same document with a poison on page `PAGE`."""
    return pdf + f"\n%poison {harm}\n".encode()


def harm_of(path: Path) -> str | None:
    """What a file does; none where it is sound."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 100))
        found = _REMARK.search(file.read())
    return found[1].decode() if found else None
