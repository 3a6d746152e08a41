"""Settles doubts about a page's own text by comparing it with the picture, and remembers for a document what is settled about its fonts.

A font looks the same on every page, so one page settles it. The text layer of a scan is another on every page.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from services.layout_worker.found import CompareRequest, Comparison, Sample
from services.layout_worker.trust.fonts import LAYER, Compared, Doubt, Verdicts
from shared.children.block import Block
from shared.children.child import Child
from shared.contracts.document import ModelRef
from shared.documents.page import OpenedPage, Picture

TRIES = 3
"""Pages on which a font is compared in vain before it is let be. No setting: it only bounds what a script that the recogniser does not know
costs in a document; `layout.compared_fonts` bounds what a page costs."""
DOCUMENTS = 256
"""Documents whose fonts are remembered: a few names and numbers each."""


class Comparer:
    """Asks the engine child. One for all pages of a worker."""

    def __init__(self, engine: Child) -> None:
        self._engine = engine
        self._known: OrderedDict[str, Verdicts] = OrderedDict()
        self._tries: dict[tuple[str, str], int] = {}
        self._model: ModelRef | None = None

    def unsettled(self, document: str, doubts: Sequence[Doubt]) -> list[Doubt]:
        """Doubts that only the picture can settle. `document` names it."""
        known = self._known.get(document, {})
        return [doubt for doubt in doubts if doubt.key not in known]

    async def settle(
        self,
        document: str,
        doubts: Sequence[Doubt],
        opened: OpenedPage,
        shown: tuple[Picture, Block] | None,
    ) -> tuple[Verdicts, list[ModelRef]]:
        """What the picture (`shown`; none leaves open what is not known yet) says about each doubt, and the model that was asked."""
        known = self._known.setdefault(document, {})
        self._known.move_to_end(document)
        while len(self._known) > DOCUMENTS:
            gone, _ = self._known.popitem(last=False)
            self._tries = {name: count for name, count in self._tries.items() if name[0] != gone}
        new: Verdicts = {}
        left = self.unsettled(document, doubts)
        if left and shown is not None:
            size, pixels = shown
            sx, sy = size.width / opened.width, size.height / opened.height
            request = CompareRequest(
                width=size.width,
                height=size.height,
                samples=[
                    Sample(
                        bbox=[line.bbox[0] * sx, line.bbox[1] * sy, line.bbox[2] * sx, line.bbox[3] * sy],
                        angle=line.angle,
                        text=line.text,
                    )
                    for doubt in left
                    for line in doubt.lines
                ],
            )
            answer, _ = await self._engine.call("compare", request, [pixels], returns=Comparison)
            self._model = answer.model
            following = iter(answer.similarities)
            for doubt in left:
                values = [value for value in (next(following) for _ in doubt.lines) if value is not None]
                new[doubt.key] = Compared(similarity=round(sum(values) / len(values), 2) if values else None)
        for key, verdict in new.items():
            # What was not settled here may be on a page with better lines, but not for ever: a script that the recogniser does not
            # know is on every page.
            if key == LAYER:
                continue
            self._tries[document, key] = self._tries.get((document, key), 0) + 1
            if verdict.similarity is not None or self._tries[document, key] >= TRIES:
                known[key] = verdict
                del self._tries[document, key]
        verdicts = {doubt.key: settled for doubt in doubts if (settled := new.get(doubt.key) or known.get(doubt.key))}
        return verdicts, [self._model] if verdicts and self._model else []
