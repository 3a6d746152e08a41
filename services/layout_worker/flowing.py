"""The layout of a document that is text without places (DOCX): its blocks in order, nothing to look at and nothing to read."""

from __future__ import annotations

import msgspec

from shared.contracts.layout import FlowBlock, Inspection, PageLayout
from shared.contracts.options import Options
from shared.documents.flow import FlowAnswer, FlowPicture
from shared.objects import keys

ENDINGS = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/bmp": "bmp",
    "image/tiff": "tif",
}


class StoredPicture(msgspec.Struct, frozen=True, kw_only=True):
    """A picture of the document, to be stored under `key` with the result."""

    key: str
    data: bytes
    mime_type: str


def layout_of(
    answer: FlowAnswer, data: bytes, inspection: Inspection, page_no: int
) -> tuple[PageLayout, list[StoredPicture]]:
    """The layout, and the pictures that its blocks name. `data`: what `FlowAnswer.pictures` point into."""
    stored = {_key(picture, inspection): picture for picture in answer.pictures}
    named = {picture.index: _key(picture, inspection) for picture in answer.pictures}
    flow = [
        msgspec.structs.replace(block, image_key=named.get(index), place=answer.places.get(index))
        if block.label == "picture"
        else block
        for index, block in enumerate(answer.blocks)
    ]
    layout = PageLayout(
        document_id=inspection.document_id,
        generation=inspection.generation,
        page_no=page_no,
        width=0.0,
        height=0.0,
        unit=None,
        kind="native" if any(_shown(block) for block in flow) else "blank",
        kind_reason=["text without places"],
        flow=flow,
        warnings=answer.warnings,
    )
    pictures = [
        StoredPicture(key=key, data=data[picture.start : picture.end], mime_type=picture.mime_type)
        for key, picture in stored.items()
    ]
    return layout, pictures


def reading_options(options: Options) -> Options:
    """How the pictures in such a document are read: by the recogniser, and without the layout network, for they are no pages."""
    return msgspec.structs.replace(options, layout="fast", vl="off")


def with_pictures(layout: PageLayout, sheet: PageLayout) -> PageLayout:
    """The layout with what is to be read on the sheet of its pictures; boxes are in pixels of that sheet."""
    kind = "mixed" if layout.kind == "native" and sheet.tasks else layout.kind
    return msgspec.structs.replace(
        sheet,
        unit=None,
        kind=kind,
        kind_reason=[*layout.kind_reason, "pictures are read"],
        flow=layout.flow,
        warnings=[*layout.warnings, *sheet.warnings],
    )


def _key(picture: FlowPicture, inspection: Inspection) -> str:
    return keys.flow_image(inspection.document_id, inspection.generation, picture.number, ENDINGS[picture.mime_type])


def _shown(block: FlowBlock) -> bool:
    return block.layer == "body" and bool(block.text or block.table or block.latex or block.label == "picture")
