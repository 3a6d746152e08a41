"""The shipped document child, harmed by planted documents."""

from __future__ import annotations

import signal
from pathlib import Path

from shared.children.block import Block
from shared.documents import child as shipped
from shared.documents.limits import Bounds
from shared.documents.page import PageAnswer, PageCall
from tests.faults.poison.planted import PAGE, harm_of


class HarmedChild(shipped.DocumentChild):
    def open_page(self, argument: PageCall, blocks: list[Block]) -> tuple[PageAnswer, list[Block]]:
        if argument.page_no == PAGE:
            match harm_of(Path(argument.path)):
                case "segfault":
                    # Not os.kill: that one goes to the main thread, and on a busy machine this one finished its page before it died.
                    signal.raise_signal(signal.SIGSEGV)
                case "loop":
                    while True:
                        pass
                case "memory":
                    hoard = []
                    while True:
                        hoard.append(b"x" * 2**24)  # until the address space of the child is full
        return super().open_page(argument, blocks)


def create(limits: Bounds) -> HarmedChild:
    """Factory for `shared.children`."""
    shipped.create(limits)
    return HarmedChild(limits)
