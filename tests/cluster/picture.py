"""`python -m tests.cluster.picture SAMPLES.csv PICTURE.svg`: lag, replicas and pages a second over time, below each other."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

WIDTH, HEIGHT, LEFT, TOP, GAP = 760, 130, 60, 40, 46
WINDOW_S = 30.0
"""Over which pages a second are taken."""


def draw(rows: list[dict[str, str]], title: str) -> str:
    """An SVG of samples."""
    at = [float(row["at"]) for row in rows]
    pages = [float(row["pages"]) for row in rows]
    rate = [(pages[i] - pages[j := _since(at, i)]) / max(1.0, at[i] - at[j]) for i in range(len(at))]
    panels = [
        ("committed lag of rec_worker, records", [("#b5482a", "lag", [float(row["lag"]) for row in rows])]),
        (
            "pods of rec_worker",
            [
                ("#9aa5b1", "wanted", [float(row["wanted"]) for row in rows]),
                ("#2a6fb5", "ready", [float(row["ready"]) for row in rows]),
            ],
        ),
        (f"pages read a second, mean of {WINDOW_S:g} s", [("#2a8a4a", "pages", rate)]),
    ]
    height = TOP + len(panels) * (HEIGHT + GAP) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + LEFT + 30} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="100%" height="100%" fill="white"/><text x="{LEFT}" y="20" font-size="14">{title}</text>',
    ]
    for number, (name, lines) in enumerate(panels):
        parts += _panel(TOP + number * (HEIGHT + GAP), name, at, lines)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _since(at: list[float], index: int) -> int:
    """The last sample that is older than the window, or the first there is."""
    first = index
    while first > 0 and at[index] - at[first] < WINDOW_S:
        first -= 1
    return first


def _panel(top: int, name: str, at: list[float], lines: list[tuple[str, str, list[float]]]) -> list[str]:
    most = max(1.0, *(max(values) for _, _, values in lines))
    last = max(at)
    x = lambda second: LEFT + WIDTH * second / last
    y = lambda value: top + 18 + HEIGHT - HEIGHT * value / most
    parts = [f'<text x="{LEFT}" y="{top + 10}" fill="#333">{name}</text>']
    for share in (0, 0.5, 1):
        value = most * share
        parts.append(f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#ddd"/>')
        said = f"{value:.0f}" if value >= 100 else f"{value:.3g}"
        parts.append(f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end" fill="#666">{said}</text>')
    step = next(one for one in (30, 60, 120, 300, 600, 1200) if last / one <= 10 or one == 1200)
    for second in range(0, int(last) + 1, step):
        label = f"{second // 60}:{second % 60:02d}"
        parts.append(
            f'<text x="{x(second):.1f}" y="{top + HEIGHT + 32}" text-anchor="middle" fill="#666">{label}</text>'
        )
    for index, (colour, label, values) in enumerate(lines):
        points = " ".join(f"{x(second):.1f},{y(value):.1f}" for second, value in zip(at, values, strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        if len(lines) > 1:
            parts.append(
                f'<text x="{LEFT + WIDTH - 60 * index}" y="{top + 10}" text-anchor="end" fill="{colour}">{label}</text>'
            )
    return parts


def main(samples: Path, picture: Path) -> int:
    with samples.open(newline="") as file:
        rows = list(csv.DictReader(file))
    by = "KEDA" if samples.stem == "keda" else "an HPA"
    title = f"rec_worker scaled by {by}: {rows[-1]['pages']} pages; time in minutes and seconds"
    picture.write_text(draw(rows, title), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
