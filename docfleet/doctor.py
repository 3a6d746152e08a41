"""What a fleet needs, looked at one by one: is it there, and what to do when it is not.

Every check looks at the world and returns findings; none changes anything but one small object in the store, which it removes.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.metadata
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from shared.contracts.errors import DocfleetError, Unavailable
from shared.settings import Settings

State = Literal["ok", "warning", "missing"]

TIMEOUT_S = 5.0
"""For one look at the broker or a model server."""

OFFSETS_KEPT_MINUTES = 7 * 24 * 60
"""Kafka's own default of offsets.retention.minutes. With less, a group that rests over a holiday loses its place."""


@dataclass(frozen=True)
class Finding:
    """One thing looked at. `todo` says what to do, and is empty when all is well."""

    what: str
    state: State
    found: str
    todo: str = ""


Check = Callable[[Settings], Iterator[Finding]]


def look(settings: Settings, *, local: bool) -> Iterator[Finding]:
    """All findings: those for `docfleet parse`, and unless `local` those for a fleet on Kafka and an object store."""
    checks: list[Check] = [python, engines, models]
    if not local:
        checks += [broker, store]
    for check in [*checks, vl]:
        yield from check(settings)


def python(settings: Settings) -> Iterator[Finding]:
    """Which Python this is; an older one than 3.11 does not get this far."""
    yield Finding("Python", "ok", sys.version.split()[0])


def engines(settings: Settings) -> Iterator[Finding]:
    """At least one engine of the configured kind can be imported."""
    wanted = ["openvino", "onnxruntime"] if settings.engines.kind == "auto" else [settings.engines.kind]
    problems = []
    for name in wanted:
        try:
            importlib.import_module(name)
            yield Finding("engine", "ok", f"{name} {importlib.metadata.version(name)}")
            return
        except Exception as error:
            problems.append(f"{name}: {error!s:.200}")
    yield Finding("engine", "missing", "; ".join(problems), "pip install 'docfleet[cpu]'")


def models(settings: Settings) -> Iterator[Finding]:
    """The networks are installed."""
    from shared.models.install import missing

    absent = missing(settings.engines.models)
    if absent:
        yield Finding("models", "missing", f"not installed: {', '.join(absent)}", "docfleet models install")
    else:
        yield Finding("models", "ok", str(settings.engines.models))


def broker(settings: Settings) -> Iterator[Finding]:
    """The broker answers, has the topics, and knows where every group stands."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    from shared.streams.clients import admin_config

    admin = AdminClient(admin_config(settings))
    address = settings.kafka.bootstrap_servers
    try:
        cluster = admin.list_topics(timeout=TIMEOUT_S)
    except KafkaException as error:
        todo = "start Kafka, or set DOCFLEET_KAFKA__BOOTSTRAP_SERVERS (and security_protocol, sasl_*)"
        yield Finding("broker", "missing", f"{address}: {error.args[0].str()}", todo)
        return
    yield Finding("broker", "ok", f"{address}, {len(cluster.brokers)} broker(s)")
    yield from _topics(settings)
    yield from _retention(admin, next(iter(cluster.brokers)))


def _topics(settings: Settings) -> Iterator[Finding]:
    from shared.streams.topics import SetOffsets, plan

    try:
        found = plan(settings)
    except Unavailable as error:
        yield Finding("topics", "missing", str(error), "look at the broker's log")
        return
    offsets = [change for change in found.changes if isinstance(change, SetOffsets)]
    topics = [change for change in found.changes if not isinstance(change, SetOffsets)]
    todo = "docfleet topics plan, then docfleet topics apply"
    if topics:
        yield Finding("topics", "missing", f"{len(topics)} are not as topics.yaml says", todo)
    else:
        yield Finding("topics", "ok", "as topics.yaml says")
    if offsets:
        groups = sorted({change.group for change in offsets})
        yield Finding("offsets", "missing", f"these groups have none: {', '.join(groups)}", todo)
    elif not found.refusals:
        yield Finding("offsets", "ok", "every group has its place")
    for refusal in found.refusals:
        yield Finding("topics", "missing", refusal, "docfleet topics apply --help")
    for warning in found.warnings:
        yield Finding(
            "topics", "warning", warning, "fine for a trial; a fleet that must not lose records needs 3 brokers"
        )


def _retention(admin: Any, broker_id: int) -> Iterator[Finding]:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import ConfigResource

    resource = ConfigResource(ConfigResource.Type.BROKER, str(broker_id))
    what = "offsets.retention.minutes"
    try:
        entries = admin.describe_configs([resource], request_timeout=TIMEOUT_S)[resource].result(TIMEOUT_S + 1)
        minutes = int(entries[what].value)
    except (KafkaException, KeyError, TypeError, ValueError, TimeoutError):
        yield Finding(what, "warning", "cannot be read (no right to describe the broker?)", "ask who runs the broker")
        return
    found = f"{minutes} ({minutes / 1440:.1f} days)"
    if minutes >= OFFSETS_KEPT_MINUTES:
        yield Finding(what, "ok", found)
    else:
        yield Finding(
            what,
            "warning",
            found,
            f"a group that is down for longer forgets its place: set {OFFSETS_KEPT_MINUTES} or more",
        )


def store(settings: Settings) -> Iterator[Finding]:
    """The store answers, and writes an object only once when asked to."""
    yield from asyncio.run(_store(settings))


async def _store(settings: Settings) -> list[Finding]:
    from shared.objects.open import open_store

    objects = settings.objects
    where = f"{objects.endpoint}/{objects.bucket}" if objects.kind == "s3" else str(objects.folder)
    key = f"doctor/{uuid.uuid4().hex}"
    found = open_store(settings)
    try:
        started = time.monotonic()
        await found.ensure_bucket(objects.bucket)
        await found.put_once(objects.bucket, key, b"first")
        kept = await found.put_once(objects.bucket, key, b"second")
        read = await found.get(objects.bucket, key)
        took = time.monotonic() - started
        await found.remove(objects.bucket, key)
    except (Unavailable, DocfleetError) as error:
        todo = "start the store, or set DOCFLEET_OBJECTS__ENDPOINT, __ACCESS_KEY, __SECRET_KEY, __BUCKET"
        return [Finding("store", "missing", f"{where}: {error}", todo)]
    finally:
        await found.close()
    answers = Finding("store", "ok", f"{where}, {took * 1000:.0f} ms for two writes and a read")
    if kept == b"first" and read == b"first":
        return [answers, Finding("store: write once", "ok", "If-None-Match is honoured")]
    todo = "use a store that honours If-None-Match: * (MinIO, AWS S3, SeaweedFS 4): results could be overwritten"
    return [answers, Finding("store: write once", "missing", "an object was overwritten", todo)]


def vl(settings: Settings) -> Iterator[Finding]:
    """The configured model servers answer."""
    if not settings.vl.endpoints:
        yield Finding("VL model", "ok", "none configured: tables, formulas and seals are read by the small models")
        return
    import httpx

    key = settings.vl.api_key
    headers = {"Authorization": f"Bearer {key.get_secret_value()}"} if key else {}
    for endpoint in settings.vl.endpoints:
        try:
            answer = httpx.get(f"{endpoint.rstrip('/')}/models", headers=headers, timeout=TIMEOUT_S)
            answer.raise_for_status()
            names = [str(model["id"]) for model in answer.json()["data"]]
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            yield Finding(
                "VL model",
                "missing",
                f"{endpoint}: {error!s:.200}",
                "start the model server, or change DOCFLEET_VL__ENDPOINTS",
            )
            continue
        if settings.vl.model is not None and settings.vl.model not in names:
            todo = f"set DOCFLEET_VL__MODEL to one of: {', '.join(names)}"
            yield Finding("VL model", "missing", f"{endpoint} does not serve {settings.vl.model}", todo)
        else:
            yield Finding("VL model", "ok", f"{endpoint} serves {', '.join(names)}")
