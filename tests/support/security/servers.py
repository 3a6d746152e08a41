"""A fleet whose servers ask who is there: a broker, a store and a token endpoint, a principal for each part of the fleet, and what each
of them is told in its settings. Passwords of the broker lie in files, as Kubernetes mounts them; keys of the store in the environment."""

from __future__ import annotations

import os
import secrets
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Self

import urllib3
from minio import Minio

from docfleet.acls import ROLES
from tests.faults.fleet import SETTINGS, Fleet
from tests.faults.servers import ROOT, Servers
from tests.support.security.broker import ADMIN, SecureKafka
from tests.support.security.certificates import Authority
from tests.support.security.store import SecureS3
from tests.support.security.tokens import TokenEndpoint

BROKER = "the-broker"


def user(role: str) -> str:
    """The name that `docfleet topics acls` gives a role's principal."""
    return f"docfleet-{role.replace('_', '-')}"


class SecureServers(Servers):
    """Context manager. `planted` are all secrets; none may be found anywhere."""

    def __init__(self, folder: Path) -> None:
        """Raises `Missing`."""
        self.authority = Authority(folder)
        certificate = self.authority.sign(BROKER)
        names = [ADMIN, *(user(role) for role in ROLES)]
        self.passwords = {name: f"planted-{name}-{secrets.token_hex(8)}" for name in names}
        self.client_secrets = {name: f"planted-client-{secrets.token_hex(8)}" for name in names}
        self.vl_key = f"planted-vl-{secrets.token_hex(8)}"
        self.key_password = f"planted-key-{secrets.token_hex(8)}"
        self.tokens = TokenEndpoint(folder, certificate, self.client_secrets)
        broker = SecureKafka(certificate, self.authority.ca, self.passwords, self.tokens.jwks, BROKER)
        super().__init__(folder, broker, SecureS3(certificate, self.authority.ca))
        self.broker = broker
        self._files = folder / "secrets"
        self.ways: dict[str, str] = {}
        """`oauth` or `mutual` for roles that are to prove who they are so, from their next start on."""

    @property
    def planted(self) -> list[str]:
        return [
            *self.passwords.values(),
            *self.client_secrets.values(),
            self.vl_key,
            self.key_password,
            self.s3.secret_key,
        ]

    def env(self, role: str) -> dict[str, str]:
        """`role` may be any of `docfleet.acls.ROLES`, or `admin`."""
        return getattr(self, self.ways.get(role, "scram"))(role)  # type: ignore[no-any-return]

    def scram(self, role: str) -> dict[str, str]:
        name = ADMIN if role == ADMIN else user(role)
        return {
            **super().env(role),  # type: ignore[arg-type]
            "DOCFLEET_OBJECTS__SECURE": "true",
            "DOCFLEET_OBJECTS__SSL_CA_LOCATION": str(self.authority.ca),
            "DOCFLEET_KAFKA__SECURITY_PROTOCOL": "SASL_SSL",
            "DOCFLEET_KAFKA__SSL_CA_LOCATION": str(self.authority.ca),
            "DOCFLEET_KAFKA__SASL_MECHANISM": "SCRAM-SHA-512",
            "DOCFLEET_KAFKA__SASL_USERNAME": name,
            "DOCFLEET_SECRETS_DIR": self._secrets(name, KAFKA__SASL_PASSWORD=self.passwords[name]),
            "DOCFLEET_TELEMETRY__LEVEL": "debug",
        }

    def oauth(self, role: str) -> dict[str, str]:
        """The same by OAUTHBEARER."""
        name = user(role)
        left = {key: value for key, value in self.scram(role).items() if key != "DOCFLEET_KAFKA__SASL_USERNAME"}
        return {
            **left,
            "DOCFLEET_KAFKA__SASL_MECHANISM": "OAUTHBEARER",
            "DOCFLEET_KAFKA__SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL": self.tokens.url,
            "DOCFLEET_KAFKA__SASL_OAUTHBEARER_CLIENT_ID": name,
            "DOCFLEET_SECRETS_DIR": self._secrets(
                f"{name}-oauth", KAFKA__SASL_OAUTHBEARER_CLIENT_SECRET=self.client_secrets[name]
            ),
        }

    def mutual(self, role: str) -> dict[str, str]:
        """The same by a certificate with an encrypted key."""
        name = user(role)
        signed = self.authority.sign(name, encrypted_with=self.key_password)
        left = {key: value for key, value in self.scram(role).items() if "SASL" not in key}
        return {
            **left,
            "DOCFLEET_KAFKA__BOOTSTRAP_SERVERS": self.broker.mutual,
            "DOCFLEET_KAFKA__SECURITY_PROTOCOL": "SSL",
            "DOCFLEET_KAFKA__SSL_CERTIFICATE_LOCATION": str(signed.certificate),
            "DOCFLEET_KAFKA__SSL_KEY_LOCATION": str(signed.key),
            "DOCFLEET_SECRETS_DIR": self._secrets(f"{name}-tls", KAFKA__SSL_KEY_PASSWORD=self.key_password),
        }

    def _secrets(self, name: str, **values: str) -> str:
        folder = self._files / name
        folder.mkdir(parents=True, exist_ok=True)
        for variable, value in {"VL__API_KEY": self.vl_key, **values}.items():
            (folder / f"DOCFLEET_{variable}").write_text(value + "\n")
        return str(folder)

    def _client(self) -> Minio:
        if self._minio is None:
            pool = urllib3.PoolManager(ssl_context=ssl.create_default_context(cafile=str(self.authority.ca)))
            access, secret = self.s3.access_key, self.s3.secret_key
            self._minio = Minio(
                self.s3_endpoint,
                access_key=access,
                secret_key=secret,
                secure=True,
                region="us-east-1",
                http_client=pool,
            )
        return self._minio

    def start(self) -> Self:
        self.kafka.start()
        self.s3.start()
        self.tokens.__enter__()
        return super().start()

    def stop(self) -> None:
        super().stop()
        self.tokens.__exit__()
        self.s3.stop()
        self.kafka.stop()


class SecureFleet(Fleet):
    """The fleet on such servers; each part is given its rights, and no more, before it starts."""

    servers: SecureServers

    def __enter__(self) -> Self:
        self.docfleet_as("admin", "topics", "acls", "--apply")
        return super().__enter__()

    def docfleet(self, *command: str) -> str:
        return self.docfleet_as("tools", *command)

    def docfleet_as(self, role: str, *command: str) -> str:
        """`docfleet COMMAND…` as a principal; its standard output."""
        done = self.try_as(role, *command)
        assert done.returncode == 0, f"docfleet {' '.join(command)}: {done.stdout}\n{done.stderr}"
        return done.stdout

    def try_as(self, role: str, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "docfleet.cli.main", *command],
            cwd=ROOT,
            env={**os.environ, **SETTINGS, **self.servers.env(role)},
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
