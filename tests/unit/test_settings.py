"""Settings: where they come from, and that a secret among them is told to nobody."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest
from pydantic import ValidationError
from pydantic_settings import SettingsError
from typer.testing import CliRunner

from docfleet.cli.main import app
from shared.settings import Kafka, Settings

pytestmark = pytest.mark.unit

SECRET = "hunter2-of-the-test"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DOCFLEET_SECRETS_DIR", str(tmp_path))
    return tmp_path


def test_a_secret_is_read_from_a_file_called_like_its_variable(folder: Path) -> None:
    (folder / "DOCFLEET_OBJECTS__SECRET_KEY").write_text(SECRET + "\n")
    (folder / "docfleet_kafka__sasl_password").write_text("lower case too")
    settings = Settings()
    assert settings.objects.secret_key is not None
    assert settings.objects.secret_key.get_secret_value() == SECRET
    assert settings.kafka.sasl_password is not None
    assert settings.kafka.sasl_password.get_secret_value() == "lower case too"


def test_a_folder_of_kubernetes_is_read_and_the_environment_goes_before_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = folder / "..2026_11_30"
    data.mkdir()
    (data / "DOCFLEET_VL__API_KEY").write_text(SECRET)
    (data / "DOCFLEET_KAFKA__SASL_USERNAME").write_text("from a file")
    (folder / "..data").symlink_to(data.name)
    for name in ("DOCFLEET_VL__API_KEY", "DOCFLEET_KAFKA__SASL_USERNAME"):
        (folder / name).symlink_to(Path("..data") / name)
    monkeypatch.setenv("DOCFLEET_KAFKA__SASL_USERNAME", "from the environment")
    settings = Settings()
    assert settings.vl.api_key is not None
    assert settings.vl.api_key.get_secret_value() == SECRET
    assert settings.kafka.sasl_username == "from the environment"


def test_a_folder_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCFLEET_SECRETS_DIR", str(tmp_path / "nowhere"))
    with pytest.raises(SettingsError, match="nowhere"):
        Settings()


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("DOCFLEET_KAFKA__SASL_PASSWORT", SECRET),  # misspelt: refused, and the value may be the password all the same
        ("DOCFLEET_OBJECTS__SECRET_KEY__X", SECRET),
        ("DOCFLEET_OBJECTS", '{"secret_key": "' + SECRET + '", '),
        ("DOCFLEET_OBJECTS", '["' + SECRET + '"]'),
        ("DOCFLEET_KAFKA__EXTRA", '{"sasl.password": ["' + SECRET + '"]}'),
        ("DOCFLEET_KAFKA__SECURITY_PROTOCOL", SECRET),
    ],
)
def test_settings_that_cannot_be_read_are_not_repeated(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises((ValidationError, SettingsError)) as caught:
        Settings()
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    told = CliRunner().invoke(app, ["settings"])
    assert told.exit_code != 0
    assert SECRET not in told.output + repr(told.exception)


def test_docfleet_settings_shows_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (
        "KAFKA__SASL_PASSWORD",
        "KAFKA__SASL_OAUTHBEARER_CLIENT_SECRET",
        "KAFKA__SSL_KEY_PASSWORD",
        "OBJECTS__SECRET_KEY",
        "OBJECTS__ACCESS_KEY",
        "VL__API_KEY",
    ):
        monkeypatch.setenv(f"DOCFLEET_{variable}", SECRET)
    monkeypatch.setenv("DOCFLEET_VL__ENDPOINTS", f'["https://user:{SECRET}@models:8000/v1"]')
    extra = {"sasl.password": SECRET, "ssl.key.pem": SECRET, "sasl.oauthbearer.client.secret": SECRET, "log_level": "3"}
    monkeypatch.setenv("DOCFLEET_KAFKA__EXTRA", str(extra).replace("'", '"'))
    told = CliRunner().invoke(app, ["settings"])
    assert told.exit_code == 0, told.output
    assert SECRET not in told.output
    assert '"log_level": "3"' in told.output
    assert "@models:8000/v1" in told.output
    assert SECRET not in repr(Settings())


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"security_protocol": "SASL_SSL"}, "sasl_mechanism"),
        ({"security_protocol": "SASL_SSL", "sasl_mechanism": "SCRAM-SHA-512", "sasl_username": "a"}, "sasl_password"),
        (
            {"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER", "sasl_oauthbearer_client_id": "a"},
            "sasl_oauthbearer_token_endpoint_url, sasl_oauthbearer_client_secret",
        ),
        ({"sasl_mechanism": "PLAIN"}, "security_protocol"),
        ({"security_protocol": "SSL", "ssl_certificate_location": "/c.pem"}, "ssl_key_location"),
    ],
)
def test_half_of_what_a_protocol_needs_is_refused_by_name(given: dict[str, str], missing: str) -> None:
    with pytest.raises(ValidationError, match=missing):
        Kafka(**given)  # type: ignore[arg-type]
