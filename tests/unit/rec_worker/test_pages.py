"""The page cache: exact, bounded, and silent about failures."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from services.rec_worker.call import PageRead, PageToRead
from services.rec_worker.pages import PageCache, page_key, page_with
from shared.contracts.codec import encode
from shared.contracts.errors import DocfleetError, ErrorCode, Phase
from shared.contracts.layout import PageLayout, Region, RegionReading

pytestmark = pytest.mark.unit

REGION = Region(
    region_id="p00001-r000",
    label="text",
    raw_label="text",
    bbox=[0, 0, 10, 10],
    confidence=1.0,
    found_by="model",
    read_by="rec",
)
PAGE = PageToRead(document_id="a", page_no=1, width=100, height=200, regions=[REGION])


def page(**more: Any) -> PageToRead:
    return msgspec.structs.replace(PAGE, **more)


def answer(text: str = "") -> PageRead:
    return PageRead(regions=[RegionReading(region_id=text, method="det_rec", lines=[])], crops=4, cache_hits=1)


def test_the_key_knows_all_that_changes_the_answer_and_nothing_else() -> None:
    key = page_key(PAGE, b"jpeg")
    other_region = msgspec.structs.replace(REGION, bbox=[0, 0, 10, 11])
    others = [
        page_key(PAGE, b"jpeh"),
        page_key(PAGE, None),
        page_key(page(width=101), b"jpeg"),
        page_key(page(page_no=2), b"jpeg"),
        page_key(page(regions=[other_region]), b"jpeg"),
        page_key(page(fallback_from="vl"), b"jpeg"),
    ]
    assert len({key, *others}) == len(others) + 1
    same = page(document_id="b", lane="bulk", due_in_s=3.0, coming=7, picture=(10, 20))
    assert page_key(same, b"jpeg") == key


def layout(**more: Any) -> PageLayout:
    return PageLayout(document_id="a", generation=0, page_no=1, width=100, height=200, unit="pt", kind="native", **more)


def test_a_part_of_a_picture_is_taken_for_one_only_where_it_is_no_whole() -> None:
    plain = page_with(PAGE, layout(picture_width=200, picture_height=400), 200, 400)
    assert (plain.picture, plain.picture_box, plain.picture_whole) == ((200, 400), None, None)
    some = layout(picture_width=200, picture_height=400, picture_box=[8, 16, 48, 64])
    part = page_with(PAGE, some, 40, 48)
    assert (part.picture, part.picture_box, part.picture_whole) == ((40, 48), [8, 16, 48, 64], (200, 400))
    assert page_with(PAGE, some, 200, 400) == plain, "an earlier attempt stored the whole"


def test_a_known_page_is_given_as_one_whose_crops_were_all_known() -> None:
    cache = PageCache(10_000)
    assert cache.get(b"k") is None
    cache.keep(b"k", answer("r"))
    assert cache.get(b"k") == msgspec.structs.replace(answer("r"), cache_hits=4)


def test_bytes_are_bounded_and_the_least_recently_used_goes() -> None:
    size = len(encode(answer("0")))
    cache = PageCache(2 * size)
    cache.keep(b"0", answer("0"))
    cache.keep(b"1", answer("1"))
    cache.get(b"0")
    cache.keep(b"2", answer("2"))
    assert [cache.get(key) is not None for key in (b"0", b"1", b"2")] == [True, False, True]
    assert cache.nbytes == 2 * size
    none = PageCache(0)
    none.keep(b"k", answer())
    assert (len(none), none.nbytes) == (0, 0)


def test_an_answer_with_an_error_is_not_remembered() -> None:
    cache = PageCache(10_000)
    error = DocfleetError(ErrorCode.internal, "a line failed").info(Phase.rec, 1)
    cache.keep(b"k", msgspec.structs.replace(answer(), errors=[error]))
    assert len(cache) == 0
