"""Settings of an embedded fleet reach its processes whole, whatever the user has configured for a real one."""

from __future__ import annotations

import pytest

from docfleet.embedded import _merged, _settings, environment, last_lines
from shared.settings import Settings

pytestmark = pytest.mark.unit


def test_the_environment_says_what_the_settings_say(tmp_path, monkeypatch):
    groups = _merged(
        _settings(tmp_path, "127.0.0.1:5"), {"vl": {"endpoints": ["http://a/v1", "http://b/v1"], "profile": "glm-ocr"}}
    )
    given = {**groups, "http_host": "127.0.0.1"}
    expected = Settings(**given)
    for variable, value in environment(given).items():
        monkeypatch.setenv(variable, value)
    assert Settings() == expected
    assert expected.vl.endpoints == ["http://a/v1", "http://b/v1"]
    assert expected.kafka.embedded
    assert expected.join.driver == "embedded"


def test_what_is_configured_for_a_real_fleet_does_not_reach_it(tmp_path, monkeypatch):
    (tmp_path / "fleet.toml").write_text(
        '[kafka]\nbootstrap_servers = "kafka:9092"\nsecurity_protocol = "SSL"\n[objects]\nkind = "s3"\nsources = ["a"]\n[layout]\ndpi = 150\n'
    )
    monkeypatch.setenv("DOCFLEET_CONFIG", str(tmp_path / "fleet.toml"))
    monkeypatch.setenv("DOCFLEET_KAFKA__BOOTSTRAP_SERVERS", "other:9092")
    for variable, value in environment(_settings(tmp_path, "127.0.0.1:5")).items():
        monkeypatch.setenv(variable, value)
    settings = Settings()
    assert settings.kafka.bootstrap_servers == "127.0.0.1:5"
    assert settings.kafka.security_protocol == "PLAINTEXT"
    assert (settings.objects.kind, settings.objects.sources) == ("folder", [])
    assert settings.layout.dpi == 150  # what is about reading stays


def test_the_end_of_a_log(tmp_path):
    (tmp_path / "log").write_text("a\nb\nc\n")
    assert last_lines(tmp_path / "log", 2) == ["b", "c"]
    assert last_lines(tmp_path / "none", 2) == []
