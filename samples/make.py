"""Makes the sample documents: `python samples/make.py` writes samples/sample.pdf, samples/page.pdf and samples/scan.pdf.

`sample.pdf` has four pages: English in two columns, Chinese with a ruled table (both born-digital), and the same two again as scans
(200 DPI JPEG, slightly rotated, with noise; the Chinese one with a red seal). `--pages N --out FILE` makes a long document instead.
The same seed gives the same pictures. All texts are our own.
"""

from __future__ import annotations

import argparse
import io
import random
from pathlib import Path

import numpy as np
import pymupdf
from PIL import Image, ImageDraw, ImageFilter

HERE = Path(__file__).parent
WIDTH, HEIGHT = 595, 842
ENGLISH = [
    "A consumer group divides the partitions of a topic among its members. When a member leaves, the others take its partitions over.",
    "An offset is committed only when the outputs of every record before it are stored, so a worker may die at any moment.",
    "Pages are the unit of work. A long report spreads over all workers, and a short letter does not wait behind it.",
    "Text lines are the unit of batching: lines of many pages and many documents share one call of the network.",
    "Every document ends with exactly one record. If a page could not be read, the record says which page and why.",
    "Results are written once. Whoever comes second reads what is stored and goes on from there.",
]
CHINESE = [
    "消费者组把主题的分区分配给组内的成员，成员离开之后，其余成员会接管它的分区。",
    "只有当之前每一条记录的输出都已保存，偏移量才会提交，因此进程可以在任何时刻中断。",
    "页面是工作的单位，文本行是批处理的单位，区域是视觉语言模型工作的单位。",
    "每份文档都以一条记录结束；如果有一页无法读取，记录会说明是哪一页以及原因。",
]
ROWS = [
    ("阶段", "单位", "每秒", "说明"),
    ("布局", "页", "12.5", "每页一次"),
    ("识别", "行", "78", "跨文档成批"),
    ("汇总", "文档", "40", "按页合并"),
]


def english(page: pymupdf.Page, number: int, rng: random.Random) -> None:
    """Title, two columns, header and footer."""
    page.insert_text((60, 40), "docfleet sample", fontname="helv", fontsize=9)
    page.insert_text((60, 90), "How a fleet reads documents", fontname="hebo", fontsize=22)
    page.insert_text((60, 112), "A short account of groups, pages and lines", fontname="heit", fontsize=12)
    for column in range(2):
        x = 60 + column * 245
        y = 140.0
        for section in range(2):
            page.insert_text(
                (x, y + 14),
                f"{column * 2 + section + 1}. {['Groups', 'Offsets', 'Batches', 'Results'][column * 2 + section]}",
                fontname="hebo",
                fontsize=13,
            )
            y += 24
            for text in rng.sample(ENGLISH, 3):
                used = page.insert_textbox(
                    pymupdf.Rect(x, y, x + 230, y + 120), text, fontname="tiro", fontsize=10.5, align=0
                )
                y += 120 - used + 8
            y += 10
    page.insert_text((285, 815), f"Page {number}", fontname="helv", fontsize=9)


def chinese(page: pymupdf.Page, number: int, rng: random.Random) -> None:
    """Title, paragraphs, a ruled table with its caption."""
    font = pymupdf.Font("cjk")
    writer = pymupdf.TextWriter(page.rect)
    writer.append((60, 40), "文档解析示例", font=font, fontsize=9)
    writer.append((180, 95), "文档集群的工作方式", font=font, fontsize=24)
    y = 140.0
    for index, heading in enumerate(("一、分工", "二、结果")):
        writer.append((60, y), heading, font=font, fontsize=15)
        y += 24
        for text in rng.sample(CHINESE, 2):
            for start in range(0, len(text), 38):
                writer.append((60, y), text[start : start + 38], font=font, fontsize=12)
                y += 19
            y += 5
        y += 10 + index
    writer.append((220, y + 10), "表1 各阶段的吞吐量", font=font, fontsize=11)
    top, step, lefts = y + 20, 26, (90, 190, 280, 370, 505)
    for row, cells in enumerate(ROWS):
        for col, text in enumerate(cells):
            writer.append((lefts[col] + 8, top + row * step + 18), text, font=font, fontsize=11)
    writer.append((285, 815), f"第 {number} 页", font=font, fontsize=9)
    writer.write_text(page)
    for row in range(len(ROWS) + 1):
        page.draw_line((lefts[0], top + row * step), (lefts[-1], top + row * step), width=0.8)
    for x in lefts:
        page.draw_line((x, top), (x, top + len(ROWS) * step), width=0.8)


def scanned(page: pymupdf.Page, rng: random.Random, seal: bool, dpi: int = 200) -> bytes:
    """JPEG of a page as a scanner gives it."""
    pixels = page.get_pixmap(dpi=dpi)
    image = Image.frombytes("RGB", (pixels.width, pixels.height), pixels.samples)
    if seal:
        draw_seal(image, (int(image.width * 0.72), int(image.height * 0.74)), 150)
    image = image.rotate(rng.uniform(-0.4, 0.4), resample=Image.Resampling.BICUBIC, fillcolor="white")
    image = image.filter(ImageFilter.GaussianBlur(0.4))
    noise = np.random.default_rng(rng.randrange(2**31)).normal(0, 4, (image.height, image.width, 1))
    image = Image.fromarray(np.clip(np.asarray(image, np.int16) + noise.astype(np.int16), 0, 255).astype(np.uint8))
    out = io.BytesIO()
    image.save(out, "JPEG", quality=75)
    return out.getvalue()


def draw_seal(image: Image.Image, centre: tuple[int, int], radius: int) -> None:
    """A round red seal with a star and text along its arc."""
    stamp = Image.new("RGBA", (2 * radius, 2 * radius), (0, 0, 0, 0))
    draw = ImageDraw.Draw(stamp)
    draw.ellipse((6, 6, 2 * radius - 6, 2 * radius - 6), outline=(210, 30, 40, 255), width=8)
    draw.regular_polygon((radius, radius, radius // 4), 3, fill=(210, 30, 40, 255))
    draw.regular_polygon((radius, radius, radius // 4), 3, rotation=180, fill=(210, 30, 40, 255))
    text, glyph = "示例文档处理有限公司", int(radius * 0.24)
    from_page = pymupdf.open()
    for index, character in enumerate(text):
        sheet = from_page.new_page(width=glyph + 8, height=glyph + 8)
        writer = pymupdf.TextWriter(sheet.rect)
        writer.append((4, glyph), character, font=pymupdf.Font("cjk"), fontsize=glyph)
        writer.write_text(sheet, color=(0.82, 0.12, 0.16))
        pixels = sheet.get_pixmap(dpi=72, alpha=True)
        letter = Image.frombytes("RGBA", (pixels.width, pixels.height), pixels.samples)
        angle = -120 + index * 240 / (len(text) - 1)
        turned = letter.rotate(-angle, expand=True, resample=Image.Resampling.BICUBIC)
        x = radius + np.sin(np.radians(angle)) * radius * 0.74 - turned.width / 2
        y = radius - np.cos(np.radians(angle)) * radius * 0.74 - turned.height / 2
        stamp.alpha_composite(turned, (int(x), int(y)))
    image.paste(stamp, (centre[0] - radius, centre[1] - radius), stamp)


def build(kinds: list[str], seed: int = 7) -> bytes:
    """A PDF whose pages are of the given kinds: `en`, `zh`, `en_scan`, `zh_scan`."""
    rng = random.Random(seed)
    document = pymupdf.open()
    cache: dict[str, bytes] = {}
    for number, kind in enumerate(kinds, 1):
        if kind.endswith("_scan"):
            if kind not in cache:
                source = pymupdf.open().new_page(width=WIDTH, height=HEIGHT)
                (english if kind.startswith("en") else chinese)(source, number, rng)
                cache[kind] = scanned(source, rng, seal=kind == "zh_scan")
            page = document.new_page(width=WIDTH, height=HEIGHT)
            page.insert_image(page.rect, stream=cache[kind])
        else:
            page = document.new_page(width=WIDTH, height=HEIGHT)
            (english if kind == "en" else chinese)(page, number, rng)
    document.set_metadata({"title": "docfleet sample", "creationDate": "", "modDate": ""})
    document.subset_fonts()
    return bytes(document.tobytes(garbage=4, deflate=True, no_new_id=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, help="make one long document of born-digital pages")
    parser.add_argument("--scan-every", type=int, default=0, help="with --pages: every n-th page is a scan")
    parser.add_argument("--out", type=Path, default=HERE)
    args = parser.parse_args()
    if args.pages:
        kinds = [
            ("en_scan" if args.scan_every and n % args.scan_every == 0 else "zh" if n % 3 == 0 else "en")
            for n in range(1, args.pages + 1)
        ]
        args.out.write_bytes(build(kinds))
        return
    for name, kinds in {
        "sample.pdf": ["en", "zh", "en_scan", "zh_scan"],
        "page.pdf": ["en"],
        "scan.pdf": ["zh_scan"],
    }.items():
        (args.out / name).write_bytes(build(kinds))


if __name__ == "__main__":
    main()
