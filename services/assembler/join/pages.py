"""Pages of an open document: laid out, read, frozen, composed. Part of the pure join (`state`)."""

from __future__ import annotations

from services.assembler.join import bitmap, work
from services.assembler.join.memory import Opened, Page
from services.assembler.join.turn import Turn, replace
from shared.contracts.records import PageComposed, PageFailed, PageLaidOut, RangeMismatched, RegionsRead


def lay_out(turn: Turn, event: PageLaidOut, opened: Opened) -> None:
    """A layout is stored and its tasks are announced: the first layout of a page stands."""
    index = opened.index(event.page_no)
    if index is None or event.task_id != work.layout_task(opened.generation, event.page_no):
        turn.ignore("foreign")
        return
    before = turn.page(event.page_no)
    page = before or Page(turn.generation)
    if opened.done(index) or bitmap.has(opened.unlaid, index) or (page.frozen and page.tasks is None):
        turn.ignore("duplicate")
        return
    if page.tasks is None:
        layout = event.layout_sha256 if work.range_size(opened) else None
        page = replace(page, tasks=[task.task_id for task in event.tasks], layout_sha256=layout)
    opened = replace(opened, laid_out=bitmap.with_bit(opened.laid_out, index))
    advance(turn, opened, index, before, page)
    turn.keep_opened(opened)
    turn.emit(work.range_work(opened, index))


def answer(turn: Turn, event: RegionsRead | PageFailed, opened: Opened, *, failed: bool) -> None:
    """A task of one page, or of a range, was read or failed for good."""
    changed = False
    for page_no in event.pages:
        index = opened.index(page_no)
        if index is None or opened.done(index):
            continue
        before = turn.page(page_no)
        page = before or Page(turn.generation)
        expected = page.tasks is None or event.task_id in work.awaited(opened, index, page)
        if expected and not page.frozen:
            page = _answered(page, event.task_id, failed)
        changed |= advance(turn, opened, index, before, page)
    if not changed:
        turn.ignore("duplicate")


def advance(turn: Turn, opened: Opened, index: int, before: Page | None, page: Page) -> bool:
    """Freeze a page that has all its answers, write it, and ask for composing it once it is frozen."""
    if page.tasks is not None and not page.frozen:
        tasks = work.awaited(opened, index, page)
        if all(answered(page, task) for task in tasks):
            page = replace(
                page,
                readings=[task for task in tasks if task in page.readings],
                failed=[task for task in tasks if task in page.failed],
                lost=[task for task in tasks if task in page.lost],
                frozen=True,
            )
    turn.keep_page(opened.pages[index], before, page)
    if page.frozen:
        turn.emit([work.compose_page(opened, index, page)])
    return page.frozen or page != before


def fail_page(turn: Turn, event: PageFailed, opened: Opened) -> None:
    """A task failed for good: the layout, the composing, or a reading of a page."""
    page_no = event.pages[0]
    index = opened.index(page_no)
    if index is not None and event.task_id == work.compose_task(opened.generation, page_no):
        settle(turn, replace(opened, failed=bitmap.with_bit(opened.failed, index)), index)
    elif index is not None and event.task_id == work.layout_task(opened.generation, page_no):
        before = turn.page(page_no)
        laid_out = bitmap.has(opened.laid_out, index) or (before is not None and before.tasks is not None)
        if opened.done(index) or laid_out:
            turn.ignore("duplicate")
            return
        page = Page(turn.generation, failed=[event.task_id], frozen=True)
        opened = replace(opened, unlaid=bitmap.with_bit(opened.unlaid, index))
        advance(turn, opened, index, before, page)
        turn.keep_opened(opened)
        turn.emit(work.range_work(opened, index))
    else:
        answer(turn, event, opened, failed=True)


def split_range(turn: Turn, event: RangeMismatched, opened: Opened) -> None:
    """A range came back with another number of pages: its pages are read one by one."""
    index = opened.index(event.pages[0])
    found = work.range_of(opened, index) if index is not None else None
    if found is None or len(found[1]) < 2 or event.task_id != work.range_task(opened, found[1]):
        turn.ignore("foreign")
        return
    number, places = found
    pages = {place: turn.page(opened.pages[place]) or Page(turn.generation) for place in places}
    known = any(answered(page, event.task_id) for page in pages.values())
    known |= any(opened.done(place) and bitmap.has(opened.laid_out, place) for place in places)
    if known and not bitmap.has(opened.mismatched, number):
        turn.ignore("duplicate")
        return
    opened = replace(opened, mismatched=bitmap.with_bit(opened.mismatched, number))
    turn.keep_opened(opened)
    for place, page in pages.items():
        turn.emit(work.single_work(opened, place, page))


def compose(turn: Turn, event: PageComposed, opened: Opened) -> None:
    """`page.json` is stored."""
    index = opened.index(event.page_no)
    if index is None or event.task_id != work.compose_task(opened.generation, event.page_no):
        turn.ignore("foreign")
        return
    failed = bitmap.with_bit(opened.failed, index) if event.status == "failed" else opened.failed
    settle(turn, replace(opened, composed=bitmap.with_bit(opened.composed, index), failed=failed), index)


def settle(turn: Turn, opened: Opened, index: int) -> None:
    """A page is done (the first outcome stands): release its successor, and the document when it was the last."""
    assert turn.opened is not None
    if turn.opened.done(index):
        opened = turn.opened
    turn.keep_opened(opened)
    turn.drop_page(opened.pages[index])
    turn.emit(work.page_work(opened, index + opened.window))
    turn.emit(work.compose_document(opened))


def answered(page: Page, task: str) -> bool:
    """Whether a page waits no longer for a task of its own: it was read, it failed, or it was given up for lost."""
    return task in page.readings or task in page.failed or task in page.lost


def _answered(page: Page, task: str, failed: bool) -> Page:
    """The page with one more answer. A reading beats a failure, and either beats a loss, whichever came first."""
    if task in page.readings or (failed and task in page.failed):
        return page
    lost = [other for other in page.lost if other != task]
    if failed:
        return replace(page, failed=[*page.failed, task], lost=lost)
    others = [other for other in page.failed if other != task]
    return replace(page, readings=[*page.readings, task], failed=others, lost=lost)
