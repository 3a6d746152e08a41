"""`ingest.rules`: which objects are wanted, with which options, in whose name and on which lane."""

from __future__ import annotations

import msgspec
import pytest
from pydantic import ValidationError

from services.ingest.rules import applied
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.records import DocumentSubmitted
from shared.settings import IngestRule

pytestmark = pytest.mark.unit
RULES = [
    IngestRule(name="no-thumbnails", bucket="in*", suffixes=[".thumb.PNG"], accept=False),
    IngestRule(name="tiny", max_bytes=10, accept=False),
    IngestRule(name="forms", bucket="in-a", prefix="forms/", options={"vl": "page"}, tenant="acme"),
    IngestRule(name="archive", bucket="in-a", min_bytes=1_000_000, priority="bulk"),
    IngestRule(name="patient", tenants=["patient"], priority="bulk"),
]


def given(key: str, bucket: str = "in-a", size: int | None = 500, **fields: object) -> DocumentSubmitted:
    return msgspec.convert({"source": {"bucket": bucket, "key": key, "size": size}} | fields, DocumentSubmitted)


def test_without_a_rule_that_fits_a_submission_is_as_it_came() -> None:
    one = given("a.pdf", bucket="elsewhere")
    assert applied(RULES, one, event=True) is one
    assert applied([], one, event=True) is one


@pytest.mark.parametrize(
    ("key", "bucket", "size", "wanted"),
    [
        ("x/a.thumb.png", "in-a", 500, False),
        ("x/a.thumb.png", "out", 500, True),
        ("x/a.png", "in-a", 500, True),
        ("x/a.png", "in-a", 10, False),
        ("x/a.png", "in-a", 11, True),
        ("x/a.png", "in-a", None, True),
    ],
)
def test_events_are_filtered_by_bucket_suffix_and_size(key: str, bucket: str, size: int | None, wanted: bool) -> None:
    assert (applied(RULES, given(key, bucket, size), event=True) is not None) is wanted
    assert applied(RULES, given(key, bucket, size), event=False) is not None, "who asks by name wants it"


def test_a_prefix_means_options_and_a_tenant() -> None:
    ruled = applied(RULES, given("forms/1.pdf"), event=True)
    assert ruled is not None
    assert (ruled.options.vl, ruled.tenant, ruled.priority) == ("page", "acme", "normal")
    by_name = applied(RULES, given("forms/1.pdf", options={"vl": "off"}), event=False)
    assert by_name is not None
    assert (by_name.options.vl, by_name.tenant) == ("off", "acme")


def test_another_tenants_objects_are_out_of_reach() -> None:
    assert applied(RULES, given("forms/1.pdf", tenant="acme"), event=False) is not None
    with pytest.raises(DocfleetError) as refused:
        applied(RULES, given("forms/1.pdf", tenant="other"), event=False)
    assert refused.value.code is ErrorCode.source_missing


@pytest.mark.parametrize("priority", ["normal", "interactive"])
def test_size_or_tenant_sends_to_the_second_lane(priority: str) -> None:
    large = applied(RULES, given("a.pdf", size=1_000_000, priority=priority), event=False)
    patient = applied(RULES, given("a.pdf", bucket="b", tenant="patient", priority=priority), event=False)
    assert large is not None
    assert patient is not None
    assert (large.priority, patient.priority) == ("bulk", "bulk")


@pytest.mark.parametrize(
    "row",
    [
        {"name": "x", "min_bytes": 2, "max_bytes": 1},
        {"name": "x", "options": {"vl": "sometimes"}},
        {"name": "x", "options": {"shade": 1}},
        {"name": "Not A Name"},
        {"name": "x", "sufix": [".pdf"]},
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused_at_the_start(row: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        IngestRule.model_validate(row)
