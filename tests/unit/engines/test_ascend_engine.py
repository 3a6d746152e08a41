"""Which sessions the engine opens, and which of them it replaces for their memory; nothing is opened here."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from shared.contracts.errors import DocfleetError
from shared.engines import ascend
from shared.engines.ascend import AscendEngine
from shared.settings import Engines

pytestmark = pytest.mark.unit
CARD = "| 0     310P3               | OK            | 67.8        45                0    / 0             |\n"
MARK = 100 * 2**20


def process(pid: int, megabytes: int) -> str:
    return f"| 0       0                 | {pid:<14}| python3                  | {megabytes:<24}|\n"


class Network:
    """A session that is open, or was."""

    def __init__(self, pid: int, closed: bool = False) -> None:
        self.pid, self.closed = pid, closed
        self.built = SimpleNamespace(model=f"small-{pid}")
        self.replaced = 0

    def recycle(self) -> None:
        self.replaced += 1


Look = Callable[[list[Network], list[str]], list[dict[str, Any]]]


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Look:
    """Lets the watch see what npu-smi tells in turn, then closes all sessions; what was logged."""

    def watch_(networks: list[Network], told: list[str]) -> list[dict[str, Any]]:
        left = [*told]
        monkeypatch.setattr(ascend.ascend_card, "told", lambda: left.pop(0) if left else CARD)
        with capture_logs() as logs:
            engine = AscendEngine(Engines(kind="ascend", ascend_watch_s=0.01, ascend_recycle_bytes=MARK))
            engine._networks = networks  # type: ignore[assignment]
            watcher = threading.Thread(target=engine._watch, daemon=True)
            watcher.start()
            while len(left) > 0:
                watcher.join(0.01)
            watcher.join(0.1)
            for network in networks:
                network.closed = True
            watcher.join(30)
            assert not watcher.is_alive(), "it ends with the sessions"
        return logs

    return watch_


def test_only_a_session_over_the_mark_is_replaced(watch: Look) -> None:
    over, under, other = Network(11), Network(12), Network(13)
    logs = watch([over, under, other], ["", CARD + process(11, 101) + process(12, 100) + process(99, 500)])
    assert [one.replaced for one in (over, under, other)] == [1, 0, 0]
    (said,) = [one for one in logs if one["event"] == "npu_recycle"]
    assert (said["model"], said["device_bytes"]) == ("small-11", 101 * 2**20)
    assert not any(one["event"] == "npu_memory_unknown" for one in logs)


def test_a_card_whose_processes_are_those_of_the_host_is_said_once(watch: Look) -> None:
    logs = watch([Network(11)], ["", *[CARD + process(884_213, 500)] * 3])
    (said,) = [one for one in logs if one["event"] == "npu_memory_unknown"]
    assert said["log_level"] == "warning"


def test_what_there_is_is_said_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ascend.ascend_card, "told", lambda: CARD)
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "0,1")
    monkeypatch.setenv("GE_USE_STATIC_MEMORY", "2")
    with capture_logs() as logs:
        AscendEngine(Engines(kind="ascend", ascend_device=1))
    (said,) = logs
    assert (said["event"], said["chips"], said["visible"], said["device"]) == ("npu", ["Ascend310P3"], "0,1", 1)
    assert said["environment"]["GE_USE_STATIC_MEMORY"] == "2", "what the sessions get, also from outside"
    assert said["environment"]["ASCEND_GLOBAL_LOG_LEVEL"] == "3"
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "1,0")
    with pytest.raises(DocfleetError, match="would be cut short"):
        AscendEngine(Engines(kind="ascend"))


def test_what_is_refused_is_refused_before_anything_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    class Opened(Network):
        def __init__(self, built: Any, om: Path, settings: Engines, loop: Any) -> None:
            super().__init__(1, closed=True)

        def start(self) -> None:
            opened.append("started")

    def refuse(path: Path) -> None:
        raise DocfleetError("model_unavailable", "others may write to it")  # type: ignore[arg-type]

    monkeypatch.setattr(ascend.ascend_card, "told", lambda: CARD)
    monkeypatch.setattr(ascend, "AscendNetwork", Opened)
    built = SimpleNamespace(model="small", soc="Ascend310P3")
    monkeypatch.setattr(ascend, "read_built", lambda path, target: (built, Path("/om/network.om")))
    monkeypatch.setattr(ascend, "check_file", lambda path: None)
    engine = AscendEngine(Engines(kind="ascend"))
    engine.load(Path("network.onnx"))
    assert opened == ["started"]
    monkeypatch.setattr(ascend, "check_file", refuse)
    with pytest.raises(DocfleetError, match="others may write"):
        engine.load(Path("network.onnx"))
    monkeypatch.setattr(ascend, "check_file", lambda path: None)
    built.soc = "Ascend910B4"
    with pytest.raises(
        DocfleetError, match=r"is for Ascend910B4 and this machine has Ascend310P3.*--target ascend310p3"
    ):
        engine.load(Path("network.onnx"))
    assert opened == ["started"]
