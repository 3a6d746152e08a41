"""A long document made of words, as the other stages would have stored it, and what its assembly holds in memory."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterable
from pathlib import Path

from shared.contracts.layout import PageLayout, TextLine
from tests.support import pages as make

WORDS = tuple(
    word
    for line in (
        "the of records page system under measure value report between section annual quality notes water engine",
        "results analysis method public network storage reading layout column figure budget total change model",
        "service region document growth period market energy supply control review national standard process",
    )
    for word in line.split()
)


def page_layout(number: int, seed: int = 7) -> PageLayout:
    """A dense native page: running head, heading on every fifth page, five paragraphs of eight lines, a footnote, a page number."""
    chance = random.Random(seed * 1_000_003 + number)

    def text(words: int) -> str:
        return " ".join(chance.choice(WORDS) for _ in range(words))

    def lines(top: float, count: int, size: float = 10) -> list[TextLine]:
        return make.lines(60, top, [text(11) for _ in range(count)], size=size, pitch=13, width=480)

    regions = [make.region(0, "page_header", make.lines(60, 20, ["Annual report of the water board"]), page_no=number)]
    top = 60.0
    if number % 5 == 1:
        title = f"{1 + number // 50}.{1 + number % 50 // 5} {text(4).capitalize()}"
        regions.append(
            make.region(
                len(regions), "section_header", make.lines(60, top, [title], size=15, bold=True), page_no=number
            )
        )
        top += 30
    for _ in range(5):
        regions.append(make.region(len(regions), "text", lines(top, 8), page_no=number))
        top += 8 * 13 + 12
    regions.append(make.region(len(regions), "footnote", lines(740, 2, 7), page_no=number))
    regions.append(make.region(len(regions), "page_footer", make.lines(280, 780, [f"- {number} -"]), page_no=number))
    return make.layout(regions, number)


class Memory:
    """Context manager: the most memory that some processes held together, sampled, and each of them, and their blocks. Bytes; what
    they share counts once."""

    def __init__(self, pids: Iterable[int], every_s: float = 0.05) -> None:
        self.most = 0
        self.blocks = 0
        self.each: dict[int, int] = dict.fromkeys(pids, 0)
        self._every_s = every_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._over.wait(self._every_s):
            found = {pid: held(pid) for pid in self.each}
            self.each = {pid: max(before, found[pid]) for pid, before in self.each.items()}
            between = blocks(self.each)
            self.blocks = max(self.blocks, between)
            self.most = max(self.most, sum(found.values()) + between)


def held(pid: int) -> int:
    """Memory of a process now, bytes, without blocks (see `blocks`): its proportional share of what it has mapped."""
    try:
        fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
        return sum(int(fields[name].split()[0]) * 1024 for name in ("Pss_Anon", "Pss_File"))
    except OSError:
        return 0


def blocks(pids: Iterable[int]) -> int:
    """Bytes of the anonymous files that these processes hold between them, each counted once, mapped or not."""
    found: dict[int, int] = {}
    for pid in pids:
        try:
            names = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue
        for name in names:
            path = f"/proc/{pid}/fd/{name}"
            try:
                if os.readlink(path).startswith("/memfd:"):
                    stat = os.stat(path)
                    found[stat.st_ino] = stat.st_blocks * 512
            except OSError:
                continue
    return sum(found.values())


def cpu_s(pid: int) -> float:
    """CPU time of a process so far, seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100
