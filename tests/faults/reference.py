"""When two results are the same: everything but times, trace ids, confidences and the document's own name."""

from __future__ import annotations

import hashlib
import json
from typing import Any

VOLATILE = frozenset({"timings", "trace_id", "cache_hits", "confidence"})
"""Fields of a result that two runs of one document may differ in."""


def canonical(data: bytes, document_id: str) -> Any:
    """The result as JSON without what may differ."""
    return _stable(json.loads(data.replace(document_id.encode(), b"{id}")))


def digest(data: bytes, document_id: str) -> str:
    """16 hex of the sha256 of what is left."""
    text = json.dumps(canonical(data, document_id), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _stable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _stable(inner) for key, inner in value.items() if key not in VOLATILE}
    if isinstance(value, list):
        return [_stable(inner) for inner in value]
    return value


def normal_key(key: str, document_id: str, tenant_hash: str) -> str:
    """A key of the store without the document's name, as it would be of any other document of the same source."""
    return key.replace(document_id, "{id}").replace(tenant_hash, "{tenant}")
