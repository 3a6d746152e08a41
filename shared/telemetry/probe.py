"""`python -m shared.telemetry.probe [PATH] [PORT]`: ask a service of this machine how it is; for images, which have no curl.

PATH is `/readyz` unless given, PORT 8080. Prints the answer; exit code 0 for 200, else 1. Only the standard library is imported, since a
container is asked every few seconds.
"""

from __future__ import annotations

import http.client
import sys

PATH = "/readyz"
PORT = 8080
TIMEOUT_S = 4.0
"""Below the 5 s that compose and Kubernetes are told to give it, so that the reason is printed."""


def probe(path: str = PATH, port: int = PORT, timeout_s: float = TIMEOUT_S) -> tuple[bool, str]:
    """Whether the service on that port of the loopback answers 200, and what it says (or why it says nothing)."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status == 200, answer.read().decode(errors="replace").strip()
    except (OSError, http.client.HTTPException) as error:
        return False, f"port {port} does not answer: {error}"
    finally:
        connection.close()


def main(arguments: list[str]) -> int:
    """The whole command; returns the exit code."""
    path = arguments[0] if arguments else PATH
    ok, said = probe(path, int(arguments[1]) if len(arguments) > 1 else PORT)
    print(said)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
