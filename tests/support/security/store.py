"""The S3 server with TLS and nothing else."""

from __future__ import annotations

import ssl
import urllib.request
from pathlib import Path

from shared.settings import Objects
from tests.support.s3 import S3Server
from tests.support.security.certificates import Certificate


class SecureS3(S3Server):
    """`objects` are the settings that reach it, its authority included."""

    def __init__(self, certificate: Certificate, authority: Path) -> None:
        super().__init__()
        self._certificate = certificate
        self._authority = authority

    @property
    def objects(self) -> Objects:
        return super().objects.model_copy(update={"secure": True, "ssl_ca_location": self._authority})

    def _more_options(self) -> dict[str, str]:
        return {"s3.cert.file": str(self._certificate.certificate), "s3.key.file": str(self._certificate.key)}

    def _ask(self) -> None:
        trusted = ssl.create_default_context(cafile=str(self._authority))
        with urllib.request.urlopen(f"https://{self.endpoint}/healthz", timeout=1, context=trusted):
            pass
