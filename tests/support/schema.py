"""What every test that sees an output asserts about it."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from itertools import pairwise
from typing import Any

import orjson
from jsonschema import Draft202012Validator

from shared.contracts.codec import decode
from shared.contracts.document import ParsedDocument
from shared.contracts.schemas import schema_of

TOLERANCE = 0.02
"""Boxes are rounded to two decimals; a rounded one may stand out of its page by half a unit of the last place."""


@lru_cache
def _validator(kind: str) -> Draft202012Validator:
    schema = schema_of(kind)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def assert_valid(kind: str, data: bytes) -> Any:
    """Bytes of a stored object or record against the schema of its kind; returns the plain data."""
    value = orjson.loads(data)
    problems = [f"{list(e.absolute_path)}: {e.message[:200]}" for e in _validator(kind).iter_errors(value)]
    assert not problems, f"not a valid {kind}: {problems[:5]}"
    return value


def assert_valid_document(data: bytes) -> ParsedDocument:
    """`document.json` against its schema and what the schema cannot say; returns it typed.

    Every page is listed once and in order, ids are unique, references meet, boxes lie inside their page, every
    character span lies inside its text, sections hold each block at most once.
    """
    assert_valid("parsed_document", data)
    document = decode(data, ParsedDocument)
    numbers = [page.page_no for page in document.pages]
    assert numbers == list(range(1, len(numbers) + 1)), "pages are not 1..n"
    assert document.totals.pages == len(numbers)
    ids = [block.id for block in document.blocks]
    assert len(set(ids)) == len(ids), "block ids are not unique"
    assert [block.order for block in document.blocks] == list(range(len(ids))), "order is not 0..n-1"
    pages = {page.page_no: page for page in document.pages}
    for block in document.blocks:
        assert block.prov, f"{block.id} stands nowhere"
        boxes = [(p.page_no, p.bbox) for p in block.prov]
        boxes += [(block.prov[0].page_no, line.bbox) for line in block.lines if len(block.prov) == 1]
        boxes += [
            (cell.page_no or block.prov[0].page_no, cell.bbox) for cell in (block.table.cells if block.table else [])
        ]
        for page_no, box in boxes:
            page = pages[page_no]
            if box is not None:
                x0, y0, x1, y1 = box
                inside = (
                    -TOLERANCE <= x0 <= x1 <= page.width + TOLERANCE
                    and -TOLERANCE <= y0 <= y1 <= page.height + TOLERANCE
                )
                assert inside, f"{block.id}: {box} is not inside page {page_no} ({page.width} x {page.height})"
        for place in block.prov:
            if place.char_span is not None:
                start, end = place.char_span
                assert 0 <= start <= end <= len(block.text), f"{block.id}: span {place.char_span} of {len(block.text)}"
        for other in (*block.caption_ids, *block.footnote_ids, *([block.parent_id] if block.parent_id else [])):
            assert other in set(ids), f"{block.id} refers to {other}, which is not there"
    owned = Counter(block_id for section in _sections(document.sections) for block_id in section.block_ids)
    assert all(count == 1 for count in owned.values()), "a block is owned twice"
    assert set(owned) <= set(ids)
    spans = document.markdown.spans
    assert all(a.end <= b.start for a, b in pairwise(spans)), "Markdown spans overlap"
    assert all(span.block_id in set(ids) and span.start < span.end for span in spans)
    return document


def _sections(sections: Any) -> Any:
    for section in sections:
        yield section
        yield from _sections(section.children)
