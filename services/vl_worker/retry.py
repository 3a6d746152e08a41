"""Which answers are worth another attempt, on whose account, and when.

Three kinds of trouble, kept apart because they end differently:

- `Overloaded` (429, 503, 504): the server has no room. Nothing is wrong with the region; it is asked again until its deadline.
- `Absent` (no connection, 502, 401, 403, 404): nobody there who could answer. Asked again, elsewhere if there is an elsewhere.
- `Faulty` (500, a connection cut in the middle of the answer, a stream that stalls): may be the server, may be this very region;
  so it is tried `vl.attempts` times at most.

Any other status (400, 422, …) is the server's last word on this region, and a `DocfleetError`.
"""

from __future__ import annotations

import contextlib
import datetime
import email.utils
from typing import Any

import tenacity

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 8.0
"""Full jitter between 0 and FIRST_WAIT_S * 2^n, at most LONGEST_WAIT_S: the values of the GLM-OCR client (backoff 0.5 to 8 s)."""

OVERLOADED = frozenset({429, 503, 504})
ABSENT = frozenset({401, 403, 404, 502})
FAULTY = frozenset({500})


class Trouble(Exception):
    """Another attempt may succeed. `retry_after_s`: what the server asked for, bounded by `vl.retry_after_s`."""

    def __init__(self, why: str, retry_after_s: float | None = None) -> None:
        super().__init__(why)
        self.retry_after_s = retry_after_s


class Overloaded(Trouble):
    """No room at the moment. `limited`: this client has had its share (429), which says nothing about the server's health."""

    def __init__(self, why: str, retry_after_s: float | None = None, *, limited: bool = False) -> None:
        super().__init__(why, retry_after_s)
        self.limited = limited


class Absent(Trouble):
    """Nobody there who could answer."""

    def __init__(self, why: str, status: int | None = None) -> None:
        super().__init__(why)
        self.status = status

    @property
    def lasting(self) -> bool:
        """The next request would meet the same: nobody listens; or the key, the model's name or the path is wrong."""
        return self.status != 502


class Faulty(Trouble):
    """It failed at this request, or during it."""


def trouble_of(status: int, wait: str | None, said: str, longest_s: float) -> Trouble | None:
    """What a status other than 200 is, or none where the region is refused for good.

    `wait` is the Retry-After header, `said` the server's own message.
    """
    why = f"status {status}" + (f": {said}" if said else "")
    pause = retry_after(wait, longest_s)
    if status in OVERLOADED:
        return Overloaded(why, pause, limited=status == 429)
    if status in ABSENT:
        return Absent(why, status)
    if status in FAULTY:
        return Faulty(why, pause)
    return None


def retry_after(value: str | None, longest_s: float) -> float | None:
    """Seconds of a Retry-After header, given as seconds or as a date, within 0..`longest_s`; none where there is nothing readable."""
    if not value:
        return None
    with contextlib.suppress(ValueError):
        seconds = float(value)
        return min(max(seconds, 0.0), longest_s) if seconds == seconds else None  # nan is no number of seconds
    with contextlib.suppress(ValueError, TypeError):
        at = email.utils.parsedate_to_datetime(value)
        if at.tzinfo is None:
            at = at.replace(tzinfo=datetime.UTC)
        return min(max((at - datetime.datetime.now(datetime.UTC)).total_seconds(), 0.0), longest_s)
    return None


def attempts(most_faulty: int) -> tenacity.AsyncRetrying:
    """Attempts at one request; the last `Trouble` comes out. A deadline around it is what bounds the other two kinds.

    Retry-After is no matter of the request but of the endpoint, which rests for that time (`endpoints`)."""
    faulty = 0

    def enough(state: tenacity.RetryCallState) -> bool:
        nonlocal faulty
        faulty += isinstance(_error(state), Faulty)
        return faulty >= most_faulty

    jitter = tenacity.wait_random_exponential(multiplier=FIRST_WAIT_S, max=LONGEST_WAIT_S)
    return tenacity.AsyncRetrying(
        retry=tenacity.retry_if_exception_type(Trouble), wait=jitter, stop=enough, reraise=True
    )


def _error(state: tenacity.RetryCallState) -> Any:
    return state.outcome.exception() if state.outcome is not None else None
