"""Faust's app as the join configures it, with the two parts of it that are replaced (why: `faust_app`)."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import faust
from faust.transport.drivers import aiokafka as driver
from faust.types import TP

from services.assembler.join.credentials import credentials
from services.assembler.join.offsets import CannotStart
from services.assembler.join.outbox import Outbox
from services.assembler.join.positions import Positions
from shared import faultpoints
from shared.settings import GROUPS, Settings
from shared.telemetry import metrics

FETCHED_BYTES = 128 * 1024
"""Of each partition at once; a larger record comes alone (KIP-74). With Faust's 1 MiB, of 24 changelog partitions, a join came to 88 MB after
three recoveries of 60,000 marks, with this to 80 MB; their rows are 14 MB."""
POLLED = 500
"""Records taken over from what was fetched, at once. Faust's default is all of them: 95 MB after three recoveries of 12,000 marks, with both
bounds 67 MB. What a recovery takes must not depend on how much there is to recover."""


class OutboxProducer(driver.Producer):  # type: ignore[misc]
    """Faust's producer, with nothing of its own to produce: it flushes the outbox, and refuses all else."""

    outbox: Outbox

    async def on_start(self) -> None:
        """The outbox is up already."""

    async def on_stop(self) -> None:
        await self.flush()

    async def flush(self) -> None:
        """Wait until the broker has everything that was appended so far. Faust commits, and recovers, only after this."""
        position = self.outbox.position()
        while not self.outbox.settled(position):
            await asyncio.sleep(0.002)
        faultpoints.reached("after_produce_before_commit")

    async def send(self, topic: str, *arguments: Any, **options: Any) -> Any:
        raise NotImplementedError(f"the join appends through its outbox; Faust wanted to send to {topic}")

    send_and_wait = send

    def send_soon(self, fut: Any) -> None:
        raise NotImplementedError("the join appends through its outbox")

    def supports_headers(self) -> bool:
        return True


class JoinConsumer(driver.Consumer):  # type: ignore[misc]
    """Faust's consumer, committing by the join's own account, and fetching only what is to be fetched."""

    def __init__(self, *arguments: Any, positions: Positions, **options: Any) -> None:
        self._positions = positions
        super().__init__(*arguments, **options)

    async def _getmany(self, active_partitions: set[TP] | None, timeout: float) -> Any:
        """Fetch. Faust hands the other thread its live set of active partitions; when that turns empty meanwhile, which is when a
        recovery ends, "none" is read as "any", and what was taken from other partitions is dropped."""
        active = None if active_partitions is None else set(active_partitions)
        return await super()._getmany(active, timeout)

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        ok: bool = await super()._commit(offsets)
        metrics.COMMITS.labels(outcome="ok" if ok else "refused").inc()
        for tp, offset in offsets.items() if ok else ():
            self._positions.committed((tp.topic, tp.partition), offset)
        return ok

    def _new_offset(self, tp: TP) -> int | None:
        self._acked[tp].clear()
        self._acked_index[tp].clear()
        self._gap.pop(tp, None)
        return self._positions.next((tp.topic, tp.partition))


def make_app(settings: Settings, partitions: int) -> faust.App:
    kafka = settings.kafka
    session_s = kafka.session_timeout_ms / 1000
    app = faust.App(
        GROUPS["join"],
        broker=[f"kafka://{server.strip()}" for server in kafka.bootstrap_servers.split(",")],
        broker_credentials=credentials(kafka),
        processing_guarantee="at_least_once",
        store="memory://",
        # Faust makes this folder and, with tables of ours, puts nothing in it; so one serves every process.
        datadir=str(data_folder(settings)),
        autodiscover=False,
        web_enabled=False,
        topic_allow_declare=False,
        topic_disable_leader=True,
        topic_partitions=partitions,
        table_standby_replicas=0,
        consumer_auto_offset_reset="earliest",
        consumer_group_instance_id=kafka.group_instance_id,
        consumer_max_fetch_size=FETCHED_BYTES,
        broker_max_poll_records=POLLED,
        broker_session_timeout=session_s,
        broker_heartbeat_interval=heartbeat_s(session_s),
        broker_commit_interval=settings.stage("join").commit_interval_s,
    )
    if app.conf.processing_guarantee.value != "at_least_once":
        raise CannotStart("Faust's processing guarantee must be at_least_once; unset PROCESSING_GUARANTEE")
    return app


def heartbeat_s(session_s: float) -> float:
    """From one heartbeat to the next, seconds, with a session of so many."""
    return max(0.3, session_s / 3)


def data_folder(settings: Settings) -> Path:
    """The folder of the join; what is in it outlives no process."""
    return settings.join.data or Path(tempfile.gettempdir()) / f"docfleet-join-{os.getuid()}"
