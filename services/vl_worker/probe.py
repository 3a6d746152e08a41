"""Is a server ready to be asked? Only a real request can tell: /health answers before the model is warm, and says nothing of its name.

One token for a small picture, with the prompt of the profile: it passes the key, the model's name, the picture processor and the
model. Used before a worker says that it is ready, by the breaker's half-open state, and by `docfleet doctor --vl`.
"""

from __future__ import annotations

import asyncio
from typing import Literal

import httpx
import msgspec

from services.vl_worker.endpoint import Endpoint
from services.vl_worker.retry import Absent, Overloaded, Trouble
from services.vl_worker.wire import Call
from shared.contracts.errors import DocfleetError

State = Literal["ready", "busy", "away", "cold", "key", "model", "refused"]
"""`busy` answers with 429: it works, only not for us at the moment. `cold` is there and gives no token (yet)."""


class Found(msgspec.Struct, frozen=True):
    """What a probe found. `names` are the served models, where the server says them."""

    state: State
    why: str = ""
    names: list[str] = []


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model]


class Probe:
    """Asks for one token. `model` is the name that is expected to be served."""

    def __init__(self, call: Call, model: str, timeout_s: float) -> None:
        self._call = call
        self._model = model
        self._timeout_s = timeout_s

    async def why_not(self, endpoint: Endpoint) -> str | None:
        """Why the endpoint can't be asked, or none. Never raises."""
        found = await self.look(endpoint)
        return None if found.state in ("ready", "busy") else found.why

    async def look(self, endpoint: Endpoint) -> Found:
        """What there is. Never raises."""
        try:
            async with asyncio.timeout(self._timeout_s):
                await endpoint.send(self._call)
            return Found("ready")
        except TimeoutError:
            return Found("cold", f"it takes connections and gave no token within {self._timeout_s:g} s")
        except Overloaded as trouble:
            return Found("busy" if trouble.limited else "cold", str(trouble))
        except Absent as trouble:
            return await self._absent(endpoint, trouble)
        except (Trouble, DocfleetError) as error:
            return Found("refused", str(error))
        except Exception as error:
            return Found("refused", f"the probe itself failed ({type(error).__name__}: {error!s:.100})")

    async def _absent(self, endpoint: Endpoint, trouble: Absent) -> Found:
        if trouble.status in (401, 403):
            return Found("key", f"it wants another API key ({trouble})")
        if trouble.status != 404:
            return Found("away", str(trouble))
        names = await self.served(endpoint)
        if names and self._model not in names:
            return Found("model", f"it serves {', '.join(names)}, not {self._model}", names)
        return Found("model" if names else "refused", f"{self._call.path} is not found there ({trouble})", names)

    async def served(self, endpoint: Endpoint) -> list[str]:
        """Names of the models it says it serves; none where it does not say."""
        try:
            response = await endpoint.get("/models", min(self._timeout_s, 5.0))
            return [model.id for model in msgspec.json.decode(response.content, type=_Models).data]
        except (httpx.HTTPError, msgspec.DecodeError):
            return []
