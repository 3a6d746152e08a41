"""What differs between vision-language models, as data."""

from __future__ import annotations

from typing import Any

import msgspec

from shared.contracts.errors import DocfleetError, ErrorCode


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """How one model is asked, and what its answers mean."""

    name: str
    model: str
    """Served model name, where the settings do not say another."""
    prompts: dict[str, str]
    """Prompt by kind of region; `text` stands in for kinds that are not named."""
    sampling: dict[str, Any]
    """Fields of the request body."""
    retry_sampling: dict[str, Any]
    """Fields changed for the one corrected retry after a truncated or looping answer."""
    min_pixels: int
    max_pixels: int
    """Bounds of the picture sent; a larger one is scaled down, a smaller one up."""

    def prompt(self, kind: str) -> str:
        return self.prompts.get(kind, self.prompts["text"])


def profile_named(name: str) -> Profile:
    """A profile by its name; raises `DocfleetError(model_unavailable)` when there is none."""
    from services.vl_worker.profiles.glm_ocr import GLM_OCR

    known = {profile.name: profile for profile in (GLM_OCR,)}
    if name not in known:
        raise DocfleetError(ErrorCode.model_unavailable, f"no VL profile {name!r:.60}; there are: {', '.join(known)}")
    return known[name]
