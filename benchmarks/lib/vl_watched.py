"""vl_worker as its service runs, watched from inside: gaps between polls and lateness of the event loop, as JSON in the file WATCHED.

`python -m benchmarks.lib.vl_watched`, with the settings of the service. Only the two clocks are added.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from pathlib import Path

from services.vl_worker.service import VlWorker
from shared.settings import Settings
from shared.streams.run import run
from shared.streams.runner import Runner


class Watch:
    """Longest values since the start of the work."""

    def __init__(self) -> None:
        self.polls = 0
        self.poll_gap_s = 0.0
        self.loop_late_s = 0.0
        self._polled: float | None = None

    def turned(self) -> None:
        """The consumer's loop went round."""
        now = time.monotonic()
        if self._polled is not None:
            self.poll_gap_s = max(self.poll_gap_s, now - self._polled)
        self._polled = now
        self.polls += 1

    async def loop(self) -> None:
        """Sleep and see how late one wakes."""
        while True:
            due = time.monotonic() + 0.05
            await asyncio.sleep(0.05)
            self.loop_late_s = max(self.loop_late_s, time.monotonic() - due)

    def write(self, path: Path) -> None:
        while True:
            time.sleep(0.5)
            text = json.dumps({"polls": self.polls, "poll_gap_s": self.poll_gap_s, "loop_late_s": self.loop_late_s})
            path.with_suffix(".new").write_text(text)
            path.with_suffix(".new").rename(path)


WATCH = Watch()


class Watched(VlWorker):
    """The same, with a clock beside it."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        path = Path(os.environ["WATCHED"])
        threading.Thread(target=WATCH.write, args=(path,), daemon=True).start()

    async def start(self) -> None:
        await super().start()
        self._clock = asyncio.create_task(WATCH.loop())


def main() -> int:
    turned = Runner.turned

    def watched(self: Runner) -> None:
        WATCH.turned()
        turned(self)

    Runner.turned = watched  # type: ignore[method-assign]
    return run(Watched)


if __name__ == "__main__":
    sys.exit(main())
