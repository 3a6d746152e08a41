"""Damaged variants of a file, each a pure function of the file's bytes and a seed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

_STREAM = re.compile(rb"stream\r?\n.*?endstream", re.DOTALL)
_NUMBER = re.compile(rb"\d{1,9}")
_ODD_NUMBERS = (
    b"0",
    b"1",
    b"-1",
    b"255",
    b"65536",
    b"2147483647",
    b"-2147483648",
    b"4294967296",
    b"99999999999999999999",
)


def mutated(data: bytes, seed: int) -> bytes:
    """The variant of that seed: one to three kinds of damage, one after the other."""
    rng = random.Random(seed)
    for damage in rng.choices(_DAMAGES, k=rng.choice((1, 1, 2, 3))):
        if len(data) > 4:
            data = damage(data, rng)
    return data


def _flip_bits(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 4, 16, 64))):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def _truncate(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(1, len(data))]


def _cut_out(data: bytes, rng: random.Random) -> bytes:
    start, length = rng.randrange(len(data)), rng.randrange(1, max(2, len(data) // 4))
    return data[:start] + data[start + length :]


def _overwrite(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data))
    length = min(rng.choice((4, 64, 1024)), len(data) - start)
    filling = rng.choice((b"\0" * length, b"\xff" * length, rng.randbytes(length)))
    return data[:start] + filling + data[start + length :]


def _double(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data))
    part = data[start : start + rng.randrange(1, 4096)]
    return data[:start] + part * rng.choice((2, 8, 50)) + data[start + len(part) :]


def _swap_streams(data: bytes, rng: random.Random) -> bytes:
    """Two streams of a PDF change places; of other files two blocks do."""
    spans = [found.span() for found in _STREAM.finditer(data)]
    if len(spans) < 2:
        middle = rng.randrange(1, len(data))
        return data[middle:] + data[:middle] if rng.random() < 0.2 else _cut_out(data, rng)
    (a, b), (c, d) = sorted(rng.sample(spans, 2))
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def _odd_number(data: bytes, rng: random.Random) -> bytes:
    """A number in the text of the file becomes one that is too small, too large or negative."""
    found = list(_NUMBER.finditer(data))
    if not found:
        return _flip_bits(data, rng)
    one = rng.choice(found)
    return data[: one.start()] + rng.choice(_ODD_NUMBERS) + data[one.end() :]


_DAMAGES: list[Callable[[bytes, random.Random], bytes]] = [
    _flip_bits,
    _truncate,
    _cut_out,
    _overwrite,
    _double,
    _swap_streams,
    _odd_number,
    _odd_number,
]
