"""A card of the double for each test, found by this process and its children."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shared.engines.ascend import AscendEngine
from shared.engines.ascend_network import AscendNetwork
from shared.settings import Engines
from tests.support.ascend import DOUBLE, Card


@pytest.fixture
def card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Card:
    card = Card(tmp_path / "card")
    for name, value in card.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.syspath_prepend(str(DOUBLE))  # children of this process get its path
    monkeypatch.delenv("ASCEND_RT_VISIBLE_DEVICES", raising=False)
    return card


@pytest.fixture
def open_network(card: Card) -> Iterator[Callable[..., AscendNetwork]]:
    """Opens the network of an ONNX file on the double, with any settings; closes it at the end."""
    opened: list[AscendNetwork] = []

    def open_(network: Path, **settings: object) -> AscendNetwork:
        given = {"kind": "ascend", "ascend_call_timeout_s": 60.0, "ascend_start_timeout_s": 120.0, **settings}
        found = AscendEngine(Engines(**given)).load(network)  # type: ignore[arg-type]
        assert isinstance(found, AscendNetwork)
        opened.append(found)
        return found

    yield open_
    for network in opened:
        network.close()
