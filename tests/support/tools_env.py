"""Python tools that only tests use and that do not belong into docfleet's own lock: heavy ones, or ones that disagree with it.

A set of tools is a folder with `requirements.in` and `requirements.lock`; it becomes a virtual environment of its own below the cache
folder, made on first use and kept until its lock changes. Lock a set anew with `python -m tests.support.tools_env FOLDER`.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.processes import Missing, cache_folder, locked


def environment(folder: Path) -> Path:
    """The Python of the environment of `folder`; the folder's name is the set's. Raises `Missing` where it cannot be installed."""
    lock = folder / "requirements.lock"
    home = cache_folder() / f"{folder.name}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:16]}"
    python = home / "bin" / "python"
    with locked(cache_folder() / f"{folder.name}.lock"):
        if not (home / "done").exists():
            shutil.rmtree(home, ignore_errors=True)
            _uv(folder, "venv", "--python", sys.executable, str(home))
            _uv(folder, "pip", "install", "--python", str(python), "--require-hashes", "-r", str(lock))
            (home / "done").touch()
    return python


def tool(folder: Path, name: str) -> Path:
    """A command of the environment of `folder`. Raises `Missing`."""
    found = environment(folder).with_name(name)
    if not found.exists():
        raise Missing(f"{folder.name} has no command {name}")
    return found


def lock(folder: Path) -> None:
    """Write `requirements.lock` of a set anew, with hashes, for Python 3.11 and newer. Raises `Missing`."""
    files = ["requirements.in", "-o", "requirements.lock"]
    _uv(folder, "pip", "compile", "--universal", "--python-version", "3.11", "--generate-hashes", "--no-header", *files)


def _uv(folder: Path, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "uv", *arguments, "--quiet"], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Missing(f"the tools of {folder.name} cannot be had: {done.stderr[-500:]}")


if __name__ == "__main__":
    for given in sys.argv[1:]:
        lock(Path(given))
