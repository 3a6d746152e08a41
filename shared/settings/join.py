"""The join."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from shared.settings.group import Group


class Join(Group):
    """The document's conductor."""

    window: int = Field(128, ge=1, le=10_000, description="Pages of a document that are out at once.")
    remember_s: float = Field(
        86_400.0,
        gt=0,
        description="Seconds a finished document is remembered; an envelope repeated later may be answered again.",
    )
    driver: Literal["faust", "embedded"] = Field(
        "faust", description="`embedded` is the small driver of the in-process broker."
    )
    stall_s: float = Field(
        300.0,
        gt=0,
        description="Seconds without news of a document after which it is proven whether a task of it was lost. A queue never counts.",
    )
    store: Literal["memory", "rocksdb"] = Field(
        "memory",
        description="Where open state lives; either is gone at start and recovered. `rocksdb` (needs `docfleet[rocksdb]`) keeps the pages of "
        "open documents on disk.",
    )
    cache_bytes: int = Field(
        64 * 2**20, ge=2**20, description="Memory of `join.store=rocksdb`: cached blocks and rows not yet written."
    )
    data: Path | None = Field(None, description="Folder of the join; none is a temporary one.")
