"""The rights of each part of the fleet, made from topics.yaml."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from docfleet.acls import ROLES, Right, commands, principals, rights
from docfleet.cli.main import app
from shared.settings import GROUPS
from shared.streams.catalog import load

pytestmark = pytest.mark.unit


def of(role: str, operation: str, resource: str = "topic") -> set[str]:
    return {one.name for one in rights(role, load()) if (one.operation, one.resource) == (operation, resource)}


def test_a_stage_reads_its_topics_and_writes_its_outputs_and_nothing_else() -> None:
    assert rights("rec_worker", load()) == [
        Right("group", "docfleet-control", "Describe"),
        Right("group", "rec-worker", "Read"),
        Right("topic", "docs.control", "Read"),
        Right("topic", "docs.dlq", "Write"),
        Right("topic", "docs.rec", "Read"),
        Right("topic", "docs.rec.bulk", "Read"),
        Right("topic", "docs.results", "Write"),
    ]


def test_only_the_join_publishes_and_it_looks_at_the_stages_without_reading_them() -> None:
    assert [role for role in ROLES if "docs.parsed" in of(role, "Write")] == ["join"]
    assert [role for role in ROLES if "docs.join.open" in of(role, "Write")] == ["join"]
    assert "docs.rec" in of("join", "Describe")
    assert not of("join", "Read") & {"docs.pages", "docs.rec", "docs.vl", "docs.compose"}
    assert of("join", "Describe", "group") - {"docfleet-join-start"} == set(GROUPS.values()) - {
        "ingest",
        "assembler-join",
    }


def test_users_submit_and_hear_and_touch_no_work() -> None:
    assert of("users", "Write") == {"docs.incoming", "docs.incoming.bulk", "docs.control"}
    assert of("users", "Read") == {"docs.parsed", "docs.progress"}
    assert of("object-store", "Write") == {"docs.incoming", "docs.incoming.bulk"}
    assert len(rights("object-store", load())) == 2


def test_whoever_trims_reads_nothing() -> None:
    found = rights("trim", load())
    assert {one.operation for one in found if one.resource == "topic"} == {"Delete"}
    assert {one.operation for one in found if one.resource == "group"} == {"Describe"}
    assert "docs.dlq" not in of("trim", "Delete")
    assert of("trim", "Delete") <= of("tools", "Delete")


def test_the_commands_are_those_of_kafkas_tool() -> None:
    lines = commands({"rec_worker": "User:CN=rec worker"}, load(), "kafka:9093")
    assert lines[0].startswith("# rec_worker")
    assert (
        "kafka-acls.sh --bootstrap-server kafka:9093 --command-config admin.properties --add "
        "--allow-principal 'User:CN=rec worker' --operation Read --group rec-worker" in lines
    )
    told = CliRunner().invoke(app, ["topics", "acls", "join", "--principal", "join=User:j"])
    assert told.exit_code == 0, told.output
    assert "--allow-principal User:j --operation Describe --topic docs.rec.bulk" in told.output
    assert "docfleet-rec-worker" not in told.output


@pytest.mark.parametrize("given", ["nobody=User:a", "join=a", "join"])
def test_what_is_no_role_or_no_principal_is_refused(given: str) -> None:
    with pytest.raises(ValueError):
        principals([given])
    assert CliRunner().invoke(app, ["topics", "acls", "--principal", given]).exit_code == 2
