"""Faults of what the fleet stands on: broker, network, store, model server."""

from __future__ import annotations

from tests.faults.injection import Injection

INJECTIONS: list[Injection] = []
