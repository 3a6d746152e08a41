"""One corrected retry, then the truth: what is asked, how often, and what comes out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import pytest

from services.vl_worker.asking import Asker, Disbelieved, Judged
from services.vl_worker.wire import Answer, Call
from shared.contracts.errors import DocfleetError, ErrorCode, Unavailable
from shared.settings import Vl
from shared.vlm.profile import profile_named

pytestmark = pytest.mark.unit
GLM = profile_named("glm-ocr")


class Scripted:
    """Stands for the client: answers in turn, keeps what it was asked."""

    def __init__(self, *script: str | Answer | Exception) -> None:
        self.script = list(script)
        self.bodies: list[dict[str, object]] = []
        self.hopeless: Callable[[str], bool] | None = None

    async def ask(self, call: Call, hopeless: Callable[[str], bool] | None = None) -> Answer:
        self.bodies.append(msgspec.json.decode(call.body))
        self.hopeless = hopeless
        said = self.script.pop(0)
        if isinstance(said, Exception):
            raise said
        return Answer(text=said, finish_reason="stop") if isinstance(said, str) else said


def plain(text: str) -> Judged[str]:
    if text == "not the form":
        raise DocfleetError(ErrorCode.corrupt, "no form")
    return (None, "repetition") if text == "refused" else (text, None)


async def asked(client: Scripted, pictures: Sequence[bytes] = (b"jpeg",), attempts: int = 2, **settings: object) -> str:
    return await Asker(client, Vl.model_validate(settings), GLM).ask("text", pictures, plain, attempts=attempts)


async def test_a_good_answer_is_asked_for_once() -> None:
    client = Scripted("well")
    assert await asked(client) == "well"
    assert client.hopeless is not None
    assert client.hopeless("round and round " * 50)


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        (Answer(text="cut", finish_reason="length"), "truncated"),
        (Answer(text="broken off", finish_reason=None, stopped=True), "repetition"),
        ("", "empty"),
        ("<think>so</think>x", "thinking"),
        ("Text Recognition:", "echo"),
        ("again and again " * 60, "repetition"),
        ("refused", "repetition"),
        ("not the form", "malformed"),
        ("x" * 2_000, "overlong"),
    ],
)
async def test_a_bad_answer_is_asked_for_once_more_with_corrected_sampling(bad: str | Answer, fault: str) -> None:
    client = Scripted(bad, "well")
    assert await asked(client, max_answer_chars=1_500) == "well"
    assert [body["temperature"] for body in client.bodies] == [0.0, 0.2]
    client = Scripted(bad, bad, "never asked")
    with pytest.raises(Disbelieved) as caught:
        await asked(client, max_answer_chars=1_500)
    assert (caught.value.fault, caught.value.code, caught.value.attempts) == (fault, ErrorCode.model_unavailable, 2)
    assert len(client.bodies) == 2


async def test_what_the_model_said_is_never_in_the_message() -> None:
    with pytest.raises(Disbelieved) as caught:
        await asked(Scripted("<think>secret</think>", "<think>secret</think>"))
    assert caught.value.message == "the VL model's answer was thoughts and no text, twice"


async def test_one_attempt_is_one() -> None:
    client = Scripted("", "well")
    with pytest.raises(Disbelieved) as caught:
        await asked(client, attempts=1)
    assert caught.value.message == "the VL model's answer was empty"


@pytest.mark.parametrize("error", [Unavailable("vl", "away"), DocfleetError(ErrorCode.timeout, "late")])
async def test_what_the_client_raises_comes_through(error: Exception) -> None:
    with pytest.raises(type(error)):
        await asked(Scripted(error))


@pytest.mark.parametrize(("profile", "model"), [("glm-ocr", "served"), ("paddleocr-vl", "PaddleOCR-VL-0.9B")])
async def test_the_served_name_of_the_settings_is_that_of_their_profile_only(profile: str, model: str) -> None:
    client = Scripted("well")
    asker = Asker(client, Vl(model="served", profile="glm-ocr"), profile_named(profile))
    await asker.ask("text", [b"jpeg"], plain)
    assert client.bodies[0]["model"] == model
    assert asker.model == model
