"""Keys and certificates of a control plane, by the program `openssl`: a CA, certificates it signed, a key for service accounts."""

from __future__ import annotations

import subprocess
from pathlib import Path


def authority(folder: Path, name: str) -> Path:
    """Make `NAME.crt` and `NAME.key`, a CA for two days; returns the certificate."""
    _openssl(
        folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        "-keyout", f"{name}.key", "-out", f"{name}.crt", "-subj", f"/CN={name}",
    )  # fmt: skip
    return folder / f"{name}.crt"


def signed(folder: Path, ca: str, name: str, subject: str, hosts: tuple[str, ...] = ()) -> tuple[Path, Path]:
    """Make `NAME.crt` and `NAME.key`, signed by `ca`, for these DNS names and addresses; returns both."""
    _openssl(
        folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", subject,
    )  # fmt: skip
    names = [f"IP:{host}" if host.replace(".", "").isdigit() else f"DNS:{host}" for host in hosts]
    extensions = "extendedKeyUsage=serverAuth,clientAuth\n" + (f"subjectAltName={','.join(names)}\n" if names else "")
    (folder / f"{name}.ext").write_text(extensions)
    _openssl(
        folder, "x509", "-req", "-in", f"{name}.csr", "-CA", f"{ca}.crt", "-CAkey", f"{ca}.key", "-CAcreateserial",
        "-days", "2", "-out", f"{name}.crt", "-extfile", f"{name}.ext",
    )  # fmt: skip
    return folder / f"{name}.crt", folder / f"{name}.key"


def account_key(folder: Path) -> Path:
    """The key by which tokens of service accounts are signed."""
    _openssl(folder, "genrsa", "-out", "accounts.key", "2048")
    return folder / "accounts.key"


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)
