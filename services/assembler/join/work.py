"""What the state of a document asks for: pure functions from state to records of `docs.pages`, `docs.vl` and `docs.compose`.

They look at the state only, never at how it came about. Asking twice gives the same records with the same ids.
"""

from __future__ import annotations

from services.assembler.join import bitmap
from services.assembler.join.memory import Opened, Page
from shared.contracts.ids import document_task_id, task_id
from shared.contracts.options import page_ranges
from shared.contracts.records import ComposeDocument, ComposePage, PageTask, VlTask
from shared.streams.stage import Emit


def layout_task(generation: int, page_no: int) -> str:
    """Id of the task that lays out a page."""
    return task_id("layout", generation, [page_no])


def compose_task(generation: int, page_no: int) -> str:
    """Id of the task that composes a page."""
    return task_id("compose", generation, [page_no])


def page_work(opened: Opened, index: int) -> list[Emit]:
    """Lay out the page at a place of the selection; nothing where there is none or its layout is settled."""
    return [] if index >= len(opened.pages) or opened.settled(index) else [lay_out(opened, index)]


def lay_out(opened: Opened, index: int, attempt: int = 1) -> Emit:
    """Lay out a page. One that is laid out already announces its stored layout again, and asks for its readings again."""
    event, page_no = opened.event, opened.pages[index]
    task = PageTask(
        document_id=event.document_id,
        generation=event.generation,
        page_no=page_no,
        task_id=layout_task(event.generation, page_no),
        lane=event.lane,
        attempt=attempt,
        deadline=event.deadline,
    )
    return Emit("docs.pages", f"{event.document_id}/{page_no}", task)


def attempt_of(page: Page, task: str) -> int:
    """Which attempt at a task the page waits for: the second once the first was proven lost."""
    return 2 if task in page.again else 1


def compose_page(opened: Opened, index: int, page: Page) -> Emit:
    """Compose a frozen page."""
    event, page_no = opened.event, opened.pages[index]
    task = ComposePage(
        document_id=event.document_id,
        generation=event.generation,
        page_no=page_no,
        task_id=compose_task(event.generation, page_no),
        laid_out=page.tasks is not None,
        readings=page.readings,
        failed=page.failed,
        lost=page.lost,
        lane=event.lane,
        attempt=attempt_of(page, compose_task(event.generation, page_no)),
    )
    return Emit("docs.compose", f"{event.document_id}/{page_no}", task)


def compose_document(opened: Opened) -> list[Emit]:
    """Compose the document, when it is complete."""
    if not opened.complete:
        return []
    event = opened.event
    task = ComposeDocument(
        document_id=event.document_id,
        generation=event.generation,
        task_id=document_task_id(event.generation),
        pages_total=event.pages_total,
        selected=event.selected,
        unfinished=opened.unfinished or "",
        lost=page_ranges([opened.pages[index] for index in bitmap.members(opened.lost)]),
        lane=event.lane,
        attempt=2 if opened.again else 1,
    )
    return [Emit("docs.compose", event.document_id, task)]


# --- ranges: consecutive selected pages that a vision-language model reads as one ------------------------------------------


def range_size(opened: Opened) -> int:
    """Pages per range, 0 for none. Never more than the window, or the range would wait for pages that wait for it."""
    return min(opened.event.range_size, opened.window) if opened.event.vl_profile else 0


def range_of(opened: Opened, index: int) -> tuple[int, list[int]] | None:
    """The range a page lies in: its number and the places of its pages; none without ranges."""
    size = range_size(opened)
    if not size:
        return None
    number = index // size
    return number, list(range(number * size, min((number + 1) * size, len(opened.pages))))


def range_task(opened: Opened, places: list[int]) -> str:
    """Id of the task of a range: fixed when the document opens, whichever of its pages are laid out."""
    return task_id("vl", opened.generation, [opened.pages[place] for place in places])


def awaited(opened: Opened, index: int, page: Page) -> list[str]:
    """The tasks a laid out page waits for: those its layout announced, and its range's, or its own in place of that."""
    tasks = list(page.tasks or [])
    if (found := range_of(opened, index)) is not None:
        number, places = found
        alone = bitmap.has(opened.mismatched, number)
        tasks.append(range_task(opened, [index] if alone else places))
    return tasks


def range_work(opened: Opened, index: int, attempt: int = 1) -> list[Emit]:
    """The range of a page as one task, once each of its pages is laid out or failed; with the laid out ones."""
    found = range_of(opened, index)
    if found is None or bitmap.has(opened.mismatched, found[0]):
        return []
    places = found[1]
    laid_out = [opened.pages[place] for place in places if bitmap.has(opened.laid_out, place)]
    if not laid_out or all(map(opened.done, places)) or not all(opened.settled(place) for place in places):
        return []
    mode = "range" if len(places) > 1 else "page"
    return [_vl_task(opened, range_task(opened, places), laid_out, mode, None, attempt)]


def single_work(opened: Opened, index: int, page: Page, attempt: int = 1) -> list[Emit]:
    """A page of a range that came back with another number of pages, as a task of its own."""
    if not bitmap.has(opened.laid_out, index) or opened.done(index) or page.frozen:
        return []
    pages = [opened.pages[index]]
    return [_vl_task(opened, range_task(opened, [index]), pages, "page", page.layout_sha256, attempt)]


def _vl_task(opened: Opened, task: str, pages: list[int], mode: str, layout_sha256: str | None, attempt: int) -> Emit:
    event = opened.event
    record = VlTask(
        document_id=event.document_id,
        generation=event.generation,
        mode="range" if mode == "range" else "page",
        pages=pages,
        task_id=task,
        profile=event.vl_profile or "",
        layout_sha256=layout_sha256,
        lane=event.lane,
        attempt=attempt,
        deadline=event.deadline,
    )
    return Emit("docs.vl", f"{event.document_id}/{pages[0]}", record)
