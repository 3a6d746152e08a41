"""Real models (installed into the user's cache folder on first use) on real engines."""

from __future__ import annotations

import pytest

from shared.engines.engine import Engine
from shared.engines.open import open_engine
from shared.models.install import install
from shared.settings import Engines, Settings
from tests.integration.models.sheets import Sheet, sheet


@pytest.fixture(scope="session")
def settings() -> Settings:
    """With all models installed."""
    found = Settings()
    install(found.engines.models)
    return found


@pytest.fixture(scope="session")
def openvino(settings: Settings) -> Engine:
    return open_engine(settings.engines.model_copy(update={"kind": "openvino", "streams": 2}))


@pytest.fixture(scope="session")
def onnxruntime(settings: Settings) -> Engine:
    return open_engine(Engines(kind="onnxruntime", streams=1))


@pytest.fixture(scope="session")
def english() -> Sheet:
    return sheet("en")


@pytest.fixture(scope="session")
def chinese() -> Sheet:
    return sheet("zh")
