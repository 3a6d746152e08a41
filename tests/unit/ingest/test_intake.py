"""Forms of what arrives on docs.incoming."""

from __future__ import annotations

import json

import pytest

from services.ingest.intake import read
from shared.contracts.errors import DocfleetError, ErrorCode

pytestmark = pytest.mark.unit


def notification(key: str, *, name: str = "s3:ObjectCreated:Put", **more: object) -> bytes:
    """The form MinIO was observed to send to Kafka (2026-02): key URL-encoded inside, unescaped outside."""
    found = {"key": key, "size": 3, "eTag": "abc", "contentType": "application/pdf", "sequencer": "17", **more}
    return json.dumps(
        {
            "EventName": name,
            "Key": "docs/ignored",
            "Records": [
                {
                    "eventVersion": "2.0",
                    "eventSource": "minio:s3",
                    "eventName": name,
                    "s3": {"s3SchemaVersion": "1.0", "bucket": {"name": "docs", "arn": "x"}, "object": found},
                    "source": {"host": "h"},
                }
            ],
        }
    ).encode()


def test_own_envelope():
    taken = read(b'{"source":{"bucket":"in","key":"a.pdf"},"priority":"bulk","shade":1}')
    assert [s.priority for s in taken.submissions] == ["bulk"]


def test_minio_notification_with_a_key_encoded_once():
    (submission,) = read(notification("a+b/%E4%B8%AD%E6%96%87%2B1%25.pdf")).submissions
    assert submission.source.key == "a b/中文+1%.pdf"
    assert (submission.source.bucket, submission.source.etag, submission.source.size) == ("docs", "abc", 3)
    assert submission.source.version_id is None


def test_a_version_is_kept_and_the_null_version_is_none():
    assert read(notification("a", versionId="v1")).submissions[0].source.version_id == "v1"
    assert read(notification("a", versionId="null")).submissions[0].source.version_id is None


def test_deletions_and_test_events_are_no_submissions():
    assert read(notification("a", name="s3:ObjectRemoved:Delete")).submissions == []
    assert read(b'{"Service":"Amazon S3","Event":"s3:TestEvent"}').submissions == []


def test_a_cancel_finds_a_single_submission_by_its_id():
    taken = read(b'{"source":{"bucket":"in","key":"a.pdf"},"document_id":"d","generation":2}')
    assert (taken.document_id, taken.generation) == ("d", 2)
    record = json.loads(notification("a"))
    record["Records"] += json.loads(notification("b"))["Records"]
    assert read(json.dumps(record).encode()).document_id is None


def test_several_objects_in_one_notification():
    record = json.loads(notification("a"))
    record["Records"] += json.loads(notification("b"))["Records"]
    assert [s.source.key for s in read(json.dumps(record).encode()).submissions] == ["a", "b"]


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"null",
        b"not-json {{{",
        b"[]",
        b"{}",
        b'{"Records":[{}]}',
        b'{"source":{"bucket":"","key":"k"}}',
        b"\x00" * 50,
    ],
)
def test_anything_else_is_an_invalid_message(value):
    with pytest.raises(DocfleetError) as caught:
        read(value)
    assert caught.value.code is ErrorCode.invalid_message
