"""What a status means for the next attempt."""

from __future__ import annotations

import datetime
import email.utils

import pytest

from services.vl_worker.retry import Absent, Faulty, Overloaded, attempts, retry_after, trouble_of

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (429, Overloaded),
        (503, Overloaded),
        (504, Overloaded),
        (500, Faulty),
        (502, Absent),
        (401, Absent),
        (403, Absent),
        (404, Absent),
    ],
)
def test_a_status_worth_another_attempt(status, kind):
    assert type(trouble_of(status, None, "", 60)) is kind


@pytest.mark.parametrize("status", [400, 409, 413, 422, 501])
def test_a_refusal_for_good(status):
    assert trouble_of(status, "1", "", 60) is None


def test_what_answers_everything_alike_is_lasting():
    assert trouble_of(401, None, "", 60).lasting
    assert trouble_of(404, None, "", 60).lasting
    assert not trouble_of(502, None, "", 60).lasting
    assert Absent("no connection").lasting


def test_only_429_says_nothing_about_the_servers_health():
    assert trouble_of(429, None, "", 60).limited
    assert not trouble_of(503, None, "", 60).limited


def later(seconds: float) -> str:
    at = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds)
    return email.utils.format_datetime(at, usegmt=True)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("3", 3.0),
        ("0.5", 0.5),
        ("-4", 0.0),
        ("1000000", 60.0),
        ("inf", 60.0),
        ("nan", None),
        ("", None),
        (None, None),
        ("soon", None),
        ("Wed, 99 Foo 2026 99:99:99 GMT", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        (later(1e6), 60.0),
    ],
)
def test_retry_after_is_bounded_and_never_raises(value, seconds):
    assert retry_after(value, 60.0) == seconds


def test_retry_after_as_a_date():
    assert 7 < (retry_after(later(10), 60.0) or 0) <= 10


async def test_only_failing_at_the_request_itself_uses_up_attempts(monkeypatch):
    slept = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    script = [Overloaded("x", 2.0)] * 30 + [Absent("x")] * 30 + [Faulty("x")] * 4
    loop = attempts(4)
    loop.sleep = sleep
    tried = 0

    async def ask() -> None:
        nonlocal tried
        async for attempt in loop:
            with attempt:
                tried += 1
                raise script[tried - 1]

    with pytest.raises(Faulty):
        await ask()
    assert tried == 64
    assert all(0.0 <= pause <= 8.0 for pause in slept)
    assert len({round(pause, 3) for pause in slept[30:]}) > 20, "full jitter"
