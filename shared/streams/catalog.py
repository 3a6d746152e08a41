"""`topics.yaml` as typed values, with its lint: which topics there are, who reads them, which have a bulk lane.

Pure: nothing here talks to a broker (that is `shared.streams.topics`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec
import yaml

from shared.contracts import records
from shared.contracts.records import MAX_RECORD_BYTES
from shared.settings import GROUPS

BULK = ".bulk"
"""Ending of the name of a topic's second lane."""

EVERY_STAGE = "every stage"
"""Short for all stages in `written_by` and `readers`: the parts of `settings.GROUPS` but the join."""
STAGES = tuple(part for part in GROUPS if part != "join")
OTHERS = ("users", "object-store", "tools")
"""Who else reads or writes: users of the fleet, the object store's notifications, and whoever runs `docfleet` against the cluster."""

Cleanup = Literal["delete", "compact", "compact,delete"]


class TopicsInvalid(Exception):
    """topics.yaml breaks a rule; the message names the topic and the rule, a line each."""


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    """One topic as it is to be. `retention_ms` -1 keeps records until they are trimmed; sizes are bytes."""

    name: str
    purpose: str
    key: str
    records: list[str] = []
    written_by: list[str] = []
    """Parts of `settings.GROUPS`, `every stage`, or `OTHERS`; so are `readers`."""
    groups: list[str] = []
    readers: list[str] = []
    """Who reads it without a group."""
    lanes: bool = False
    """Whether there is a `.bulk` twin."""
    internal: bool = False
    """The join's own; nobody else reads or writes it."""
    partitions: int
    replication: int
    min_insync_replicas: int
    cleanup: Cleanup
    retention_ms: int
    max_message_bytes: int

    def config(self, replication: int) -> dict[str, str]:
        """Topic configuration in the broker's names, for a topic with that many replicas."""
        return {
            "cleanup.policy": self.cleanup,
            "retention.ms": str(self.retention_ms),
            "max.message.bytes": str(self.max_message_bytes),
            "min.insync.replicas": str(max(1, min(self.min_insync_replicas, replication - 1))),
        }


class Catalog(msgspec.Struct, frozen=True):
    """All topics, twins included, in the order of the file."""

    topics: list[Topic]
    copartition: dict[str, list[str]]

    def __getitem__(self, name: str) -> Topic:
        return next(topic for topic in self.topics if topic.name == name)

    def names(self) -> list[str]:
        """Names of all topics."""
        return [topic.name for topic in self.topics]

    def written_by(self, who: str) -> list[Topic]:
        """Topics that a part of the fleet, or one of `OTHERS`, writes."""
        return [topic for topic in self.topics if who in _spelled_out(topic.written_by)]

    def read_without_group(self, who: str) -> list[Topic]:
        """Topics that it reads without a consumer group."""
        return [topic for topic in self.topics if who in _spelled_out(topic.readers)]

    def read_by(self, group: str) -> list[Topic]:
        """Topics a consumer group reads."""
        return [topic for topic in self.topics if group in topic.groups]

    def bulk_of(self, name: str) -> str | None:
        """The name of the second lane of a topic; none where it has no lanes."""
        return name + BULK if any(topic.name == name and topic.lanes for topic in self.topics) else None


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    purpose: str
    key: str = ""
    records: list[str] = []
    written_by: list[str] = []
    groups: list[str] = []
    readers: list[str] = []
    lanes: bool = False
    internal: bool = False
    partitions: int | None = None
    replication: int | None = None
    min_insync_replicas: int | None = None
    cleanup: Cleanup | None = None
    retention_ms: int | None = None
    max_message_bytes: int | None = None


class _Defaults(msgspec.Struct, forbid_unknown_fields=True):
    partitions: int
    replication: int
    min_insync_replicas: int
    cleanup: Cleanup
    retention_ms: int
    max_message_bytes: int


class _File(msgspec.Struct, forbid_unknown_fields=True):
    version: Literal[1]
    defaults: _Defaults
    topics: list[_Entry]
    copartition: dict[str, list[str]] = {}


def _spelled_out(names: list[str]) -> set[str]:
    return {*names, *(STAGES if EVERY_STAGE in names else ())}


def parse(text: str, partitions: int | None = None) -> Catalog:
    """The catalogue that a topics.yaml describes; `partitions` stands in for the default of the file.

    Raises `TopicsInvalid`.
    """
    try:
        file = msgspec.convert(yaml.safe_load(text), _File)
    except (msgspec.ValidationError, yaml.YAMLError) as error:
        raise TopicsInvalid(f"topics.yaml: {error}") from error
    defaults = msgspec.structs.asdict(file.defaults)
    if partitions is not None:
        defaults["partitions"] = partitions
    topics = []
    for entry in file.topics:
        given = {name: value for name, value in msgspec.structs.asdict(entry).items() if value is not None}
        topic = Topic(**(defaults | given))
        topics.append(topic)
        if topic.lanes:
            topics.append(
                msgspec.structs.replace(
                    topic,
                    name=topic.name + BULK,
                    purpose=topic.purpose + " Second lane: long or patient documents.",
                    lanes=False,
                )
            )
    catalog = Catalog(topics, file.copartition)
    if problems := lint(catalog):
        raise TopicsInvalid("\n".join(problems))
    return catalog


@lru_cache(maxsize=8)
def load(path: Path | None = None, partitions: int | None = None) -> Catalog:
    """The catalogue of a file; none is the one that belongs to this code. Raises `TopicsInvalid`, `FileNotFoundError`."""
    return parse((path or default_path()).read_text(encoding="utf-8"), partitions)


def default_path() -> Path:
    """topics.yaml: beside this file in an installed wheel, at the root of a checkout."""
    here = Path(__file__).resolve()
    installed = here.with_name("topics.yaml")
    return installed if installed.exists() else here.parents[2] / "topics.yaml"


def lint(catalog: Catalog) -> list[str]:
    """What is wrong with a catalogue, a sentence each; empty when nothing is."""
    problems = []
    names = catalog.names()
    for name in sorted({name for name in names if names.count(name) > 1}):
        problems.append(f"{name}: there are two topics of this name")
    for topic in catalog.topics:
        problems += [f"{topic.name}: {problem}" for problem in _lint_topic(topic)]
    for group, members in catalog.copartition.items():
        if missing := sorted(set(members) - set(names)):
            problems.append(f"copartition {group}: no such topic: {', '.join(missing)}")
        counts = {topic.partitions for topic in catalog.topics if topic.name in members}
        if len(counts) > 1:
            problems.append(f"copartition {group}: partitions differ: {sorted(counts)}")
    letters = [topic for topic in catalog.topics if topic.name == "docs.dlq"]
    largest = max((topic.max_message_bytes for topic in catalog.topics if topic.groups), default=0)
    if letters and letters[0].max_message_bytes < largest + 16_384:
        problems.append(
            f"docs.dlq: max_message_bytes must exceed that of every consumed topic ({largest}) by 16 kB of headers"
        )
    return problems


def _lint_topic(topic: Topic) -> list[str]:
    problems = []
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", topic.name):
        problems.append("not a topic name")
    if "compact" in topic.cleanup and not topic.key:
        problems.append("a compacted topic needs a key")
    if not topic.key:
        problems.append("the key is not described")
    if topic.partitions < 1 or topic.replication < 1:
        problems.append("partitions and replication are at least 1")
    if topic.max_message_bytes < MAX_RECORD_BYTES:
        problems.append(f"max_message_bytes is below the largest record ({MAX_RECORD_BYTES})")
    if topic.internal and (topic.cleanup != "compact" or topic.retention_ms != -1):
        problems.append("an internal changelog is compacted and has no time limit")
    if topic.groups and topic.cleanup == "delete" and topic.retention_ms != -1:
        problems.append("a consumed topic keeps records until they were read (retention_ms: -1)")
    if unknown := sorted(set(topic.groups) - set(GROUPS.values())):
        problems.append(f"no such consumer group: {', '.join(unknown)}")
    known = {EVERY_STAGE, *GROUPS, *OTHERS}
    if unknown := sorted({*topic.written_by, *topic.readers} - known):
        problems.append(f"nobody is called {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    if not topic.written_by:
        problems.append("nobody writes it")
    if not topic.groups and not topic.readers:
        problems.append("nobody reads it")
    if unknown := [name for name in topic.records if not hasattr(records, name)]:
        problems.append(f"no such record: {', '.join(unknown)}")
    return problems
