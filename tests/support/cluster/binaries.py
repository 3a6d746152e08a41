"""The programs of a control plane, built from source with Go once and kept: Kubernetes 1.34.0, etcd 3.7.3, kwok 0.8.0, KEDA 2.21.0.

They come as modules through Go's proxy, since there is no package of them. Building takes some 13 minutes of two quiet cores and up to
3 GB of memory; afterwards 700 MB of stripped binaries lie in the cache folder, and what the build left behind is removed.
`python -m tests.support.cluster.binaries [NAME...]` builds what is missing and prints where it is.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.support.processes import Missing, cache_folder, locked

KUBERNETES, ETCD, KWOK, KEDA = "1.34.0", "3.7.3", "0.8.0", "2.21.0"
KEDA_MODULE = "github.com/kedacore/keda/v2"
SERVERS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")


def folder() -> Path:
    """Where the binaries are kept; its name says of which versions."""
    return cache_folder() / f"cluster-{KUBERNETES}-{ETCD}-{KWOK}-{KEDA}"


def binary(name: str) -> Path:
    """A program: one of `SERVERS`, `etcd`, `kwok`, `keda-operator`, `keda-adapter`. Raises `Missing` until it has been built."""
    part = _PARTS[name]
    if not (folder() / f"{part}.done").exists():
        how = "./dev run python -m tests.support.cluster.binaries"
        raise Missing(f"{name} is built from source once, all programs in a quarter of an hour or more: {how}")
    return folder() / name


def data(name: str) -> Path:
    """A folder that comes with a program: `keda-crds` (YAML), `kwok-stages` (YAML). Raises `Missing`."""
    return binary(name)


def build(names: Sequence[str] = ()) -> None:
    """Build these of `BUILDS`, or all that is missing. Two calls at once build different ones. Raises `Missing`."""
    home = folder()
    home.mkdir(parents=True, exist_ok=True)
    for name in names or _BUILDS:
        with locked(home / f".{name}.lock"):
            if (home / f"{name}.done").exists():
                continue
            began = time.monotonic()
            print(f"building {name} ...", file=sys.stderr, flush=True)
            _BUILDS[name](home)
            shutil.rmtree(home / "build" / name, ignore_errors=True)
            (home / f"{name}.done").write_text(f"{time.monotonic() - began:.0f} s\n")


def _kubernetes(home: Path) -> None:
    """In a module of our own: the published one refers to its staging modules by a path that is not published."""
    module = "k8s.io/kubernetes"
    source = _download(home, module, f"v{KUBERNETES}")
    staged = re.findall(r"^\s+(k8s\.io/\S+) v0\.0\.0$", (source / "go.mod").read_text(), re.M)
    work = _module(home, "kubernetes")
    minor = KUBERNETES.partition(".")[2]
    replaced = [f"-replace={name}={name}@v0.{minor}" for name in staged]
    _go(work, "mod", "edit", f"-require={module}@v{KUBERNETES}", *replaced)
    (work / "servers.go").write_text(
        "//go:build tools\n\npackage tools\n\nimport (\n"
        + "".join(f'\t_ "{module}/cmd/{name}"\n' for name in SERVERS)
        + ")\n"
    )
    major, minor, _ = KUBERNETES.split(".")
    # Without a version Helm refuses every chart that names one.
    named = {"gitVersion": f"v{KUBERNETES}", "gitMajor": major, "gitMinor": minor}
    flags = " ".join(f"-X k8s.io/component-base/version.{key}={value}" for key, value in named.items())
    for name in SERVERS:
        _build(work, home / name, f"{module}/cmd/{name}", flags)


def _etcd(home: Path) -> None:
    work = _module(home, "etcd-server")
    _go(work, "get", f"go.etcd.io/etcd/server/v3@v{ETCD}")
    _build(work, home / "etcd", "go.etcd.io/etcd/server/v3")


def _kwok(home: Path) -> None:
    source = _copied(home, "kwok-node", "sigs.k8s.io/kwok", f"v{KWOK}")
    _build(source, home / "kwok", "./cmd/kwok")
    shutil.copytree(source / "kustomize" / "stage", home / "kwok-stages", dirs_exist_ok=True)


def _keda(home: Path) -> None:
    source = _copied(home, "keda", KEDA_MODULE, f"v{KEDA}")
    shutil.copytree(source / "config" / "crd" / "bases", home / "keda-crds", dirs_exist_ok=True)
    _build(source, home / "keda-operator", "./cmd/operator")
    _build(source, home / "keda-adapter", "./cmd/adapter")


_BUILDS: dict[str, Callable[[Path], None]] = {
    "etcd-server": _etcd,
    "kubernetes": _kubernetes,
    "keda": _keda,
    "kwok-node": _kwok,
}


_PARTS = {
    **dict.fromkeys(SERVERS, "kubernetes"),
    "etcd": "etcd-server",
    "kwok": "kwok-node",
    "kwok-stages": "kwok-node",
    **dict.fromkeys(("keda-operator", "keda-adapter", "keda-crds"), "keda"),
}
"""Program or folder to the build that makes it."""


def _module(home: Path, name: str) -> Path:
    work = home / "build" / name / "work"
    work.mkdir(parents=True, exist_ok=True)
    if not (work / "go.mod").exists():
        _go(work, "mod", "init", f"build/{name}")
    return work


def _download(home: Path, module: str, version: str) -> Path:
    (home / "build").mkdir(exist_ok=True)
    return Path(json.loads(_go(home / "build", "mod", "download", "-json", f"{module}@{version}"))["Dir"])


def _copied(home: Path, name: str, module: str, version: str) -> Path:
    """A module's source as a main module, so that its own replacements hold."""
    target = home / "build" / name / "work"
    if not target.exists():
        shutil.copytree(_download(home, module, version), target)
        for path in [target, *target.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
    return target


def _build(work: Path, target: Path, package: str, flags: str = "") -> None:
    partial = target.with_suffix(".part")
    _go(work, "build", "-mod=mod", "-trimpath", "-ldflags", f"-s -w {flags}".strip(), "-o", str(partial), package)
    partial.rename(target)


def _go(work: Path, *arguments: str) -> str:
    if shutil.which("go") is None:
        raise Missing("the control plane is built with Go 1.25 or newer, which is not installed (https://go.dev/dl)")
    environment = {
        **os.environ,
        "CGO_ENABLED": "0",
        "GOFLAGS": os.environ.get("GOFLAGS", "-p=1"),  # one compiler at a time: some of them take 3 GB
        "GOWORK": "off",
        "GOTOOLCHAIN": "local",
    }
    done = subprocess.run(["go", *arguments], cwd=work, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Missing(f"go {' '.join(arguments[:2])} in {work.name}: {done.stderr[-1500:]}")
    return done.stdout


if __name__ == "__main__":
    build(sys.argv[1:])
    print(folder())
