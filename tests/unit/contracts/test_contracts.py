"""Ids, codec, options, errors: pure functions that everything else hangs on."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts import errors, ids, options, records
from shared.contracts.codec import decode, encode
from shared.contracts.document import Cell
from shared.contracts.errors import DocfleetError, ErrorCode, Phase
from shared.contracts.tables import html_of, table_of

pytestmark = pytest.mark.unit


def test_every_error_code_has_category_and_retryable():
    for code in ErrorCode:
        assert code.category in errors.Category
        assert isinstance(code.retryable, bool)


def test_an_error_message_that_travels_is_bounded():
    info = DocfleetError(ErrorCode.corrupt, "x" * 5_000).info(Phase.ingest)
    assert len(info.message) == errors.MAX_MESSAGE


def test_encoding_is_canonical():
    first = records.SourceRef(bucket="b", key="k", etag="e")
    assert encode(first) == b'{"bucket":"b","etag":"e","key":"k"}'
    assert encode({"b": 1, "a": {"d": 2, "c": 3}}) == b'{"a":{"c":3,"d":2},"b":1}'


@pytest.mark.parametrize(
    "data",
    [b"", b"null", b"not-json {{{", b"\xff\xfe", b"[]", b'{"type":"Nobody"}', b'{"type":"PageTask"}'],
)
def test_foreign_bytes_are_invalid_messages(data):
    with pytest.raises(DocfleetError) as caught:
        records.decode_result(data)
    assert caught.value.code is ErrorCode.invalid_message


def test_unknown_fields_are_ignored_and_an_unknown_major_is_refused():
    event = records.DocumentClosed(document_id="a", generation=2)
    newer = msgspec.json.decode(encode(event)) | {"schema_version": "1.7.0", "shade": "blue"}
    assert records.decode_result(encode(newer)).generation == 2
    with pytest.raises(DocfleetError, match="schema_version 2"):
        records.decode_result(encode(newer | {"schema_version": "2.0.0"}))


def test_a_submission_needs_a_source_only():
    submitted = decode(b'{"source":{"bucket":"in","key":"a.pdf"}}', records.DocumentSubmitted)
    assert submitted.options == options.Options()
    with pytest.raises(DocfleetError):
        decode(b'{"source":{"bucket":"in","key":"a.pdf"},"document_id":"no blanks"}', records.DocumentSubmitted)
    with pytest.raises(DocfleetError):
        decode(b'{"source":{"bucket":"in","key":"a.pdf"},"deadline":"2026-01-01T00:00:00"}', records.DocumentSubmitted)


def test_a_page_record_of_a_long_document_stays_far_below_the_record_limit():
    task = records.RecTask(
        document_id="d" * 128,
        generation=3,
        page_no=99_999,
        task_id=ids.task_id("rec", 3, [99_999]),
        layout_sha256="0" * 64,
        regions=[ids.region_id(99_999, i) for i in range(500)],
    )
    assert len(encode(task)) < records.MAX_RECORD_BYTES


def test_ids_are_pinned():
    """These are stored and compared across versions: a change here is a migration."""
    assert ids.document_id_of_object("b", "k/a.pdf", "etag") == "3fa57a1312a4d04d017b4b5ebcd33cfa"
    assert ids.region_id(7, 3) == "p00007-r003"
    assert ids.page_of_region("p00007-r003") == 7
    assert ids.task_id("rec", 0, [7]) == "rec-g0-p00007"
    assert ids.task_id("vl", 1, [3, 4, 5]) == "vl-g1-p00003-00005"
    assert ids.task_id("vl", 0, [7], ["p00007-r003"]) != ids.task_id("vl", 0, [7], ["p00007-r004"])
    assert ids.event_id("PageTask", "a", 0) == ids.event_id("PageTask", "a", "0")
    assert ids.event_id("PageTask", "a", 0) != ids.event_id("PageTask", "a", 1)


@given(st.sets(st.integers(1, 300)), st.integers(1, 300))
def test_page_ranges_and_selected_pages_are_inverse(pages, total):
    inside = sorted(page for page in pages if page <= total)
    if inside:
        assert options.selected_pages(options.page_ranges(inside), total) == inside


@pytest.mark.parametrize("expression", ["0", "a", "3-1", "1,,2", "-3", "1-x"])
def test_page_expressions_that_cannot_be_read(expression):
    with pytest.raises(DocfleetError) as caught:
        options.selected_pages(expression, 10)
    assert caught.value.code is ErrorCode.invalid_message


def test_open_range_and_no_expression():
    assert options.selected_pages("8-", 10) == [8, 9, 10]
    assert options.selected_pages(None, 3) == [1, 2, 3]
    assert options.selected_pages("12", 10) == []


def test_options_hash_depends_on_values_only():
    assert options.options_hash(options.Options()) == options.options_hash(options.Options(ocr="auto"))
    assert options.options_hash(options.Options()) != options.options_hash(options.Options(ocr="force"))


def test_table_html_escapes_text_and_writes_spans():
    cells = [
        Cell(row=0, col=0, col_span=2, text="<b>&", column_header=True),
        Cell(row=1, col=0, text="1"),
        Cell(row=1, col=1, text="2"),
    ]
    table = table_of(cells, page_no=4)
    assert (table.num_rows, table.num_cols) == (2, 2)
    assert table.html == '<table><tr><th colspan="2">&lt;b&gt;&amp;</th></tr><tr><td>1</td><td>2</td></tr></table>'
    assert table.parts[0].rows == [0, 2]
    assert html_of([]) == "<table></table>"


def test_cells_that_overlap_are_refused():
    with pytest.raises(DocfleetError):
        table_of([Cell(row=0, col=0, row_span=2), Cell(row=1, col=0)])


def test_times_of_people_are_rfc3339():
    progress = records.DocumentProgress(
        document_id="a",
        generation=0,
        state="open",
        pages_total=1,
        pages_done=0,
        pages_failed=0,
        pages_ready="",
        updated_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    )
    assert b'"updated_at":"2026-01-02T03:04:05Z"' in encode(progress)


def test_a_generation_is_a_number_that_every_reader_of_json_holds():
    document = b'{"source":{"bucket":"in","key":"a.pdf"},"generation":%d}'
    assert decode(document % (2**53 - 1), records.DocumentSubmitted).generation == 2**53 - 1
    for wrong in (2**53, 2**63, 2**64, 10**30, -1):
        with pytest.raises(DocfleetError) as caught:
            decode(document % wrong, records.DocumentSubmitted)
        assert caught.value.code is ErrorCode.invalid_message
