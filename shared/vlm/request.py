"""A profile and pictures to the request of its API: a path and a JSON body. Knows no HTTP client."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import msgspec

from shared.vlm.profile import Profile

PROBE = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABALDA4MChAODQ4SERATGCgaGBYWGDEjJR0oOjM9PDkzODdASFxOQERXRTc4UG1RV19iZ2hnPk1xeX"
    "BkeFxlZ2P/2wBDARESEhgVGC8aGi9jQjhCY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2P/wAARCAAg"
    "ACADASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAf/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFAEBAAAAAAAAAAAAAAAAAAAAAP/EAB"
    "QRAQAAAAAAAAAAAAAAAAAAAAD/2gAMAwEAAhEDEQA/AKAAAAAAAAD/2Q=="
)
"""A white JPEG of 32 x 32 pixels, for requests that only ask whether the model answers; every server scales it as it likes."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What is posted: JSON `body` to base URL + `path`."""

    path: str
    body: dict[str, Any]


def request_of(
    profile: Profile, kind: str, jpegs: Sequence[bytes], *, model: str | None = None, corrected: bool = False
) -> Request:
    """Ask for what is in the pictures (JPEG; several only for `range`).

    `kind` is a region label, `page` or `range`. `model` is the served name, none the profile's. `corrected` makes it the retry
    after an answer that a guard refused. Raises `DocfleetError(model_unavailable)` where the profile has no prompt for it.
    """
    prompt = profile.prompt(kind)
    fields = {**profile.body, **prompt.body, **(profile.retry_body if corrected else {})}
    pictures = [base64.b64encode(jpeg).decode("ascii") for jpeg in jpegs]
    if profile.api == "ocr":
        return Request(path="/ocr", body={"image_base64": pictures[0], "prompt": prompt.text, **fields})
    shown = [{"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{picture}"}} for picture in pictures]
    asked = [{"type": "text", "text": prompt.text}]
    content = [*asked, *shown] if profile.order == "text_first" else [*shown, *asked]
    body = {"model": model or profile.model, "messages": [{"role": "user", "content": content}], **fields}
    return Request(path="/chat/completions", body=body)


def probe(profile: Profile, *, model: str | None = None) -> Request:
    """A real request of the profile for one token: who answers it serves this model, with this key, and is warm."""
    kind = "text" if "text" in profile.prompts else "page"
    request = request_of(profile, kind, [PROBE], model=model)
    return msgspec.structs.replace(request, body={**request.body, profile.tokens: 1})
