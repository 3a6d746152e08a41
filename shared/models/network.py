"""An installed model, opened: its manifest and its network on an engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shared.engines.engine import Engine, Network
from shared.engines.prepare import WEIGHTS
from shared.models.install import DICTIONARY, NETWORK, installed
from shared.models.manifest import Manifest, manifest

if TYPE_CHECKING:
    from shared.settings import Settings


class OpenModel:
    """Raises `DocfleetError(model_unavailable)` when the model is not installed or cannot be loaded."""

    def __init__(self, name: str, engine: Engine, settings: Settings) -> None:
        folder = installed(settings.engines.models, name)
        self.manifest: Manifest = manifest(name)
        self.network: Network = engine.load(folder / NETWORK)
        self.dictionary: Path = folder / DICTIONARY
        self.weights: Path = folder / WEIGHTS
