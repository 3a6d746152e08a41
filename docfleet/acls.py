"""The rights that each part of a fleet needs at the broker, and no more, made from `topics.yaml`.

A *principal* is who the broker takes a client for. Every part of the fleet has one of its own, so that a service that was taken over reads
and writes what it must and nothing else.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from shared.settings import GROUPS, Settings
from shared.streams.catalog import STAGES, Catalog, Topic
from shared.streams.clients import admin_config, reader_group
from shared.streams.refusals import unavailable

TIMEOUT_S = 30.0
"""For all rights together."""

Resource = Literal["topic", "group", "cluster"]
Operation = Literal[
    "Read", "Write", "Create", "Delete", "Alter", "Describe", "DescribeConfigs", "AlterConfigs"
]  # in kafka-acls.sh's words

ROLES: dict[str, str] = {
    "ingest": "python -m services.ingest",
    "layout_worker": "python -m services.layout_worker",
    "rec_worker": "python -m services.rec_worker",
    "vl_worker": "python -m services.vl_worker",
    "compose": "python -m services.assembler.compose",
    "join": "python -m services.assembler.join",
    "users": "docfleet submit, watch, cancel, and clients of their own",
    "object-store": "bucket notifications of the object store",
    "tools": "docfleet topics, dlq, reconcile, reparse, purge, erase, doctor",
    "trim": "docfleet topics trim, as a job of its own",
}
"""Who there is, and what runs under that name. `trim` is a part of `tools` that has fewer rights."""


class Right(NamedTuple):
    """What somebody may do with one resource. The name is a whole one, never a pattern."""

    resource: Resource
    name: str
    operation: Operation


def principals(given: Iterable[str] = ()) -> dict[str, str]:
    """The principal of each role: `User:docfleet-rec-worker`, unless `given` (`ROLE=PRINCIPAL`) says otherwise. Raises `ValueError`."""
    found = {role: f"User:docfleet-{role.replace('_', '-')}" for role in ROLES}
    for one in given:
        role, _, principal = one.partition("=")
        if role not in ROLES:
            raise ValueError(f"there is no role {role!r}; there are {', '.join(ROLES)}")
        if ":" not in principal:
            raise ValueError(f"{principal!r} is no principal: it is written like User:{principal or 'name'}")
        found[role] = principal
    return found


def rights(role: str, catalog: Catalog) -> list[Right]:
    """The rights of a role, sorted. Operations that another one includes are left out (Read, Write, Delete and Alter include Describe)."""
    found: set[Right] = set()
    if role in GROUPS:
        group = GROUPS[role]
        found.add(Right("group", group, "Read"))
        found |= {Right("topic", topic.name, "Read") for topic in catalog.read_by(group)}
    found |= {Right("topic", topic.name, "Read") for topic in catalog.read_without_group(role)}
    found |= {Right("topic", topic.name, "Write") for topic in catalog.written_by(role)}
    found |= {Right("group", reader_group(purpose), "Describe") for purpose in _reads_as(role)}
    if role == "join":
        found |= _proofs(catalog)
    elif role == "tools":
        found |= _upkeep(catalog)
    elif role == "trim":
        found |= _trim(catalog)
    described = {(one.resource, one.name) for one in found if one.operation in _INCLUDE_DESCRIBE}
    return sorted(one for one in found if one.operation != "Describe" or (one.resource, one.name) not in described)


def _reads_as(role: str) -> tuple[str, ...]:
    """For what it has consumers without a group (`shared.streams.clients.reader_config`)."""
    if role in STAGES:
        return ("control",)
    return {
        "join": ("join-start",),
        "users": ("client",),
        "tools": ("client", "dlq", "topics"),
        "trim": ("topics",),
    }.get(role, ())


_INCLUDE_DESCRIBE = {"Read", "Write", "Delete", "Alter"}


def _proofs(catalog: Catalog) -> set[Right]:
    """The join looks where the stages are, to prove that a task is lost: ends of their topics, commits of their groups."""
    groups = {GROUPS[stage] for stage in STAGES} - {GROUPS["ingest"]}
    topics = [topic for topic in catalog.topics if groups & set(topic.groups)]
    return {Right("group", group, "Describe") for group in groups} | {
        Right("topic", topic.name, "Describe") for topic in topics
    }


def _upkeep(catalog: Catalog) -> set[Right]:
    """Topics are made, grown and changed; groups get their first offsets (which asks for Read of group and topic)."""
    found = {Right("cluster", "kafka-cluster", "DescribeConfigs")}
    for topic in catalog.topics:
        for operation in ("Create", "Alter", "AlterConfigs", "DescribeConfigs"):
            found.add(Right("topic", topic.name, operation))  # type: ignore[arg-type]
        if topic.groups:
            found.add(Right("topic", topic.name, "Read"))
    return found | {Right("group", group, "Read") for group in GROUPS.values()} | _trim(catalog)


def _trim(catalog: Catalog) -> set[Right]:
    """Records that every group has consumed are deleted."""
    topics = [topic for topic in catalog.topics if trimmed(topic)]
    groups = {group for topic in topics for group in topic.groups}
    return {Right("topic", topic.name, "Delete") for topic in topics} | {
        Right("group", group, "Describe") for group in groups
    }


def trimmed(topic: Topic) -> bool:
    """Whether `docfleet topics trim` deletes records of it."""
    return bool(topic.groups) and topic.cleanup == "delete" and topic.retention_ms == -1


def commands(wanted: Mapping[str, str], catalog: Catalog, bootstrap: str) -> list[str]:
    """Lines for a shell: Kafka's own tool, one line a principal and resource. `wanted` is role to principal."""
    lines = []
    for role, principal in wanted.items():
        lines.append(f"# {role}: {ROLES[role]}")
        by_resource: dict[tuple[Resource, str], list[str]] = {}
        for one in rights(role, catalog):
            by_resource.setdefault((one.resource, one.name), []).append(one.operation)
        for (resource, name), operations in by_resource.items():
            what = "--cluster" if resource == "cluster" else f"--{resource} {shlex.quote(name)}"
            asked = " ".join(f"--operation {operation}" for operation in operations)
            lines.append(
                f"kafka-acls.sh --bootstrap-server {shlex.quote(bootstrap)} --command-config admin.properties --add "
                f"--allow-principal {shlex.quote(principal)} {asked} {what}"
            )
    return lines


def apply(settings: Settings, wanted: Mapping[str, str], catalog: Catalog) -> int:
    """Give the rights; how many. What is there already stays, nothing is taken away. Needs Alter on the cluster.

    Raises `NotAuthorized` and `Unavailable("broker")`.
    """
    bindings = [
        AclBinding(
            _KINDS[one.resource],
            one.name,
            ResourcePatternType.LITERAL,
            principal,
            "*",
            _operation(one.operation),
            AclPermissionType.ALLOW,
        )
        for role, principal in wanted.items()
        for one in rights(role, catalog)
    ]
    admin = AdminClient(admin_config(settings))
    try:
        futures: Iterable[Any] = admin.create_acls(bindings, request_timeout=TIMEOUT_S).values()
        for future in futures:
            future.result(timeout=TIMEOUT_S)
    except KafkaException as error:
        raise unavailable(settings.kafka, error.args[0], "give rights at", "kafka-cluster") from error
    return len(bindings)


_KINDS = {"topic": ResourceType.TOPIC, "group": ResourceType.GROUP, "cluster": ResourceType.BROKER}


def _operation(name: str) -> AclOperation:
    """`DescribeConfigs` is `DESCRIBE_CONFIGS` in the client."""
    return AclOperation["".join(f"_{c}" if c.isupper() else c for c in name).lstrip("_").upper()]
