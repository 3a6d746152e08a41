"""A join that lives through many recoveries: what each of them takes depends on what is open and has ended, not on the length of the changelogs."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from benchmarks.lib.join_kafka import ended, fill
from tests.kafka.assembler.test_faust_join import Join, Start, start, until
from tests.support.kafka import KafkaServer

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

__all__ = ["start"]

MARKS = 12_000
"""They weigh 3 MB in memory, and 8 MB in their changelog."""
MOST_MB = 15.0


def own_mb(join: Join) -> float:
    """Anonymous memory of a process."""
    told = re.search(r"^RssAnon:\s+(\d+) kB", Path(f"/proc/{join.process.pid}/status").read_text(), re.M)
    assert told is not None
    return int(told[1]) / 1024


def recoveries(join: Join) -> int:
    return join.log.read_text(errors="replace").count("recovered")


def test_recoveries_leave_no_more_than_their_rows(fresh_kafka: KafkaServer, start: Start) -> None:
    join = start(fresh_kafka.bootstrap)
    join.until("recovered")
    time.sleep(1)
    empty = own_mb(join)
    fill(fresh_kafka, "docs.parsed", ended(MARKS))
    for _ in range(3):
        before = recoveries(join)
        other = start(fresh_kafka.bootstrap)  # takes half of the partitions, and gives them back
        other.until("recovered", 90)
        assert other.end() == 0
        until(lambda before=before: recoveries(join) >= before + 2, 90)  # type: ignore[misc]
    assert own_mb(join) - empty < MOST_MB
