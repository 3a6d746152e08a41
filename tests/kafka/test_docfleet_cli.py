"""The commands against Apache Kafka and an S3 server: topics, doctor, fleet, submit, watch, cancel."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pymupdf
import pytest

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

SAMPLE = Path(__file__).parents[2] / "samples" / "page.pdf"


@pytest.fixture
def env(kafka, s3, tmp_path):
    kafka.reset()
    return {
        **os.environ,
        "DOCFLEET_KAFKA__BOOTSTRAP_SERVERS": kafka.bootstrap,
        "DOCFLEET_OBJECTS__ENDPOINT": s3.endpoint,
        "DOCFLEET_OBJECTS__ACCESS_KEY": s3.access_key.get_secret_value(),
        "DOCFLEET_OBJECTS__SECRET_KEY": s3.secret_key.get_secret_value(),
        "DOCFLEET_OBJECTS__BUCKET": f"cli-{tmp_path.name.replace('_', '-').lower()[:40]}",
        "DOCFLEET_HTTP_HOST": "127.0.0.1",
        "TMPDIR": str(tmp_path),
    }


def _docfleet(env: dict[str, str], *arguments: object, timeout: float = 180) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "docfleet.cli.main", *map(str, arguments)]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=timeout, check=False)


def test_topics_are_planned_applied_and_then_as_they_should_be(env):
    before = _docfleet(env, "topics", "plan")
    assert before.returncode == 0, before.stderr
    assert "+ docs.incoming  partitions=12" in before.stdout
    assert _docfleet(env, "doctor").returncode == 1
    applied = _docfleet(env, "topics", "apply")
    assert applied.returncode == 0, applied.stderr
    assert "changes done" in applied.stdout
    assert _docfleet(env, "topics", "plan").stdout.strip() == "The cluster is as topics.yaml says."
    doctor = _docfleet(env, "doctor")
    assert doctor.returncode == 0, doctor.stdout + doctor.stderr
    assert "every group has its place" in doctor.stdout
    assert "If-None-Match is honoured" in doctor.stdout
    refused = _docfleet(env, "topics", "apply", "--partitions", "6")
    assert refused.returncode == 2
    assert "can't shrink" in refused.stdout


def test_a_fleet_from_submission_to_result(env, tmp_path):
    assert _docfleet(env, "topics", "apply").returncode == 0
    log = (tmp_path / "fleet.log").open("w")
    command = [sys.executable, "-m", "docfleet.cli.main", "fleet", "--replicas", "rec_worker=2"]
    with subprocess.Popen(command, env=env, stdout=log, stderr=log, text=True) as fleet:
        try:
            # Killed at once, it must come back: nothing can be parsed without it.
            pid = _pid(tmp_path / "fleet.log", "layout_worker-1")
            os.kill(pid, signal.SIGKILL)
            _parses(env, tmp_path)
            _cancels(env, tmp_path)
            said = (tmp_path / "fleet.log").read_text()
            assert "layout_worker-1 ended (-9)" in said
            assert said.count("layout_worker-1 started") == 2
            assert "rec_worker-2 started" in said
        finally:
            fleet.send_signal(signal.SIGTERM)
            fleet.wait(60)
            log.close()
    assert fleet.returncode == 0, (tmp_path / "fleet.log").read_text()[-3000:]


def _pid(log: Path, service: str) -> int:
    deadline = time.monotonic() + 60
    while True:
        for line in log.read_text().splitlines():
            if line.startswith(f"{service} started, pid "):
                return int(line.rpartition(" ")[2])
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _parses(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "bad.pdf").write_bytes(b"%PDF-1.7 is all there is")
    done = _docfleet(env, "submit", SAMPLE, tmp_path / "bad.pdf", "--wait")
    assert done.returncode == 2, done.stdout + done.stderr
    results = [line for line in done.stdout.splitlines() if "  success  " in line or "  failure  " in line]
    assert len(results) == 2
    assert any("page.pdf  success  1 page" in line and "/document.json" in line for line in results)
    assert any("bad.pdf  failure" in line and "corrupt" in line for line in results)
    again = _docfleet(env, "submit", SAMPLE, "--wait", "--document-id", "again")
    assert again.returncode == 0, again.stderr
    assert "cached" in again.stdout
    seen = _docfleet(env, "watch", "again", "--from-start", "--json", "--results-only")
    (record,) = [json.loads(line) for line in seen.stdout.splitlines()]
    assert (record["document_id"], record["status"], record["cached"]) == ("again", "success", True)


def _cancels(env: dict[str, str], tmp_path: Path) -> None:
    document = pymupdf.open()
    for number in range(300):
        document.new_page().insert_text((72, 72), f"Page {number}")
    document.save(tmp_path / "long.pdf")
    assert _docfleet(env, "submit", tmp_path / "long.pdf", "--document-id", "long").returncode == 0
    assert _docfleet(env, "cancel", "long").returncode == 0
    seen = _docfleet(env, "watch", "long", "--from-start")
    assert "cancelled" in seen.stdout
