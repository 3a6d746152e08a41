"""What becomes of every fault of a model server in the document, found out by doing it.

The server is the simulator; everything behind it is real: the stage with its client, guards and pictures, the recogniser with its networks,
and the composing of page and document. As a program it writes the table of the documentation:
`python -m tests.support.vl_outcomes docs/reference/vl-faults.md`.
"""

from __future__ import annotations

import asyncio
import io
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from PIL import Image, ImageDraw

from services.assembler.document.page import PageInput, compose_page
from services.rec_worker.service import RecWorker
from services.vl_worker.pictures import PagePictures
from services.vl_worker.service import VlWorker
from shared.contracts.codec import decode, encode, sha256
from shared.contracts.document import Block, Label, ParsedDocument
from shared.contracts.errors import Unavailable
from shared.contracts.layout import PageLayout, Reading, Region
from shared.contracts.records import RecTask, VlTask
from shared.documents.opener import Documents
from shared.objects import keys
from shared.objects.open import open_store
from shared.settings import Settings
from tests.support import pages as make
from tests.support.deliveries import delivered
from tests.support.vl_faults import Act, Entry
from tests.support.vl_server import VlServerSimulator

WRONG = "WRONGWORD"
"""In everything that a faulty answer says; no document may hold it."""
GOOD = "<table><tr><td>Name</td><td>Size</td></tr><tr><td>apple</td><td>12.5</td></tr></table>"
ROW = f"<tr><td>0</td><td>{WRONG}</td></tr>"
SIXTY = "<table>" + "<tr><td>0</td><td>n/a</td></tr>" * 60 + "</table>"
SCALE = 200 / 72
AT_ONCE = 8


@dataclass(frozen=True)
class Fault:
    """A script of the server and what it means, in words. `tall`: the region is a page high, as is a table of sixty rows."""

    name: str
    what: str
    script: Sequence[Entry]
    label: Label = "table"
    tall: bool = False
    blank: bool = False


FAULTS = [
    Fault("none", "a table, whole", [GOOD]),
    Fault("sixty-rows", "an honest table of 60 equal rows", [SIXTY], tall=True),
    Fault("passing", "one cut answer, then a whole one", [Act(text=WRONG, finish_reason="length"), GOOD]),
    Fault("length", "`finish_reason: length`", [Act(text=f"<table>{ROW}</table>", finish_reason="length")]),
    Fault("loop-to-cap", "`A B A B …` to the token limit", [Act(text=f"{WRONG} B " * 900, finish_reason="length")]),
    Fault("loop", "`A B A B …`, called complete", [f"{WRONG} B " * 900]),
    Fault("loop-in-text", "a loop in a region of text", [f"{WRONG} and " * 200], label="text"),
    Fault("loop-of-rows", "a row 300 times, called complete", [f"<table>{ROW * 300}</table>"]),
    Fault("more-rows-than-room", "60 equal rows for a region of ten", [f"<table>{ROW * 60}</table>"]),
    Fault("loop-in-a-cell", "a loop inside a cell", [f"<table><tr><td>{f'{WRONG} ' * 300}</td></tr></table>"]),
    Fault("open-table", "a table that is never closed, called complete", [f"<table>{ROW}<tr><td>"]),
    Fault("think", "the model's thoughts before the table", [f"<think>{WRONG}</think><table>{ROW}</table>"]),
    Fault("empty", "nothing", [""]),
    Fault("echo", "its own prompt", ["Table Recognition:"]),
    Fault("prose", "prose in place of a table", [f"The {WRONG} has two columns."]),
    Fault(
        "overlong",
        "more text than the region can hold",
        [" ".join(f"{WRONG}{i * i}" for i in range(3_000))],
        label="text",
    ),
    Fault("formula", "a formula whose braces do not match", [f"\\frac{{{WRONG}}}{{b"], label="formula"),
    Fault(
        "script",
        "a table with a script and a link in a cell",
        ["<table><tr><td>Name<script>WRONGWORD</script></td><td><a href='http://e.example'>Size</a></td></tr></table>"],
    ),
    Fault(
        "spans",
        "a cell over 5,000 x 500 places",
        [f"<table><tr><td rowspan=5000 colspan=500>{WRONG}</td></tr>{'<tr></tr>' * 99}</table>"],
    ),
    Fault("status-400", "status 400", [Act(status=400, error="too long")]),
    Fault("status-500", "status 500, always", [500]),
    Fault("status-500-once", "status 500 once", [500, GOOD]),
    Fault("status-429-twice", "status 429 twice", [429, 429, GOOD]),
    Fault("reset", "the connection cut in the answer, always", [Act(text=f"<table>{ROW}</table>", fault="reset")]),
    Fault(
        "reset-once", "the connection cut in the answer, once", [Act(text=f"<table>{ROW}</table>", fault="reset"), GOOD]
    ),
    Fault("cut-stream", "a stream that ends in the middle, always", [Act(text=f"<table>{ROW}</table>", fault="cut")]),
    Fault("stall", "a stream that falls silent, always", [Act(text=f"<table>{ROW}</table>", fault="stall")]),
    Fault("slow", "no answer within `vl.timeout_s`", [Act(text=GOOD, delay_s=60)]),
    Fault("no-completion", "a 200 that is no completion", [Act(raw=b"data: WRONGWORD\n\n")]),
    Fault("away", "status 502, always", [502]),
    Fault("blank", "whatever it would say of a blank region", [f"<table>{ROW}</table>"], blank=True),
]


@dataclass(frozen=True)
class Outcome:
    """What became of a fault."""

    fault: Fault
    asked: int
    waits: bool = False
    document: ParsedDocument | None = None

    @property
    def block(self) -> Block:
        """The region's first block; there always is one."""
        assert self.document is not None
        return self.document.blocks[0]

    @property
    def text(self) -> str:
        """Of all its blocks."""
        assert self.document is not None
        return "\n".join(block.text for block in self.document.blocks)

    @property
    def codes(self) -> list[str]:
        """Codes of the warnings that name the block."""
        assert self.document is not None
        return [w.code for w in self.document.warnings if w.block_id == self.block.id and w.code.startswith("vl_")]

    @property
    def row(self) -> str:
        """Line of the documentation's table."""
        if self.waits:
            return f"| {self.fault.what} | until one answers | the stage waits for a server; nothing is lost | |"
        by = {"vl": "the model", "det_rec": "the small models", "direct_rec": "the small models"}[self.block.method]
        if self.fault.blank:
            by = "nobody: there is nothing"
        why = next((w.message for w in self.document.warnings if w.code in self.codes), "")  # type: ignore[union-attr]
        why = re.sub(r"^read by the recogniser in place of glm-ocr: ", "", why)
        return f"| {self.fault.what} | {self.asked} | {by} | {', '.join(f'`{c}`' for c in self.codes)}{': ' + why if why else ''} |"


class Unused:
    """In place of a document child that is not needed."""

    async def start(self) -> None: ...
    async def close(self) -> None: ...


class Outcomes:
    """Async context manager: the stages, started once; `of` runs one fault through them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def __aenter__(self) -> Self:
        settings = self._settings([])
        self._rec = RecWorker(settings)
        self._documents = Documents(settings.limits)
        await self._rec.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._rec.stop()
        await self._documents.close()

    def _settings(self, endpoints: list[str]) -> Settings:
        return Settings.model_validate(
            {
                "objects": {"kind": "folder", "folder": self._folder / "objects"},
                "vl": {"endpoints": endpoints, "attempts": 2, "timeout_s": 6, "stall_s": 0.5, "probe_timeout_s": 2},
            }
        )

    async def of(self, fault: Fault) -> Outcome:
        """Run one fault to the composed document, which is valid."""
        async with VlServerSimulator(fault.script) as server:
            settings = self._settings([server.url])
            stage = VlWorker(settings)
            stage._pictures = PagePictures(stage._store, "docfleet", self._documents, 0, 1)  # one child for all
            stage._documents = Unused()  # type: ignore[assignment]
            await stage.start()
            try:
                layout = await self._laid_out(settings, fault)
                (emit,) = await stage.process(delivered(_task(layout, fault)))
            except Unavailable:
                return Outcome(fault, server.asked, waits=True)
            finally:
                await stage.stop()
            if isinstance(emit.record, RecTask):
                await self._rec.process(delivered(emit.record))
            document = await self._composed(settings, layout, fault)
            return Outcome(fault, server.asked, document=document)

    async def _laid_out(self, settings: Settings, fault: Fault) -> PageLayout:
        store = open_store(settings)
        await store.ensure_bucket("docfleet")
        layout = _layout(fault)
        assert layout.picture_key is not None
        await store.put_once("docfleet", layout.picture_key, _picture(fault), "image/jpeg")
        await store.put_once("docfleet", keys.layout(fault.name, 0, 1), encode(layout))
        await store.close()
        return layout

    async def _composed(self, settings: Settings, layout: PageLayout, fault: Fault) -> ParsedDocument:
        store = open_store(settings)
        reading = decode(
            await store.get("docfleet", keys.reading(fault.name, 0, 1, _task(layout, fault).task_id)), Reading
        )
        await store.close()
        page = compose_page(
            PageInput(
                document_id="d",
                generation=0,
                page_no=1,
                width=layout.width,
                height=layout.height,
                unit="pt",
                layout=layout,
                readings=[reading],
            )
        )
        return make.document([page])[0]


def _layout(fault: Fault) -> PageLayout:
    region = Region(
        region_id="p00001-r000",
        label=fault.label,
        raw_label=fault.label,
        bbox=[40.0, 40.0, 560.0, 760.0 if fault.tall else 90.0],
        confidence=0.9,
        found_by="model",
        read_by="vl",
        route="model",
    )
    return make.layout([region], picture_key=keys.picture(fault.name, 0, 1), kind="scanned")


def _picture(fault: Fault) -> bytes:
    """A scan of a small table, which the recogniser can read; `blank` is paper."""
    picture = Image.new("RGB", (round(make.WIDTH * SCALE), round(make.HEIGHT * SCALE)), "white")
    if not fault.blank:
        draw = ImageDraw.Draw(picture)
        for row, words in enumerate((("Name", "Size"), ("apple", "12.5"))):
            for column, word in enumerate(words):
                draw.text(((60 + 200 * column) * SCALE, (45 + 20 * row) * SCALE), word, fill="black", font_size=34)
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=90)
    return out.getvalue()


def _task(layout: PageLayout, fault: Fault) -> VlTask:
    return VlTask(
        document_id=fault.name,
        generation=0,
        mode="region",
        pages=[1],
        task_id="vl-g0-p00001",
        profile="glm-ocr",
        kind=fault.label,
        region_id=layout.regions[0].region_id,
        layout_sha256=sha256(encode(layout)),
    )


HEAD = """# What becomes of a model server's faults

Made by `python -m tests.support.vl_outcomes docs/reference/vl-faults.md`: each row was run through the real stages against a
simulated server (`tests/support/vl_server.py`), with `vl.attempts` 2, and a test compares this page with what they do now.
An answer that a guard refuses is asked for once more with the profile's corrected sampling. What no guard believes is never in a document:
the small models read the region, its block says so in `fallback_from`, and the warning names the block.

| the server says | times asked | the block is read by | warning of the block |
|---|---|---|---|
"""


async def outcomes(folder: Path) -> list[Outcome]:
    """All of them, some at once."""
    places = asyncio.Semaphore(AT_ONCE)

    async def one(run: Outcomes, fault: Fault) -> Outcome:
        async with places:
            return await run.of(fault)

    async with Outcomes(folder) as run:
        return list(await asyncio.gather(*(one(run, fault) for fault in FAULTS)))


def page_of(found: Sequence[Outcome]) -> str:
    """The page of the documentation."""
    return HEAD + "\n".join(outcome.row for outcome in found) + "\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        Path(sys.argv[1]).write_text(page_of(asyncio.run(outcomes(Path(folder)))), encoding="utf-8")
