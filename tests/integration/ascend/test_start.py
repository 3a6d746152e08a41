"""What an NPU engine refuses at its start, in words that say what to do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.engines.ascend_built import OM, RECORD
from shared.engines.ascend_network import AscendNetwork
from shared.models.manifest import Ascend
from tests.support.ascend import DOUBLE, TARGET, Card, built

pytestmark = pytest.mark.integration
Open = Callable[..., AscendNetwork]
ASCEND = Ascend(mode="dymbatch", batches=(1, 2), sizes=((8, 16),))


def refused(open_network: Open, network: Path, words: str, **settings: object) -> None:
    with pytest.raises(DocfleetError, match=words) as raised:
        open_network(network, **settings)
    assert raised.value.code is ErrorCode.model_unavailable


def change(network: Path, **fields: Any) -> None:
    path = network.parent / TARGET / RECORD
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def test_an_om_that_is_not_what_was_built(open_network: Open, tmp_path: Path) -> None:
    network = built(tmp_path / "models", ASCEND)
    om = network.parent / TARGET / OM
    om.chmod(0o600)
    om.write_bytes(om.read_bytes() + b"x")
    refused(open_network, network, r"is not the file that was built.*docfleet models build --target ascend310p3")
    built(tmp_path / "models", ASCEND)
    change(network, onnx_sha256="0" * 64)
    refused(open_network, network, "another version of small.*docfleet models build")
    built(tmp_path / "models", ASCEND)
    change(network, installed="small-0-of-another-manifest")  # the same ONNX file, prepared for otherwise
    refused(open_network, network, "another version of small.*docfleet models build")
    (network.parent / TARGET / RECORD).write_text("{")
    refused(open_network, network, "cannot be read")


def test_a_target_that_was_not_built_and_a_choice_that_is_not_made(open_network: Open, tmp_path: Path) -> None:
    network = built(tmp_path / "models", ASCEND)
    refused(open_network, network, r"not built for ascend910b4 \(ascend310p3 is there\)", ascend_target="ascend910b4")
    built(tmp_path / "models", ASCEND, target="ascend910b4")
    refused(open_network, network, "ascend310p3, ascend910b4: set DOCFLEET_ENGINES__ASCEND_TARGET")
    shutil.rmtree(network.parent / TARGET)
    shutil.rmtree(network.parent / "ascend910b4")
    refused(open_network, network, "for no NPU; run: docfleet models build")


def test_an_om_of_another_chip(card: Card, open_network: Open, tmp_path: Path) -> None:
    network = built(tmp_path / "models", ASCEND)
    card.plan(soc="Ascend910B4")
    refused(open_network, network, "is for Ascend310P3 and this machine has Ascend910B4.*--target ascend910b4")


def test_an_om_of_another_chip_where_nothing_tells_which_there_is(
    card: Card, open_network: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = built(tmp_path / "models", ASCEND)
    card.plan(soc="Ascend910B4")
    monkeypatch.setattr("shared.engines.ascend_card.TOOL", "npu-smi-is-not-here")
    refused(open_network, network, "check that the card is a Ascend310P3")


def test_another_number_of_classes(open_network: Open, tmp_path: Path) -> None:
    network = built(tmp_path / "models", ASCEND)
    record = json.loads((network.parent / TARGET / RECORD).read_text())
    outputs = record["outputs"]
    assert outputs[1]["shape"][-1] == 5
    outputs[1]["shape"][-1] = 6
    change(network, outputs=outputs, classes=6)
    refused(open_network, network, "its output scores has 5 classes where small has 6")


def test_gears_that_the_om_has_not(open_network: Open, tmp_path: Path) -> None:
    network = built(tmp_path / "models", ASCEND)
    one, two = [[1, 3, 8, 16]], [[2, 3, 8, 16]]
    change(network, gears=[one, two, [[4, 3, 8, 16]]])
    refused(open_network, network, "largest gear takes 3072 bytes of x, that of 3 gears 6144")
    network = built(tmp_path / "other", Ascend(mode="dymbatch", batches=(1, 4), sizes=((8, 16),)))
    change(network, gears=[one, two, [[4, 3, 8, 16]]])
    refused(open_network, network, "does not run its gear 2x3x8x16: it has no such gear; run: docfleet models build")


def test_a_file_that_ais_bench_refuses_without_a_reason(open_network: Open, tmp_path: Path) -> None:
    network = built(tmp_path / "models", ASCEND)
    om = network.parent / TARGET / OM
    om.chmod(0o664)
    refused(open_network, network, r"others may write to it \(mode 0664, as fsGroup makes it\); .*install -m 0440")
    om.rename(om.with_name("real.om"))
    om.symlink_to("real.om")
    refused(open_network, network, "it is a symlink, as files of a ConfigMap are")
    elsewhere = tmp_path / "with space"
    shutil.copytree(network.parent, elsewhere / network.parent.name, symlinks=True)
    refused(open_network, elsewhere / network.parent.name / "network.onnx", "its path holds ' '")


def test_no_runtime(open_network: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = built(tmp_path / "models", ASCEND)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(DOUBLE)])
    refused(open_network, network, "no NPU runtime: ais_bench is not installed; install the CANN runtime")
    other = tmp_path / "other-product"
    (other / "ais_bench" / "benchmark").mkdir(parents=True)
    (other / "ais_bench" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(other))
    refused(open_network, network, r"the package ais_bench that is installed is another one \(ais-bench-benchmark\?\)")


def test_a_card_that_cannot_be_opened_and_one_without_memory(card: Card, open_network: Open, tmp_path: Path) -> None:
    network = built(tmp_path / "models", ASCEND)
    card.plan(faults=[{"at": "open", "code": 507033, "times": 0}])
    refused(open_network, network, r"the device cannot be used; check npu-smi info.*507033")
    card.plan(memory_bytes=10 * 2**20)
    refused(open_network, network, "the device has no memory left; look at npu-smi info")


def test_a_list_of_cards_that_would_be_cut_short(
    open_network: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = built(tmp_path / "models", ASCEND)
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "0, 1")
    refused(open_network, network, "would be cut short")


def test_a_warm_up_that_fails_once_is_done_again_on_a_fresh_session(
    card: Card, open_network: Open, tmp_path: Path
) -> None:
    network = built(tmp_path / "models", ASCEND)
    for fault in (
        {"at": "execute", "code": 507015},
        {"at": "malloc", "code": 207001},
        {"at": "open", "code": 507033},
        {"at": "execute", "kind": "die"},
    ):
        card.plan(faults=[{**fault, "warm_up": True, "times": 1}])
        before = len(card.calls())
        found = open_network(network)
        assert [call["shape"] for call in card.calls()[before:] if call["pid"] == found.pid] == ["1,3,8,16", "2,3,8,16"]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"at": "execute", "code": 507015}, r"gear 1x3x8x16: the device cannot be used; check npu-smi info.*507015"),
        ({"at": "malloc", "code": 207001}, r"gear 1x3x8x16: the device has no memory left; look at npu-smi info"),
        ({"at": "execute", "kind": "die"}, r"is not loaded: .*SIGKILL.* Look at npu-smi info"),
        (
            {"at": "execute", "kind": "hang"},
            r"did not start within 3 s.*raise DOCFLEET_ENGINES__ASCEND_START_TIMEOUT_S",
        ),
    ],
    ids=["device", "memory", "died", "hung"],
)
def test_a_warm_up_that_fails_twice_says_what_to_do(
    card: Card, open_network: Open, tmp_path: Path, fault: dict[str, Any], words: str
) -> None:
    network = built(tmp_path / "models", ASCEND)
    card.plan(faults=[{**fault, "warm_up": True, "times": 2}])
    hangs = fault.get("kind") == "hang"
    refused(open_network, network, words, ascend_start_timeout_s=3.0 if hangs else 120.0)
    if not hangs:  # on a busy machine its time is up before it has come so far
        assert len(list(card.folder.glob("used-0-*"))) == 2, "tried twice and no more"


def test_a_worker_that_cannot_start_ends_with_a_line_that_says_what_to_do(tmp_path: Path) -> None:
    environment = {
        "DOCFLEET_ENGINES__KIND": "ascend",
        "DOCFLEET_ENGINES__MODELS": str(tmp_path / "models"),
        "DOCFLEET_OBJECTS__KIND": "folder",
        "DOCFLEET_OBJECTS__FOLDER": str(tmp_path / "objects"),
        "DOCFLEET_KAFKA__BOOTSTRAP_SERVERS": "127.0.0.1:1",  # it does not come so far
        "DOCFLEET_HTTP_HOST": "127.0.0.1",
        "DOCFLEET_TELEMETRY__FORMAT": "text",
        "PYTHONPATH": str(DOUBLE),
    }
    for part in ("layout_worker", "rec_worker"):
        done = subprocess.run(
            [sys.executable, "-m", f"services.{part}"],
            env={**os.environ, **environment, f"DOCFLEET_STAGES__{part.upper()}__HTTP_PORT": "0"},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        last = (done.stdout + done.stderr).strip().splitlines()[-1]
        assert done.returncode == 1
        assert "cannot go on" in last
        assert "docfleet models install" in last
