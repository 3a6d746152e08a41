"""podman with a storage and a configuration of its own, so that nothing of the machine's containers is touched."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.processes import Missing, cache_folder

NEEDED = ("podman", "buildah", "runc", "debootstrap")
_CONTAINERS = """[containers]
default_ulimits = ["nofile=10000:10000", "nproc=20000:20000"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
"""


def folder() -> Path:
    """Where images are kept between runs; some 4 GB."""
    place = cache_folder() / "containers"
    place.mkdir(parents=True, exist_ok=True)
    return place


def environment() -> dict[str, str]:
    """What podman, buildah and their API service are started with. Raises `Missing`."""
    absent = [program for program in NEEDED if shutil.which(program) is None]
    if absent:
        raise Missing(
            f"{', '.join(absent)} are not installed (Debian: apt-get install {' '.join(NEEDED)} netavark aardvark-dns)"
        )
    if os.geteuid() != 0:
        raise Missing("images are built on a base made by debootstrap, which needs root")
    place = folder()
    texts = {"containers.conf": _CONTAINERS, "storage.conf": storage_configuration(place)}
    for name, text in texts.items():
        write(place / name, text)
    files = {"CONTAINERS_CONF": place / "containers.conf", "CONTAINERS_STORAGE_CONF": place / "storage.conf"}
    return {**os.environ, **{name: str(file) for name, file in files.items()}}


def storage_configuration(place: Path) -> str:
    """The text of storage.conf for images kept in `place`.

    What podman keeps of running containers is not beside the images: podman takes no `--runroot` of more than 50 characters, and tidies up
    after a container that ended by calling itself with one. It says so nowhere; the container stays `stopped`, is never `exited`, and
    docker-compose waits for it for ever.
    """
    running = f"/run/docfleet-{hashlib.sha256(str(place).encode()).hexdigest()[:8]}"
    return f'[storage]\ndriver = "overlay"\ngraphroot = "{place}/storage"\nrunroot = "{running}"\n'


def write(file: Path, text: str) -> None:
    """Write a file only where it says something else, and at once: a podman that runs may be reading it."""
    if file.exists() and file.read_text() == text:
        return
    with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False) as other:
        other.write(text)
    Path(other.name).replace(file)


def podman(*arguments: str | Path, check: bool = True, timeout_s: float = 120, both: bool = False) -> str:
    """Run podman; its output (with `both`, what it wrote to stderr too). A failure shows both."""
    done = subprocess.run(
        ["podman", *map(str, arguments)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    shown = f"podman {' '.join(map(str, arguments))}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    assert not check or done.returncode == 0, shown
    return done.stdout + done.stderr if both else done.stdout


def exists(image: str) -> bool:
    done = subprocess.run(["podman", "image", "exists", image], env=environment(), check=False)
    return done.returncode == 0


def build(target: str, image: str, context: Path, arguments: dict[str, str], more: Sequence[str] = ()) -> None:
    """Build a target of docker/Dockerfile under the name `image`; layers of earlier builds are taken where nothing changed."""
    given = [one for name, value in arguments.items() for one in ("--build-arg", f"{name}={value}")]
    file = context / "docker" / "Dockerfile"
    podman(
        *("build", "--network", "host", "--layers", "--file", file, "--target", target, "--tag", image),
        *given,
        *more,
        context,
        timeout_s=1_800,
    )


def inspect(image: str) -> dict[str, Any]:
    (found,) = json.loads(podman("image", "inspect", image))
    return dict(found)
