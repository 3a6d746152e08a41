"""Page layout, and who reads which region."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from shared.contracts.document import Label
from shared.settings.group import Group


class RouteRule(Group):
    """A row of the routing table: regions that are like this are read by `to`.

    Rows are tried in order, and the first whose conditions all hold and whose reader can do it decides. A reader can't where there is
    none (`vl` without an endpoint or with `options.vl: off`), where `options.ocr: off` forbids looking at pixels, or where the page's own
    text is not all there (`native`). Where no row decides, the page's own text is used if it is whole, lines without text go to `rec`,
    and what holds nothing is read by nobody. The name of the row is in `regions[].route` of a page's layout.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$", description="Goes into the result.")
    labels: list[Label] = Field([], description="Labels of regions; empty means every label.")
    text: Literal["any", "all", "some", "none"] = Field(
        "any", description="How many of its lines have text of the page's own; `all` and `some` ask for one at least."
    )
    grid: Literal["any", "drawn", "complete"] = Field(
        "any",
        description="`complete`: its lines have text and stand in clear columns, or between ruling lines; `drawn`: the latter.",
    )
    confidence_below: float | None = Field(
        None,
        ge=0,
        le=1,
        description="Only regions of which the layout network was less sure; not those it did not find.",
    )
    confidence_from: float | None = Field(None, ge=0, le=1, description="Only regions that are as sure, or surer.")
    share_below: float | None = Field(None, gt=0, le=1, description="Only regions that cover less of the page.")
    share_from: float | None = Field(None, ge=0, le=1, description="Only regions that cover as much of the page.")
    to: Literal["native", "rec", "vl", "none"] = Field(
        description="The page's own text, the recogniser, the vision-language model, or nobody."
    )

    @model_validator(mode="after")
    def _can_hold(self) -> Self:
        for below, least in (("confidence_below", self.confidence_from), ("share_below", self.share_from)):
            most = getattr(self, below)
            if most is not None and least is not None and least >= most:
                raise ValueError(f"{self.name}: {below} leaves nothing above the lower bound")
        if self.to == "native" and self.text in ("some", "none"):
            raise ValueError(f"{self.name}: own text cannot be used where it is not all there (text: {self.text})")
        return self


ROUTE = [
    RouteRule(name="picture", labels=["picture"], to="none"),
    RouteRule(name="drawn-grid", labels=["table"], grid="drawn", to="native"),
    RouteRule(name="doubtful-table", labels=["table"], confidence_below=0.5, share_below=0.03, to="rec"),
    RouteRule(name="doubtful-formula", labels=["formula"], confidence_below=0.5, text="all", to="native"),
    RouteRule(name="model", labels=["table", "seal", "formula"], to="vl"),
    RouteRule(name="grid", labels=["table"], grid="complete", to="native"),
    RouteRule(name="structure", labels=["table"], to="rec"),
]
"""Tables whose cells are drawn and whose text is there are exact: a model could only add mistakes. What the network itself doubts, and what
is small (3 % of A4 is three lines of text across), is not worth a model's second of time. A real table of generated pages scores 0.95 and
more, mistaken ones 0.5 (services/layout_worker/regions/doubts.py)."""


class Layout(Group):
    """Page layout."""

    dpi: int = Field(200, ge=72, le=600, description="Resolution of page pictures.")
    min_confidence: float = Field(0.3, ge=0, le=1, description="Layout boxes below this are dropped.")
    compared_fonts: int = Field(
        12,
        ge=0,
        le=100,
        description="Fonts of a page in doubt that are compared with its picture, at most (some 40 ms each, once a document); 0: their looks decide.",
    )
    route: list[RouteRule] = Field(
        ROUTE, max_length=100, description="Who reads which region: rows, the first that fits decides. See below."
    )
    source_cache_bytes: int = Field(
        4 * 2**30, ge=2**20, description="Disk space for fetched sources, least recently used go first."
    )
    source_cache: Path | None = Field(
        None, description="Folder of fetched sources, emptied at every start; none is a temporary folder."
    )
