"""docfleet: documents in, structured JSON and Markdown out, on a fleet of Kafka consumers.

`from docfleet import Client` is the Python interface; the command `docfleet` is the other one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docfleet.client import Client

__all__ = ["Client"]


def __getattr__(name: str) -> Any:
    """`Client` is imported when it is asked for: the launcher and `docfleet --help` do without."""
    if name == "Client":
        from docfleet.client import Client

        return Client
    raise AttributeError(f"module 'docfleet' has no attribute {name!r}")
