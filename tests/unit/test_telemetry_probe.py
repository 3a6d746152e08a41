"""The health check of images: a service says it is ready, says why not, or says nothing."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from shared.telemetry.health import Health, serve
from shared.telemetry.probe import main, probe

pytestmark = pytest.mark.unit


def test_ready_and_not_ready_and_why(capsys):
    health = Health()
    port = serve(health, "127.0.0.1", 0)
    health.ready("models", False, "3 of 5 are warm")
    assert main(["/readyz", str(port)]) == 1
    assert "3 of 5 are warm" in capsys.readouterr().out
    assert main(["/livez", str(port)]) == 0
    health.ready("models", True)
    assert main(["/readyz", str(port)]) == 0
    assert main(["/nothing", str(port)]) == 1


def test_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    ok, said = probe(port=port)
    assert not ok
    assert f"port {port} does not answer" in said


def test_a_listener_that_says_nothing_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        ok, said = probe(port=silent.getsockname()[1], timeout_s=0.2)
    assert not ok
    assert "does not answer" in said


def test_it_imports_nothing_heavy():
    code = "import sys, shared.telemetry.probe; print([m for m in ('pydantic', 'structlog', 'prometheus_client') if m in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[]"
