"""Reading of text lines."""

from __future__ import annotations

from pydantic import Field

from shared.settings.group import Group


class Rec(Group):
    """Reading of text lines."""

    linger_ms: float | None = Field(
        None, ge=0, le=1_000, description="Wait for a fuller batch, from its first crop; none is the engine profile's."
    )
    crop_cache: int = Field(20_000, ge=0, description="Crops whose text is remembered.")
    page_cache_bytes: int = Field(
        32 * 2**20, ge=0, description="Readings of whole pages that are remembered, some 20 to 100 kB each."
    )
    low_confidence: float = Field(
        0.8,
        ge=0,
        le=1,
        description="Below it a squeezed crop is read again at full width, a direct one after detection.",
    )
    draft_confidence: float = Field(
        0.6,
        ge=0,
        le=1,
        description="A small network reads first, the large one again the places where a character is less sure than this; 0: the large one alone.",
    )
