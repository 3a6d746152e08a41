"""topics.yaml and its lint."""

from __future__ import annotations

import pytest
import yaml

from shared.streams import catalog

pytestmark = pytest.mark.unit

TEXT = catalog.default_path().read_text(encoding="utf-8")


def broken(change: object) -> str:
    """topics.yaml after a change to its data."""
    data = yaml.safe_load(TEXT)
    change(data)  # type: ignore[operator]
    return yaml.safe_dump(data)


def topic(data: dict, name: str) -> dict:
    return next(one for one in data["topics"] if one["name"] == name)


def test_the_file_of_the_project_is_sound() -> None:
    topics = catalog.load()
    assert topics["docs.pages"].partitions == 12
    assert topics["docs.parsed"].cleanup == "compact"
    assert topics["docs.incoming"].retention_ms == -1
    assert [one.name for one in topics.read_by("rec-worker")] == ["docs.rec", "docs.rec.bulk"]
    assert topics.bulk_of("docs.vl") == "docs.vl.bulk"
    assert topics.bulk_of("docs.results") is None
    assert {len(group) > 1 for group in topics.copartition.values()} == {True}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda d: d["topics"].append(d["topics"][0]), "two topics"),
        (lambda d: topic(d, "docs.parsed").update(partitions=6), "partitions differ"),
        (lambda d: d["copartition"]["join"].append("docs.nowhere"), "no such topic"),
        (lambda d: topic(d, "docs.parsed").pop("key"), "needs a key"),
        (lambda d: topic(d, "docs.rec").update(groups=["rec_worker"]), "no such consumer group"),
        (lambda d: topic(d, "docs.rec").update(records=["RecTaks"]), "no such record"),
        (lambda d: topic(d, "docs.rec").update(retention_ms=1000), "until they were read"),
        (lambda d: topic(d, "docs.rec").update(max_message_bytes=5000), "below the largest record"),
        (lambda d: topic(d, "docs.dlq").update(max_message_bytes=1048588), "docs.dlq"),
        (lambda d: topic(d, "docs.rec").update(name="docs/rec"), "not a topic name"),
        (lambda d: topic(d, "docs.rec").update(partition=3), "unknown field"),
        (lambda d: topic(d, "docs.rec").update(written_by=["MinIO"]), "nobody is called MinIO"),
        (lambda d: topic(d, "docs.rec").update(written_by=[]), "nobody writes it"),
        (lambda d: topic(d, "docs.dlq").update(readers=[]), "nobody reads it"),
        (lambda d: d.update(version=2), "version"),
        (lambda d: next(t for t in d["topics"] if t.get("internal")).update(cleanup="delete"), "compacted"),
    ],
)
def test_the_lint_finds(change: object, problem: str) -> None:
    with pytest.raises(catalog.TopicsInvalid, match=problem):
        catalog.parse(broken(change))


def test_not_yaml_at_all() -> None:
    with pytest.raises(catalog.TopicsInvalid):
        catalog.parse("a: [")


def test_fewer_replicas_need_fewer_in_sync() -> None:
    one = catalog.load()["docs.rec"]
    assert one.config(3)["min.insync.replicas"] == "2"
    assert one.config(2)["min.insync.replicas"] == "1"
    assert one.config(1)["min.insync.replicas"] == "1"
