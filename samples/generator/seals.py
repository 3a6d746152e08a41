"""Red stamps, and red things that are none.

A stamp is a picture with transparent ground: a ring or frame, text along its arc or in rows, a star; worn ink, slightly turned. Sizes are
those of real ones: round 42 mm, oval 45 x 30 mm, square 18 to 25 mm.
"""

from __future__ import annotations

import io
import math
from functools import cache
from random import Random
from typing import Literal

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from samples.generator import fonts
from samples.generator.sheet import Sheet
from samples.generator.truth import Element, rounded

Shape = Literal["round", "oval", "square", "inverse"]
SHAPES: tuple[Shape, ...] = ("round", "oval", "square", "inverse")
MM = 72 / 25.4
PIXELS = 4
"""Of the picture, per point: 288 dpi."""
OWNERS = (
    "北河市示例档案管理处",
    "东山县样本贸易有限公司",
    "临江镇测试委员会",
    "清水湾仓储服务中心",
    "石桥乡图书馆示范馆",
)
PURPOSES = ("合同专用章", "财务专用章", "业务专用章", "收发章")
NAMES = ("王明之印", "李文华印", "陈氏藏书", "张晓东印")
SMALL, LARGE = 0.22, 0.3
"""Height of the letters of a ring by its radius; of the characters of a square by its side."""
INK = (205, 28, 36)


@cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(io.BytesIO(fonts.font("cjk").buffer), size)


def stamp(sheet: Sheet, rng: Random, shape: Shape, x: float, y: float, *, over: bool) -> Element:
    """Put a stamp with its centre at (x, y). `over`: over the text instead of under it."""
    picture, text = _picture(rng, shape)
    picture = picture.rotate(rng.uniform(-14, 14), resample=Image.Resampling.BICUBIC, expand=True)
    left, top, right, bottom = picture.getchannel("A").point(lambda a: 255 if a > 40 else 0).getbbox() or (0, 0, 1, 1)
    picture = picture.crop((left, top, right, bottom))
    width, height = picture.width / PIXELS, picture.height / PIXELS
    bbox = [x - width / 2, y - height / 2, x + width / 2, y + height / 2]
    out = io.BytesIO()
    picture.save(out, "PNG")
    if over:
        sheet.stamps.append((bbox, out.getvalue()))
    else:
        sheet.image(bbox, out.getvalue())
    return sheet.add("seal", bbox=rounded(bbox), text=text, column=-1)


def _picture(rng: Random, shape: Shape) -> tuple[Image.Image, str]:
    if shape in ("square", "inverse"):
        side = int(rng.uniform(18, 25) * MM * PIXELS)
        image, text = _square(rng, side, inverse=shape == "inverse")
    else:
        wide, high = (42.0, 42.0) if shape == "round" else (45.0, 30.0)
        image, text = _ring(rng, int(wide * MM * PIXELS), int(high * MM * PIXELS))
    return _worn(image, rng), text


def _square(rng: Random, side: int, *, inverse: bool) -> tuple[Image.Image, str]:
    mask = Image.new("L", (side, side), 255 if inverse else 0)
    draw = ImageDraw.Draw(mask)
    if not inverse:
        draw.rectangle((2, 2, side - 3, side - 3), outline=255, width=side // 22)
    text, size = rng.choice(NAMES), int(side * (LARGE + 0.1))
    for index, character in enumerate(text):  # right column first, as seals are read
        centre = (side * (0.72 - 0.44 * (index // 2)), side * (0.28 + 0.44 * (index % 2)))
        draw.text(centre, character, font=_font(size), fill=0 if inverse else 255, anchor="mm")
    return mask, text


def _ring(rng: Random, width: int, height: int) -> tuple[Image.Image, str]:
    mask = Image.new("L", (width, height), 0)
    draw = ImageDraw.Draw(mask)
    draw.ellipse((3, 3, width - 4, height - 4), outline=255, width=max(5, height // 40))
    owner, purpose, size = rng.choice(OWNERS), rng.choice(PURPOSES), int(height / 2 * SMALL)
    reach = (width / 2 - size * 1.05, height / 2 - size * 1.05)
    for index, character in enumerate(owner):
        angle = math.radians(-118 + index * 236 / (len(owner) - 1))
        letter = Image.new("L", (2 * size, 2 * size), 0)
        ImageDraw.Draw(letter).text((size, size), character, font=_font(size), fill=255, anchor="mm")
        letter = letter.rotate(-math.degrees(angle), resample=Image.Resampling.BICUBIC)
        at = (int(width / 2 + math.sin(angle) * reach[0] - size), int(height / 2 - math.cos(angle) * reach[1] - size))
        mask.paste(255, (at[0], at[1], at[0] + 2 * size, at[1] + 2 * size), letter)
    if width == height:
        draw.polygon(_star(width / 2, height * 0.48, height * 0.15), fill=255)
    draw.text(
        (width / 2, height * (0.76 if width == height else 0.58)), purpose, font=_font(size), fill=255, anchor="mm"
    )
    return mask, owner + purpose


def _star(x: float, y: float, radius: float) -> list[tuple[float, float]]:
    points = []
    for corner in range(10):
        reach = radius if corner % 2 == 0 else radius * 0.4
        angle = math.pi * corner / 5
        points.append((x + math.sin(angle) * reach, y - math.cos(angle) * reach))
    return points


def _worn(mask: Image.Image, rng: Random) -> Image.Image:
    """Red ink in the mask's shape, here and there too little of it."""
    noise = np.random.default_rng(rng.randrange(2**31)).random((mask.height // 6 + 1, mask.width // 6 + 1))
    grain = Image.fromarray((noise * 255).astype(np.uint8)).resize(mask.size, Image.Resampling.BICUBIC)
    strength = rng.uniform(0.8, 0.95)
    alpha = np.asarray(mask, np.float32) * strength * np.where(np.asarray(grain) < 46, 0.45, 1.0)
    image = Image.new("RGBA", mask.size, (*INK, 255))
    image.putalpha(Image.fromarray(alpha.astype(np.uint8)).filter(ImageFilter.GaussianBlur(0.6)))
    return image
