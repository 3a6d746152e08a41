"""SeaweedFS's filer events, as release 4.48 sent them to Kafka: key and value byte for byte."""

from __future__ import annotations

import pytest

from services.ingest.intake import read
from shared.contracts.errors import DocfleetError, ErrorCode

pytestmark = pytest.mark.unit
PATH = "/buckets/inbox/docs/a b/中文+1%.pdf".encode()
PUT = bytes.fromhex(
    "12d6010a0de4b8ade696872b31252e7064661a31180420cee8addaf9e2abf6182a18347678785445636e37704f563879544e4c6e387a48773d3d3a09080110011def"
    "70622b223c080410b3a8b3d80618b00330b3a8b3d8067210e2fc714c4727ee9395f324cd2e7f331f880186e0d6a8f99ebfe2439001b3a8b3d806b001b3a8b3d8062a"
    "360a12536561776565642d582d416d7a2d45546167122065326663373134633437323765653933393566333234636432653766333331662a1c0a1353656177656564"
    "2d582d416d7a2d4f776e6572120561646d696e180122172f6275636b6574732f696e626f782f646f63732f6120623204f0ccd930"
)
DELETED = bytes.fromhex(
    "0ae4010a0de4b8ade696872b31252e7064661a3f0a0c312c30313262363237306566180420cee8addaf9e2abf6182a18347678785445636e37704f563879544e4c6e"
    "387a48773d3d3a09080110011def70622b223c080410b3a8b3d80618b00330b3a8b3d8067210e2fc714c4727ee9395f324cd2e7f331f880186e0d6a8f99ebfe24390"
    "01b3a8b3d806b001b3a8b3d8062a360a12536561776565642d582d416d7a2d45546167122065326663373134633437323765653933393566333234636432653766333331"
    "662a1c0a13536561776565642d582d416d7a2d4f776e6572120561646d696e18013204f0ccd930"
)
FOLDER = bytes.fromhex(
    "12390a036120621001223010b3a8b3d80618f98380800830b3a8b3d806880190ec98fcc6c4fed90b90018092b8c398feffffff01980182b3e7a20122132f6275636b"
    "6574732f696e626f782f646f63733204f0ccd930"
)


def test_an_object_that_was_put() -> None:
    taken = read(PUT, PATH)
    (submission,) = taken.submissions
    source = submission.source
    assert (source.bucket, source.key, source.size) == ("inbox", "docs/a b/中文+1%.pdf", 4)
    assert taken.event


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (DELETED, PATH),
        (FOLDER, b"/buckets/inbox/docs/a b"),
        (FOLDER, b"/buckets/inbox"),
        (PUT, b"/buckets/inbox/.uploads/9efff353/0001.part"),
        (PUT, b"/buckets/.system/owners/admin"),
    ],
)
def test_what_is_no_new_object_is_no_submission(value: bytes, key: bytes) -> None:
    assert read(value, key).submissions == []


@pytest.mark.parametrize("value", [b"", PUT[:40], b"\xff" * 20, b"\x0b", b"\x00\x01", b"not protobuf"])
def test_other_bytes_under_such_a_key_are_an_invalid_message(value: bytes) -> None:
    with pytest.raises(DocfleetError) as caught:
        read(value, PATH)
    assert caught.value.code is ErrorCode.invalid_message


def test_an_envelope_under_such_a_key_is_an_envelope() -> None:
    assert not read(b'{"source":{"bucket":"inbox","key":"a"}}', PATH).event
