"""The AsyncAPI document says what topics.yaml and the code say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from jsonschema import Draft7Validator

from docfleet import asyncapi
from shared.contracts import records
from shared.contracts.codec import encode
from shared.streams import headers
from shared.streams.catalog import load
from shared.telemetry import tracing

pytestmark = pytest.mark.unit
DOCUMENT = asyncapi.document()


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


def test_every_topic_is_a_channel_but_those_of_the_join_alone():
    topics = load().topics
    assert set(DOCUMENT["channels"]) == {topic.name for topic in topics if not topic.internal}
    for topic in topics:
        if not topic.internal and topic.records:
            assert set(topic.records) <= set(DOCUMENT["channels"][topic.name]["messages"])


def test_every_reader_receives_and_every_stage_that_writes_sends():
    operations = set(DOCUMENT["operations"])
    for topic in load().topics:
        if topic.internal:
            continue
        assert {f"{group}.receive.{topic.name}" for group in topic.groups} <= operations
        assert {f"{one}.send.{topic.name}" for one in topic.written_by if one in asyncapi.STAGES} <= operations
    assert {f"{stage}.send.docs.dlq" for stage in asyncapi.STAGES} <= operations
    assert not [name for name in operations if name.startswith(("users.", "MinIO.", "tools."))]


def test_every_reference_leads_somewhere():
    for reference in set(_references(DOCUMENT)):
        place: Any = DOCUMENT
        for part in reference.removeprefix("#/").split("/"):
            place = place[part]
        assert place


def test_a_record_as_it_is_sent_fits_its_message():
    record = records.DocumentSubmitted(
        source=records.SourceRef(bucket="incoming", key="reports/17.pdf"), document_id="report-17"
    )
    message = DOCUMENT["components"]["messages"]["DocumentSubmitted"]
    schema = {**message["payload"], "components": DOCUMENT["components"]}
    Draft7Validator(schema).validate(orjson.loads(encode(record)))
    assert list(Draft7Validator(schema).iter_errors({"source": {"bucket": "incoming"}}))
    sent = headers.make(record, source="client", trace=tracing.new())
    assert {name for name, _ in sent} == set(message["headers"]["properties"])
    Draft7Validator(message["headers"]).validate({name: value.decode() for name, value in sent})


def test_the_headers_of_a_dead_letter_are_those_that_are_written():
    from shared.contracts.errors import ErrorCode
    from shared.streams import deadletter

    written = deadletter.headers(
        [], topic="docs.rec", partition=0, offset=1, timestamp_ms=2, group="rec-worker", code=ErrorCode.internal,
        message="m", stack="s", attempts=1, document=("d", 0),
    )  # fmt: skip
    assert {name for name, _ in written} == set(
        DOCUMENT["components"]["messages"]["DeadLetter"]["headers"]["properties"]
    )
