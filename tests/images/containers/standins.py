"""Base images of our own making, because no image registry can be reached where the tests run. Each is named a stand-in.

`python` is a Debian with Python, pip and venv, as far as the Dockerfile uses them of the image it names; `kafka` is Apache Kafka that reads
the variables of apache/kafka; `versitygw` is the real program. They are made once and kept.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.images.containers.podman import exists, podman
from tests.support import kafka, versitygw
from tests.support.processes import Missing

PYTHON = "localhost/standin/python:3.11"
KAFKA = f"localhost/standin/kafka:{kafka.VERSION}"
VERSITYGW = f"localhost/standin/versitygw:{versitygw.VERSION}"
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
_PACKAGES = "python3,python3-venv,python3-pip,ca-certificates"
_EMPTIED = (
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
    "usr/share/info",
    "var/cache/apt",
    "var/lib/apt/lists",
    "var/log",
)
"""What Debian's slim images leave out too."""


def python() -> str:
    """The base that the Dockerfile builds upon. Raises `Missing`."""
    if exists(PYTHON):
        return PYTHON
    with tempfile.TemporaryDirectory(prefix="docfleet-base-") as temporary:
        root = Path(temporary) / "root"
        command = ["debootstrap", "--variant=minbase", f"--include={_PACKAGES}", "bookworm", str(root)]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode:
            raise Missing(f"debootstrap could not make a base: {made.stdout[-500:]}{made.stderr[-500:]}")
        for name in _EMPTIED:
            shutil.rmtree(root / name, ignore_errors=True)
            (root / name).mkdir(parents=True)
        for compiled in list((root / "usr/lib").rglob("__pycache__")):  # as the official images do
            shutil.rmtree(compiled)
        if AUTHORITIES.exists():  # a package index may be behind an authority of this machine's own
            shutil.copyfile(AUTHORITIES, root / AUTHORITIES.relative_to("/"))
        archive = Path(temporary) / "root.tar"
        subprocess.run(["tar", "--numeric-owner", "-C", str(root), "-cf", str(archive), "."], check=True)
        podman("import", archive, PYTHON, timeout_s=300)
    return PYTHON


def kafka_image() -> str:
    """Apache Kafka. Raises `Missing`."""
    if not exists(KAFKA):
        here = Path(__file__).with_name("kafka")
        with tempfile.TemporaryDirectory(prefix="docfleet-kafka-") as temporary:
            shutil.copytree(kafka.jars(), Path(temporary) / "libs")
            shutil.copytree(here, temporary, dirs_exist_ok=True)
            given = ("--build-arg", f"BASE={python()}")
            podman("build", "--network", "host", *given, "--tag", KAFKA, temporary, timeout_s=900)
    return KAFKA


def versitygw_image() -> str:
    """The store that tells Kafka of what lands in it. Raises `Missing`."""
    if not exists(VERSITYGW):
        with tempfile.TemporaryDirectory(prefix="docfleet-versitygw-") as temporary:
            shutil.copyfile(versitygw.program(), Path(temporary) / "versitygw")
            (Path(temporary) / "versitygw").chmod(0o755)
            file = Path(temporary) / "Dockerfile"
            file.write_text('FROM scratch\nCOPY versitygw /versitygw\nVOLUME /data\nENTRYPOINT ["/versitygw"]\n')
            podman("build", "--tag", VERSITYGW, temporary, timeout_s=300)
    return VERSITYGW
