"""The programs docfleet is compared with, installed where they touch nothing of ours: Python packages in an environment of their own below
the cache folder, tesseract from the system's packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGES = (
    "rapidocr==3.10.0",
    "onnxruntime==1.32.0",
    "openvino==2026.4.1",
    "ocrmypdf==17.13.0",
    "opencv-python-headless==5.0.0.93",
    "matplotlib==3.11.2",
)
DEBIAN = ("tesseract-ocr", "tesseract-ocr-eng", "tesseract-ocr-chi-sim", "tesseract-ocr-osd")


def folder() -> Path:
    """Where the environment is kept; `docfleet` keeps its models beside it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "docfleet" / "bench" / "peers"


def python() -> Path:
    """The environment's interpreter; makes the environment when it is not there or holds other packages."""
    place = folder()
    mark = place / "packages.txt"
    wanted = "\n".join(PACKAGES)
    if not mark.exists() or mark.read_text() != wanted:
        print(f"Installing {', '.join(PACKAGES)} in {place} (once) ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--only-binary=:all:", *PACKAGES], check=True)
        mark.write_text(wanted)
    return place / "bin" / "python"


def tesseract() -> str | None:
    """None when tesseract can be used with both languages, else why it cannot and what to do."""
    if not _has_tesseract() and shutil.which("apt-get") and os.geteuid() == 0:
        print("Installing tesseract with apt-get (once) ...", file=sys.stderr)
        quiet = {"env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, "stdout": subprocess.DEVNULL}
        subprocess.run(["apt-get", "update", "-q"], check=False, **quiet)  # type: ignore[call-overload]
        command = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *DEBIAN]
        subprocess.run(command, check=False, **quiet)  # type: ignore[call-overload]
    return None if _has_tesseract() else f"tesseract is missing; run as root: apt-get install {' '.join(DEBIAN)}"


def _has_tesseract() -> bool:
    if shutil.which("tesseract") is None:
        return False
    listed = subprocess.run(["tesseract", "--list-langs"], capture_output=True, text=True, check=False).stdout.split()
    return {"eng", "chi_sim"} <= set(listed)
