"""A certificate authority for one test run, made with the openssl command line (EC P-256, two days)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.support.processes import Missing

_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


class Certificate(NamedTuple):
    """`both` is key and chain in one file, as Kafka takes them."""

    certificate: Path
    key: Path
    both: Path


class Authority:
    """Signs for 127.0.0.1 and localhost. `ca` is what clients trust."""

    def __init__(self, folder: Path) -> None:
        """Raises `Missing`."""
        if shutil.which("openssl") is None:
            raise Missing("certificates for tests are made with openssl, which is not installed")
        self._folder = folder
        self.ca = folder / "ca.pem"
        self._key = folder / "ca.key"
        extensions = ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign"]
        openssl(
            [
                *("req", "-x509", *_KEY, "-keyout", self._key, "-out", self.ca),
                *("-subj", "/CN=Test authority", "-days", "2", *extensions),
            ]
        )

    def sign(self, name: str, encrypted_with: str | None = None) -> Certificate:
        """A certificate with the common name `name`, for servers and clients; the key is encrypted where a password is given."""
        request, certificate = self._folder / f"{name}.csr", self._folder / f"{name}.pem"
        key, extensions = self._folder / f"{name}.key", self._folder / f"{name}.ext"
        openssl(["req", "-new", *_KEY, "-keyout", key, "-out", request, "-subj", f"/CN={name}"])
        extensions.write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=serverAuth,clientAuth\n")
        openssl(
            [
                *("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self._key, "-CAcreateserial"),
                *("-days", "2", "-extfile", extensions, "-out", certificate),
            ]
        )
        if encrypted_with is not None:
            plain, key = key, self._folder / f"{name}.encrypted.key"
            openssl(["pkcs8", "-topk8", "-in", plain, "-out", key, "-passout", f"pass:{encrypted_with}"])
            plain.unlink()
        both = self._folder / f"{name}.both.pem"
        both.write_text(key.read_text() + certificate.read_text() + self.ca.read_text())
        return Certificate(certificate, key, both)


def openssl(arguments: list[str | Path], given: bytes = b"") -> bytes:
    """Run it; its standard output."""
    done = subprocess.run(["openssl", *map(str, arguments)], input=given, capture_output=True, check=False)
    assert done.returncode == 0, f"openssl {arguments[0]}: {done.stderr.decode()}"
    return done.stdout
