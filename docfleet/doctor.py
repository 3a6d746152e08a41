"""What a fleet needs, looked at one by one: is it there, and what to do when it is not.

Every check looks at the world and returns findings; none changes anything but one small object in the store, which it removes.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.metadata
import json
import os
import subprocess
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
"""For one look at the broker."""

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


def look(settings: Settings, *, local: bool, only_vl: bool = False) -> Iterator[Finding]:
    """All findings: those for `docfleet parse`, and unless `local` those for a fleet on Kafka and an object store."""
    if only_vl:
        yield from vl(settings)
        return
    checks: list[Check] = [python, engines, models]
    if not local:
        checks += [broker, store]
    for check in [*checks, vl]:
        yield from check(settings)


def python(settings: Settings) -> Iterator[Finding]:
    """Which Python this is; an older one than 3.11 does not get this far."""
    yield Finding("Python", "ok", sys.version.split()[0])


def engines(settings: Settings) -> Iterator[Finding]:
    """At least one engine of the configured kind can be imported; of an NPU also the card and what was built for it."""
    if settings.engines.kind in ("ascend", "cann"):
        from docfleet import npu

        for row in npu.look(settings.engines):
            yield Finding(*row)
        return
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
    """The configured model servers answer a real request of the profile for one token."""
    if not settings.vl.endpoints:
        yield Finding("VL model", "ok", "none configured: tables, formulas and seals are read by the small models")
        return
    for found in vl_endpoints(settings):
        yield _told(found, settings)


def vl_endpoints(settings: Settings) -> list[dict[str, Any]]:
    """What `services.vl_worker.check` finds at each endpoint. Raises `Unavailable` when it does not come to an end."""
    group = settings.vl.model_dump(mode="json", exclude_unset=True)
    if settings.vl.api_key is not None:
        group["api_key"] = settings.vl.api_key.get_secret_value()
    given = {f"DOCFLEET_VL__{name.upper()}": _as_variable(value) for name, value in group.items() if value is not None}
    limit = settings.vl.probe_timeout_s + 30
    command = [sys.executable, "-m", "services.vl_worker.check"]
    try:
        done = subprocess.run(
            command, env={**os.environ, **given}, capture_output=True, text=True, timeout=limit, check=True
        )
        return list(json.loads(done.stdout))
    except subprocess.TimeoutExpired:
        raise Unavailable("vl", f"the check of the VL endpoints did not end within {limit:g} s") from None
    except (subprocess.CalledProcessError, ValueError) as error:
        said = getattr(error, "stderr", "") or str(error)
        raise Unavailable("vl", f"the check of the VL endpoints failed: {said[-300:]}") from error


def _as_variable(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _told(found: dict[str, Any], settings: Settings) -> Finding:
    """What to do about it."""
    where, model, names = found["endpoint"], found["model"], ", ".join(found["names"])
    profile = settings.vl.profile
    said = f"{where}: {found['why']}"
    match found["state"]:
        case "ready":
            return Finding("VL model", "ok", f"{where} answers as {model}, one token after {found['seconds']:.2f} s")
        case "busy":
            return Finding("VL model", "warning", f"{said}; it works, only not for us now", "wait, or raise its limits")
        case "other":
            todo = f"set DOCFLEET_VL__PROFILE to the profile of that model (is {profile}), or DOCFLEET_VL__MODEL to its name"
            return Finding("VL model", "warning", f"{where} answers to {model}, and says it serves {names}", todo)
        case "model":
            serve = (
                f"serve it as {model} (vLLM: --served-model-name), or set DOCFLEET_VL__MODEL and DOCFLEET_VL__PROFILE"
            )
            return Finding("VL model", "missing", said, serve + (f" to one of: {names}" if names else ""))
        case "key":
            return Finding(
                "VL model", "missing", said, "set DOCFLEET_VL__API_KEY, or a file of it in DOCFLEET_SECRETS_DIR"
            )
        case "cold":
            todo = "wait until the model is loaded; if it is, look at its log, or raise DOCFLEET_VL__PROBE_TIMEOUT_S"
            return Finding("VL model", "missing", said, todo)
        case "away":
            return Finding("VL model", "missing", said, "start the model server, or change DOCFLEET_VL__ENDPOINTS")
        case "profile":
            return Finding("VL model", "missing", found["why"], "set DOCFLEET_VL__PROFILE to one of them")
        case _:
            todo = f"does the URL end in /v1, and is {profile} the profile of what is served"
            return Finding("VL model", "missing", said, todo + (f" ({names})?" if names else "?"))
