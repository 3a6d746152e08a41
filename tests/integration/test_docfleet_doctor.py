"""The doctor finds what is missing, and says what to do about it."""

from __future__ import annotations

import pytest

from docfleet import doctor
from shared.objects import open as opening
from shared.objects.folder import FolderStore
from shared.settings import Settings

pytestmark = pytest.mark.integration


@pytest.fixture
def settings(tmp_path):
    return Settings(
        kafka={"bootstrap_servers": "127.0.0.1:1"},
        objects={"kind": "folder", "folder": tmp_path / "objects"},
        engines={"models": tmp_path / "models"},
    )


def test_missing_models_and_how_to_get_them(settings):
    (finding,) = doctor.models(settings)
    assert finding.state == "missing"
    assert finding.todo == "docfleet models install"


def test_an_engine_is_there(settings):
    (finding,) = doctor.engines(settings)
    assert finding.state == "ok"


def test_a_broker_that_is_away(settings, monkeypatch):
    monkeypatch.setattr(doctor, "TIMEOUT_S", 0.5)
    (finding,) = doctor.broker(settings)
    assert (finding.what, finding.state) == ("broker", "missing")
    assert "BOOTSTRAP_SERVERS" in finding.todo


def test_a_store_that_writes_once(settings):
    assert [finding.state for finding in doctor.store(settings)] == ["ok", "ok"]
    assert not [path for path in settings.objects.folder.rglob("*") if path.is_file() and "doctor" in str(path)]


def test_a_store_that_overwrites(settings, monkeypatch):
    class Overwriting(FolderStore):
        async def put_once(self, bucket, key, data, content_type="application/json"):
            await self.put(bucket, key, data)
            return data

    monkeypatch.setattr(opening, "open_store", lambda given: Overwriting(given.objects.folder))
    findings = list(doctor.store(settings))
    assert [finding.state for finding in findings] == ["ok", "missing"]
    assert "If-None-Match" in findings[1].todo


def test_a_store_that_is_away():
    settings = Settings(
        objects={
            "kind": "s3",
            "endpoint": "127.0.0.1:1",
            "access_key": "a",
            "secret_key": "b",
            "connect_timeout_s": 0.3,
        }
    )
    (finding,) = doctor.store(settings)
    assert (finding.what, finding.state) == ("store", "missing")


def test_the_local_look_needs_no_broker(settings):
    assert {finding.what for finding in doctor.look(settings, local=True)} == {"Python", "engine", "models", "VL model"}
