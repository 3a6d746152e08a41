"""Ends a join that slept through its session: stopped by a signal, a debugger, a paused container or virtual machine.

Such a process wakes in the middle of what it did, with events in hand, while another one has its partitions and has handled the same
events; what it appends then is a second terminal record. Kafka fences its commits, not its appends. So a thread looks at the
clock several times a second, the outbox before every append, and whoever first finds that the other's last look is longer ago than the
group may have waited for a member ends the process: the session, less one heartbeat that was due when it fell asleep. (The idea: a lock
with a lease is only held as long as its holder's own clock says so; Burrows, "The Chubby lock service", OSDI 2006, section 2.8.)

What is left: records that were handed to the producer in the last milliseconds before the sleep; they are sent on waking. Hence the word
in docs/guarantees.md on frozen processes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

SLEPT = 5
"""Exit code of a process that slept through its session."""
LOOKS = 10
"""Looks at the clock in the time of a lease, at least."""
LONGEST_LOOK_S = 0.5


class Lease:
    """`expired(slept_s)` is called once, on any thread; it must not return when the process is a real one."""

    def __init__(
        self,
        session_s: float,
        heartbeat_s: float,
        expired: Callable[[float], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`session_s`: for how long the group waits for a member from a heartbeat on; `heartbeat_s`: from one heartbeat to the next."""
        self._held_s = session_s - heartbeat_s
        self._expired = expired
        self._clock = clock
        self._last = clock()

    def start(self) -> None:
        """Begin to look at the clock."""
        self._last = self._clock()
        threading.Thread(target=self._run, name="lease", daemon=True).start()

    def look(self) -> None:
        """Go on if the process was awake; for the thread alone."""
        self.check()
        self._last = self._clock()

    def check(self) -> None:
        """Before anything leaves the process. Cheap: one look at the clock."""
        slept_s = self._clock() - self._last
        if slept_s > self._held_s:
            self._expired(slept_s)

    def _run(self) -> None:
        pause_s = min(LONGEST_LOOK_S, self._held_s / LOOKS)
        while True:
            time.sleep(pause_s)
            self.look()
