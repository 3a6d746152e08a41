"""Ask, look at the answer, ask once more if it cannot be believed; then say what was wrong. Nothing doubtful leaves this file as an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol, TypeVar

from services.vl_worker.answers import call_of
from services.vl_worker.guards import NOWHERE, WORDS, Fault, Place, fault_of, is_hopeless, text_of
from services.vl_worker.wire import Answer, Call
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.settings import Vl
from shared.telemetry import metrics
from shared.vlm.profile import Profile
from shared.vlm.request import request_of

T = TypeVar("T")
Judged = tuple[T | None, Fault | None]
"""What a text means, or what is wrong with it."""


class Client(Protocol):
    """`services.vl_worker.client.VlClient`."""

    async def ask(self, call: Call, hopeless: Callable[[str], bool] | None = None) -> Answer: ...


class Disbelieved(DocfleetError):
    """Every answer to a question was refused by a guard; `fault` is what was wrong with the last one."""

    def __init__(self, fault: Fault, attempts: int) -> None:
        times = ", twice" if attempts > 1 else ""
        super().__init__(
            ErrorCode.model_unavailable, f"the VL model's answer was {WORDS[fault]}{times}", attempts=attempts
        )
        self.fault = fault


class Asker:
    """Asks one model in one way. Safe for many calls at once."""

    def __init__(self, client: Client, settings: Vl, profile: Profile) -> None:
        self.profile = profile
        self.settings = settings
        self._client = client
        self._model = settings.model if profile.name == settings.profile else None

    @property
    def model(self) -> str:
        """Served name."""
        return self._model or self.profile.model

    async def ask(
        self,
        kind: str,
        jpegs: Sequence[bytes],
        read: Callable[[str], Judged[T]],
        *,
        place: Place = NOWHERE,
        attempts: int = 2,
    ) -> T:
        """What is in the pictures. `read` makes the text of an answer into what it means, or says what is wrong; it runs in a thread.

        The second attempt is the profile's corrected one. Raises `Disbelieved` after the last one, and what `VlClient.ask` raises.
        """
        fault: Fault | None = None
        for corrected in (False, True)[:attempts]:
            call = await asyncio.to_thread(self._call, kind, jpegs, corrected)
            answer = await self._client.ask(call, is_hopeless)
            judged = partial(self._judged, answer, kind, place, read)
            found, fault = await asyncio.to_thread(judged)
            if found is not None and fault is None:
                return found
            metrics.VL_FAULTS.labels(fault=fault or "malformed").inc()
        raise Disbelieved(fault or "malformed", attempts)

    def _call(self, kind: str, jpegs: Sequence[bytes], corrected: bool) -> Call:
        request = request_of(self.profile, kind, jpegs, model=self._model, corrected=corrected)
        call = call_of(request, stream=self.settings.stream)
        return replace(call, foreign=self.profile.name != self.settings.profile)

    def _judged(self, answer: Answer, kind: str, place: Place, read: Callable[[str], Judged[T]]) -> Judged[T]:
        if len(answer.text) > self.settings.max_answer_chars:
            return None, "overlong"
        fault = fault_of(
            answer.text,
            self.profile,
            kind,
            finish_reason=answer.finish_reason,
            stopped=answer.stopped,
            place=place,
        )
        if fault is not None:
            return None, fault
        try:
            return read(text_of(answer.text, self.profile))
        except DocfleetError as error:
            if error.code is not ErrorCode.corrupt:
                raise
            return None, "malformed"
