"""`docfleet doctor`: what is missing, and what to do."""

from __future__ import annotations


def doctor() -> None:
    """Look."""
