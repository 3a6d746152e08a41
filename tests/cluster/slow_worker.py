"""`python -m tests.cluster.slow_reader rec_worker`: the light profile's rec_worker, whose synthetic reader takes its time.

A page costs `SECONDS` without work of the processor, so that one pod is too few for the load of the test on any machine.
"""

from __future__ import annotations

import os
import sys

from shared.settings import Settings
from tests.faults.light import reader, worker

VARIABLE = "DOCFLEET_CLUSTER_READ_SECONDS"


def create(settings: object) -> reader.Reader:
    """The factory that `shared.children` calls."""
    reader.SECONDS = float(os.environ[VARIABLE])
    return reader.Reader()


def rec_worker(settings: Settings) -> object:
    from shared.children.child import Child
    from shared.settings import for_engine_child

    stage = worker.rec_worker(settings)
    stage._engine = Child(
        "tests.cluster.slow_reader:create",
        for_engine_child(settings),
        name="rec-engine",
        call_timeout_s=60.0,
        threads=8,
    )
    return stage


if __name__ == "__main__":
    worker.STAGES["rec_worker"] = rec_worker  # type: ignore[assignment]
    sys.exit(worker.main("rec_worker"))
