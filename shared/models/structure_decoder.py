"""The second half of SLANet: from the features of a table picture to tokens and boxes, one token a step.

A gated recurrent unit with additive attention over the positions of the feature map (Bahdanau's), in numpy: the matrices are
256 x 768 at most, and what depends on the picture alone is computed once and not, as in the published graph, in every step.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float32]


class StructureDecoder:
    """Immutable after construction; `decode` may be called by many threads.

    `weights` carries the arrays of the published network by their names there: `linear_0` projects features, `linear_1` the state and
    `linear_2` scores a position; `gru_cell_0`; `linear_3` and `linear_4` give the token, `linear_5` and `linear_6` the box.
    """

    def __init__(self, weights: Mapping[str, Matrix], *, end: int, most: int) -> None:
        self._end = end
        self._most = most
        self._project = weights["linear_0.w_0"]
        self._score = weights["linear_2.w_0"][:, 0]
        # Everything that multiplies the state is one matrix: attention query, then the three gates.
        self._state = np.hstack([weights["linear_1.w_0"], weights["gru_cell_0.w_1"].T])
        self._state_bias = np.concatenate([weights["linear_1.b_0"], weights["gru_cell_0.b_1"]])
        self._input = np.ascontiguousarray(weights["gru_cell_0.w_0"].T)
        self._input_bias = weights["gru_cell_0.b_0"]
        # Two linear layers in a row are one.
        self._token = weights["linear_3.w_0"] @ weights["linear_4.w_0"]
        self._token_bias = weights["linear_3.b_0"] @ weights["linear_4.w_0"] + weights["linear_4.b_0"]
        self._box = weights["linear_5.w_0"] @ weights["linear_6.w_0"]
        self._box_bias = weights["linear_5.b_0"] @ weights["linear_6.w_0"] + weights["linear_6.b_0"]
        self._size = len(weights["linear_1.b_0"])

    def decode(self, features: Matrix) -> tuple[list[int], Matrix, Matrix, bool]:
        """Tokens of a table from `features` `[positions, channels]`.

        Returns classes (without start and end), boxes `[n, 4]` (x0, y0, x1, y1 as fractions 0..1 of the picture), probabilities `[n]`,
        and whether the end was reached within the most tokens allowed.
        """
        size, channels = self._size, features.shape[1]
        keys = features @ self._project
        state = np.zeros(size, dtype=np.float32)
        token = 0  # start of sequence
        classes: list[int] = []
        boxes: list[Matrix] = []
        probabilities: list[float] = []
        for _ in range(self._most):
            projected = state @ self._state + self._state_bias
            weight = _softmax(np.tanh(keys + projected[:size]) @ self._score)
            # The one-hot of the last token picks a row of the input matrix.
            gates = (weight @ features) @ self._input[:channels] + self._input[channels + token] + self._input_bias
            state = _gru(state, gates, projected[size:])
            logits = state @ self._token + self._token_bias
            token = int(logits.argmax())
            if token == self._end:
                break
            classes.append(token)
            boxes.append(_sigmoid(state @ self._box + self._box_bias))
            probabilities.append(float(_softmax(logits)[token]))
        return (
            classes,
            np.array(boxes, dtype=np.float32).reshape(-1, 4),
            np.array(probabilities, dtype=np.float32),
            token == self._end,
        )


def _gru(state: Matrix, given: Matrix, recurrent: Matrix) -> Matrix:
    """One step; gates in the order reset, update, candidate (Paddle's and PyTorch's)."""
    size = len(state)
    reset = _sigmoid(given[:size] + recurrent[:size])
    update = _sigmoid(given[size : 2 * size] + recurrent[size : 2 * size])
    candidate = np.tanh(given[2 * size :] + reset * recurrent[2 * size :])
    return np.asarray((state - candidate) * update + candidate)


def _sigmoid(values: Matrix) -> Matrix:
    return np.asarray(1.0 / (1.0 + np.exp(-values)))


def _softmax(values: Matrix) -> Matrix:
    weights = np.exp(values - values.max())
    return np.asarray(weights / weights.sum())
