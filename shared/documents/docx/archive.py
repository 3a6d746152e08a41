"""The archive of a DOCX: its parts, under limits on what is unpacked, and what they refer to. Nothing outside it is ever opened."""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple
from urllib.parse import unquote

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.documents.docx.xml import name, parsed
from shared.documents.limits import Bounds

_RATIO_FROM = 2**20
"""Bytes below which a member's ratio does no harm: a page of blanks is packed a thousand times."""
_PIECE = 2**16
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError)
"""What `zipfile` raises on odd archives; `RuntimeError` for members behind a password, `NotImplementedError` for other compressions."""


class Target(NamedTuple):
    """What a relationship leads to."""

    kind: str
    """Last part of the relationship's type: `styles`, `image`, `hyperlink`, …"""
    target: str
    """Name of a part, or, where `external`, an address that nobody opens."""
    external: bool


class Archive:
    """An open DOCX. Close it when done.

    Invariant: no more than `limits.max_unpacked_bytes` are ever unpacked between `fresh` calls, counted as they come.
    """

    def __init__(self, path: Path, limits: Bounds) -> None:
        """Raises `corrupt`, `encrypted`, `resource_limit`."""
        self._limits = limits
        self._left = limits.max_unpacked_bytes
        try:
            self._zip = zipfile.ZipFile(path)
        except _BROKEN as error:
            raise DocfleetError(ErrorCode.corrupt, "the archive of the DOCX is broken") from error
        try:
            self._members = self._checked(self._zip.infolist())
        except BaseException:
            self._zip.close()
            raise

    def _checked(self, members: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
        limits = self._limits
        if len(members) > limits.max_archive_members:
            raise DocfleetError(
                ErrorCode.resource_limit,
                f"the archive has {len(members)} members; limits.max_archive_members allows {limits.max_archive_members}",
            )
        for member in members:
            grows = member.file_size / max(1, member.compress_size)
            if member.file_size > _RATIO_FROM and grows > limits.max_archive_ratio:
                raise DocfleetError(
                    ErrorCode.resource_limit,
                    f"a member of the archive grows {grows:.0f} times; limits.max_archive_ratio allows {limits.max_archive_ratio}",
                )
            if member.flag_bits & 1:
                raise DocfleetError(ErrorCode.encrypted, "members of the archive are behind a password")
        return {_part_name(member.filename): member for member in members}

    def close(self) -> None:
        self._zip.close()

    def fresh(self) -> None:
        """Count what is unpacked from zero: for the next reading of the same document."""
        self._left = self._limits.max_unpacked_bytes

    def has(self, part: str) -> bool:
        return part.lower() in self._members

    def open(self, part: str) -> BinaryIO:
        """A part as a stream. Reading raises `corrupt`, `resource_limit`."""
        member = self._members.get(part.lower())
        if member is None:
            raise DocfleetError(ErrorCode.corrupt, "a part of the DOCX is missing in its archive")
        try:
            return io.BufferedReader(_Counted(self, self._zip.open(member)), _PIECE)
        except _BROKEN as error:
            raise DocfleetError(ErrorCode.corrupt, "a part of the DOCX cannot be unpacked") from error

    def read(self, part: str) -> bytes:
        """A whole part."""
        with self.open(part) as stream:
            return stream.read()

    def spend(self, count: int) -> None:
        """Count unpacked bytes. Raises `resource_limit`."""
        self._left -= count
        if self._left < 0:
            limit = self._limits.max_unpacked_bytes
            raise DocfleetError(
                ErrorCode.resource_limit,
                f"the DOCX unpacks to more than the {limit} bytes of limits.max_unpacked_bytes",
            )

    def main_part(self) -> str:
        """The part with the text. Raises `corrupt` where the archive names none."""
        for target in self.relationships("").values():
            if target.kind == "officeDocument" and not target.external and self.has(target.target):
                return target.target
        if self.has("word/document.xml"):
            return "word/document.xml"
        raise DocfleetError(ErrorCode.corrupt, "the DOCX does not say which of its parts is the document")

    def relationships(self, part: str) -> dict[str, Target]:
        """What a part refers to, by id; the package's own for the empty name. A broken list is an empty one."""
        folder, base = posixpath.split(part)
        part_name = posixpath.join(folder, "_rels", f"{base}.rels")
        if not self.has(part_name):
            return {}
        found: dict[str, Target] = {}
        for one in parsed(self.read(part_name), "a list of relationships"):
            if name(one) != "rel:Relationship":
                continue
            kind, target = str(one.get("Type") or "").rpartition("/")[2], str(one.get("Target") or "")
            external = one.get("TargetMode") == "External"
            if not external:
                target = _resolved(folder, target)
            found[str(one.get("Id") or "")] = Target(kind, target, external)
        return found


class _Counted(io.RawIOBase):
    """A member while it is unpacked: every byte is counted, and what the archive says of its sizes is not believed."""

    def __init__(self, archive: Archive, stream: IO[bytes]) -> None:
        self._archive, self._stream = archive, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        try:
            data = self._stream.read(min(len(view), _PIECE))
        except DocfleetError:
            raise
        except _BROKEN as error:
            raise DocfleetError(ErrorCode.corrupt, "a part of the DOCX cannot be unpacked") from error
        self._archive.spend(len(data))
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()


def _part_name(filename: str) -> str:
    """Names of parts are compared without case (ECMA-376 part 2); backslashes are some writers' slashes."""
    return filename.replace("\\", "/").lstrip("/").lower()


def _resolved(folder: str, target: str) -> str:
    target = unquote(target.partition("#")[0]).replace("\\", "/")
    path = target if target.startswith("/") else posixpath.join(folder, target)
    return posixpath.normpath(path).lstrip("/").lower()
