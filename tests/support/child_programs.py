"""Programs that the tests of `shared.children` run in child processes."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import time

import msgspec

from shared.children import progress
from shared.children.block import Block
from shared.children.child import Child
from shared.children.errors import ChildDied
from shared.contracts.errors import DocfleetError, ErrorCode


class Ask(msgspec.Struct, frozen=True):
    text: str = ""
    number: float = 0


class Told(msgspec.Struct, frozen=True):
    text: str = ""
    number: float = 0


class Program:
    def __init__(self, settings: object) -> None:
        self.settings = settings
        self.hoard: list[bytearray] = []

    def echo(self, argument: Ask, blocks: list[Block]) -> tuple[Told, list[Block]]:
        return Told(argument.text, os.getpid()), blocks

    def setting(self, argument: Ask, blocks: list[Block]) -> tuple[Told, list[Block]]:
        return Told(str(self.settings)), []

    def invert(self, argument: Ask, blocks: list[Block]) -> tuple[Told, list[Block]]:
        picture = blocks[0].array((blocks[0].nbytes,))
        return Told(), [Block.of(255 - picture)]

    def sleep(self, argument: Ask, blocks: list[Block]) -> tuple[Told, list[Block]]:
        time.sleep(argument.number)
        return Told("slept", os.getpid()), []

    def work(self, argument: Ask, blocks: list[Block]) -> tuple[Told, list[Block]]:
        """Take `number` seconds, and say all the time that the work goes on."""
        end = time.monotonic() + argument.number
        while time.monotonic() < end:
            time.sleep(0.1)
            progress.report()
        return Told("worked", os.getpid()), []

    def stick(self, argument: Ask, blocks: list[Block]) -> tuple[Told, list[Block]]:
        """Hang in C with the interpreter lock held, so that no Python thread of the child moves."""
        ctypes.PyDLL(None).sleep(int(argument.number))
        return Told(), []

    def kill(self, argument: Ask, blocks: list[Block]) -> tuple[Told, list[Block]]:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    def typed(self, argument: Ask, blocks: list[Block]) -> tuple[Told, list[Block]]:
        raise DocfleetError(ErrorCode.encrypted, "it needs a password", page_no=3)

    def bug(self, argument: Ask, blocks: list[Block]) -> tuple[Told, list[Block]]:
        raise KeyError("a bug of ours")

    def take(self, argument: Ask, blocks: list[Block]) -> tuple[Told, list[Block]]:
        """Keep `number` bytes, written to."""
        self.hoard.append(bytearray(b"x") * int(argument.number))
        return Told("", os.getpid()), []

    def lose(self, argument: Ask, blocks: list[Block]) -> tuple[Told, list[Block]]:
        """Have a child, `below`, that dies `number` times and is replaced once more because it said that its device had failed."""
        asyncio.run(_lose(int(argument.number)))
        return Told(), []


async def _lose(times: int) -> None:
    below = Child("tests.support.child_programs:create", None, name="below", call_timeout_s=60.0)
    try:
        for _ in range(times):
            try:
                await below.call("kill", Ask(), returns=Told)
            except ChildDied:
                continue
        await below.call("echo", Ask(), returns=Told)
        below.recycle("failed")
        await below.call("echo", Ask(), returns=Told)
    finally:
        await below.close()


def create(settings: object) -> Program:
    return Program(settings)


def refuse(settings: object) -> Program:
    raise DocfleetError(ErrorCode.model_unavailable, "no model is installed")


def die(settings: object) -> Program:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def slowly(settings: object) -> Program:
    """Start in six steps of a second, each told."""
    for step in range(6):
        time.sleep(1.0)
        progress.report(f"step {step + 1} of 6")
    return Program(settings)
