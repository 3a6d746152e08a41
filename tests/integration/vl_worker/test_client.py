"""The client against the model server simulator: attempts, limits, endpoints that go and come, cancellation, typed outcomes."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable

import pytest

from services.vl_worker.answers import call_of
from services.vl_worker.client import VlClient
from services.vl_worker.probe import Probe
from services.vl_worker.wire import Call
from shared.contracts.errors import DocfleetError, ErrorCode, Unavailable
from shared.settings import Vl
from shared.vlm.profile import profile_named
from shared.vlm.request import probe, request_of
from tests.support.vl_server import Act, VlServerSimulator

pytestmark = pytest.mark.integration
GLM = profile_named("glm-ocr")
JPEG = b"\xff\xd8\xff picture"
Make = Callable[..., VlClient]


def call(kind: str = "text", *, stream: bool = True) -> Call:
    return call_of(request_of(GLM, kind, [JPEG]), stream=stream)


@pytest.fixture
async def client_of() -> AsyncIterator[Make]:
    made: list[VlClient] = []

    def make(*urls: str, **settings: object) -> VlClient:
        made.append(
            VlClient(Vl.model_validate({"endpoints": list(urls), **settings}), Probe(call_of(probe(GLM)), GLM.model, 5))
        )
        return made[-1]

    yield make
    for client in made:
        await client.close()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


async def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("stream", [True, False])
async def test_an_answer_comes_whole_or_as_a_stream(client_of, stream):
    async with VlServerSimulator(["一 two three"]) as server:
        answer = await client_of(server.url, api_key="s3cret").ask(call("table", stream=stream))
    assert (answer.text, answer.finish_reason) == ("一 two three", "stop")
    assert answer.completion_tokens > 0
    body = server.requests[0]
    assert body["messages"][0]["content"][0]["image_url"]["url"].startswith("data:image/jpeg;base64,/9j/")
    assert body.get("stream", False) is stream


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    "fault",
    [429, 500, 502, 503, 504, Act(text="half an answer", fault="reset"), Act(text="half an answer", fault="cut")],
)
async def test_a_passing_fault_is_tried_again(client_of, fault, stream):
    async with VlServerSimulator([fault, "well"]) as server:
        assert (await client_of(server.url).ask(call(stream=stream))).text == "well"
    assert len(server.requests) == 2


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_refusal_for_good_is_not_tried_again(client_of, status):
    async with VlServerSimulator([Act(status=status, error="too many pixels")]) as server:
        with pytest.raises(DocfleetError, match="too many pixels") as caught:
            await client_of(server.url).ask(call())
    assert caught.value.code is ErrorCode.model_unavailable
    assert len(server.requests) == 1


async def test_a_region_at_which_the_server_fails_again_and_again_is_given_up(client_of):
    async with VlServerSimulator([500]) as server:
        with pytest.raises(DocfleetError) as caught:
            await client_of(server.url, attempts=3).ask(call())
    assert caught.value.code is ErrorCode.model_unavailable
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [500, 502, 503])
async def test_a_server_that_fails_at_everything_is_away(client_of, status):
    async with VlServerSimulator() as server:
        server.broken = status
        client = client_of(server.url)
        outcomes = await asyncio.gather(*(client.ask(call()) for _ in range(10)), return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {Unavailable}


@pytest.mark.parametrize(("settings", "said"), [({"key": "k"}, "API key"), ({"model": "other"}, "does not exist")])
async def test_a_server_that_wants_something_else_is_the_worlds_trouble_not_the_regions(client_of, settings, said):
    async with VlServerSimulator(["x"], **settings) as server:
        client = client_of(server.url)
        with pytest.raises(Unavailable):
            await client.ask(call())
        await until(lambda: server.asked + len(server.times) >= 2)
        with pytest.raises(Unavailable):
            client.check()
    assert not server.requests


async def test_an_answer_that_is_no_completion_is_typed(client_of):
    async with VlServerSimulator(["x"]) as server:
        strange = Call(path="/ocr", body=b'{"image_base64": "", "prompt": "x"}', reader=call().reader)
        with pytest.raises(DocfleetError) as caught:
            await client_of(server.url).ask(strange)
    assert caught.value.code is ErrorCode.model_unavailable


async def test_a_server_that_is_away_is_no_outcome_of_the_document(client_of):
    client = client_of(f"http://127.0.0.1:{free_port()}/v1")
    with pytest.raises(Unavailable):
        await client.ask(call())
    with pytest.raises(Unavailable):
        client.check()


async def test_a_server_that_never_answers_is_a_timeout(client_of):
    async with VlServerSimulator([Act(delay_s=30)]) as server:
        with pytest.raises(DocfleetError) as caught:
            await client_of(server.url, timeout_s=0.3).ask(call())
        await until(lambda: server.in_flight == 0)
    assert caught.value.code is ErrorCode.timeout
    assert server.disconnected == 1


async def test_a_stream_that_stands_still_is_tried_again(client_of):
    async with VlServerSimulator([Act(text="a long answer that stops", fault="stall"), "well"]) as server:
        began = time.monotonic()
        assert (await client_of(server.url, stall_s=0.3).ask(call())).text == "well"
    assert time.monotonic() - began < 10


async def test_an_error_in_the_stream_is_tried_again(client_of):
    bad = b'data: {"error": {"message": "EngineCore died", "type": "InternalServerError", "code": 500}}\n\n'
    async with VlServerSimulator([Act(text="", raw=bad), "well"]) as server:
        assert (await client_of(server.url).ask(call())).text == "well"


async def test_an_answer_without_end_is_broken_off_and_the_server_is_free(client_of):
    async with VlServerSimulator([Act(text="round and round " * 20_000, fault="stall")]) as server:
        answer = await client_of(server.url).ask(call(), hopeless=lambda text: text.count("round") > 500)
        await until(lambda: server.in_flight == 0)
    assert answer.stopped
    assert len(answer.text) < 20_000


@pytest.mark.parametrize("status", [429, 503])
async def test_a_burst_meets_a_server_that_takes_eight_and_nothing_is_lost(client_of, status):
    """Report allenai/olmocr#317: 500 requests at once at a server that can't take them."""
    async with VlServerSimulator([Act(text="t", delay_s=0.05)], busy_limit=8, busy_status=status) as server:
        client = client_of(server.url)
        answers = await asyncio.gather(*(client.ask(call()) for _ in range(500)))
    assert [answer.text for answer in answers] == ["t"] * 500
    assert server.most_in_flight <= 8
    assert server.refused <= 60, "32 at first, then it knows"
    assert len(server.requests) == 500


async def test_the_same_burst_at_a_server_that_names_no_time_and_one_that_refuses_all_for_a_while(client_of):
    script = [429] * 40 + [Act(text="t", delay_s=0.02)]
    async with VlServerSimulator(script, busy_limit=8, busy_after=None) as server:
        client = client_of(server.url)
        outcomes = await asyncio.gather(*(client.ask(call()) for _ in range(100)))
    assert len(outcomes) == 100


async def test_retry_after_rests_the_endpoint(client_of):
    limited = Act(status=429, headers={"Retry-After": "1"})
    async with VlServerSimulator([limited, "well"]) as server:
        client = client_of(server.url)
        first = asyncio.create_task(client.ask(call()))
        await until(lambda: server.asked == 1)
        await asyncio.sleep(0.05)
        second = asyncio.create_task(client.ask(call()))
        await asyncio.gather(first, second)
    assert server.times[1] - server.times[0] >= 0.99
    assert server.times[2] - server.times[0] >= 0.99


async def test_another_endpoint_is_asked_while_one_rests_or_is_away(client_of):
    limited = Act(status=429, headers={"Retry-After": "30"})
    async with VlServerSimulator([limited]) as one, VlServerSimulator(["well"]) as two:
        client = client_of(one.url, f"http://127.0.0.1:{free_port()}/v1", two.url)
        began = time.monotonic()
        answers = await asyncio.gather(*(client.ask(call()) for _ in range(50)))
    assert {answer.text for answer in answers} == {"well"}
    assert time.monotonic() - began < 40
    assert one.asked <= 32


async def test_a_cancelled_call_frees_the_slot_at_the_server(client_of):
    async with VlServerSimulator([Act(delay_s=30)]) as server:
        client = client_of(server.url)
        calls = [asyncio.create_task(client.ask(call())) for _ in range(40)]
        await until(lambda: server.in_flight == 32)
        for one in calls:
            one.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        assert client.in_flight == 0
        await until(lambda: server.in_flight == 0, 2)
    assert server.disconnected == 32


async def test_a_call_cancelled_while_it_waits_takes_nobodys_place(client_of):
    async with VlServerSimulator([Act(text="t", delay_s=0.2)]) as server:
        client = client_of(server.url, max_in_flight=1)
        first = asyncio.create_task(client.ask(call()))
        await until(lambda: server.in_flight == 1)
        waiting = [asyncio.create_task(client.ask(call())) for _ in range(3)]
        await asyncio.sleep(0.05)
        waiting[0].cancel()
        assert (await first).text == "t"
        assert [(await other).text for other in waiting[1:]] == ["t", "t"]
    assert server.most_in_flight == 1


async def test_two_servers_share_the_work(client_of):
    async with (
        VlServerSimulator([Act(text="t", delay_s=0.02)]) as one,
        VlServerSimulator([Act(text="t", delay_s=0.02)]) as two,
    ):
        client = client_of(one.url, two.url)
        await asyncio.gather(*(client.ask(call()) for _ in range(40)))
    assert min(len(one.requests), len(two.requests)) >= 15


async def test_a_server_that_dies_and_returns_is_found_again_by_a_probe(client_of):
    async with VlServerSimulator([Act(text="t", delay_s=0.05)]) as server:
        client = client_of(server.url)
        calls = [asyncio.create_task(client.ask(call())) for _ in range(60)]
        await until(lambda: server.answered >= 5)
        await server.die()
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(o) for o in outcomes if isinstance(o, BaseException)} == {Unavailable}
        asked = server.asked
        await asyncio.sleep(1.0)
        with pytest.raises(Unavailable):
            client.check()
        await server.start()
        began = time.monotonic()
        await until(lambda: _open(client))
        assert time.monotonic() - began < 8
        assert server.asked == asked, "found by probes, not by work"
        assert (await client.ask(call())).text == "t"


async def test_what_kills_the_server_each_time_is_found_and_the_others_are_answered(client_of):
    """Engines die of single requests (vLLM's EngineDeadError); whoever asks again for ever keeps the server down."""
    deadly = call_of(request_of(GLM, "formula", [JPEG]))
    prompt = GLM.prompt("formula").text
    deaths = 0
    restarts: list[asyncio.Task[None]] = []

    async def restart(server: VlServerSimulator) -> None:
        nonlocal deaths
        deaths += 1
        await asyncio.sleep(0.5)
        await server.die()
        await server.start()

    def script(body: dict, number: int) -> Act:
        if body["messages"][0]["content"][-1]["text"] == prompt:
            restarts.append(asyncio.create_task(restart(server)))
            return Act(delay_s=5)
        return Act(text="t", delay_s=0.02)

    async def patiently(client: VlClient, one: Call) -> str:
        while True:
            try:
                return (await client.ask(one)).text
            except Unavailable:
                await asyncio.sleep(0.1)
            except DocfleetError as error:
                return error.message

    async with VlServerSimulator(script) as server:
        client = client_of(server.url, attempts=3, start_in_flight=8, breaker_failures=1)
        innocent = [call_of(request_of(GLM, "text", [bytes([n])])) for n in range(20)]
        said = await asyncio.gather(*(patiently(client, one) for one in [deadly, *innocent]))
        assert "went away 3 times" in said[0]
        assert set(said[1:]) == {"t"}
        assert deaths == 3
        await asyncio.gather(*restarts)


def _open(client: VlClient) -> bool:
    try:
        client.check()
    except Unavailable:
        return False
    return True


async def test_start_waits_for_a_cold_server(client_of):
    async with VlServerSimulator(["well"], cold_s=1.0) as server:
        client = client_of(server.url)
        began = time.monotonic()
        await client.start()
        assert time.monotonic() - began >= 0.9
        assert (await client.ask(call())).text == "well"
    assert server.probes >= 1
