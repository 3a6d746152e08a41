"""What ingest says of a document, as far as the rules of a page need it."""

from __future__ import annotations

from typing import Any

from shared.contracts.layout import Inspection
from shared.contracts.options import Options
from shared.contracts.records import SourceInfo


def inspection(generation: int = 0, vl_profile: str | None = None, range_size: int = 0, **options: Any) -> Inspection:
    """A PDF of nine pages, submitted with these options."""
    return Inspection(
        document_id="d",
        generation=generation,
        source=SourceInfo(bucket="b", key="k"),
        options=Options(**options),
        options_hash="h",
        pipeline_fingerprint="f",
        unit="pt",
        pages=[],
        selected="1-9",
        vl_profile=vl_profile,
        range_size=range_size,
    )
