"""Letters, invoices and official notices, with stamps on them."""

from __future__ import annotations

from random import Random

from samples.generator import cutting, pictures, seals, tables
from samples.generator.flow import Flow
from samples.generator.templates.parts import any_grid, paragraphs

RED = (0.8, 0.1, 0.12)


def letter(flow: Flow, rng: Random) -> None:
    """Sender, address, date, subject, text, greeting, a stamp near the name; sometimes a red sign at the top."""
    style, words = flow.style, flow.style.words
    if rng.random() < 0.35:
        pictures.logo(flow.sheet, rng, style.left, style.top - 30, rng.uniform(26, 44))
        flow.skip(26)
    flow.paragraph(f"{rng.choice(words.persons)}, {rng.choice(words.places)}", align="right", indent=0.0)
    flow.skip(style.size * 2)
    flow.paragraph(rng.choice(words.persons), indent=0.0)
    flow.paragraph(f"{rng.choice(words.places)} {rng.randint(10000, 99999)}", indent=0.0)
    flow.skip(style.size * 2)
    flow.heading(1, number="")
    paragraphs(flow, rng, rng.randint(3, 4))
    flow.skip(style.size * 2)
    flow.need(160)
    signature = flow.paragraph(rng.choice(words.persons), align="right", indent=0.0)[0]
    flow.paragraph(f"{rng.randint(1, 28)}.{rng.randint(1, 12)}.{rng.randint(2001, 2025)}", align="right", indent=0.0)
    if rng.random() < 0.75:
        x = min(signature.bbox[0] + rng.uniform(-40, 40), style.width - style.right - 40)
        seals.stamp(
            flow.sheet,
            rng,
            rng.choice(seals.SHAPES),
            x,
            signature.bbox[3] + rng.uniform(15, 50),
            over=rng.random() < 0.5,
        )


def invoice(flow: Flow, rng: Random) -> None:
    """A sign, addresses, a ruled table of items with its sum, terms, sometimes stamped over the table's corner."""
    style, words = flow.style, flow.style.words
    if rng.random() < 0.6:
        pictures.logo(flow.sheet, rng, style.width - style.right - 44, style.top - 26, 44)
    flow.title(words.heading(rng), factor=1.7, align="left")
    for _ in range(3):
        flow.paragraph(
            f"{rng.choice(words.fields)}{'：' if words.han else ': '}{rng.choice(words.persons)}", indent=0.0
        )
    flow.skip(style.size * 1.5)
    rows = rng.randint(6, 14)
    grid = any_grid(flow, rng, rows, cols=5, ruling=rng.choice(("full", "full", "rows")), spans=False)
    grid.cells = [cell for cell in grid.cells if cell.row < rows - 1]
    total = f"{rng.randint(1, 9)},{rng.randint(100, 999)}.{rng.randint(0, 99):02d}"
    grid.cells += [
        tables.GridCell(row=rows - 1, col=0, col_span=4, text=words.columns[1]),
        tables.GridCell(row=rows - 1, col=4, text=total),
    ]
    cutting.place(flow, grid)
    paragraphs(flow, rng, 1)
    if rng.random() < 0.6:
        table = next(e for e in flow.sheet.truth.elements if e.label == "table")
        x, y = table.bbox[2] - rng.uniform(60, 140), table.bbox[3] + rng.uniform(-30, 50)
        seals.stamp(flow.sheet, rng, rng.choice(("round", "oval")), x, y, over=rng.random() < 0.7)


def official(flow: Flow, rng: Random) -> None:
    """A notice under a red head and a red line, numbered as Chinese offices do, stamped over name and date."""
    style, words = flow.style, flow.style.words
    style.numbering = "han"
    head = flow.title(
        f"{rng.choice(words.places)}{rng.choice(('人民示例处', '档案委员会'))}文件", factor=2.0, color=RED
    )
    flow.sheet.truth.distractors.append(list(head.bbox))
    flow.paragraph(f"示字〔{rng.randint(2001, 2025)}〕{rng.randint(1, 99)}号", align="center", indent=0.0)
    flow.sheet.rule(style.left, flow.y, style.width - style.right, flow.y, width=1.8, color=RED)
    flow.skip(style.size * 1.5)
    flow.paragraph(
        f"关于{words.heading(rng)}的通知",
        label="section_header",
        face=style.heading,
        size=style.size * 1.3,
        align="center",
        indent=0.0,
        level=1,
    )
    flow.skip(style.size)
    flow.paragraph(f"{rng.choice(words.places)}各单位：", indent=0.0)
    paragraphs(flow, rng, 1)
    for _ in range(rng.randint(2, 3)):
        flow.heading(1)
        paragraphs(flow, rng, 1)
        if rng.random() < 0.4:
            flow.heading(2)
            paragraphs(flow, rng, 1)
    flow.skip(style.size * 2)
    flow.need(style.size * style.leading * 2 + 110)
    name = flow.paragraph(f"{rng.choice(words.places)}档案委员会", align="right", indent=0.0)[0]
    flow.paragraph(
        f"{rng.randint(2001, 2025)}年{rng.randint(1, 12)}月{rng.randint(1, 28)}日", align="right", indent=0.0
    )
    seals.stamp(flow.sheet, rng, "round", (name.bbox[0] + name.bbox[2]) / 2, name.bbox[3] + 14, over=True)
