"""Tokens to a grid."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.models.structure_decoder import StructureDecoder
from shared.models.table import TableGrid, grid

pytestmark = pytest.mark.unit


def made(*tokens: str) -> TableGrid:
    boxes = np.array([[i, i, i + 1, i + 2] for i in range(len(tokens))], np.float32).reshape(-1, 4)
    return grid(tokens, boxes, score=1.0, complete=True)


def places(table: TableGrid) -> list[tuple[int, int, int, int]]:
    return [(cell.row, cell.col, cell.row_span, cell.col_span) for cell in table.cells]


def test_rows_columns_head_and_the_box_of_each_cell() -> None:
    table = made(
        "<thead>", "<tr>", "<td></td>", "<td></td>", "</tr>", "</thead>",
        "<tbody>", "<tr>", "<td></td>", "<td></td>", "</tr>", "</tbody>",
    )  # fmt: skip
    assert (table.num_rows, table.num_cols) == (2, 2)
    assert places(table) == [(0, 0, 1, 1), (0, 1, 1, 1), (1, 0, 1, 1), (1, 1, 1, 1)]
    assert [cell.header for cell in table.cells] == [True, True, False, False]
    assert table.cells[2].bbox == [8, 8, 9, 10]


def test_spans_push_later_cells_aside() -> None:
    table = made(
        "<tr>", "<td", ' rowspan="2"', ">", "</td>", "<td", ' colspan="2"', ">", "</td>", "</tr>",
        "<tr>", "<td></td>", "<td></td>", "</tr>",
    )  # fmt: skip
    assert places(table) == [(0, 0, 2, 1), (0, 1, 1, 2), (1, 1, 1, 1), (1, 2, 1, 1)]
    assert table.cells[1].bbox == [5, 5, 6, 7]


def test_a_span_over_the_last_row_or_into_a_placed_cell_is_cut() -> None:
    table = made(
        "<tr>", "<td></td>", "<td", ' rowspan="9"', ">", "</td>", "</tr>",
        "<tr>", "<td", ' colspan="3"', ">", "</td>", "</tr>",
    )  # fmt: skip
    assert places(table) == [(0, 0, 1, 1), (0, 1, 2, 1), (1, 0, 1, 1)]


def test_no_tokens_are_no_cells() -> None:
    assert made() == TableGrid(num_rows=0, num_cols=0, cells=[], score=1.0, complete=True)


TOKENS = ["<thead>", "</thead>", "<tbody>", "</tbody>", "<tr>", "</tr>", "<td></td>", "<td", ">", "</td>"]
TOKENS += [' colspan="3"', ' rowspan="4"']


@given(st.lists(st.sampled_from(TOKENS), max_size=80))
def test_whatever_the_network_says_cells_never_overlap_and_lie_in_the_grid(tokens: list[str]) -> None:
    table = made(*tokens)
    slots = [
        (row, col)
        for cell in table.cells
        for row in range(cell.row, cell.row + cell.row_span)
        for col in range(cell.col, cell.col + cell.col_span)
    ]
    assert len(slots) == len(set(slots))
    assert all(row < table.num_rows and col < table.num_cols for row, col in slots)
    assert len(table.cells) == sum(token in ("<td></td>", "<td") for token in tokens)


def weights(bias: list[float]) -> dict[str, np.ndarray]:
    """A decoder of state size 2, feature size 3 and as many tokens as `bias`, whose token does not depend on the picture."""
    count = len(bias)
    shapes = {
        "linear_0.w_0": (3, 2), "linear_1.w_0": (2, 2), "linear_1.b_0": (2,), "linear_2.w_0": (2, 1),
        "gru_cell_0.w_0": (6, 3 + count), "gru_cell_0.w_1": (6, 2), "gru_cell_0.b_0": (6,), "gru_cell_0.b_1": (6,),
        "linear_3.w_0": (2, 2), "linear_3.b_0": (2,), "linear_4.w_0": (2, count),
        "linear_5.w_0": (2, 2), "linear_5.b_0": (2,), "linear_6.w_0": (2, 4), "linear_6.b_0": (4,),
    }  # fmt: skip
    return {name: np.zeros(shape, np.float32) for name, shape in shapes.items()} | {
        "linear_4.b_0": np.array(bias, np.float32)
    }


FEATURES = np.ones((5, 3), np.float32)


def test_the_end_ends_and_is_not_a_token() -> None:
    classes, boxes, probabilities, complete = StructureDecoder(weights([0, 0, 9]), end=2, most=10).decode(FEATURES)
    assert (classes, boxes.shape, len(probabilities), complete) == ([], (0, 4), 0, True)


def test_a_table_that_does_not_end_stops_at_the_most_and_says_so() -> None:
    classes, boxes, probabilities, complete = StructureDecoder(weights([0, 9, 0]), end=2, most=10).decode(FEATURES)
    assert (classes, complete) == ([1] * 10, False)
    np.testing.assert_allclose(boxes, 0.5)
    np.testing.assert_allclose(probabilities, np.exp(9) / (np.exp(9) + 2), rtol=1e-5)


def test_the_last_token_changes_the_next_one() -> None:
    """The state follows the one-hot of the last token: start (0) leads to 1, and 1 to the end."""
    w = weights([0, 0, 0])
    w["gru_cell_0.b_0"][2:4] = -20  # update gate shut: the state is the candidate
    w["gru_cell_0.w_0"][4, 3 + 0] = 5  # after token 0 the state is (1, 0)
    w["gru_cell_0.w_0"][5, 3 + 1] = 5  # after token 1 it is (0, 1)
    w["linear_3.w_0"][:] = np.eye(2)
    w["linear_4.w_0"][0, 1] = w["linear_4.w_0"][1, 2] = 8
    classes, _, _, complete = StructureDecoder(w, end=2, most=10).decode(FEATURES)
    assert (classes, complete) == ([1], True)
