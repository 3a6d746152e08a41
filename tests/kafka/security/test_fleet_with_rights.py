"""The whole fleet on a broker and a store that ask who is there: TLS, SASL and rights, a principal for each of the six services.

Two cores start it in some 25 s; every test uses the same one, in the order of the file.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from shared.streams.catalog import load
from tests.faults.process import Member
from tests.faults.roles import ROLES
from tests.faults.sources import light
from tests.support.security.broker import ADMIN
from tests.support.security.servers import SecureFleet, SecureServers, user

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

WAIT_S = 120.0
"""For anything that is awaited, on two busy cores."""


@pytest.fixture(scope="module")
def fleet(servers: SecureServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureFleet]:
    servers.put("docfleet", "here", b"")
    for source in light():
        servers.put("incoming", source.name, source.data)
    with SecureFleet(servers, tmp_path_factory.mktemp("fleet")) as started:
        yield started


def submit(fleet: SecureFleet, *documents: str, source: str = "mixed") -> None:
    """As a user."""
    producer = Producer(fleet.servers.broker.client(user("users")) | {"partitioner": "murmur2_random"})
    for document in documents:
        value = {"document_id": document, "tenant": document, "source": {"bucket": "incoming", "key": source}}
        producer.produce("docs.incoming", json.dumps(value).encode(), document.encode())
    assert producer.flush(WAIT_S) == 0


def parsed(fleet: SecureFleet, *documents: str) -> dict[str, Any]:
    """Their terminal records, read as a user. AssertionError after `WAIT_S`."""
    found = {}
    for message in records(fleet, user("users"), "docs.parsed", lambda: set(documents) <= found.keys()):
        if message.value() is not None:
            record = json.loads(message.value())
            assert record["document_id"] not in found, "published twice"
            found[record["document_id"]] = record
    return found


def records(fleet: SecureFleet, name: str, topic: str, enough: Any) -> Iterator[Any]:
    """Records of a topic from its beginning until there are enough."""
    consumer = Consumer(
        fleet.servers.broker.client(name) | {"group.id": "docfleet-client", "enable.auto.commit": False}
    )
    try:
        partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        limit = time.monotonic() + WAIT_S
        while not enough():
            assert time.monotonic() < limit, f"{topic}: not enough after {WAIT_S:g} s\n{tails(fleet)}"
            for message in consumer.consume(100, 0.2):
                assert message.error() is None, message.error()
                yield message
    finally:
        consumer.close()


def tails(fleet: SecureFleet) -> str:
    return "\n".join(f"{member.role}: {member.tail(1500)}" for member in fleet.members)


def ended(fleet: SecureFleet, member: Member) -> tuple[int, str]:
    """The exit code and log of a member that is to end by itself."""
    code = member.wait(WAIT_S)
    assert code is not None, member.tail()
    return code, member.log.read_text(errors="replace")


def test_six_principals_with_only_their_own_rights_parse_documents(fleet: SecureFleet) -> None:
    submit(fleet, "scram-1", "scram-2", "scram-3")
    found = parsed(fleet, "scram-1", "scram-2", "scram-3")
    assert {record["status"] for record in found.values()} == {"success"}
    assert fleet.deaths == []


@pytest.mark.parametrize("way", ["oauth", "mutual"])
def test_tokens_and_certificates_do_as_well_for_a_stage_and_for_the_join(
    fleet: SecureFleet, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = len(fleet.servers.tokens.asked)
    for role in ("rec_worker", "join"):
        (before,) = fleet.of(role)
        monkeypatch.setitem(fleet.servers.ways, role, way)  # what other tests start goes by passwords again
        before.terminate(WAIT_S)
    fleet.wait_ready("rec_worker", "join", seconds=WAIT_S)
    submit(fleet, f"by-{way}")
    assert parsed(fleet, f"by-{way}")[f"by-{way}"]["status"] == "success"
    if way == "oauth":
        assert set(fleet.servers.tokens.asked[asked:]) == {user("rec_worker"), user("join")}
    assert fleet.deaths == []


def test_tools_users_and_whoever_trims_have_what_their_commands_need(fleet: SecureFleet) -> None:
    submit(fleet, "for-the-dlq", source="broken")
    assert parsed(fleet, "for-the-dlq")["for-the-dlq"]["status"] == "failure"
    listed = fleet.docfleet("dlq", "list", "--document", "for-the-dlq")
    assert "corrupt" in listed
    assert "deleted" in fleet.docfleet_as("trim", "topics", "trim", "--send")
    assert fleet.docfleet("topics", "plan").strip()
    told = fleet.try_as("tools", "doctor").stdout
    assert "as topics.yaml says" in told
    assert "every group has its place" in told
    assert "offsets.retention.minutes" in told
    assert "cannot be read" not in told


def test_a_stage_with_anothers_rights_ends_and_says_who_may_not_do_what(fleet: SecureFleet) -> None:
    code, log = ended(fleet, extra(fleet, "rec_worker", fleet.servers.env("compose")))
    assert code == 1
    told = [line for line in log.splitlines() if "NotAuthorized" in line]
    assert told, log[-3000:]
    for part in (f"User:{user('compose')}", "docs.rec", "docfleet topics acls"):
        assert part in told[-1]


def test_the_join_with_anothers_rights_does_not_start_and_says_why(fleet: SecureFleet) -> None:
    code, log = ended(fleet, extra(fleet, "join", fleet.servers.env("rec_worker")))
    assert code == 1
    told = [line for line in log.splitlines() if "cannot start" in line]
    assert told, log[-3000:]
    for part in (f"User:{user('rec_worker')}", "docs.parsed", "docfleet topics acls"):
        assert part in told[-1]


def extra(fleet: SecureFleet, role: Any, env: dict[str, str]) -> Member:
    """One more process of a role, which the fleet does not replace when it ends."""
    member = fleet.start(role, env)
    member.asked = True
    return member


def test_a_wrong_password_is_told_in_the_readiness_and_ends_nothing(fleet: SecureFleet) -> None:
    wrong = {**fleet.servers.env("rec_worker"), "DOCFLEET_KAFKA__SASL_USERNAME": user("compose")}
    member = extra(fleet, "rec_worker", wrong)
    fleet.wait_until(lambda: f"User:{user('compose')}" in why_not_ready(member), WAIT_S, "the refusal is not told")
    assert member.ended is None
    member.terminate(WAIT_S)


def why_not_ready(member: Member) -> str:
    import urllib.error
    import urllib.request

    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{member.port}/readyz", timeout=5):
            return ""
    except urllib.error.HTTPError as answer:
        return answer.read().decode()
    except OSError:
        return ""


def test_who_may_not_write_waits_and_says_so_and_goes_on_when_it_may(fleet: SecureFleet) -> None:
    """A right that was forgotten makes no dead letter and no failed page."""
    from confluent_kafka.admin import (
        AclBinding,
        AclBindingFilter,
        AclOperation,
        AclPermissionType,
        ResourcePatternType,
        ResourceType,
    )

    right = (ResourceType.TOPIC, "docs.results", ResourcePatternType.LITERAL, f"User:{user('rec_worker')}", "*")
    right += (AclOperation.WRITE, AclPermissionType.ALLOW)
    admin = fleet.servers.broker.admin()
    admin.delete_acls([AclBindingFilter(*right)])
    try:
        submit(fleet, "held-up")
        worker = fleet.of("rec_worker")[0]
        fleet.wait_until(lambda: "docs.results" in why_not_ready(worker), WAIT_S, "the refusal is not told")
        assert user("rec_worker") in why_not_ready(worker)
    finally:
        for future in admin.create_acls([AclBinding(*right)]).values():
            future.result(30)
    assert parsed(fleet, "held-up")["held-up"]["status"] == "success"
    assert fleet.deaths == []


def test_a_client_of_a_user_is_told_what_it_may_not_do(fleet: SecureFleet) -> None:
    refused = fleet.try_as("users", "dlq", "list")
    assert refused.returncode == 2
    for part in (f"User:{user('users')}", "docs.dlq", "docfleet topics acls"):
        assert part in refused.stderr


def test_no_secret_is_in_any_log_metric_record_or_child(fleet: SecureFleet) -> None:
    places: dict[str, str] = {}
    for log in fleet.folder.glob("*.log"):
        places[log.name] = log.read_text(errors="replace")
    assert {role for role in ROLES if any(name.startswith(role) for name in places)} == set(ROLES)
    for member in fleet.members:
        places[f"metrics of {member.role}"] = member.get("/metrics")
        for child in member.children():
            places[f"environment of a child of {member.role}"] = Path(f"/proc/{child}/environ").read_text()
            places[f"arguments of a child of {member.role}"] = Path(f"/proc/{child}/cmdline").read_text()
    for topic in load().names():
        for message in everything(fleet, topic):
            head = repr(message.headers())
            places[f"{topic} {message.partition()} {message.offset()}"] = f"{message.value()!r} {head}"
    for command in (["settings"], ["doctor"], ["dlq", "list"], ["dlq", "show", first_letter(fleet)]):
        told = fleet.try_as("tools", *command)
        places[f"docfleet {command[0]}"] = told.stdout + told.stderr
    assert any(name.startswith("docs.dlq") for name in places)
    assert any(name.startswith("environment of a child") for name in places)
    found = [name for name, text in places.items() for secret in fleet.servers.planted if secret in text]
    assert found == []
    assert [name for name, text in places.items() if "X-Amz-Signature" in text] == []


def first_letter(fleet: SecureFleet) -> str:
    return fleet.docfleet("dlq", "list", "--show", "all").split()[0]


def everything(fleet: SecureFleet, topic: str) -> list[Any]:
    consumer = Consumer(fleet.servers.broker.client(ADMIN) | {"group.id": "check", "enable.auto.commit": False})
    try:
        partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
        ends = {n: consumer.get_watermark_offsets(TopicPartition(topic, n), timeout=30) for n in partitions}
        left = {n: end for n, (start, end) in ends.items() if end > start}
        consumer.assign([TopicPartition(topic, number, ends[number][0]) for number in left])
        found = []
        limit = time.monotonic() + WAIT_S
        while left:
            assert time.monotonic() < limit, f"{topic} could not be read to its end"
            for message in consumer.consume(500, 0.2):
                assert message.error() is None, message.error()
                found.append(message)
                if message.offset() + 1 >= left.get(message.partition(), 0):
                    left.pop(message.partition(), None)
        return found
    finally:
        consumer.close()
