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


VERSITYGW = {
    "Records": [
        {
            "eventVersion": "2.2",
            "eventSource": "aws:s3",
            "awsRegion": "us-east-1",
            "eventTime": "2026-11-30T01:40:00Z",
            "eventName": "s3:ObjectCreated:Put",
            "userIdentity": {"PrincipalId": "root"},
            "requestParameters": {"sourceIPAddress": "127.0.0.1"},
            "responseElements": {"x-amz-request-id": "", "x-amz-id-2": ""},
            "s3": {
                "s3SchemaVersion": "1.0",
                "configurationId": "webhook-global",
                "bucket": {
                    "name": "in",
                    "ownerIdentity": {"PrincipalId": "root"},
                    "arn": "arn:aws:s3:::/in/a+b/中文 1%.pdf",
                },
                "object": {"key": "a+b/中文 1%.pdf", "size": 4, "eTag": '"9b7"', "versionId": None, "sequencer": "1"},
            },
            "glacierEventData": {"restoreEventData": {"lifecycleRestorationExpiryTime": ""}},
        }
    ]
}
"""versitygw 1.8 as observed: the key not encoded (and in the ARN once more), a quoted etag, nulls."""

RUSTFS = {
    "EventName": "s3:ObjectCreated:Put",
    "Key": "in/a b.pdf",
    "Records": [
        {
            "object_name": "a b.pdf",
            "bucket_name": "in",
            "event_name": "s3:ObjectCreated:Put",
            "data": {
                "eventVersion": "2.1",
                "eventSource": "rustfs:s3",
                "eventName": "s3:ObjectCreated:Put",
                "s3": {
                    "s3SchemaVersion": "1.0",
                    "configurationId": "c",
                    "bucket": {"name": "in", "ownerIdentity": {"principalId": "x"}, "arn": "arn:rustfs:s3:::in"},
                    "object": {"key": "a+b.pdf", "size": 4, "etag": "9b7", "versionId": "", "sequencer": "1"},
                },
                "source": {"host": "h", "port": "", "userAgent": "u"},
            },
        }
    ],
}
"""RustFS of 2026: the record inside `data`, `etag` in small letters."""


@pytest.mark.parametrize(
    ("form", "key"),
    [
        (VERSITYGW, "a+b/中文 1%.pdf"),
        (RUSTFS, "a b.pdf"),
        ({"Records": [record["data"] for record in RUSTFS["Records"]]}, "a b.pdf"),  # type: ignore[index]
    ],
)
def test_other_servers_forms(form: dict, key: str):
    taken = read(json.dumps(form).encode())
    (submission,) = taken.submissions
    source = submission.source
    assert (source.bucket, source.key, source.etag, source.size, source.version_id) == ("in", key, "9b7", 4, None)
    assert taken.event


@pytest.mark.parametrize(
    ("written", "meant"),
    [("a+b", "a b"), ("a%2Bb", "a+b"), ("100%.pdf", "100%.pdf"), ("a b", "a b"), ("ä", "ä"), ("%zz", "%zz")],
)
def test_a_key_that_is_not_encoded_is_taken_as_it_is(written: str, meant: str):
    assert read(notification(written)).submissions[0].source.key == meant


def test_a_size_of_nothing_is_no_size():
    assert read(notification("a", size=0)).submissions[0].source.size is None


def test_a_multipart_upload_and_a_copy_are_creations_and_other_events_are_not():
    for name, count in [
        ("s3:ObjectCreated:CompleteMultipartUpload", 1),
        ("ObjectCreated:Copy", 1),
        ("s3:ObjectAccessed:Get", 0),
        ("s3:ObjectRemoved:DeleteMarkerCreated", 0),
        ("s3:ObjectTagging:Put", 0),
    ]:
        assert len(read(notification("a", name=name)).submissions) == count, name


def test_an_unknown_version_of_the_form_is_refused_and_a_newer_minor_one_is_not():
    record = json.loads(notification("a"))
    record["Records"][0]["eventVersion"] = "2.9"
    assert len(read(json.dumps(record).encode()).submissions) == 1
    record["Records"][0]["eventVersion"] = "3.0"
    with pytest.raises(DocfleetError) as caught:
        read(json.dumps(record).encode())
    assert caught.value.code is ErrorCode.invalid_message
    assert "3.0" in caught.value.message


def test_an_envelope_is_no_event():
    assert not read(b'{"source":{"bucket":"in","key":"a.pdf"}}').event


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


@pytest.mark.parametrize(
    "fields",
    [
        {"options": {"pages": "1-10000," * 10_000}},
        {"options": {"languages": ["en"] * 1_000}},
        {"options": {"languages": ["e" * 1_000]}},
        {"options": {"vl_profile": "p" * 1_000}},
        {"options": {"password_ref": "p" * 1_000}},
        {"options": {"formats": ["json"] * 1_000}},
        {"tenant": "t" * 1_000},
        {"source": {"bucket": "in", "key": "k" * 5_000}},
        {"source": {"bucket": "in", "key": "k", "etag": "e" * 5_000}},
        {"source": {"bucket": "in", "key": "k", "version_id": "v" * 5_000}},
        {"source": {"bucket": "in", "key": "k", "size": -1}},
    ],
)
def test_what_a_stranger_writes_is_bounded(fields: dict):
    """Each of these would be carried on from record to record, or cost a minute to read."""
    with pytest.raises(DocfleetError) as caught:
        read(json.dumps({"source": {"bucket": "in", "key": "a.pdf"}} | fields).encode())
    assert caught.value.code is ErrorCode.invalid_message
