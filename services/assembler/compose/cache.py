"""Whether a result may be copied for the next document with the same content.

A fingerprint stands for the models that ingest's settings name. A fleet that is being rolled out may read one document
with two versions of a model, and a fallback reads a table with another model than the one meant. So an entry is written
for a `success` only, and only if every model that took part is one this installation has (same bytes) or the configured
VL model, and nothing was read by a stand-in.
"""

from __future__ import annotations

from services.assembler.compose.calls import DocumentReply
from shared.contracts.document import ModelRef
from shared.models import manifest
from shared.settings import Settings


def reusable(described: DocumentReply, settings: Settings) -> bool:
    """Whether the cache may point to this document."""
    if described.status != "success" or not described.source.sha256 or described.fallbacks:
        return False
    known = {manifest.manifest(name).ref() for name in manifest.names()}
    return all(_fits(model, known, settings) for model in described.models)


def _fits(model: ModelRef, known: set[ModelRef], settings: Settings) -> bool:
    if model.stage == "vl":
        return bool(settings.vl.endpoints) and (settings.vl.model is None or model.name == settings.vl.model)
    return model in known
