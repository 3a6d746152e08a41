"""What would parse this document: one hash over models, schema and stages. A result is only reused under the same one."""

from __future__ import annotations

from shared.contracts.codec import SCHEMA_VERSION, encode, sha256
from shared.models import manifest
from shared.settings import Settings
from shared.vlm.profile import names, profile_named

STAGE_VERSIONS = {"ingest": 1, "layout": 1, "rec": 1, "vl": 1, "assemble": 1}
"""Raised when a stage gives another result for the same input; old cache entries are then left alone."""


def pipeline_fingerprint(settings: Settings) -> str:
    """Hex sha256 over model manifests, the VL model in use, the settings that change results, schema and stage versions."""
    vl = None
    if settings.vl.endpoints:
        folder = settings.vl.profiles
        vl = {
            "profile": settings.vl.profile,
            "model": settings.vl.model,
            # A submission may name any of them, and options hold its name only.
            "profiles": {name: profile_named(name, folder).sha256() for name in names(folder)},
            "range_pages": settings.vl.range_pages,
            "disagreement": settings.vl.disagreement,
        }
    return sha256(
        encode(
            {
                "schema": SCHEMA_VERSION,
                "stages": STAGE_VERSIONS,
                "models": {name: manifest.manifest(name).sha256() for name in manifest.names()},
                "vl": vl,
                "layout": {
                    "dpi": settings.layout.dpi,
                    "min_confidence": settings.layout.min_confidence,
                    "route": [rule.model_dump() for rule in settings.layout.route],
                },
                "low_confidence": settings.rec.low_confidence,
            }
        )
    )
