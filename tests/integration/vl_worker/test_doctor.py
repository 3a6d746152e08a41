"""`docfleet doctor --vl` at endpoints with something wrong."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from typing import Any

import pytest

from docfleet import doctor
from shared.settings import Settings
from tests.support.vl_server import VlServerSimulator

pytestmark = pytest.mark.integration


async def finding(url: str, **vl: Any) -> doctor.Finding:
    settings = Settings(vl={"endpoints": [url], **vl})  # type: ignore[arg-type]
    (found,) = await asyncio.to_thread(lambda: list(doctor.look(settings, local=True, only_vl=True)))
    return found


@pytest.mark.parametrize(
    ("server", "settings", "state", "found", "todo"),
    [
        ({}, {}, "ok", "answers as glm-ocr", ""),
        ({"model": "qwen3-vl"}, {}, "missing", "it serves qwen3-vl, not glm-ocr", "qwen3-vl"),
        ({"model": "qwen3-vl"}, {"model": "qwen3-vl"}, "ok", "answers as qwen3-vl", ""),
        ({"model": "qwen3-vl", "any_name": True}, {}, "warning", "says it serves qwen3-vl", "DOCFLEET_VL__PROFILE"),
        ({"cold_s": 600.0}, {}, "missing", "the model is loading", "wait"),
        ({"key": "s3cret"}, {}, "missing", "API key", "DOCFLEET_VL__API_KEY"),
        ({"key": "s3cret"}, {"api_key": "wrong"}, "missing", "API key", "DOCFLEET_VL__API_KEY"),
        ({"key": "s3cret"}, {"api_key": "s3cret"}, "ok", "answers", ""),
        ({}, {"profile": "nonsense"}, "missing", "no VL profile", "DOCFLEET_VL__PROFILE"),
    ],
)
async def test_what_is_wrong_is_said_with_what_to_do(server, settings, state, found, todo):
    async with VlServerSimulator(**server) as running:
        said = await finding(running.url, **settings)
    assert (said.what, said.state) == ("VL model", state)
    assert found in said.found
    assert todo in said.todo
    assert bool(said.todo) == (state != "ok")
    assert "s3cret" not in said.found + said.todo


async def test_a_server_that_is_away_one_that_gives_no_token_and_a_wrong_path():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        away = await finding(f"http://127.0.0.1:{silent.getsockname()[1]}/v1")
        silent.listen(8)
        cold = await finding(f"http://127.0.0.1:{silent.getsockname()[1]}/v1", probe_timeout_s=1)
    assert (away.state, cold.state) == ("missing", "missing")
    assert "start the model server" in away.todo
    assert "no token within 1 s" in cold.found
    async with VlServerSimulator() as running:
        path = await finding(running.url.removesuffix("/v1"))
    assert path.state == "missing"
    assert "/v1" in path.todo


async def test_the_command():
    async with VlServerSimulator(model="qwen3-vl") as running:
        command = [sys.executable, "-m", "docfleet.cli.main", "doctor", "--vl"]
        process = await asyncio.create_subprocess_exec(
            *command,
            env={**os.environ, "DOCFLEET_VL__ENDPOINTS": f'["{running.url}"]'},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 1
    assert "qwen3-vl" in output.decode()
    assert "Python" not in output.decode(), "only the model servers"
