"""The topics as an AsyncAPI 3 document: from `topics.yaml`, the types of the records, and the headers that every record has.

Written by `python -m docfleet.reference` to `docs/reference/asyncapi.json`. The application that it describes is the fleet: what it receives is
what a consumer group reads, what it sends is what a stage writes; users are the other side of both. Topics that only the join itself
reads and writes are left out.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable
from typing import Any

import msgspec

from shared.contracts import records
from shared.contracts.codec import SCHEMA_VERSION
from shared.streams.catalog import BULK, Catalog, Topic, load
from shared.streams.deadletter import PREFIX

VERSION = "3.0.0"
"""Of AsyncAPI."""
KAFKA_BINDINGS = "0.5.0"
STAGES = ("ingest", "layout_worker", "rec_worker", "vl_worker", "compose", "join")
"""Writers of a topic that are the application itself; users, object stores and tools are not."""
DEAD_LETTER, NOTIFICATION = "DeadLetter", "BucketNotification"
TEXT: dict[str, Any] = {"type": "string"}

_NOTIFICATION_SCHEMA: dict[str, Any] = {
    "title": NOTIFICATION,
    "description": "A bucket notification as S3, MinIO, Ceph or RustFS send it. Only creations of objects are documents.",
    "type": "object",
    "required": ["Records"],
    "properties": {
        "Records": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["eventName", "s3"],
                "properties": {
                    "eventVersion": TEXT,
                    "eventName": TEXT,
                    "s3": {
                        "type": "object",
                        "required": ["bucket", "object"],
                        "properties": {
                            "bucket": {"type": "object", "required": ["name"], "properties": {"name": TEXT}},
                            "object": {
                                "type": "object",
                                "required": ["key"],
                                "properties": {
                                    "key": {"type": "string", "description": "URL-encoded once."},
                                    "size": {"type": "integer", "minimum": 0},
                                    "eTag": TEXT,
                                    "versionId": TEXT,
                                },
                            },
                        },
                    },
                },
            },
        }
    },
}

_HEADERS: dict[str, dict[str, Any]] = {
    "ce_specversion": {"type": "string", "enum": ["1.0"]},
    "ce_id": {
        "type": "string",
        "description": "A pure function of what the record is about: a record sent twice has it twice.",
    },
    "ce_type": TEXT,
    "ce_source": {"type": "string", "description": "`docfleet/` and the stage or tool that wrote it."},
    "ce_time": {"type": "string", "format": "date-time"},
    "content-type": {"type": "string", "enum": ["application/json"]},
    "generation": {"type": "string", "description": "In decimal digits."},
    "traceparent": {"type": "string", "description": "W3C trace context."},
}
"""CloudEvents 1.0 in Kafka's binary mode, and two of docfleet's own (`shared/streams/headers.py`)."""

_LETTER_HEADERS = (
    *("original.topic", "original.partition", "original.offset", "original.timestamp", "group"),
    *("error.code", "error.message", "error.stack", "attempts"),
    *("document.id", "document.generation"),
)
"""After the prefix (`shared/streams/deadletter.py`)."""


def document(catalog: Catalog | None = None) -> dict[str, Any]:
    """The AsyncAPI document of a catalogue of topics; none is that of `topics.yaml`."""
    topics = [topic for topic in (catalog or load()).topics if not topic.internal]
    used = dict.fromkeys(name for topic in topics for name in topic.records)
    _, schemas = msgspec.json.schema_components(
        [getattr(records, name) for name in used], ref_template="#/components/schemas/{name}"
    )
    return {
        "asyncapi": VERSION,
        "info": {
            "title": "docfleet",
            "version": SCHEMA_VERSION,
            "description": "Turns documents into structured JSON on a fleet of Kafka consumers. Records carry identities and references, never pages "
            "or texts: these lie in the object store. Users write `docs.incoming` and `docs.control` and read `docs.parsed` and `docs.progress`; "
            "the other topics are the stages' own.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": {"kafka": {"host": "kafka:9092", "protocol": "kafka", "description": "`kafka.bootstrap_servers`"}},
        "channels": {topic.name: _channel(topic) for topic in topics},
        "operations": {name: operation for topic in topics for name, operation in _operations(topic)},
        "components": {
            "messages": {name: _message(name, schemas[name]) for name in used}
            | {NOTIFICATION: _notification(), DEAD_LETTER: _dead_letter()},
            "schemas": {**dict(sorted(schemas.items())), NOTIFICATION: _NOTIFICATION_SCHEMA},
        },
    }


def page() -> str:
    """asyncapi.json"""
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


def _messages(topic: Topic) -> list[str]:
    """What may be on a topic: where no record of ours is named it is the dead letters' one."""
    extra = [NOTIFICATION] if topic.name.removesuffix(BULK) == "docs.incoming" else []
    return [*topic.records, *extra] or [DEAD_LETTER]


def _channel(topic: Topic) -> dict[str, Any]:
    return {
        "address": topic.name,
        "description": f"{topic.purpose} Key: {topic.key}. Written by {', '.join(topic.written_by)}.",
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in _messages(topic)},
        "bindings": {
            "kafka": {
                "topic": topic.name,
                "partitions": topic.partitions,
                "replicas": topic.replication,
                "topicConfiguration": {
                    "cleanup.policy": topic.cleanup.split(","),
                    "retention.ms": topic.retention_ms,
                    "max.message.bytes": topic.max_message_bytes,
                },
                "bindingVersion": KAFKA_BINDINGS,
            }
        },
    }


def _operations(topic: Topic) -> Iterable[tuple[str, dict[str, Any]]]:
    """Who of the fleet reads and writes a topic, by a name each."""
    for group in topic.groups:
        bindings = {"kafka": {"groupId": {"type": "string", "enum": [group]}, "bindingVersion": KAFKA_BINDINGS}}
        yield (
            f"{group}.receive.{topic.name}",
            _operation(topic, "receive", f"Consumer group `{group}`.") | {"bindings": bindings},
        )
    writers = STAGES if "every stage" in topic.written_by else [one for one in topic.written_by if one in STAGES]
    for stage in writers:
        yield f"{stage}.send.{topic.name}", _operation(topic, "send", f"Written by {stage}.")


def _operation(topic: Topic, action: str, summary: str) -> dict[str, Any]:
    channel = f"#/channels/{topic.name}"
    return {
        "action": action,
        "channel": {"$ref": channel},
        "summary": summary,
        "messages": [{"$ref": f"{channel}/messages/{name}"} for name in _messages(topic)],
    }


def _message(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    told = inspect.cleandoc(schema.get("description", ""))
    return {
        "name": name,
        "title": name,
        "summary": told.splitlines()[0] if told else name,
        "contentType": "application/json",
        "headers": {"type": "object", "properties": _HEADERS},
        "payload": {"$ref": f"#/components/schemas/{name}"},
        "bindings": _keyed(),
    }


def _notification() -> dict[str, Any]:
    return {
        "name": NOTIFICATION,
        "title": NOTIFICATION,
        "summary": "An object landed in a bucket; sent by the object store.",
        "contentType": "application/json",
        "payload": {"$ref": f"#/components/schemas/{NOTIFICATION}"},
        "bindings": _keyed(),
    }


def _dead_letter() -> dict[str, Any]:
    return {
        "name": DEAD_LETTER,
        "title": DEAD_LETTER,
        "summary": "The original value and headers as they came, and why in headers `dlt.*`.",
        "contentType": "application/octet-stream",
        "headers": {"type": "object", "properties": {PREFIX + name: TEXT for name in _LETTER_HEADERS}},
        "payload": {"description": "Whatever the record was; it need not be JSON."},
        "bindings": _keyed(),
    }


def _keyed() -> dict[str, Any]:
    return {"kafka": {"key": TEXT, "bindingVersion": KAFKA_BINDINGS}}
