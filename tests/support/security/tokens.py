"""A token endpoint (OpenID Connect, client credentials) on 127.0.0.1 with TLS, and the key set a broker checks its tokens with."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

from tests.support.security.certificates import Certificate, openssl

ISSUER = "https://tokens.test"
AUDIENCE = "kafka"


class TokenEndpoint:
    """Context manager. `clients` maps ids to secrets; `asked` is the ids that were given a token, in order."""

    def __init__(self, folder: Path, certificate: Certificate, clients: dict[str, str], life_s: int = 300) -> None:
        self._clients = clients
        self._life_s = life_s
        self._key = folder / "tokens.key"
        self.asked: list[str] = []
        self.refused = 0
        openssl(["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", self._key])
        self.jwks = folder / "jwks.json"
        self.jwks.write_text(json.dumps({"keys": [self._public()]}))
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = parse_qs(self.rfile.read(int(self.headers.get("content-length", 0))).decode())
                scheme, _, both = self.headers.get("authorization", "").partition(" ")
                name, _, secret = base64.b64decode(both).decode().partition(":")
                known = scheme == "Basic" and endpoint._clients.get(name) == secret
                if not known or body.get("grant_type") != ["client_credentials"]:
                    endpoint.refused += 1
                    return self._answer(401, {"error": "invalid_client"})
                endpoint.asked.append(name)
                token = endpoint.token(name)
                self._answer(
                    200, {"access_token": token, "token_type": "Bearer", "expires_in": endpoint._life_s, "scope": "k"}
                )

            def _answer(self, status: int, value: dict[str, object]) -> None:
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate.certificate, certificate.key)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self._server.server_address[1]}/token"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def token(self, subject: str) -> str:
        """A signed token (RS256)."""
        now = int(time.time())
        claims = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": subject,
            "iat": now,
            "exp": now + self._life_s,
            "scope": "k",
        }
        text = f"{_json({'alg': 'RS256', 'typ': 'JWT', 'kid': 'test'})}.{_json(claims)}"
        signature = openssl(["dgst", "-sha256", "-sign", self._key], text.encode())
        return f"{text}.{_plain(signature)}"

    def _public(self) -> dict[str, str]:
        told = openssl(["rsa", "-in", self._key, "-noout", "-modulus"]).decode().strip()
        modulus = bytes.fromhex(told.partition("=")[2])
        return {"kty": "RSA", "kid": "test", "alg": "RS256", "use": "sig", "n": _plain(modulus), "e": "AQAB"}

    def __enter__(self) -> TokenEndpoint:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _plain(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _json(value: object) -> str:
    return _plain(json.dumps(value).encode())
