"""Work for vl_worker without the stages before it: laid-out pages in a store and a task for each of their regions."""

from __future__ import annotations

import io
from dataclasses import dataclass

from PIL import Image, ImageDraw

from shared.contracts.codec import encode
from shared.contracts.layout import PageLayout, Region
from shared.contracts.records import VlTask
from shared.objects import keys
from shared.objects.store import ObjectStore

PAGE = (595.0, 842.0)
"""A4 in points; pictures have 200 dpi."""
SCALE = 200 / 72


@dataclass(frozen=True)
class Work:
    """Pages of documents; `regions` tables on each page, all `VlTask`s."""

    documents: int
    pages: int = 1
    regions: int = 10
    kind: str = "table"

    def tasks(self) -> list[VlTask]:
        """One for each region, page by page."""
        return [
            VlTask(
                document_id=f"doc-{document:04d}",
                generation=0,
                mode="region",
                pages=[page],
                task_id=f"vl-{document:04d}-{page:03d}-{region:03d}",
                profile="glm-ocr",
                kind=self.kind,
                region_id=_region_id(page, region),
            )
            for document in range(self.documents)
            for page in range(1, self.pages + 1)
            for region in range(self.regions)
        ]

    async def store(self, store: ObjectStore, bucket: str) -> None:
        """Pictures and layouts of all pages. The picture is the same everywhere: nothing looks at its content but the blank guard."""
        await store.ensure_bucket(bucket)
        picture = self._picture()
        for document in range(self.documents):
            document_id = f"doc-{document:04d}"
            for page in range(1, self.pages + 1):
                key = keys.picture(document_id, 0, page)
                await store.put_once(bucket, key, picture)
                layout = PageLayout(
                    document_id=document_id,
                    generation=0,
                    page_no=page,
                    width=PAGE[0],
                    height=PAGE[1],
                    unit="pt",
                    picture_key=key,
                    regions=[self._region(page, region) for region in range(self.regions)],
                    kind="scanned",
                )
                await store.put_once(bucket, keys.layout(document_id, 0, page), encode(layout))

    def _box(self, region: int) -> list[float]:
        height = (PAGE[1] - 80) / self.regions
        top = 40 + region * height
        return [40.0, top, PAGE[0] - 40, top + 0.9 * height]

    def _region(self, page: int, region: int) -> Region:
        return Region(
            region_id=_region_id(page, region),
            label="table",
            raw_label="table",
            bbox=self._box(region),
            confidence=0.9,
            found_by="model",
            read_by="vl",
        )

    def _picture(self) -> bytes:
        size = (round(PAGE[0] * SCALE), round(PAGE[1] * SCALE))
        image = Image.new("RGB", size, "white")
        draw = ImageDraw.Draw(image)
        for region in range(self.regions):
            x0, y0, x1, y1 = (value * SCALE for value in self._box(region))
            for row in range(4):
                y = y0 + row * (y1 - y0) / 3
                draw.line((x0, y, x1, y), "black", 3)
                for col in range(6):
                    draw.text((x0 + 20 + col * (x1 - x0) / 6, y + 8), f"cell {region}.{row}.{col}", "black")
        out = io.BytesIO()
        image.save(out, "JPEG", quality=90)
        return out.getvalue()


def _region_id(page: int, region: int) -> str:
    return f"p{page:05d}-r{region:03d}"
