"""Documents of running text: reports, papers, manuals, small print."""

from __future__ import annotations

from random import Random

from samples.generator import breaking, cutting, fonts, pictures
from samples.generator.flow import Flow
from samples.generator.templates.parts import any_grid, figure, paragraphs
from samples.generator.words import LANGUAGES

CODE = (
    "def merge(left, right):",
    "    while left and right:",
    "        yield (left if left[0] < right[0] else right).pop(0)",
    "    yield from left or right",
    "for name in sorted(names):",
    '    print(f"{name}: {count[name]}")',
    "SELECT place, COUNT(*) FROM visits GROUP BY place;",
    "if (index >= limit) { return NULL; }",
    "curl -X POST http://localhost:8080/jobs",
    "total = sum(row.amount for row in rows)",
)


def report(flow: Flow, rng: Random) -> None:
    """One column, nested headings, figures and tables with captions, at the end an appendix."""
    words = flow.style.words
    flow.title(words.heading(rng), align=rng.choice(("center", "left")))
    if rng.random() < 0.4:
        paragraphs(flow, rng, 1)  # text before the first heading
    for _ in range(rng.randint(2, 3)):
        flow.heading(1)
        paragraphs(flow, rng, rng.randint(1, 2))
        for _ in range(rng.randint(1, 2)):
            flow.heading(2)
            paragraphs(flow, rng, rng.randint(1, 3))
            if rng.random() < 0.3:
                flow.heading(3)
                paragraphs(flow, rng, 1)
        if rng.random() < 0.5:
            figure(flow, rng)
        if rng.random() < 0.4:
            cutting.place(
                flow, any_grid(flow, rng, rng.randint(3, 6)), caption=words.caption(rng, "table", flow.number("table"))
            )
    if rng.random() < 0.4:
        separator = "" if words.han else " "
        flow.heading(1, text=words.heading(rng), number=f"{words.appendix}{separator}A")
        paragraphs(flow, rng, 2)


def paper(flow: Flow, rng: Random) -> None:
    """A title over the width, an abstract, two columns, formulas, footnotes, references."""
    style, words = flow.style, flow.style.words
    flow.band(1)
    flow.title(words.heading(rng), factor=1.9)
    flow.paragraph(
        ("，" if words.han else ", ").join(rng.sample(words.persons, 2)), indent=0.0, align="center", face=style.italic
    )
    flow.paragraph(words.paragraph(rng, 3), indent=0.0, size=max(6.5, style.size * 0.92), face=style.italic)
    flow.skip(style.size)
    flow.band(2)
    for section in range(rng.randint(3, 5)):
        flow.heading(1)
        paragraphs(flow, rng, rng.randint(2, 4), note=rng.random() < 0.3)
        if rng.random() < 0.5:
            _formula(flow, rng, section + 1)
            paragraphs(flow, rng, 1)
        if rng.random() < 0.35:
            figure(flow, rng)
        if rng.random() < 0.35:
            cutting.place(
                flow,
                any_grid(flow, rng, rng.randint(4, 6), cols=rng.randint(2, 3)),
                caption=words.caption(rng, "table", flow.number("table")),
            )
    flow.heading(1, text=words.references, number="")
    for number in range(1, rng.randint(5, 9)):
        flow.paragraph(
            f"[{number}] {rng.choice(words.persons)}: {words.heading(rng)}. {rng.choice(words.places)}, {rng.randint(1950, 2025)}.",
            label="reference",
            indent=0.0,
            size=max(6.5, style.size * 0.9),
        )


def _formula(flow: Flow, rng: Random, number: int) -> None:
    """A displayed formula with its number at the margin."""
    style, how = flow.style, fonts.face("times", "italic")
    text = rng.choice(("E = mc² + k(x − 1)", "f(x) = a + bx + cx²", "P = 2π r (h + r) / 3", "s = (u + v) t / 2 − q"))
    flow.need(style.size * 3.5)
    flow.skip(style.size * 0.6)
    baseline = flow.y + style.size
    wide = fonts.width(text, how, style.size * 1.1)
    lines = [flow.sheet.text(flow.left + (flow.measure - wide) / 2, baseline, text, how, style.size * 1.1)]
    label = f"({number})"
    at = flow.left + flow.measure - fonts.width(label, fonts.face("times"), style.size)
    lines.append(flow.sheet.text(at, baseline, label, fonts.face("times"), style.size))
    flow.add("formula", lines, text=f"{text} {label}", size=style.size * 1.1)
    flow.y += style.size * 2.2


def mixed(flow: Flow, rng: Random) -> None:
    """Han text with Latin names, numbers and whole English paragraphs among it."""
    words, english = flow.style.words, LANGUAGES["en"]
    flow.title(f"{words.heading(rng)} {rng.choice(('Handbook', 'API', 'OCR', 'Kafka 4.3'))}")
    for _ in range(rng.randint(3, 5)):
        flow.heading(1)
        for _ in range(rng.randint(1, 3)):
            sentences = [words.sentence(rng) for _ in range(3)]
            at = rng.randrange(1, len(sentences[1]) - 1)
            name = rng.choice(("Docfleet", "OpenVINO 2026", "HTTP/2", "PDF", "ISO 9001", "USB-C"))
            sentences[1] = f"{sentences[1][:at]} {name} {sentences[1][at:]}"
            flow.paragraph("".join(sentences))
        if rng.random() < 0.6:
            flow.paragraph(english.paragraph(rng, 2))


def notes(flow: Flow, rng: Random) -> None:
    """Paragraphs of which many carry a footnote."""
    flow.title(flow.style.words.heading(rng))
    for _ in range(rng.randint(3, 4)):
        flow.heading(1)
        for _ in range(rng.randint(2, 3)):
            paragraphs(flow, rng, 1, note=rng.random() < 0.7)


def side_notes(flow: Flow, rng: Random) -> None:
    """Notes in a wide outer margin, beside the paragraphs they belong to."""
    style, words = flow.style, flow.style.words
    aside = style.width * 0.2
    left = rng.random() < 0.5
    if left:
        style.left += aside
    else:
        style.right += aside
    flow.band(1)
    flow.title(words.heading(rng), align="left")
    x = style.left - aside - 4 if left else style.width - style.right + 14
    for _ in range(rng.randint(3, 4)):
        flow.heading(1)
        for _ in range(rng.randint(1, 3)):
            flow.need(style.size * style.leading * 8)
            top = flow.y
            element = paragraphs(flow, rng, 1)[0]
            if rng.random() < 0.6:
                size = max(6.5, style.size * 0.75)
                text, lines, y = words.heading(rng), [], top + size
                for line in breaking.lines(text, style.italic, size, aside - 10):
                    lines.append(flow.sheet.text(x, y, line.text, style.italic, size))
                    y += size * 1.25
                flow.add("aside_text", lines, text=text, target=element.id, size=size, column=-1)


def manual(flow: Flow, rng: Random) -> None:
    """Sections with code, in a monospaced face, sometimes on grey."""
    style = flow.style
    flow.title(style.words.heading(rng), align="left")
    how, size = fonts.face(rng.choice(fonts.MONOSPACE)), max(6.5, style.size * 0.85)
    shaded = rng.random() < 0.5
    for _ in range(rng.randint(3, 4)):
        flow.heading(1)
        paragraphs(flow, rng, rng.randint(1, 2))
        texts = [
            line for line in rng.sample(CODE, rng.randint(3, 7)) if fonts.width(line, how, size) < flow.measure - 16
        ]
        step = size * 1.3
        flow.need(step * len(texts) + 16)
        top = flow.y
        bottom = top + step * len(texts) + 8
        if shaded:
            flow.sheet.box([flow.left, top, flow.left + flow.measure, bottom], fill=(0.93, 0.93, 0.93), color=None)
        lines, y = [], top + size + 3
        for text in texts:
            depth = len(text) - len(text.lstrip())
            at = flow.left + 8 + fonts.width(" " * depth, how, size)
            lines.append(flow.sheet.text(at, y, text.lstrip(), how, size))
            y += step
        flow.add("code", lines, text="\n".join(texts), size=size)
        flow.y = bottom
        flow.skip(style.size)
        paragraphs(flow, rng, 1)


def small_print(flow: Flow, rng: Random) -> None:
    """Terms in two columns of 6.5 to 7.5 points."""
    flow.band(1)
    flow.title(flow.style.words.heading(rng), factor=1.8)
    flow.band(2)
    for _ in range(rng.randint(6, 9)):
        flow.heading(1)
        paragraphs(flow, rng, rng.randint(2, 3))


def large(flow: Flow, rng: Random) -> None:
    """A notice of few words in large type."""
    flow.style.leading = 1.3
    flow.title(flow.style.words.heading(rng), factor=1.4)
    paragraphs(flow, rng, rng.randint(2, 3))
    if rng.random() < 0.5:
        box = [flow.left, flow.y, flow.left + flow.measure, flow.y + min(180.0, flow.room - 10)]
        if box[3] - box[1] > 80:
            pictures.photo(flow.sheet, rng, box, red=rng.random() < 0.3)
            flow.y = box[3]
