"""Ascend NPUs: `om` files through ais_bench, one process per network.

An `om` is compiled for one chip and a list of shapes (its gears), with `docfleet models build`; what it is stands beside it and is compared
before it is used. Every network is open, and every gear has run once, before the program that loads them is ready. Source of the facts about
ais_bench: its public repository, `ais-bench_workload/tool/ais_bench` at commit 7d48a93e (0.0.2).
"""

from __future__ import annotations

import os
import threading
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.engines import ascend_card
from shared.engines.ascend_built import read_built
from shared.engines.ascend_environment import VISIBLE, check_visible, environment_of
from shared.engines.ascend_file import check_file
from shared.engines.ascend_network import AscendNetwork, Loop
from shared.engines.engine import Engine, Network
from shared.engines.open import profile, streams

if TYPE_CHECKING:
    from shared.settings import Engines

_log = structlog.get_logger()


class AscendEngine:
    """Opens `om` files beside the installed ONNX files. One per process."""

    name = "ascend"
    precision = "om"

    def __init__(self, settings: Engines) -> None:
        """Raises `DocfleetError(model_unavailable)` for a list of cards that is not what it seems."""
        check_visible(os.environ.get(VISIBLE), settings.ascend_device)
        try:
            self.version = version("ais_bench")
        except PackageNotFoundError:
            self.version = "unknown"
        self.streams = streams(settings)
        self.profile = profile(settings)
        self._settings = settings
        self._loop = Loop()
        self._networks: list[AscendNetwork] = []
        card = ascend_card.told()
        self._told = bool(card)
        self._chips = ascend_card.chips(card)
        self._watcher: threading.Thread | None = None
        environment = environment_of("session", os.environ, settings.ascend_environment)
        _log.info(
            "npu",
            chips=sorted(self._chips) or "npu-smi does not tell",
            visible=os.environ.get(VISIBLE, "all"),
            device=settings.ascend_device,
            environment={
                **{name: os.environ[name] for name in sorted(os.environ) if name.startswith("GE_")},
                **environment,
            },
        )

    def load(self, path: Path) -> Network:
        """Open the `om` of an ONNX file and run every gear once."""
        built, om = read_built(path, self._settings.ascend_target)
        if self._chips and built.soc not in self._chips:
            raise DocfleetError(
                ErrorCode.model_unavailable,
                f"the om of {built.model} is for {built.soc} and this machine has {', '.join(sorted(self._chips))};"
                f" run: docfleet models build --target {min(self._chips).lower()}",
            )
        check_file(om)
        network = AscendNetwork(built, om, self._settings, self._loop)
        network.start()
        self._networks.append(network)
        if self._told and (self._watcher is None or not self._watcher.is_alive()):
            self._watcher = threading.Thread(target=self._watch, name="npu-memory", daemon=True)
            self._watcher.start()
        return network

    def _watch(self) -> None:
        """Replace sessions whose device memory is over the mark, until all are closed: an NPU gives nothing back while its process lives."""
        seen = False
        while True:
            time.sleep(self._settings.ascend_watch_s)
            if all(network.closed for network in list(self._networks)):
                return
            held = ascend_card.held(ascend_card.told())
            networks = [network for network in list(self._networks) if network.pid in held]
            if networks and not seen:
                seen = True
            elif not networks and self._networks and not seen:
                _log.warning("npu_memory_unknown", why="npu-smi shows none of our processes: the mark is not watched")
                seen = True
            for network in networks:
                bytes_held = held[network.pid or 0]
                if bytes_held > self._settings.ascend_recycle_bytes:
                    _log.info("npu_recycle", model=network.built.model, device_bytes=bytes_held)
                    network.recycle()


def create(settings: Engines) -> Engine:
    """The engine for these settings."""
    return AscendEngine(settings)
