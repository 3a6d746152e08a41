"""What is in the wheel: everything a fleet needs besides its dependencies."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from shared.contracts.schemas import KINDS
from shared.models.manifest import names
from shared.vlm import profile

pytestmark = [pytest.mark.integration, pytest.mark.slow]
ROOT = Path(__file__).parents[2]


def test_a_clean_build_has_topics_schemas_manifests_and_types(tmp_path):
    command = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)]
    built = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=240, check=False)
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("docfleet-*.whl")
    inside = set(zipfile.ZipFile(wheel).namelist())
    assert {"shared/streams/topics.yaml", "docfleet/py.typed"} <= inside
    assert {f"docfleet/schemas/{kind}.json" for kind in KINDS} <= inside
    assert {f"shared/models/manifests/{name}.yaml" for name in names()} <= inside
    assert {f"shared/vlm/profiles/{name}.yaml" for name in profile.names()} <= inside
    assert not [name for name in inside if name.startswith(("tests/", "benchmarks/"))]
    modules = {
        str(path.relative_to(ROOT))
        for part in ("docfleet", "services", "shared")
        for path in (ROOT / part).rglob("*.py")
    }
    assert modules <= inside
