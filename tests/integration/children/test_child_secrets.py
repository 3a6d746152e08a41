"""A child that is taken over by what it parses finds no keys to the fleet in itself."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from shared.children.child import Child

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(
    ("variable", "kept"),
    [
        ("DOCFLEET_KAFKA__SASL_PASSWORD", False),
        ("DOCFLEET_KAFKA", False),  # a group may be given whole, as JSON
        ("DOCFLEET_OBJECTS__SECRET_KEY", False),
        ("DOCFLEET_VL__API_KEY", False),
        ("AWS_SECRET_ACCESS_KEY", False),
        ("some_token", False),
        ("ASCEND_RT_VISIBLE_DEVICES", True),
        ("OMP_NUM_THREADS", True),
    ],
)
async def test_a_childs_environment_holds_no_secrets(
    variable: str, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "planted-in-the-test")
    child = Child("tests.support.child_programs:create", None, name="test", call_timeout_s=20.0)
    try:
        await child.start()
        seen = await asyncio.to_thread(Path(f"/proc/{child.pid}/environ").read_bytes)
        assert (b"planted-in-the-test" in seen) == kept
    finally:
        await child.close()
