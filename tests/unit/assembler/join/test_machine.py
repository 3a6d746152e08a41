"""The pure join in a model of the world: logs, a fleet that answers its work in any order and twice, a user, and crashes.

The model keeps what Kafka keeps. Each topic is a log; what the join appended since its last commit may survive a crash or not, a
prefix of each topic on its own (the table `open` is one topic, `parsed` another, every work topic one more). After a crash the
tables are what survived, and the events since the commit are handled again.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from services.assembler.join.lost import awaited
from services.assembler.join.memory import encode_mark, encode_state, mark_of
from services.assembler.join.state import join
from shared.contracts import records as r
from shared.contracts.ids import document_task_id, task_id
from tests.unit.assembler.join import tables as t

pytestmark = pytest.mark.unit

DOCUMENTS = ["a", "b"]
SOURCES = ["docs.results", "docs.control"]


class World(RuleBasedStateMachine):
    @initialize(window=st.integers(1, 4))
    def begin(self, window: int) -> None:
        self.window = window
        self.sources: dict[str, list[Any]] = {name: [] for name in SOURCES}
        self.position = dict.fromkeys(SOURCES, 0)
        self.committed = dict.fromkeys(SOURCES, 0)
        self.durable: dict[str, list[Any]] = defaultdict(list)
        self.unsure: dict[str, list[Any]] = defaultdict(list)
        self.tables = t.Tables()
        self.work: list[Any] = []
        self.opened: dict[str, list[int]] = {name: [] for name in DOCUMENTS}
        self.shapes: dict[tuple[str, int], r.DocumentOpened] = {}
        self.asked: dict[tuple[str, int], set[int]] = defaultdict(set)
        self.ended: dict[tuple[str, int], set[int]] = defaultdict(set)
        self.frozen: dict[tuple[str, int, str], Any] = {}
        self.forgotten: dict[str, int] = {}

    # --- the user and ingest ------------------------------------------------------------------------------------------

    @rule(
        document=st.sampled_from(DOCUMENTS),
        skip=st.integers(0, 1),
        pages=st.integers(0, 6),
        selected=st.sampled_from([None, "", "1-2,4", "2"]),
        ranges=st.sampled_from([0, 0, 2, 3, 9]),
        kind=st.sampled_from(["opened"] * 6 + ["rejected", "cached"]),
        deadline=st.sampled_from([None, 2_000.0]),
    )
    def submit(
        self, document: str, skip: int, pages: int, selected: Any, ranges: int, kind: str, deadline: Any
    ) -> None:
        generation = (max(self.opened[document]) + 1 + skip) if self.opened[document] else 0
        self.opened[document].append(generation)
        if kind == "opened":
            given: dict[str, Any] = {"range_size": ranges, "vl_profile": "p" if ranges else None, "deadline": deadline}
            event = t.opened(document, generation, pages, **given)
            if selected is not None:
                keep = [page for page in (1, 2, 4) if str(page) in selected.replace("1-2", "1,2") and page <= pages]
                event = msgspec.structs.replace(event, selected=",".join(map(str, keep)))
            self.shapes[document, generation] = event
            self.sources["docs.results"].append(event)
        else:
            self.sources["docs.results"].append(
                {"rejected": t.rejected, "cached": t.cached}[kind](document, generation)
            )

    @rule(document=st.sampled_from(DOCUMENTS), generation=st.integers(0, 4))
    def cancel(self, document: str, generation: int) -> None:
        self.sources["docs.control"].append(t.cancel(document, generation))

    @rule(document=st.sampled_from(DOCUMENTS))
    def deadline(self, document: str) -> None:
        for generation in self.opened[document][-1:]:
            self.sources["docs.results"].append(r.DeadlinePassed(document_id=document, generation=generation))

    @rule(document=st.sampled_from(DOCUMENTS), generation=st.integers(0, 3))
    def forget(self, document: str, generation: int) -> None:
        self.sources["docs.results"].append(t.forgotten(document, generation))

    @precondition(lambda self: self.work)
    @rule(data=st.data())
    def lose(self, data: st.DataObject) -> None:
        """A record of some topic is gone."""
        self.work.pop(data.draw(st.integers(0, len(self.work) - 1)))

    @rule(document=st.sampled_from(DOCUMENTS))
    def prove(self, document: str) -> None:
        """What is awaited is said to be lost, rightly or not."""
        self.sources["docs.results"] += self.proofs(document)

    def proofs(self, document: str) -> list[Any]:
        state, mark = self.tables.document(document), self.tables.mark(document)
        opened = state.opened if state is not None else None
        if opened is None or (mark is not None and mark.generation >= opened.generation):
            return []
        tasks = awaited(self.tables, document, opened)
        assert tasks, "an open document waits for something"
        return [t.proven(one.task_id, list(one.pages), one.attempt, document, opened.generation) for one in tasks]

    @precondition(lambda self: self.sources["docs.results"])
    @rule(data=st.data())
    def doubled(self, data: st.DataObject) -> None:
        """Some earlier event comes again, late."""
        log = self.sources["docs.results"]
        log.append(data.draw(st.sampled_from(log)))

    @precondition(lambda self: self.shapes)
    @rule(data=st.data())
    def conflicting(self, data: st.DataObject) -> None:
        event = data.draw(st.sampled_from(list(self.shapes.values())))
        self.sources["docs.results"].append(msgspec.structs.replace(event, source=t.source("other")))

    @rule(
        event=st.sampled_from(
            [
                t.opened("foreign", 0, 2),
                t.read([1, 2], "x", "stranger"),
                t.read([1, 99], "x", "a", 0),
                t.laid_out(7, [], "a", 0),
                t.composed(77, "b", 0),
                t.closed("b", 9),
                t.finished("a", 0),
                r.StateExpired(document_id="a", generation=0),
            ]
        )
    )
    def foreign(self, event: Any) -> None:
        self.sources["docs.results"].append(event)

    # --- the fleet ----------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.work)
    @rule(data=st.data(), again=st.booleans(), good=st.integers(0, 4))
    def answer(self, data: st.DataObject, again: bool, good: int) -> None:
        at = data.draw(st.integers(0, len(self.work) - 1))
        work = self.work[at] if again else self.work.pop(at)
        self.reply(work, good)

    def reply(self, work: Any, good: int) -> None:
        """What a stage makes of its task. `good` 0 is a failure. A layout is stored once, so its tasks are always the same."""
        if isinstance(work, tuple):
            _, document, generation, page, task = work
            self.sources["docs.results"].append((t.read if good else t.failed)([page], task, document, generation))
            return
        document, generation = work.document_id, work.generation
        log = self.sources["docs.results"]
        if isinstance(work, r.PageTask):
            if good == 0:
                log.append(t.failed([work.page_no], work.task_id, document, generation))
                return
            tasks = [t.rec(work.page_no, generation), f"vl-{work.page_no}"][: work.page_no % 3]
            log.append(t.laid_out(work.page_no, tasks, document, generation))
            self.work += [("read", document, generation, work.page_no, task) for task in tasks]
        elif isinstance(work, r.VlTask):
            if work.mode == "range" and good < 2:
                log.append(
                    r.RangeMismatched(
                        document_id=document, generation=generation, pages=work.pages, task_id=work.task_id
                    )
                )
            else:
                log.append((t.read if good else t.failed)(work.pages, work.task_id, document, generation))
        elif isinstance(work, r.ComposePage):
            if good == 0:
                log.append(t.failed([work.page_no], work.task_id, document, generation))
            else:
                log.append(t.composed(work.page_no, document, generation, "ok" if work.laid_out else "failed"))
        elif isinstance(work, r.ComposeDocument):
            log.append(t.finished(document, generation))

    # --- the join -----------------------------------------------------------------------------------------------------

    def pending(self) -> list[str]:
        return [name for name in SOURCES if self.position[name] < len(self.sources[name])]

    @precondition(lambda self: self.pending())
    @rule(data=st.data(), count=st.integers(1, 8))
    def handle(self, data: st.DataObject, count: int) -> None:
        for _ in range(count):
            if pending := self.pending():
                self.step(data.draw(st.sampled_from(pending)))

    def step(self, source: str) -> None:
        event = self.sources[source][self.position[source]]
        self.position[source] += 1
        outcome = join(self.tables, event, 1_500.0, self.window)
        for write in outcome.writes:
            assert write.document_id == event.document_id
            value = None if write.value is None else encode_state(write.value)
            self.unsure["open"].append((write.key, value))
        for parsed in outcome.parsed:
            assert parsed.document_id == event.document_id
            self.unsure["parsed"].append(parsed)
        if outcome.forgotten is not None:
            self.unsure["parsed"].append(t.forgotten(event.document_id, outcome.forgotten))
        for emit in outcome.emits:
            self.unsure[emit.topic].append(emit)
            self.check_work(event, emit)
        self.tables.apply(outcome)
        again = join(self.tables, event, 1_500.0, self.window)
        assert again.emits == outcome.emits, "the same event emits the same"
        assert again.forgotten == outcome.forgotten
        assert (again.writes, again.parsed) == ([], []), "and changes nothing"

    def check_work(self, event: Any, emit: Any) -> None:
        work = emit.record
        assert work.document_id == event.document_id, "no event emits work of another document"
        assert emit.key.partition("/")[0] == event.document_id
        assert work.generation == event.generation
        name = work.document_id, work.generation
        if isinstance(work, r.PageTask):
            self.asked[name].add(work.page_no)
        if isinstance(event, r.PageComposed | r.PageFailed | r.StallProven) and event.task_id.startswith("compose"):
            self.ended[name].update([event.page_no] if isinstance(event, r.PageComposed) else event.pages)
        if name in self.shapes:
            assert len(self.asked[name]) <= self.window + len(self.ended[name]), "the window is respected"
        if isinstance(work, r.ComposePage | r.ComposeDocument):
            first = msgspec.structs.replace(work, attempt=1)
            before = self.frozen.setdefault((*name, work.task_id), first)
            assert first == before, "what is composed is frozen"

    @rule(
        topics=st.dictionaries(
            st.sampled_from(["open", "parsed", "docs.pages", "docs.compose", "docs.vl"]), st.integers(1, 9)
        )
    )
    def acknowledge(self, topics: dict[str, int]) -> None:
        """Some appends reach the broker before the commit."""
        for topic, count in topics.items():
            self.write(topic, count)

    def write(self, topic: str, count: int) -> None:
        done, self.unsure[topic] = self.unsure[topic][:count], self.unsure[topic][count:]
        self.durable[topic] += done
        for record in done:
            if topic == "parsed":
                if isinstance(record, r.DocumentForgotten):
                    self.forgotten[record.document_id] = max(
                        record.generation, self.forgotten.get(record.document_id, 0)
                    )
                if self.tables.document(record.document_id) is not None:
                    self.sources["docs.results"].append(t.closed(record.document_id, record.generation))
            elif topic != "open":
                self.work.append(record.record)

    @rule()
    def commit(self) -> None:
        for topic in list(self.unsure):
            self.write(topic, len(self.unsure[topic]))
        self.committed = dict(self.position)

    @rule(
        survive=st.dictionaries(st.sampled_from(["open", "parsed", "docs.pages", "docs.compose"]), st.integers(0, 30))
    )
    def crash(self, survive: dict[str, int]) -> None:
        for topic, count in survive.items():
            self.write(topic, count)
        self.unsure.clear()
        self.position = dict(self.committed)
        self.tables = t.Tables()
        for key, value in self.durable["open"]:
            if value is None:
                self.tables.open.pop(key, None)
            else:
                self.tables.open[key] = value
        for parsed in self.durable["parsed"]:
            if isinstance(parsed, r.DocumentForgotten):
                self.tables.bury(parsed.document_id, parsed.generation)
            else:
                self.tables.parsed[parsed.document_id.encode()] = encode_mark(mark_of(parsed))
        # What the timers do after a recovery: open state that a mark has overtaken is closed.
        for parsed in self.durable["parsed"]:
            if self.tables.document(parsed.document_id) is not None:
                self.sources["docs.results"].append(t.closed(parsed.document_id, parsed.generation))

    # --- what holds ---------------------------------------------------------------------------------------------------

    @invariant()
    def one_terminal_record_per_generation(self) -> None:
        seen: dict[str, int] = {}
        for parsed in getattr(self, "durable", {}).get("parsed", []):
            forgotten = isinstance(parsed, r.DocumentForgotten)
            assert parsed.generation + forgotten > seen.get(parsed.document_id, -1)
            seen[parsed.document_id] = parsed.generation

    def teardown(self) -> None:
        """Let everything come to rest: each document has ended, each page of it was composed, nothing is kept."""
        if not hasattr(self, "window"):
            return
        for _ in range(500):
            self.commit()
            while pending := self.pending():
                self.step(pending[0])
            self.commit()
            work, self.work = self.work, []
            for task in work:
                self.reply(task, 4)
            if not self.pending():
                # Nothing is on its way any more: what is awaited still is lost, and proven to be.
                self.sources["docs.results"] += [
                    event for document in (*DOCUMENTS, "foreign") for event in self.proofs(document)
                ]
                if not self.pending():
                    break
        ended = {
            (parsed.document_id, parsed.generation): parsed
            for parsed in self.durable["parsed"]
            if isinstance(parsed, r.DocumentParsed)
        }
        for document, generations in self.opened.items():
            for generation in generations:
                assert (document, generation) in ended or generation <= self.forgotten.get(document, -1), (
                    f"{document} at {generation} never ended"
                )
        for name, parsed in ended.items():
            if parsed.status == "success" and not parsed.cached and name in self.shapes:
                event, task = self.shapes[name], self.frozen[*name, document_task_id(name[1])]
                pages = [] if not event.selected else t.pages_of(event)
                left = t.expression(task.unfinished)
                composed = {page for page in pages if (*name, task_id("compose", name[1], [page])) in self.frozen}
                assert composed | left >= set(pages), "every page was composed, or had no time left"
        for key in self.tables.open:
            document = self.tables.document(key.decode().partition("/")[0])
            assert document is not None
            assert document.opened is None, "only cancels of what never came are kept"


World.TestCase.settings = settings(max_examples=120, stateful_step_count=60, suppress_health_check=list(HealthCheck))
TestWorld = World.TestCase
