"""A control plane for the session, and Helm."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import without
from tests.support.cluster.controlplane import ControlPlane
from tests.support.helm import Helm
from tests.support.processes import Missing


@pytest.fixture(scope="session")
def plane() -> Iterator[ControlPlane]:
    """API server, controllers, scheduler, and four kwok nodes in two zones."""
    try:
        with ControlPlane() as running:
            for number, zone in enumerate("aabb"):
                running.node(f"kwok-{number}", zone=zone)
            yield running
    except Missing as missing:
        without(missing)


@pytest.fixture(scope="session")
def helm() -> Iterator[Helm]:
    """Helm's own SDK."""
    try:
        with Helm() as running:
            yield running
    except Missing as missing:
        without(missing)
