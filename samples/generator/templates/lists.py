"""Lists of all kinds, and a table of contents."""

from __future__ import annotations

from random import Random

from samples.generator import fonts
from samples.generator.flow import Flow
from samples.generator.style import han_number
from samples.generator.templates.parts import paragraphs

BULLETS = ("•", "–", "*", "·")


def lists(flow: Flow, rng: Random) -> None:
    """Bullets, numbers, letters and nested items, each list after a sentence."""
    words = flow.style.words
    flow.title(words.heading(rng), align="left", factor=1.7)
    for _ in range(rng.randint(3, 5)):
        if rng.random() < 0.6:
            flow.heading(1)
        flow.paragraph(words.sentence(rng))
        flow.items(_entries(flow, rng))
    paragraphs(flow, rng, 1)


def _entries(flow: Flow, rng: Random) -> list[tuple[int, str, str]]:
    words, kind = flow.style.words, rng.choice(("bullet", "number", "letter", "bracket", "nested"))
    bullet, found = rng.choice(BULLETS), []
    for index in range(rng.randint(3, 6)):
        marker = {
            "number": f"{index + 1}.",
            "letter": f"{'abcdef'[index]})",
            "bracket": f"（{han_number(index + 1)}）" if words.han else f"({index + 1})",
        }.get(kind, bullet)
        found.append((0, marker, words.paragraph(rng, rng.choice((1, 1, 2)))))
        if kind == "nested" and rng.random() < 0.6:
            found += [(1, "–" if bullet != "–" else "•", words.sentence(rng)) for _ in range(rng.randint(1, 3))]
    return found


def contents(flow: Flow, rng: Random) -> None:
    """Entries with dots that lead to their page, then a first section."""
    style, words = flow.style, flow.style.words
    flow.title(words.contents, align="left", factor=1.6)
    step, page = style.size * style.leading * 1.1, 1
    for chapter in range(1, rng.randint(6, 9)):
        for part in range(rng.randint(0, 3) + 1):
            number = f"{chapter}" if part == 0 else f"{chapter}.{part}"
            inset = 0.0 if part == 0 else 16.0
            page += rng.randint(1, 9)
            flow.need(step)
            baseline = flow.y + style.size
            title = f"{number} {words.heading(rng)}"
            last = str(page)
            right = flow.left + flow.measure - fonts.width(last, style.body, style.size)
            dot = fonts.width(".", style.body, style.size)
            room = right - flow.left - inset - fonts.width(title + " ", style.body, style.size) - 6
            text = f"{title} {'.' * max(3, int(room / dot))}"
            lines = [
                flow.sheet.text(flow.left + inset, baseline, text, style.body, style.size),
                flow.sheet.text(right, baseline, last, style.body, style.size),
            ]
            flow.add("text", lines, text=f"{text} {last}", size=style.size)
            flow.y += step
    flow.skip(style.size * 2)
    flow.heading(1)
    paragraphs(flow, rng, 2)
