"""Sets of small numbers as bytes: bit i lies in byte i // 8, least significant bit first; absent bytes are zeros.

The form of `DocumentProgress.pages_ready` and of the join's own records: 10,000 pages are 1,250 bytes.
"""

from __future__ import annotations


def has(bits: bytes, index: int) -> bool:
    """Whether bit `index` (>= 0) is set."""
    at = index >> 3
    return at < len(bits) and bool(bits[at] >> (index & 7) & 1)


def with_bit(bits: bytes, index: int) -> bytes:
    """The same set with `index` in it; the same object when it was in it before."""
    if has(bits, index):
        return bits
    grown = bytearray(bits.ljust((index >> 3) + 1, b"\0"))
    grown[index >> 3] |= 1 << (index & 7)
    return bytes(grown)


def union(left: bytes, right: bytes) -> bytes:
    """What is in either."""
    size = max(len(left), len(right))
    return (int.from_bytes(left, "little") | int.from_bytes(right, "little")).to_bytes(size, "little")


def count(bits: bytes) -> int:
    """How many are in it."""
    return int.from_bytes(bits, "little").bit_count()


def members(bits: bytes) -> list[int]:
    """What is in it, ascending."""
    return [(at << 3) + bit for at, byte in enumerate(bits) if byte for bit in range(8) if byte >> bit & 1]
