"""Every object key in one place.

`work/…` is written once per (document, generation) and may be swept after `done`; `parsed/…` is what users read;
`done/…` tells reconcile that a document ended; `cache/…` points to results that may be copied.
"""

from __future__ import annotations

import hashlib

_OWN = ("work/", "parsed/", "done/", "cache/")


def is_ours(key: str) -> bool:
    """Whether an object of the fleet's own bucket is one that the fleet wrote."""
    return key.startswith(_OWN)


def work(document_id: str, generation: int) -> str:
    """Prefix of everything the stages store for each other."""
    return f"work/{document_id}/{generation}/"


def envelope(document_id: str, generation: int) -> str:
    """The submission as it was taken, with its document id."""
    return work(document_id, generation) + "envelope.json"


def inspection(document_id: str, generation: int) -> str:
    return work(document_id, generation) + "inspect.json"


def picture(document_id: str, generation: int, page_no: int) -> str:
    """The page as displayed, JPEG."""
    return work(document_id, generation) + f"{page_no:05d}.jpg"


def layout(document_id: str, generation: int, page_no: int) -> str:
    return work(document_id, generation) + f"{page_no:05d}.layout.json"


def reading(document_id: str, generation: int, page_no: int, task_id: str) -> str:
    return work(document_id, generation) + f"{page_no:05d}.read/{task_id}.json"


def task_error(document_id: str, generation: int, page_no: int, task_id: str) -> str:
    return work(document_id, generation) + f"{page_no:05d}.error/{task_id}.json"


def composed_page(document_id: str, generation: int, page_no: int) -> str:
    return work(document_id, generation) + f"{page_no:05d}.page.json"


def document(document_id: str, generation: int) -> str:
    return f"parsed/{document_id}/{generation}/document.json"


def markdown(document_id: str, generation: int) -> str:
    return f"parsed/{document_id}/{generation}/document.md"


def page_image(document_id: str, generation: int, page_no: int) -> str:
    """A page as displayed, JPEG, kept with the result (`options.pictures`)."""
    return f"parsed/{document_id}/{generation}/images/p{page_no:05d}.jpg"


def flow_image(document_id: str, generation: int, number: int, ending: str) -> str:
    """A picture in a document without pages, as the document has it, kept with the result (`options.pictures`)."""
    return f"parsed/{document_id}/{generation}/images/m{number:04d}.{ending}"


def done(document_id: str) -> str:
    return f"done/{document_id}"


def lease(cache_key: str, number: int) -> str:
    """Who computes what `cache_key` will point to; the next `number` once the one before has expired."""
    return f"{cache_key}.lease/{number}"


def cache(tenant: str | None, content_sha256: str, options_hash: str, fingerprint: str) -> str:
    """Pointer to a `success` with the same content, options and models."""
    # A tenant is called as it likes: no name may lead into another's folder, or be too long for a key.
    owner = "-" if tenant is None else hashlib.sha256(tenant.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"cache/{owner}/{content_sha256}/{options_hash}-{fingerprint}"
