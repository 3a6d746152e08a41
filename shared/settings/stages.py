"""What every stage has: consumer groups and their limits."""

from __future__ import annotations

from pydantic import Field

from shared.settings.group import Group

GROUPS = {
    "ingest": "ingest",
    "layout_worker": "layout-worker",
    "rec_worker": "rec-worker",
    "vl_worker": "vl-worker",
    "compose": "assembler-compose",
    "join": "assembler-join",
}
"""Service part to its consumer group; also the keys of `stages`."""


class Stage(Group):
    """One consumer group; `stages.<name>` for ingest, layout_worker, rec_worker, vl_worker, compose, join."""

    max_in_flight: int = Field(8, ge=1, le=2_000, description="Records worked on at once; more are not admitted.")
    max_in_flight_bytes: int = Field(
        512 * 2**20,
        ge=2**20,
        description="Decoded bytes worked on at once, as the stage estimates them; one record always fits.",
    )
    drain_s: float = Field(20.0, ge=0, description="Seconds to finish what is in flight at SIGTERM.")
    revoked_s: float = Field(
        20.0,
        ge=0,
        description="The same when partitions are revoked. The whole group waits for it, and the worker polls nothing meanwhile.",
    )
    commit_interval_s: float = Field(0.5, gt=0, le=60, description="Seconds between commits.")
    call_timeout_s: float = Field(
        120.0, gt=0, description="Seconds a child process may take over one call before it is killed as stalled."
    )
    http_port: int = Field(0, ge=0, le=65_535, description="Port of /livez, /readyz and /metrics; 0 takes a free one.")


DEFAULTS: dict[str, dict[str, float]] = {
    "ingest": {"max_in_flight": 32},  # most of them wait: for an inspection, a twin, a time
    "layout_worker": {"max_in_flight": 4},
    "rec_worker": {"max_in_flight": 16},
    "vl_worker": {
        "max_in_flight": 256,
        "revoked_s": 0.5,
    },  # an answer takes up to minutes: better asked for again elsewhere
    "compose": {"max_in_flight": 16},
}
"""Where a stage's nature asks for another default than `Stage` has."""
