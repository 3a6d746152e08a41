"""`docfleet fleet` as a process on Kafka and S3, with its networks on the double of an NPU or on the CPU."""

from __future__ import annotations

import re
import sys
import time
import urllib.request
from pathlib import Path
from types import TracebackType

from docfleet.processes import MODULES
from shared.contracts.codec import decode
from shared.contracts.document import ParsedDocument
from tests.support.fleet import Fleet
from tests.support.processes import end, free_ports, spawn

READY_S = 900.0
"""For a start: opening seven networks, with every gear once, on a machine that does other things too."""
IDLE_S = 2.0
"""Without another record, after the last that was waited for: a second one of a document would be a fault."""


class Running:
    """Context manager: the process, and what its services say of themselves."""

    def __init__(self, fleet: Fleet, name: str, **env: str) -> None:
        self._fleet = fleet
        self._log = fleet.folder / f"{name}.log"
        self._ports = dict(zip(MODULES, free_ports(len(MODULES)), strict=True))
        ports = {f"DOCFLEET_STAGES__{part.upper()}__HTTP_PORT": str(port) for part, port in self._ports.items()}
        self._env = {**fleet.env, **ports, **env}

    def __enter__(self) -> Running:
        command = [sys.executable, "-m", "docfleet.cli.main", "fleet"]
        self._process = spawn(command, self._log, self._fleet.folder, self._env)
        limit = time.monotonic() + READY_S
        for part in MODULES:
            while part != "vl_worker" and not self.get(part, "/readyz"):
                if self._process.poll() is not None or time.monotonic() > limit:
                    end(self._process, 60)
                    raise AssertionError(f"{part} is not ready: {self._log.read_text(errors='replace')[-3_000:]}")
                time.sleep(0.2)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        end(self._process, 120)

    def get(self, part: str, path: str) -> str:
        """What a service answers; nothing while it does not, or is not ready."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._ports[part]}{path}", timeout=5) as answer:
                return str(answer.read().decode())
        except OSError:
            return ""

    def count(self, metric: str) -> int:
        """Sum of a metric over the stages with networks; `metric` is a pattern of its name and labels."""
        row = re.compile(rf"^{metric} ([\d.e+]+)$", re.MULTILINE)
        found = [row.findall(self.get(part, "/metrics")) for part in ("layout_worker", "rec_worker")]
        return int(sum(float(value) for values in found for value in values))


def submit(fleet: Fleet, path: Path, document: str, **options: str) -> None:
    """Upload a file and submit it, with a tenant of its own: nothing that was parsed before is taken for it."""
    fleet.upload(path, f"{document}.pdf")
    fleet.submit(document, f"{document}.pdf", tenant=document, options=options)


def ended(fleet: Fleet, documents: int, seconds: float) -> dict[str, ParsedDocument | None]:
    """The documents in `docs.parsed`, none for one without a result, once there are so many or the time is over.

    Raises `AssertionError` for one with two records.
    """
    records = fleet.parsed(documents, seconds, IDLE_S)
    twice = [name for name, found in records.items() if len(found) > 1]
    assert not twice, f"more than one record: {twice}"
    places = {name: found[0].get("result") for name, found in records.items()}
    return {name: decode(fleet.read(at), ParsedDocument) if at else None for name, at in places.items()}
