"""A document written part by part is the same document."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.assembler.compose.parts import ITEMS, encoded
from shared.children.block import Block
from shared.contracts.codec import encode
from tests.support import pages as make

pytestmark = pytest.mark.unit


class Inner(msgspec.Struct, frozen=True):
    zebra: int
    apple: str | None = None


class Outer(msgspec.Struct, frozen=True):
    second: list[Inner]
    first: Any
    third: dict[str, int] = {}
    fourth: list[list[int]] = []


@given(st.integers(0, 3 * ITEMS + 1), st.none() | st.text() | st.floats(allow_nan=False), st.integers(0, 2 * ITEMS))
def test_parts_are_the_canonical_bytes(count: int, first: Any, fourth: int) -> None:
    value = Outer(
        [Inner(n, "é" * (n % 3)) for n in range(count)], first, {"b": 1, "a": 2}, [[n] for n in range(fourth)]
    )
    parts = list(encoded(value))
    assert b"".join(parts) == encode(value)
    assert max(map(len, parts)) <= max(ITEMS * 40, len(encode(first)) + 1), "no part is the whole list"


def test_a_document_is_written_as_it_is_encoded() -> None:
    layouts = [
        make.layout([make.region(0, "text", make.lines(60, 60, [f"Page {n}."]), page_no=n)], n) for n in range(1, 200)
    ]
    document, _ = make.document([make.page(layout, layout.page_no) for layout in layouts])
    block = Block.of_parts(encoded(document))
    assert block.tobytes() == encode(document)
    assert bytes(block.view()) == encode(document)
    block.close()


def test_what_leaves_fields_out_is_refused() -> None:
    class Sparse(msgspec.Struct, omit_defaults=True):
        a: int = 0

    with pytest.raises(TypeError):
        list(encoded(Sparse()))


def test_a_block_of_no_parts_is_empty() -> None:
    with Block.of_parts([]) as block:
        assert (block.nbytes, block.tobytes()) == (0, b"")
