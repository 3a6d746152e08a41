"""The whole fleet with its networks on an NPU, which is the double here: the same text as on the CPU, gears only, and a card that comes back.

The double holds the interpreter lock for 100 ms in every call. A process that held its sessions itself would freeze with it; here every session
is a process of its own and every worker goes on polling, so no partition is ever lost.
"""

from __future__ import annotations

import json
import re
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from shared.models.install import install
from shared.models.manifest import manifest
from shared.models.reader import NAME
from shared.settings import Settings
from tests.kafka.test_fleet import samples, texts
from tests.support.ascend import Card, build_all
from tests.support.fleet import Fleet, Service

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(900)]
KINDS = (["en_scan"], ["zh_scan"])
ON_NPU = ("layout_worker", "rec_worker")


def lost(service: Service) -> float:
    """Partitions lost because the worker did not poll or beat in time."""
    found = re.findall(r'^docfleet_rebalances_total\{event="lost"\} ([\d.]+)', service.get("/metrics"), re.MULTILINE)
    return sum(map(float, found))


def failed_sessions(service: Service) -> dict[str, float]:
    """Sessions that were replaced because their device had failed, by their name."""
    row = r'^docfleet_child_restarts_total\{child="(npu-[^"]+)",reason="failed"\} ([\d.]+)'
    return {name: float(count) for name, count in re.findall(row, service.get("/metrics"), re.MULTILINE)}


def unready(service: Service) -> str:
    import urllib.error
    import urllib.request

    try:
        return str(urllib.request.urlopen(f"http://127.0.0.1:{service.port}/readyz", timeout=5).read().decode())
    except urllib.error.HTTPError as error:
        return str(error.read().decode())
    except OSError:
        return ""


def test_scans_read_on_the_double_as_on_the_cpu_and_a_lost_card_costs_nothing(
    tmp_path: Path, fresh_kafka, s3, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = f"{time.time_ns():x}"
    card = Card(tmp_path / "card")
    for name, value in card.environment().items():
        monkeypatch.setenv(name, value)
    installed = Settings().engines.models
    install(installed)
    models = build_all(installed, tmp_path / "models")
    card.plan(seconds=0.02)
    make = samples()
    with Fleet(
        tmp_path, fresh_kafka.bootstrap, s3.endpoint, s3.access_key.get_secret_value(), s3.secret_key.get_secret_value()
    ) as fleet:
        fleet.env["DOCFLEET_ENGINES__MODELS"] = str(models)
        for number, kinds in enumerate(KINDS):
            path = tmp_path / f"{number}.pdf"
            path.write_bytes(make.build(kinds, seed=number))
            fleet.upload(path)

        def submit(name: str) -> list[str]:
            documents = [f"{name}-{run}-{number}" for number in range(len(KINDS))]
            for number, document in enumerate(documents):
                fleet.submit(document, f"{number}.pdf", tenant=document)
            return documents

        def read(documents: list[str], enough: int) -> list[list[str]]:
            parsed = fleet.parsed(enough, seconds=300, idle_s=2)
            assert [len(parsed[document]) for document in documents] == [1] * len(documents)
            assert [parsed[document][0]["status"] for document in documents] == ["success"] * len(documents)
            return [texts(fleet, parsed[document][0]) for document in documents]

        npu = {part: fleet.start(part, DOCFLEET_ENGINES__KIND="ascend") for part in ON_NPU}
        others = [fleet.start(part) for part in ("join", "ingest", "compose")]
        told = set()
        deadline = time.monotonic() + 300
        while not all(service.ready() for service in npu.values()):
            told |= set(re.findall(r"[\w-]+: \d+ of \d+ gears are warm", unready(npu["rec_worker"])))
            assert all(service.process.poll() is None for service in npu.values()), npu["rec_worker"].log.read_text()[
                -3000:
            ]
            assert time.monotonic() < deadline
            time.sleep(0.2)
        assert told, "readiness says how far the warm-up is"
        fleet.wait_ready(*others)
        warm = card.calls()
        card.plan(seconds=0.1, faults=[{"at": "execute", "code": 507015, "model": f"{NAME}-*", "times": 1}])

        first = submit("npu")
        on_npu = read(first, len(KINDS))
        assert all(any(text.strip() for text in document) for document in on_npu)
        work = card.calls()[len(warm) :]
        gears = {
            entry.folder(): {",".join(map(str, gear)) for gear in entry.ascend.gears()}
            for entry in map(manifest, {call["model"].rsplit("-", 2)[0] for call in warm})
            if entry.ascend is not None
        }
        assert {call["model"] for call in work} >= {
            folder for folder in gears if folder.startswith(("ppocr", "layout"))
        } - {folder for folder in gears if "seal" in folder}
        assert [call for call in card.calls() if call["shape"] not in gears[call["model"]]] == [], (
            "nothing outside the gears"
        )
        sessions: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for call in card.calls():
            sessions[call["pid"]].append(call)
        for calls in sessions.values():
            (model,) = {call["model"] for call in calls}  # a process of its own
            begun = [call["shape"] for call in calls[: len(gears[model])] if call["zeros"]]
            assert set(begun) == gears[model], "all were warm before"
        assert not set(sessions) & {service.process.pid for service in npu.values()}
        assert failed_sessions(npu["rec_worker"]) == {f"npu-{NAME}": 1.0}, "counted where the metrics are served"
        assert failed_sessions(npu["layout_worker"]) == {}
        said = {part: service.log.read_text().count("npu_failed") for part, service in npu.items()}
        assert said == {"layout_worker": 0, "rec_worker": 1}, "and nothing was done again for any other reason"
        assert {part: lost(service) for part, service in npu.items()} == dict.fromkeys(ON_NPU, 0.0)

        second = submit("lost")
        before = len(card.calls())
        while len(card.calls()) < before + 5:
            time.sleep(0.05)
        card.lose()
        deadline = time.monotonic() + 120
        while not any("cannot be used" in unready(service) for service in npu.values()):
            assert time.monotonic() < deadline, "a stage without its card says so"
            time.sleep(0.2)
        card.find()
        assert read(second, 2 * len(KINDS)) == on_npu
        assert all(service.process.poll() is None for service in npu.values()), "the workers themselves went on"
        assert {part: lost(service) for part, service in npu.items()} == dict.fromkeys(ON_NPU, 0.0)

        for service in npu.values():
            assert service.terminate() == 0
        cpu = [
            fleet.start(part, DOCFLEET_ENGINES__KIND="onnxruntime", DOCFLEET_ENGINES__PROFILE="ascend")
            for part in ON_NPU
        ]
        fleet.wait_ready(*cpu)
        third = submit("cpu")
        assert read(third, 3 * len(KINDS)) == on_npu
        letters = fleet.records("docs.dlq", 0, seconds=3, idle_s=1)
        assert [json.loads(letter.value()) for letter in letters] == []
