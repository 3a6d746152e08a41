"""Whoever sends to a broker that is away is told within seconds, and nothing is uploaded or removed before."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from docfleet.client import Client
from docfleet.deadletters import Reader
from docfleet.sending import Sender
from shared.contracts.errors import Unavailable
from shared.settings import Settings

pytestmark = pytest.mark.integration


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setattr("docfleet.reach.ANSWER_S", 1.0)
    return Settings(
        kafka={"bootstrap_servers": "127.0.0.1:1"}, objects={"kind": "folder", "folder": tmp_path / "objects"}
    )


def _sends(settings: Settings) -> None:
    with Sender(settings, "test"):
        pass


def _cancels(settings: Settings) -> None:
    with Client(settings) as client:
        client.cancel("a")


def _reads(settings: Settings) -> None:
    with Reader(settings):
        pass


@pytest.mark.parametrize("what", [_sends, _cancels, _reads])
def test_a_broker_that_is_away_is_told_soon(settings: Settings, what) -> None:
    began = time.monotonic()
    with pytest.raises(Unavailable, match=r"no answer from the broker at 127\.0\.0\.1:1"):
        what(settings)
    assert time.monotonic() - began < 20
