"""The built images, once a session. Where podman and the rest are missing the test skips and says why."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import without
from tests.images.containers import podman, standins
from tests.images.dockerfile import ROOT
from tests.support.processes import Missing


def named(target: str) -> str:
    return f"localhost/docfleet:{target}"


@pytest.fixture(scope="session")
def image() -> Callable[[str], str]:
    """Gives the name of a built target; a target is built at most once a session."""
    built: set[str] = set()

    def get(target: str) -> str:
        if target not in built:
            try:
                arguments = {"PYTHON_IMAGE": standins.python(), "REVISION": "tests"}
                if index := os.environ.get("PIP_INDEX_URL"):
                    arguments["PIP_INDEX_URL"] = index
                podman.build(target, named(target), ROOT, arguments)
            except Missing as missing:
                without(missing)
            built.add(target)
        return named(target)

    return get


@pytest.fixture
def context(tmp_path: Path) -> Path:
    """A copy of what a build is sent, to be changed."""
    place = tmp_path / "context"
    place.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "topics.yaml", ".dockerignore"):
        shutil.copyfile(ROOT / name, place / name)
    for name in ("docs/reference/schemas", "shared", "services", "docfleet", "docker"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    return place


@pytest.fixture
def huawei_wheels(context: Path) -> Path:
    """The context with two empty wheels of the names of Huawei's: the target `ascend` builds with them, and runs nothing of theirs."""
    for name in ("aclruntime", "ais_bench"):
        information = f"{name}-0.0.2.dist-info"
        with zipfile.ZipFile(context / "docker" / "ascend" / f"{name}-0.0.2-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{name}/__init__.py", "")
            wheel.writestr(f"{information}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.0.2\n")
            wheel.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{information}/RECORD", "")
    return context
