"""What is stored of a document: its result, its Markdown, its pages, also while the rest is still being read."""

from __future__ import annotations

from docfleet.background import Background
from shared.contracts.codec import decode
from shared.contracts.document import ParsedDocument
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.layout import ComposedPage, DoneMark
from shared.objects import keys
from shared.objects.store import ObjectStore

PAGE = ".page.json"


class Stored:
    """Reads of one bucket. Every method raises `Unavailable` when the store does not answer; a missing object is
    `DocfleetError(source_missing)`."""

    def __init__(self, background: Background, store: ObjectStore, bucket: str) -> None:
        self._background, self._store, self._bucket = background, store, bucket
        self._result: ParsedDocument | None = None
        """The result that pages were last taken from: 700 pages are not decoded 700 times."""

    def document(self, document_id: str, generation: int | None = None) -> ParsedDocument:
        """`document.json`; of the latest generation that has one, where none is named."""
        if generation is None:
            generation = self._latest(f"parsed/{document_id}/", "/document.json", document_id)
        return decode(self._get(keys.document(document_id, generation)), ParsedDocument)

    def markdown(self, document_id: str, generation: int | None = None) -> str:
        """`document.md`; of the latest generation that has one, where none is named."""
        if generation is None:
            generation = self._latest(f"parsed/{document_id}/", "/document.md", document_id)
        return self._get(keys.markdown(document_id, generation)).decode()

    def page(self, document_id: str, page_no: int, generation: int | None = None) -> ComposedPage:
        """One composed page; of the latest generation that anything is stored of, where none is named.

        Where no stage composed it (the cache answered), it is taken from the result: with the blocks that begin on it.
        """
        if generation is None:
            generation = self.latest_work(document_id)
        try:
            return decode(self._get(keys.composed_page(document_id, generation, page_no)), ComposedPage)
        except DocfleetError as error:
            page = self._page_of_result(document_id, generation, page_no)
            if error.code is not ErrorCode.source_missing or page is None:
                raise
            return page

    def composed(self, document_id: str, generation: int) -> list[int]:
        """Numbers of the pages that can be read, ascending. Lists everything the stages stored of this document."""
        prefix = keys.work(document_id, generation)
        found = self._background.run(self._store.list(self._bucket, prefix))
        names = [stat.key.removeprefix(prefix) for stat in found]
        pages = sorted(int(name.removesuffix(PAGE)) for name in names if name.endswith(PAGE))
        if not pages and (result := self._result_of(document_id, generation)) is not None:
            return [page.page_no for page in result.pages]
        return pages

    def latest_work(self, document_id: str) -> int:
        """The latest generation that the stages stored anything of."""
        return self._latest(f"work/{document_id}/", "", document_id)

    def _page_of_result(self, document_id: str, generation: int, page_no: int) -> ComposedPage | None:
        result = self._result_of(document_id, generation)
        page = next((one for one in result.pages if one.page_no == page_no), None) if result is not None else None
        if result is None or page is None:
            return None
        first = [(block.prov[0].page_no if block.prov else 1, block) for block in result.blocks]
        return ComposedPage(
            document_id=document_id,
            generation=generation,
            page=page,
            blocks=[block for number, block in first if number == page_no],
            errors=[error for error in result.errors if error.page_no == page_no],
            warnings=[warning for warning in result.warnings if warning.page_no == page_no],
        )

    def _result_of(self, document_id: str, generation: int) -> ParsedDocument | None:
        known = self._result
        if known is None or (known.document_id, known.generation) != (document_id, generation):
            try:
                known = self.document(document_id, generation)
            except DocfleetError as error:
                if error.code is ErrorCode.source_missing:
                    return None
                raise
            self._result = known
        return known

    def ended(self, document_id: str, generation: int) -> bool:
        """Whether this generation, or a higher one, is known to have ended."""
        try:
            mark = decode(self._get(keys.done(document_id)), DoneMark)
        except DocfleetError as error:
            if error.code is ErrorCode.source_missing:
                return False
            raise
        return mark.generation >= generation

    def _get(self, key: str) -> bytes:
        return self._background.run(self._store.get(self._bucket, key))

    def _latest(self, prefix: str, suffix: str, document_id: str) -> int:
        found = self._background.run(self._store.list(self._bucket, prefix))
        generations = [
            int(part)
            for stat in found
            if stat.key.endswith(suffix) and (part := stat.key[len(prefix) :].split("/")[0]).isdigit()
        ]
        if not generations:
            raise DocfleetError(ErrorCode.source_missing, f"nothing is stored of document {document_id}")
        return max(generations)
