"""Test servers that are built with Go, once, into the cache of test servers."""

from __future__ import annotations

import os
import shutil
import subprocess

from tests.support.processes import Missing, cache_folder, locked


def installed(name: str, version: str, module: str, program: str, needs: str = "Go") -> str:
    """Path of `program` of a Go module, built on first use. Raises `Missing`. `needs` says what builds it, to whoever lacks it."""
    folder = cache_folder() / f"{name.lower()}-{version}"
    with locked(cache_folder() / f"{name.lower()}.lock"):
        built = folder / program
        if built.exists():
            return str(built)
        if shutil.which("go") is None:
            raise Missing(f"{name} is built with {needs}, which is not installed (https://go.dev/dl)")
        done = subprocess.run(
            ["go", "install", module],
            env={**os.environ, "GOBIN": str(folder), "CGO_ENABLED": "0"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise Missing(f"{name} could not be built: {done.stderr[-500:]}")
        return str(built)
