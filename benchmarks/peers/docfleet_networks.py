"""docfleet's two networks and nothing else: CPU seconds of their inference on each picture, without what is done before and after.

The ground on which the layout stage is measured: it uses the same engine, networks and threads.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.peers.serve import Request, serve
from shared.engines.engine import Array, Network
from shared.engines.open import open_engine
from shared.models.layout import LayoutModel
from shared.models.lines import LineDetector
from shared.settings import Settings, for_engine_child


class Timed:
    """A network that counts the CPU seconds of this process while it infers."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self.cpu_s = 0.0

    def infer(self, *inputs: Array) -> list[Array]:
        started = time.process_time()
        try:
            return self._network.infer(*inputs)
        finally:
            self.cpu_s += time.process_time() - started

    def __getattr__(self, name: str) -> Any:
        return getattr(self._network, name)


def main() -> None:
    settings = for_engine_child(Settings())
    engine = open_engine(settings.engines)
    layout, lines = LayoutModel(engine, settings), LineDetector(engine, settings)
    clocks = {}
    for name, model in (("layout", layout), ("lines", lines)):
        clocks[name] = model._model.network = Timed(model._model.network)  # type: ignore[assignment]

    def read(request: Request) -> dict[str, Any]:
        before = {name: clock.cpu_s for name, clock in clocks.items()}
        for file in request["pictures"]:
            picture = np.asarray(Image.open(file).convert("RGB"))
            layout.detect(picture)
            lines.detect(picture)
        steps = {name: clock.cpu_s - before[name] for name, clock in clocks.items()}
        return {"pages": [""] * len(request["pictures"]), "steps": steps}

    serve(read, f"{layout.ref.name} and {lines.ref.name} on {type(engine).__name__}")


if __name__ == "__main__":
    main()
