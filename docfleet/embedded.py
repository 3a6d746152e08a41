"""The embedded fleet: broker, store and services on this machine, for as long as a command runs.

The broker is librdkafka's in-process one, the store a temporary folder, the services the same as everywhere, as child processes. It keeps
nothing: what must survive runs on Apache Kafka and an S3 store (`docfleet fleet`).

Everything starts at once, the launcher before anything else is imported, because start-up time is what a user of `docfleet parse` sees.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Collection, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from docfleet.processes import MODULES, Processes
from shared.objects.scratch import Scratch
from shared.settings import Settings
from shared.streams.local import LocalBroker

MAX_DEATHS = 5
"""A service that died so often in a row will not do better the next time."""


class FleetFailed(Exception):
    """A service does not stay up; the message ends with the last lines it logged."""


class EmbeddedFleet:
    """Context manager: a running local fleet.

    `settings` are what its services and its clients go by. `processes` may be a launcher that was started earlier.
    """

    def __init__(
        self,
        *,
        replicas: Mapping[str, int] | None = None,
        overrides: Mapping[str, Mapping[str, Any]] | None = None,
        processes: Processes | None = None,
        logs: Path | None = None,
        later: Collection[str] = (),
    ) -> None:
        """`overrides` are settings by group (`{"vl": {"endpoints": […]}}`); `logs` is a folder that keeps the services' logs.

        Services named in `later` wait for `start_rest`: on few cores they would slow down those that are needed first.
        """
        self._processes = processes if processes is not None else Processes()
        self._scratch = Scratch("docfleet-fleet")
        self._folder = self._scratch.path
        self._processes.remove_at_end(self._folder)
        self.logs = logs if logs is not None else self._folder / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)
        self._broker = LocalBroker().start()
        groups = _merged(_settings(self._folder, self._broker.bootstrap_servers), overrides or {})
        given: dict[str, Any] = {**groups, "http_host": "127.0.0.1"}
        self.settings = Settings(**given)
        temporary = self._folder / "tmp"
        temporary.mkdir()
        env = {**environment(given), "TMPDIR": str(temporary)}
        self._waiting: list[tuple[str, str, dict[str, str], Path]] = []
        for name, module in MODULES.items():
            if name == "vl_worker" and not self.settings.vl.endpoints:
                continue
            for number in range((replicas or {}).get(name, 1)):
                service = f"{name}-{number + 1}"
                start = (service, module, env, self.log(service))
                if name in later:
                    self._waiting.append(start)
                else:
                    self._processes.start(*start)

    def start_rest(self) -> None:
        """Start the services that were to wait; does nothing when none does."""
        while self._waiting:
            self._processes.start(*self._waiting.pop(0))

    def log(self, service: str) -> Path:
        """File with the output of a service (`rec_worker-1`)."""
        return self.logs / f"{service}.log"

    def check(self) -> list[str]:
        """Take note of what happened to the services; what is worth telling, as lines. Raises `FleetFailed`."""
        news: list[str] = []
        for event in self._processes.events():
            if event.kind == "stopped":
                raise FleetFailed("the process that starts the services is gone")
            if event.kind == "exited":
                how = f"ended with code {event.code}" if event.code >= 0 else f"was ended by signal {-event.code}"
                if event.deaths >= MAX_DEATHS:
                    tail = "\n".join(last_lines(self.log(event.name), 15))
                    raise FleetFailed(f"{event.name} {how} for the {event.deaths}th time:\n{tail}")
                news.append(f"{event.name} {how}; it starts again in {event.restart_in_s:g} s")
        return news

    def __enter__(self) -> EmbeddedFleet:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End all processes at once and remove everything the fleet stored. Nothing is drained: nothing outlives this fleet."""
        self._processes.stop(grace_s=0.0)
        self._broker.stop()
        self._scratch.close()


def _settings(folder: Path, bootstrap_servers: str) -> dict[str, dict[str, Any]]:
    """Settings of an embedded fleet, by group. All that could point at another broker is said, so that no file changes it."""
    return {
        "kafka": {
            "bootstrap_servers": bootstrap_servers,
            "embedded": True,
            "group_protocol": "consumer",
            "security_protocol": "PLAINTEXT",
            "extra": {},
        },
        "objects": {"kind": "folder", "folder": str(folder / "objects"), "bucket": "docfleet", "sources": []},
        "layout": {"source_cache": str(folder / "sources")},
        "join": {"driver": "embedded", "data": str(folder / "join")},
        "telemetry": {"format": "text"},
    }


def _merged(
    groups: Mapping[str, Mapping[str, Any]], overrides: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    return {name: {**groups.get(name, {}), **overrides.get(name, {})} for name in {**groups, **overrides}}


def environment(settings: Mapping[str, Any], prefix: str = "DOCFLEET_") -> dict[str, str]:
    """Settings as environment variables: `{"kafka": {"embedded": True}}` is `{"DOCFLEET_KAFKA__EMBEDDED": "true"}`."""
    env: dict[str, str] = {}
    for name, value in settings.items():
        variable = prefix + name.upper()
        if isinstance(value, Mapping) and value:
            env |= environment(value, variable + "__")
        else:
            env[variable] = value if isinstance(value, str) else json.dumps(value)
    return env


def last_lines(path: Path, count: int) -> list[str]:
    """The end of a log; empty where there is none."""
    try:
        with path.open(errors="replace") as file:
            return [line.rstrip("\n") for line in deque(file, count)]
    except OSError:
        return []
