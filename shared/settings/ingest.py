"""Which objects are taken in, and how."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any, Self

import msgspec
from pydantic import Field, model_validator

from shared.contracts.options import Options, Priority
from shared.settings.group import Group


class IngestRule(Group):
    """A row of `ingest.rules`: what is done with objects like this.

    Rows are tried in order and the first whose conditions all hold decides; where none holds, everything is accepted as it is.
    Buckets that may be read at all are `objects.sources`. A row with `tenant` makes the objects that tenant's own: a submission that names
    another tenant does not get at them. `accept: false` and `options` are for bucket notifications; whoever submits an object by name
    wants it, with the options given there.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$", description="For logs.")
    bucket: str | None = Field(None, description="Only objects of this bucket; `*` and `?` as in file names.")
    prefix: str = Field("", description="Only keys that begin so.")
    suffixes: list[str] = Field([], description="Only keys that end so, letter case aside; empty means any.")
    min_bytes: int | None = Field(
        None, ge=0, description="Only objects of this size or more; one whose size is not told does not fit."
    )
    max_bytes: int | None = Field(None, ge=0, description="Only objects up to this size; the same.")
    tenants: list[str] = Field([], description="Only submissions of these tenants; empty means any, or none.")
    accept: bool = Field(True, description="`false`: notifications of such objects are ignored.")
    options: dict[str, Any] = Field({}, description="`options` of documents that come by notification.")
    priority: Priority | None = Field(
        None, description="Takes the place of the submission's own: `bulk` sends a tenant or prefix to the second lane."
    )
    tenant: str | None = Field(None, max_length=128, description="Whose objects these are.")

    def fits(self, bucket: str, key: str, size: int | None, tenant: str | None) -> bool:
        """Whether the conditions hold for an object of `size` bytes (none where that is not known) that `tenant` submits (or nobody)."""
        if self.bucket is not None and not fnmatchcase(bucket, self.bucket):
            return False
        if not key.startswith(self.prefix):
            return False
        if self.suffixes and not key.lower().endswith(tuple(suffix.lower() for suffix in self.suffixes)):
            return False
        if self.tenants and tenant not in self.tenants:
            return False
        if self.min_bytes is not None and (size is None or size < self.min_bytes):
            return False
        return self.max_bytes is None or (size is not None and size <= self.max_bytes)

    @model_validator(mode="after")
    def _can_hold(self) -> Self:
        if self.min_bytes is not None and self.max_bytes is not None and self.min_bytes > self.max_bytes:
            raise ValueError(f"{self.name}: min_bytes is above max_bytes")
        try:
            msgspec.convert(self.options, Options)
        except msgspec.ValidationError as error:
            raise ValueError(f"{self.name}: options: {error}") from None
        if unknown := set(self.options) - set(Options.__struct_fields__):
            raise ValueError(f"{self.name}: there is no option {', '.join(sorted(unknown))}")
        return self


class Ingest(Group):
    """Rules of admission."""

    bulk_pages: int = Field(16, ge=1, description="Documents with more pages go by the bulk lane.")
    rules: list[IngestRule] = Field(
        [], max_length=200, description="What to do with which objects: rows, the first that fits decides. See below."
    )
    inspections: int = Field(
        4, ge=1, le=64, description="Documents that are fetched and inspected at once, per process."
    )
    twin_wait_s: float = Field(
        3_600.0,
        ge=0,
        description="Seconds a document waits at most while another with the same content, options and tenant is computed, to be answered"
        " from its result; 0: nobody waits. `interactive` ones never do.",
    )
    changed_retries: int = Field(
        3,
        ge=0,
        le=20,
        description="Looks at an object that is not the one announced, or is written to meanwhile, before `source_changed`.",
    )
