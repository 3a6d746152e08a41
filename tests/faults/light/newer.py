"""A version that does not exist yet: what it writes has the next minor schema version, and fields that no reader knows."""

from __future__ import annotations

import json
import sys
from typing import Any

from shared.contracts import codec

NEXT = "1.1.0"
"""After `codec.SCHEMA_VERSION` 1.0.0."""
UNKNOWN = {"since_next": {"kept": True, "list": [1, "two", None]}, "another": "field"}


def encode(value: Any) -> bytes:
    """As `codec.encode`, for everything but the final document: there a newer field would be a difference in the result."""
    data = codec.encode(value)
    if type(value).__name__ == "ParsedDocument":
        return data
    found = json.loads(data)
    if not isinstance(found, dict) or "schema_version" not in found:
        return data
    return json.dumps({**found, "schema_version": NEXT, **UNKNOWN}, sort_keys=True, ensure_ascii=False).encode()


def install() -> None:
    """Have every module of this process that writes use it; call it after they are imported."""
    for name, module in list(sys.modules.items()):
        ours = name.startswith(("services.", "shared.")) and name != codec.__name__
        if ours and getattr(module, "encode", None) is codec.encode:
            module.encode = encode  # type: ignore[attr-defined]
