"""Identities as pure functions of what they name: the same input has the same id on every machine and every attempt."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Sequence

_DOCUMENT_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "urn:docfleet")


def is_document_id(text: str) -> bool:
    """Whether a producer may use this as a document id: `[A-Za-z0-9._:-]{1,128}`."""
    return _DOCUMENT_ID.fullmatch(text) is not None


def document_id_of_object(bucket: str, key: str, version: str) -> str:
    """Id of a document that came without one: 32 hex of sha256(bucket, key, version id or etag), parts NUL-separated."""
    return hashlib.sha256("\0".join((bucket, key, version)).encode()).hexdigest()[:32]


def region_id(page_no: int, index: int) -> str:
    """Id of the `index`-th region (0-based) in the order of the stored layout of a page (1-based)."""
    return f"p{page_no:05d}-r{index:03d}"


def page_of_region(region: str) -> int:
    """The 1-based page of a region id."""
    return int(region[1:6])


def task_id(stage: str, generation: int, pages: Sequence[int], regions: Sequence[str] = ()) -> str:
    """Id of a task: stage (`layout`, `rec`, `vl`), generation, first and last page and, where it is not the whole page, its regions."""
    name = f"{stage}-g{generation}-p{pages[0]:05d}"
    if len(pages) > 1:
        name += f"-{pages[-1]:05d}"
    if regions:
        name += "-" + hashlib.sha256("\0".join(regions).encode()).hexdigest()[:12]
    return name


def event_id(kind: str, *parts: object) -> str:
    """Deterministic CloudEvents id (`ce_id`) of a record: uuid5 over its type and what identifies it."""
    return str(uuid.uuid5(_NAMESPACE, "\0".join([kind, *map(str, parts)])))


def document_task_id(generation: int) -> str:
    """Id of the task that composes a whole document."""
    return f"compose-g{generation}-document"
