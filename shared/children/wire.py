"""What parent and child say to each other, over one stream socket.

A frame is an 8-byte head (length of the message, number of descriptors; unsigned 32 bit, little endian), then the message
as MessagePack. Descriptors travel with the first byte of their frame, so they are here before the frame is whole.
Bodies above `INLINE_BYTES` travel in a block of their own, the last one of the frame: the socket never carries much,
and a sender never waits long for a reader.
"""

from __future__ import annotations

import array
import os
import socket
import struct
from collections.abc import Sequence

import msgspec

from shared.children.block import Block

INLINE_BYTES = 32_768
MAX_BLOCKS = 200
"""Blocks of one call; Linux passes at most 253 descriptors with one message (SCM_MAX_FD)."""
_HEAD = struct.Struct("<II")
_SPACE = socket.CMSG_SPACE(256 * array.array("i").itemsize)
_RECEIVE_BYTES = 65_536


class Hello(msgspec.Struct, array_like=True, tag="hello"):
    """Parent to child, once: what to run. `settings` is a pickle; it comes from our own parent only."""

    program: str
    settings: bytes
    threads: int
    memory_bytes: int | None


class Raised(msgspec.Struct, array_like=True):
    """An exception of the child. Without `code` it is untyped and `message` is its traceback."""

    code: str | None
    message: str
    page_no: int | None = None
    region_id: str | None = None


class Ready(msgspec.Struct, array_like=True, tag="ready"):
    """Child to parent, once: the factory has returned, or raised."""

    raised: Raised | None = None


class Request(msgspec.Struct, array_like=True, tag="request"):
    """Parent to child: run a method. `sizes` are those of the blocks; `large` says that the last one is the body."""

    call: int
    method: str
    body: bytes
    sizes: list[int]
    large: bool = False


class Answer(msgspec.Struct, array_like=True, tag="answer"):
    """Child to parent: what the method returned or raised."""

    call: int
    body: bytes
    sizes: list[int]
    large: bool = False
    raised: Raised | None = None
    resident: int = 0
    """Bytes of the child's own resident memory afterwards."""
    spent: bool = False
    """The child ran out of memory in this call and should be replaced."""
    restarts: list[tuple[str, str, int]] = []
    """Of the child's own children since its last answer: name, reason, how often."""


class Progress(msgspec.Struct, array_like=True, tag="progress"):
    """Child to parent: a piece of work that calls share, or of the start, is done (`shared.children.progress`)."""

    note: str = ""
    """How far the child is, in words; empty says nothing new."""


Message = Hello | Ready | Request | Answer | Progress
_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)


def body_and_blocks(value: msgspec.Struct, blocks: Sequence[Block]) -> tuple[bytes, list[Block], bool, Block | None]:
    """A value ready to travel: inline body, all blocks, whether the last is the body, and that block (to be closed after)."""
    if len(blocks) > MAX_BLOCKS:
        raise ValueError(f"at most {MAX_BLOCKS} blocks can go with one call")
    body = _encoder.encode(value)
    if len(body) <= INLINE_BYTES:
        return body, list(blocks), False, None
    extra = Block.of(body)
    return b"", [*blocks, extra], True, extra


def unpack(message: Request | Answer, descriptors: list[int]) -> tuple[bytes, list[Block]]:
    """Body and blocks of a message that came with these descriptors."""
    blocks = [Block(fd, size) for fd, size in zip(descriptors, message.sizes, strict=True)]
    if not message.large:
        return message.body, blocks
    with blocks.pop() as body:
        return body.tobytes(), blocks


def frame(message: Message, descriptors: int = 0) -> bytes:
    """Bytes of a message that travels with so many descriptors."""
    body = _encoder.encode(message)
    return _HEAD.pack(len(body), descriptors) + body


def send_some(sock: socket.socket, data: memoryview, descriptors: Sequence[int]) -> int:
    """Send a part of a frame, descriptors first; how many bytes went. Raises what `sendmsg` raises."""
    if not descriptors:
        return sock.send(data, _NO_SIGNAL)
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))
    return sock.sendmsg([data], [rights], _NO_SIGNAL)


def send_all(sock: socket.socket, message: Message, blocks: Sequence[Block] = ()) -> None:
    """Send a whole frame on a blocking socket."""
    data = memoryview(frame(message, len(blocks)))
    sent = send_some(sock, data, [block.fileno() for block in blocks])
    while sent < len(data):
        sent += send_some(sock, data[sent:], ())


class Inbox:
    """Frames out of a stream. Invariant: descriptors are held in the order of the frames that own them."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._descriptors: list[int] = []

    def receive(self, sock: socket.socket) -> list[tuple[Message, list[int]]]:
        """Read once and return the frames that are now whole. Raises `EOFError` at the end of the stream, `OSError`."""
        data, control, flags, _ = sock.recvmsg(_RECEIVE_BYTES, _SPACE, _CLOSE_ON_EXEC)
        for level, kind, content in control:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds = array.array("i")
                fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
                for fd in fds:
                    os.set_inheritable(fd, False)
                self._descriptors.extend(fds)
        if not data:
            raise EOFError
        if flags & socket.MSG_CTRUNC:
            raise OSError("descriptors were lost on the way: too many open files")
        self._bytes += data
        return self._whole_frames()

    def _whole_frames(self) -> list[tuple[Message, list[int]]]:
        frames: list[tuple[Message, list[int]]] = []
        while len(self._bytes) >= _HEAD.size:
            length, count = _HEAD.unpack_from(self._bytes)
            end = _HEAD.size + length
            if len(self._bytes) < end:
                break
            message = _decoder.decode(memoryview(self._bytes)[_HEAD.size : end].tobytes())
            del self._bytes[:end]
            fds, self._descriptors = self._descriptors[:count], self._descriptors[count:]
            frames.append((message, fds))
        return frames

    def close(self) -> None:
        """Close descriptors whose frame never became whole."""
        for fd in self._descriptors:
            os.close(fd)
        self._descriptors.clear()


_NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)
_CLOSE_ON_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
