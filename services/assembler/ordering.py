"""The reading order of a page that was laid out and not read yet: what `docfleet look` shows. The program of a child process."""

from __future__ import annotations

from msgspec.structs import replace

from services.assembler.document.arrange import arranged
from services.assembler.document.upright import straightened
from shared.children.block import Block as SharedBlock
from shared.contracts.document import Block, Line, Provenance
from shared.contracts.layout import PageLayout, Region


class Ordering:
    """Orders regions by the same rules by which blocks are ordered once they are read."""

    def order(self, argument: PageLayout, blocks: list[SharedBlock]) -> tuple[PageLayout, list[SharedBlock]]:
        """The layout with its regions in reading order. Text that only reading will bring can still change it (rows of a form)."""
        level = straightened(argument, [])[0] if argument.slope else argument
        regions = {region.region_id: region for region in argument.regions}
        order = [block.id for block in arranged([_as_block(region, argument.page_no) for region in level.regions])]
        return replace(argument, regions=[regions[region_id] for region_id in order]), []


def create(settings: object) -> Ordering:
    """The factory that `shared.children` calls; order has no settings."""
    return Ordering()


def _as_block(region: Region, page_no: int) -> Block:
    lines = [Line(bbox=line.bbox, text=line.text or "") for line in region.lines]
    vertical = sum(line.vertical for line in region.lines) * 2 > len(region.lines) > 0
    return Block(
        id=region.region_id,
        order=0,
        label=region.label,
        raw_label=region.raw_label,
        text="\n".join(line.text or "?" for line in region.lines),
        prov=[Provenance(page_no=page_no, bbox=region.bbox)],
        writing_mode="vertical_rl" if vertical else "horizontal_tb",
        lines=lines,
    )
