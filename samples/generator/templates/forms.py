"""Forms: names of fields with boxes or lines to write on, filled in or not, and checkboxes; drawn, or fields of the PDF (AcroForm).

PyMuPDF sets the values of fields; where their characters came to stand is read back from the page, which holds nothing else there yet.
"""

from __future__ import annotations

from random import Random

from samples.generator import fields, fonts
from samples.generator.flow import Flow
from samples.generator.sheet import Sheet
from samples.generator.truth import Line

INK = (0.1, 0.15, 0.5)
"""Of what was filled in."""


def form(flow: Flow, rng: Random) -> None:
    """Sections of fields, one or two in a row, and of checkboxes; a signature at the end."""
    style, words = flow.style, flow.style.words
    flow.title(words.heading(rng), factor=1.6, align=rng.choice(("left", "center")))
    if rng.random() < 0.6:
        flow.paragraph(words.paragraph(rng, 2), indent=0.0)
    # Only Latin values: the fonts that every reader has for fields hold no others.
    kind = rng.choice(("box", "line", "line") if words.han else ("box", "line", "field", "field"))
    names = rng.sample(words.fields, len(words.fields))
    for _ in range(rng.randint(2, 3)):
        flow.heading(1)
        for _ in range(rng.randint(2, 3)):
            _row(flow, rng, [names.pop() for _ in range(min(len(names), rng.randint(1, 2)))], kind)
        if rng.random() < 0.8:
            flow.paragraph(words.sentence(rng), indent=0.0)
            _choices(flow, rng, native=kind == "field")
    flow.skip(style.size)
    if rng.random() < 0.4:
        flow.paragraph(words.paragraph(rng, 2), indent=0.0, size=max(6.5, style.size * 0.8))


def _row(flow: Flow, rng: Random, names: list[str], kind: str) -> None:
    """Fields side by side: the name, and the place to write beside it."""
    style = flow.style
    height = style.size * 1.9
    flow.need(height)
    width = flow.measure / max(1, len(names))
    for index, name in enumerate(names):
        x = flow.left + index * width
        baseline = flow.y + style.size * 1.25
        label = flow.sheet.text(x, baseline, f"{name}{'：' if style.words.han else ':'}", style.body, style.size)
        flow.add("text", [label], text=label.text, size=style.size)
        box = [max(label.bbox[2] + 5, x + width * 0.3), flow.y + 1, x + width - 12, flow.y + height - 3]
        value = _value(rng, flow) if rng.random() < 0.75 else ""
        if fonts.width(value, style.body, style.size) > box[2] - box[0] - 8:
            value = ""
        lines: list[Line] = []
        if kind == "field":
            lines = fields.text_field(flow.sheet, box, value, style.size)
        else:
            if kind == "box":
                flow.sheet.box(box, width=0.6)
            else:
                flow.sheet.rule(box[0], box[3], box[2], box[3], width=0.6)
            if value:
                lines.append(flow.sheet.text(box[0] + 4, baseline, value, style.body, style.size, color=INK))
        flow.sheet.add("form_field", lines, box, text=lines[0].text if lines else "", size=style.size)
    flow.y += height + style.size * 0.5


def _value(rng: Random, flow: Flow) -> str:
    words = flow.style.words
    return rng.choice(
        (
            rng.choice(words.persons),
            rng.choice(words.places),
            f"{rng.randint(10000, 99999)}",
            f"{rng.randint(1, 28)}.{rng.randint(1, 12)}.{rng.randint(1950, 2004)}",
        )
    )


def _choices(flow: Flow, rng: Random, *, native: bool) -> None:
    """Checkboxes with their words, in one row or one under the other."""
    style = flow.style
    names = rng.sample(style.words.cells, rng.randint(3, 4))
    stacked = rng.random() < 0.5
    side, step = style.size * 0.9, style.size * 1.8
    flow.need(step * (len(names) if stacked else 1))
    x = flow.left
    for name in names:
        baseline = flow.y + style.size * 1.1
        checked = rng.random() < 0.4
        if native:
            fields.check_box(flow.sheet, [x, baseline - side + 1, x + side, baseline + 1], checked)
        else:
            _tick(flow.sheet, x, baseline - side + 1, side, checked)
        line = flow.sheet.text(x + side + 5, baseline, name, style.body, style.size)
        box = [x, baseline - side + 1 - 0.5, line.bbox[2], max(baseline + 1.5, line.bbox[3])]
        flow.sheet.add("checkbox", [line], box, text=name, checked=checked, size=style.size)
        if stacked:
            flow.y += step
        else:
            x = line.bbox[2] + style.size * 2
    flow.y += style.size * 0.5 if stacked else step + style.size * 0.3


def _tick(sheet: Sheet, x: float, y: float, side: float, checked: bool) -> None:
    sheet.box([x, y, x + side, y + side], width=0.8)
    if checked:
        sheet.page.draw_polyline(
            [(x + 1.5, y + side * 0.5), (x + side * 0.4, y + side - 2), (x + side - 1, y + 1)], width=1.2
        )
