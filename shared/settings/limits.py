"""What a document may cost."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from shared.settings.group import Group


class Limits(Group):
    """What a document may cost; beyond it there is a typed error."""

    max_file_bytes: int = Field(500 * 2**20, ge=1, description="Size of a source object. `too_large`.")
    max_pages: int = Field(10_000, ge=1, description="Pages of a document. `too_large`.")
    max_image_pixels: int = Field(
        200_000_000, ge=1, description="Pixels of one image before it is decoded. `resource_limit`."
    )
    max_page_pixels: int = Field(
        16_000_000,
        ge=10_000,
        description="Pixels of a page picture; a larger page is rendered smaller, with the warning `render_scaled`.",
    )
    max_page_characters: int = Field(
        1_000_000, ge=1, description="Characters of one page's own text. `resource_limit`."
    )
    max_page_drawings: int = Field(
        20_000,
        ge=1,
        description="Painted items of a page that are looked at for ruling lines, boxes and covered text; a page with more (a map, a plot)"
        " is looked at as a picture.",
    )
    max_flow_characters: int = Field(
        10_000_000, ge=1, description="Characters of a document without pages (DOCX). `resource_limit`."
    )
    max_archive_members: int = Field(
        4_096, ge=1, description="Members of an archive that is a document (DOCX). `resource_limit`."
    )
    max_archive_ratio: int = Field(
        200,
        ge=1,
        description="Times by which a member of such an archive may grow when it is unpacked; looked at from 1 MiB on. `resource_limit`.",
    )
    max_unpacked_bytes: int = Field(
        256 * 2**20,
        ge=1,
        description="Bytes that are unpacked of such an archive in all, counted as they come, whatever it says itself. `resource_limit`.",
    )
    max_stream_bytes: int = Field(
        256 * 2**20,
        ge=2**20,
        description="Bytes that one content stream of a PDF's page unpacks to, through all its filters. `resource_limit`.",
    )
    max_decoded_bytes: int = Field(
        2 * 2**30,
        ge=2**20,
        description="The same of all pages of a document together, as far as one child looked at them. `resource_limit`.",
    )
    child_memory_bytes: int = Field(
        3 * 2**30, ge=2**28, description="Address space of a document child. Beyond it: `resource_limit`."
    )
    page_timeout_s: float = Field(
        60.0, gt=0, description="Seconds to open one page or document in the document child. `stalled`."
    )
    max_regions: int = Field(500, ge=1, description="Regions of a page; more are joined into one region of text.")
    max_record_bytes: int = Field(
        1_000_000, ge=20_000, description="Size of an incoming record that is looked at; larger ones are dead letters."
    )
    passwords: Path | None = Field(
        None, description="Folder of secrets that `options.password_ref` may name, one password a file."
    )
