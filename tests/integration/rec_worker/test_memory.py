"""A rec_worker's memory is bounded, and does not grow with the pages it has read. All of 1,000 pages: `./dev bench memory`."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.models.install import install
from shared.settings import Engines, Objects, Settings
from tests.support.mixed_pages import read

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]


async def test_memory_is_bounded_and_flat_over_pages_of_all_shapes(tmp_path: Path) -> None:
    settings = Settings(objects=Objects(kind="folder", folder=tmp_path), engines=Engines(streams=2))
    install(settings.engines.models)
    looks = await read(settings, 120, every=40, lines=3)
    held = [look.worker + look.engine for look in looks]
    assert max(held) <= 1.2e9
    # By page 40 most shapes were met, but not all.
    assert held[-1] <= 1.15 * held[0]
