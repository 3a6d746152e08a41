"""Pictures of a DOCX: what they are, and their bytes. Those outside the archive are named and never fetched."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.layout import FlowBlock
from shared.documents.docx.archive import Archive, Target
from shared.documents.docx.story import Told
from shared.documents.docx.xml import name, parsed
from shared.documents.flow import FlowPicture

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
)
_OUTSIDE = "the picture is outside the document and was not fetched"
_MISSING = "the picture is missing in the document"
_FOREIGN = "the picture is of a kind that is not kept (vector graphics)"
_DRAWN = ("chart", "diagram")


def described(told: Told, archive: Archive, relationships: Mapping[str, Target]) -> list[FlowBlock]:
    """The blocks; pictures without bytes say why, charts and diagrams have the words that are written in them."""
    blocks = list(told.blocks)
    for index, picture in told.pictures.items():
        target = relationships.get(picture.relationship or "")
        reason = _why_not(target, archive)
        if reason is not None:
            blocks[index] = replace(blocks[index], reason=reason)
        elif picture.kind in _DRAWN and target is not None:
            words = _words(archive, target.target)
            blocks[index] = replace(blocks[index], text="\n".join(filter(None, (picture.alt, words))))
    return blocks


def packed(told: Told, archive: Archive, relationships: Mapping[str, Target]) -> tuple[list[FlowPicture], bytes]:
    """Where the bytes of each picture are in the second value. Pictures beyond the archive's limits are left out."""
    found: list[FlowPicture] = []
    places: dict[str, FlowPicture] = {}
    data = bytearray()
    for index, part in raster_parts(told, archive, relationships).items():
        known = places.get(part)
        if known is None:
            try:
                content = archive.read(part)
            except DocfleetError as error:
                if error.code is ErrorCode.resource_limit:
                    break
                continue
            kind = next((kind for magic, kind in _MAGIC if content.startswith(magic)), None)
            if kind is None:
                continue
            known = FlowPicture(
                index=index, number=len(places) + 1, mime_type=kind, start=len(data), end=len(data) + len(content)
            )
            places[part] = known
            data += content
        found.append(replace(known, index=index))
    return found, bytes(data)


def raster_parts(told: Told, archive: Archive, relationships: Mapping[str, Target]) -> dict[int, str]:
    """Parts of the pictures that are in the archive and no charts, by the index of the block that shows them."""
    found = {}
    for index, picture in told.pictures.items():
        target = relationships.get(picture.relationship or "")
        if target is not None and picture.kind not in _DRAWN and _why_not(target, archive) is None:
            found[index] = target.target
    return found


def _why_not(target: Target | None, archive: Archive) -> str | None:
    if target is None:
        return _MISSING
    if target.external:
        return _OUTSIDE
    if not archive.has(target.target):
        return _MISSING
    return _FOREIGN if target.target.endswith((".emf", ".wmf", ".svg", ".pict", ".pct")) else None


def _words(archive: Archive, part: str) -> str:
    """Text that is written in a chart or diagram: titles, labels; not its numbers."""
    try:
        root = parsed(archive.read(part), "a chart")
    except DocfleetError:
        return ""
    paragraphs = (
        "".join(t.text or "" for t in one.iter() if name(t) == "a:t") for one in root.iter() if name(one) == "a:p"
    )
    return "\n".join(text.strip() for text in paragraphs if text.strip())
