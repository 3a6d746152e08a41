"""What travels between the rec_worker and its engine child. Nothing here imports an engine or OpenCV: the parent needs neither."""

from __future__ import annotations

import msgspec

from services.rec_worker.batcher import Flush
from shared.contracts.document import ModelRef, Warning
from shared.contracts.errors import ErrorInfo
from shared.contracts.layout import Region, RegionReading
from shared.contracts.options import Lane


class BatchFact(msgspec.Struct, frozen=True, kw_only=True):
    """One batch that went through the engine, for the metrics of the parent."""

    bucket: int
    """Padded width in pixels at the model's height."""
    items: int
    room: int
    """Items a full batch of this bucket has."""
    documents: int
    """Different documents whose crops were in it."""
    width: int
    """Sum of the widths that are picture and not padding."""
    flush: Flush
    seconds: float
    failed: bool = False
    ended_at: float = 0.0
    """Seconds since the epoch."""
    traces: list[str] = []
    """`traceparent` of the pages whose crops were in it, of those that are traced; the one that came first, first."""


class Looks(msgspec.Struct, frozen=True):
    """Crops by what the second network read of them."""

    none: int = 0
    """Nothing: the draft was sure."""
    part: int = 0
    """The places of which the draft was not sure."""
    whole: int = 0

    def __add__(self, other: Looks) -> Looks:
        return Looks(self.none + other.none, self.part + other.part, self.whole + other.whole)


class PageToRead(msgspec.Struct, frozen=True, kw_only=True):
    """A call: regions of one page. The picture comes as the call's only block, or not at all."""

    document_id: str
    page_no: int
    width: float
    height: float
    """Of the page, in its units."""
    picture: tuple[int, int] | None = None
    """Width and height, in pixels, of the picture in the call's block."""
    picture_box: list[int] | None = None
    """The part `[left, top, right, bottom]` of the whole page's picture that it is; none is all of it."""
    picture_whole: tuple[int, int] | None = None
    """Width and height of the whole page's picture, where the block holds a part of it."""
    regions: list[Region]
    fallback_from: str | None = None
    lane: Lane = "first"
    due_in_s: float | None = None
    """Seconds until the document's deadline."""
    coming: int = 0
    """Other pages that will be asked for soon."""
    trace: str | None = None
    """`traceparent` of the page's work, where it is recorded."""


class PageRead(msgspec.Struct, frozen=True, kw_only=True):
    """The answer, and what the parent counts."""

    regions: list[RegionReading]
    models: list[ModelRef] = []
    warnings: list[Warning] = []
    errors: list[ErrorInfo] = []
    crops: int = 0
    cache_hits: int = 0
    blank: int = 0
    """Lines without ink, which were not read."""
    direct: int = 0
    """Regions read as the one line they are, without detection."""
    direct_fallbacks: int = 0
    """Those of them that were not read surely and were looked at again with detection."""
    facts: list[BatchFact] = []
    """Batches that ended since the last answer, of any call."""
    looks: Looks = Looks()
    """Since the last answer, of any call."""
