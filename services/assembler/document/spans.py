"""A text that remembers who wrote which characters."""

from __future__ import annotations

from shared.contracts.document import Span


class SpanWriter:
    """Collects the pieces of a text. Invariant: spans are disjoint, in order, and never empty; the rest is syntax."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self.spans: list[Span] = []

    def syntax(self, text: str) -> None:
        """Characters that belong to no block."""
        self._pieces.append(text)
        self._length += len(text)

    def block(self, block_id: str, text: str) -> None:
        """Characters that a block wrote."""
        start = self._length
        self.syntax(text)
        if text:
            self.spans.append(Span(block_id=block_id, start=start, end=self._length))

    @property
    def empty(self) -> bool:
        return self._length == 0

    def text(self) -> str:
        """All pieces in order."""
        return "".join(self._pieces)
