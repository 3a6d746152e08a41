"""Tasks that were proven lost: asked for again once, then given up as `timeout`. Part of the pure join (`state`).

Which tasks a document waits for is decided here as well; that one of them is lost is proven by `proofs`, never by waiting.
"""

from __future__ import annotations

import msgspec

from services.assembler.join import bitmap, ending, pages, work
from services.assembler.join.memory import Memory, Opened, Page
from services.assembler.join.turn import Turn, replace
from shared.contracts.errors import DocfleetError, ErrorCode, Phase
from shared.contracts.ids import document_task_id
from shared.contracts.records import DocumentFailed, StallProven


class Awaited(msgspec.Struct, frozen=True):
    """A task that is out. `pages` wait for it; none: the document itself does."""

    task_id: str
    attempt: int
    pages: tuple[int, ...] = ()

    @property
    def stage(self) -> str:
        """`layout`, `rec`, `vl` or `compose`."""
        return self.task_id.partition("-")[0]


def awaited(memory: Memory, document_id: str, opened: Opened) -> list[Awaited]:
    """Every task of a document that was issued and not answered; at most those of a window of pages."""
    if opened.complete:
        return [Awaited(document_task_id(opened.generation), 2 if opened.again else 1)]
    found: dict[str, Awaited] = {}
    for index, page_no in enumerate(opened.pages):
        if opened.done(index) or (index >= opened.window and not opened.done(index - opened.window)):
            continue
        page = memory.page(document_id, page_no)
        for task in _of_page(opened, index, page if page and page.generation == opened.generation else None):
            before = found.get(task.task_id)
            found[task.task_id] = replace(before, pages=(*before.pages, page_no)) if before else task
    return list(found.values())


def _of_page(opened: Opened, index: int, page: Page | None) -> list[Awaited]:
    page_no = opened.pages[index]
    known = page or Page(opened.generation)

    def out(task: str) -> Awaited:
        return Awaited(task, work.attempt_of(known, task), (page_no,))

    if known.frozen:
        return [out(work.compose_task(opened.generation, page_no))]
    if known.tasks is None:
        return [] if opened.settled(index) else [out(work.layout_task(opened.generation, page_no))]
    # A range that waits for the layout of another page was not issued yet.
    held = set(work.awaited(opened, index, known)) - set(known.tasks) if not _range_issued(opened, index) else set()
    return [
        out(task) for task in work.awaited(opened, index, known) if task not in held and not pages.answered(known, task)
    ]


def _range_issued(opened: Opened, index: int) -> bool:
    found = work.range_of(opened, index)
    return found is None or bitmap.has(opened.mismatched, found[0]) or all(map(opened.settled, found[1]))


def prove_document(turn: Turn, event: StallProven, opened: Opened) -> None:
    """Composing the document was lost: ask once more, then end it as `failure`."""
    if not opened.complete or event.task_id != document_task_id(opened.generation):
        turn.ignore("foreign")
    elif event.attempt > 1 and opened.again:
        error = DocfleetError(ErrorCode.timeout, "composing the document was lost twice; submit it again").info(
            Phase.assemble
        )
        failed = DocumentFailed(
            document_id=turn.document_id, generation=turn.generation, task_id=event.task_id, error=error
        )
        ending.show_superseded(turn, turn.generation)
        turn.end(ending.failed(failed, opened.event, turn.at, ending.supersedes(opened)))
    else:
        turn.keep_opened(replace(opened, again=True))
        assert turn.opened is not None
        turn.emit(work.compose_document(turn.opened))


def prove_pages(turn: Turn, event: StallProven, opened: Opened) -> None:
    """A task of pages was lost: ask once more, then go on without it."""
    changed = False
    for page_no in event.pages:
        assert turn.opened is not None
        index = turn.opened.index(page_no)
        if index is None:
            continue
        if not turn.opened.done(index):
            changed |= _prove(turn, event, turn.opened, index)
        elif event.task_id == work.compose_task(turn.generation, page_no):
            pages.settle(turn, turn.opened, index)  # it was given up by this very event, or composed meanwhile
            changed = True
    if not changed:
        turn.ignore("duplicate")


def _prove(turn: Turn, event: StallProven, opened: Opened, index: int) -> bool:
    page_no, task = opened.pages[index], event.task_id
    before = turn.page(page_no)
    page = before or Page(turn.generation)
    layout = task == work.layout_task(opened.generation, page_no)
    composing = task == work.compose_task(opened.generation, page_no)
    if layout:
        expected = page.tasks is None and not bitmap.has(opened.laid_out, index)
    elif composing:
        expected = page.frozen
    else:
        # Frozen pages answer as they do to any late event: with what is to be composed.
        expected = page.tasks is not None and task in work.awaited(opened, index, page)
        expected &= page.frozen or not pages.answered(page, task)
    if not expected:
        return False
    if not composing and page.frozen:
        turn.emit([work.compose_page(opened, index, page)])
        turn.emit(work.range_work(opened, index) if layout else [])
    elif event.attempt > 1 and task in page.again:
        _give_up(turn, opened, index, before, page, task)
    else:
        page = page if task in page.again else replace(page, again=[*page.again, task])
        turn.keep_page(page_no, before, page)
        _ask_again(turn, opened, index, page, task)
    return True


def _ask_again(turn: Turn, opened: Opened, index: int, page: Page, task: str) -> None:
    if task == work.compose_task(opened.generation, opened.pages[index]):
        turn.emit([work.compose_page(opened, index, page)])
    elif task in (page.tasks or ()) or page.tasks is None:
        # The join does not know what is in a task of a page; its stored layout does.
        turn.emit([work.lay_out(opened, index, attempt=2)])
    else:
        known = {emit.record.task_id for emit in turn.outcome.emits if hasattr(emit.record, "task_id")}
        again = work.range_work(opened, index, 2) or work.single_work(opened, index, page, 2)
        turn.emit([emit for emit in again if emit.record.task_id not in known])  # type: ignore[attr-defined]


def _give_up(turn: Turn, opened: Opened, index: int, before: Page | None, page: Page, task: str) -> None:
    page_no = opened.pages[index]
    if task == work.compose_task(opened.generation, page_no):
        opened = replace(opened, failed=bitmap.with_bit(opened.failed, index), lost=bitmap.with_bit(opened.lost, index))
        pages.settle(turn, opened, index)
    elif page.tasks is None:
        opened = replace(opened, unlaid=bitmap.with_bit(opened.unlaid, index))
        pages.advance(turn, opened, index, before, Page(turn.generation, lost=[task], frozen=True))
        turn.keep_opened(opened)
        turn.emit(work.range_work(opened, index))
    else:
        pages.advance(turn, opened, index, before, replace(page, lost=[*page.lost, task]))
