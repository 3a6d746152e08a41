"""Which object store the settings ask for."""

from __future__ import annotations

from shared.objects.store import ObjectStore
from shared.settings import Settings


def open_store(settings: Settings) -> ObjectStore:
    """The store of these settings; no request is made yet. Imports only the one that is asked for, for the start's sake."""
    if settings.objects.kind == "folder":
        from shared.objects.folder import FolderStore

        return FolderStore(settings.objects.folder)
    from shared.objects.s3 import S3Store

    return S3Store(settings.objects)
