"""`python -m services.vl_worker.check`: one real one-token request to every configured endpoint, what came of it as JSON.

`docfleet doctor --vl` runs it, in a process of its own because the commands import no service. Settings come as they do for a service.
"""

from __future__ import annotations

import asyncio
import sys
import time

import msgspec

from services.vl_worker.answers import call_of
from services.vl_worker.endpoint import Endpoint
from services.vl_worker.probe import Found, Probe
from shared.contracts.errors import DocfleetError
from shared.settings import Settings
from shared.vlm.profile import Profile, profile_named
from shared.vlm.request import probe


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """An endpoint and what was found there. `state` is that of the probe; `other` is `ready` under a name that is not the profile's;
    `profile` means that the profile itself cannot be used."""

    endpoint: str
    state: str
    why: str = ""
    model: str = ""
    """The name that is asked for."""
    names: list[str] = []
    """The names that are served, where the server says them."""
    seconds: float = 0.0


async def check(settings: Settings) -> list[Checked]:
    """Every endpoint, at the same time."""
    vl = settings.vl
    try:
        profile = profile_named(vl.profile, vl.profiles)
    except DocfleetError as error:
        return [Checked(endpoint=url, state="profile", why=error.message) for url in vl.endpoints]
    return list(await asyncio.gather(*(_one(url, settings, profile) for url in vl.endpoints)))


async def _one(url: str, settings: Settings, profile: Profile) -> Checked:
    model = settings.vl.model or profile.model
    asked = Probe(call_of(probe(profile, model=model)), model, settings.vl.probe_timeout_s)
    endpoint = Endpoint(url, settings.vl)
    try:
        started = time.monotonic()
        found = await asked.look(endpoint)
        seconds = time.monotonic() - started
        names = found.names or (await asked.served(endpoint) if found.state in ("ready", "busy", "refused") else [])
    finally:
        await endpoint.close()
    return Checked(
        endpoint=endpoint.name,
        state=_state(found, names, model, profile),
        why=found.why,
        model=model,
        names=names,
        seconds=round(seconds, 3),
    )


def _state(found: Found, names: list[str], model: str, profile: Profile) -> str:
    """Some servers answer to any name (llama.cpp): then the list of models tells."""
    if found.state == "ready" and names and model not in names and not any(map(profile.is_served_as, names)):
        return "other"
    return found.state


def main() -> None:
    sys.stdout.buffer.write(msgspec.json.encode(asyncio.run(check(Settings()))) + b"\n")


if __name__ == "__main__":
    main()
