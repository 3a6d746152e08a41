"""Inputs of field reports on wrong or missing content (B1 to B19), drawn for the tests."""

from __future__ import annotations

import io
import random

import pymupdf
from PIL import Image, ImageDraw

from tests.support.docx import docx, gone, ins, p, tbl, tc
from tests.support.faces import face
from tests.support.pdfs import Pdf, text_at

WIDTH, HEIGHT = 612.0, 792.0
SENTENCES = [
    "The harbour took in four hundred ships during the spring.",
    "Most of them carried timber and some of them carried wool.",
    "The crane on the second pier was out of order for days.",
    "Six ships had to wait for more than a week before they left.",
]
VERTICAL = ["この日本語の文章は", "複数の列に", "分かれています"]
"""Columns of a Japanese page, from the right to the left."""
MOST_CHARACTERS = 3_000
"""`limits.max_page_characters` under which the second page of `failing_page` fails, and no other."""


def damaged_page() -> bytes:
    """Four pages; the content stream of the second ends in the middle of an operand."""
    pdf = Pdf()
    for number in (1, 2, 3, 4):
        broken = number == 2
        pdf.page(text_at(72, 700, f"Text of page {number}") + ("q q Q [garbage (and no end" if broken else ""))
    return pdf.bytes()


def failing_page() -> bytes:
    """Four pages; the second has more characters than `MOST_CHARACTERS`."""
    document = pymupdf.open()
    for number in (1, 2, 3, 4):
        page = document.new_page(width=WIDTH, height=HEIGHT)
        page.insert_text((72, 90), f"Text of page {number}", fontsize=12)
        if number == 2:
            for row in range(60):
                page.insert_text((40, 120 + 11 * row), "x" * 60, fontsize=8)
    return bytes(document.tobytes(no_new_id=True))


def numbered_pages(count: int = 50) -> bytes:
    """Pages that each say their number three times."""
    document = pymupdf.open()
    for number in range(1, count + 1):
        page = document.new_page(width=WIDTH, height=HEIGHT)
        for at in range(3):
            page.insert_text(
                (72, 200 + 120 * at), f"PAGE-{number:02d} says sentence {at + 1} of this page.", fontsize=12
            )
    return bytes(document.tobytes(no_new_id=True))


PROSE = (
    "The harbour office counts the ships that come in and those that leave again, and it has done so since the first pier was built on the"
    " northern side of the bay. In the spring of that year four hundred and twelve ships were counted, which is more than in any other"
    " spring. Most of them carried timber and grain, some of them carried wool, and three of them carried nothing at all and left on the"
    " following day. The crane on the second pier was out of order for eleven days, so that six ships had to wait for more than a week"
    " before they could be unloaded. Nobody was hurt, but two captains wrote letters to the office, which were answered in the summer by"
    " the new clerk. He wrote that a second crane had been ordered in the town and would be paid for out of the fees that every captain"
    " leaves behind when his ship goes out to sea. The letters are kept in the archive together with the answer and with a drawing of the"
    " crane, made by the clerk himself, who had learned to draw before he learned to count and never quite gave it up in later years."
)


def columns_with_title(columns: int) -> tuple[bytes, list[str]]:
    """A title over the page, `PROSE` in columns whose lines stand at the same heights, and a table (2) or a figure (3) that cuts them.

    Also the texts of the pieces of columns in the order in which they are read: the upper ones, then those below what cuts them.
    """
    document = pymupdf.open()
    page = document.new_page(width=WIDTH, height=HEIGHT)
    page.insert_text((60, 60), "One title that goes over all of the columns", fontsize=18)
    left, width, size = {2: ((60, 330), 225, 10.0), 3: ((40, 222, 404), 165, 9.0)}[columns]
    lines = _wrapped(PROSE, width, size)
    above = len(lines) // (2 * columns)
    heights = [100.0, 100.0 + 14 * above + 140]
    pieces: list[list[str]] = []
    rest = lines
    for top in heights:
        for index, x in enumerate(left):
            last = top == heights[-1] and index == columns - 1
            pieces.append(rest if last else rest[:above])
            rest = [] if last else rest[above:]
            for row, text in enumerate(pieces[-1]):
                page.insert_text((x, top + 14 * row), text, fontsize=size)
    cut = 100.0 + 14 * above + 10
    if columns == 2:
        _ruled(page, 60, cut, [["Pier", "Ships", "Days"], ["north", "41", "11"], ["south", "17", "5"]], [150, 150, 150])
    else:
        page.draw_rect(pymupdf.Rect(60, cut, 560, cut + 90), color=(0, 0, 0), fill=(0.2, 0.4, 0.7))
    return bytes(document.tobytes(no_new_id=True)), [" ".join(piece) for piece in pieces]


def _wrapped(text: str, width: float, size: float) -> list[str]:
    """Lines of Helvetica that are at most so wide."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if pymupdf.get_text_length(longer, fontsize=size) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def _ruled(
    page: pymupdf.Page, x: float, y: float, rows: list[list[str]], widths: list[float], height: float = 18
) -> float:
    """Draw a table with all its lines; where it ends."""
    edges = [x + sum(widths[:index]) for index in range(len(widths) + 1)]
    bottom = y + height * len(rows)
    for index in range(len(rows) + 1):
        page.draw_line((edges[0], y + height * index), (edges[-1], y + height * index), width=0.7)
    for edge in edges:
        page.draw_line((edge, y), (edge, bottom), width=0.7)
    for r, row in enumerate(rows):
        for c, text in enumerate(row):
            page.insert_text((edges[c] + 4, y + height * r + 13), text, fontsize=9)
    return bottom


def vertical_page(scale: float = 2.0) -> bytes:
    """A picture of `VERTICAL`, set from top to bottom and right to left."""
    font = face("japan", int(26 * scale))
    image = Image.new("L", (int(420 * scale), int(520 * scale)), 255)
    pen = ImageDraw.Draw(image)
    for column, text in enumerate(VERTICAL):
        for row, one in enumerate(text):
            pen.text((int((330 - 55 * column) * scale), int((60 + 34 * row) * scale)), one, fill=0, font=font)
    out = io.BytesIO()
    image.save(out, "PNG", dpi=(144, 144))
    return out.getvalue()


def rotated_pages() -> bytes:
    """The same text, upright to whoever looks, on four pages that ask to be turned by 0, 90, 180 and 270 degrees."""
    document = pymupdf.open()
    for rotation in (0, 90, 180, 270):
        sides = (HEIGHT, WIDTH) if rotation in (90, 270) else (WIDTH, HEIGHT)
        page = document.new_page(width=sides[0], height=sides[1])
        page.set_mediabox(pymupdf.Rect(10, -100, 10 + sides[0], -100 + sides[1]))
        page.set_rotation(rotation)
        for row, text in enumerate(SENTENCES):
            at = pymupdf.Point(80, 180 + 30 * row) * page.derotation_matrix
            page.insert_text(at, text, fontsize=12, rotate=rotation)
    return bytes(document.tobytes(no_new_id=True))


def sideways_pages() -> bytes:
    """The same text on four pages with an origin off the corner, which their rotation turns on its side or on its head."""
    pdf = Pdf()
    content = "".join(text_at(80, 600 - 30 * i, text) for i, text in enumerate(SENTENCES))
    for rotation in (0, 90, 180, 270):
        pdf.page(content, f"/MediaBox [10 -100 622 692] /Rotate {rotation}")
    return pdf.bytes()


TURNED = "This paragraph stands on its head and goes on over several lines, so that their order says whether it was read along them or not."
MARK = "CONFIDENTIAL DRAFT"
BODY = (
    "The harbour was quiet in the early morning when the first ships came in from the north and the fog lifted slowly.",
    "Later in the day the wind turned and all of the boats lay at their piers until the evening came over the bay.",
)


def turned_texts() -> bytes:
    """Pages of upright text with other text on them: stamps in both margins; a paragraph on its head; a watermark up and one down the page;
    a ruled table with heads on their side; and a page whose table without rules lies on its side."""
    document = pymupdf.open()

    def page(*places: float) -> pymupdf.Page:
        new = document.new_page(width=WIDTH, height=HEIGHT)
        for y, text in zip(places, BODY, strict=False):
            new.insert_textbox((90, y, 510, y + 60), text, fontsize=11)
        return new

    stamped = page(150, 250)
    stamped.insert_text((40, 600), "Received on the third of May", fontsize=12, rotate=90)
    stamped.insert_text((560, 300), "Copy number seven", fontsize=12, rotate=270)
    page(130, 400).insert_textbox((90, 200, 510, 300), TURNED, fontsize=11, rotate=180)
    for degrees, x, y in ((45, 150, 600), (-45, 120, 200)):
        at = pymupdf.Point(x, y)
        morph = (at, pymupdf.Matrix(1, 1).prerotate(degrees))
        page(y - 60 if y < 400 else 180, 440).insert_text(at, MARK, fontsize=40, color=(0.8, 0.8, 0.8), morph=morph)
    table = page(80)
    columns, rows = [90, 210, 270, 330, 390], [200, 290, 312, 334, 356]
    for x in columns:
        table.draw_line((x, rows[0]), (x, rows[-1]))
    for y in rows:
        table.draw_line((columns[0], y), (columns[-1], y))
    for column, head in enumerate(SIDE_HEADS):
        for line, text in enumerate(head.split("\n")):
            table.insert_text((columns[column + 1] + 25 + 14 * line, 285), text, fontsize=10, rotate=90)
    for row in range(3):
        for column in range(4):
            table.insert_text((columns[column] + 5, rows[row + 1] + 15), f"{row}-{column}", fontsize=10)
    wide = document.new_page(width=WIDTH, height=HEIGHT)
    wide.insert_text((80, 700), "Table 3: The ships of the spring and where they lay", fontsize=11, rotate=90)
    for row, cells in enumerate([TABLE_HEADER, *table_rows()[:8]]):
        for column, text in enumerate(cells):
            wide.insert_text((120 + 22 * row, 700 - 150 * column), text, fontsize=10, rotate=90)
    return bytes(document.tobytes(no_new_id=True))


SIDE_HEADS = ["Length of ship", "Number of\nmasts", "Year"]


def cropped_pages() -> bytes:
    """A page with a crop inside a media box of negative origin and text outside of it, and one in units of two points."""
    pdf = Pdf()
    inside = text_at(20, 600, "Inside the crop of this page") + text_at(-40, 735, "Off to the upper left")
    pdf.page(inside, "/MediaBox [-50 -50 562 742] /CropBox [0 0 500 700]")
    pdf.page(text_at(20, 300, "Twice the size of others"), "/MediaBox [0 0 250 330] /UserUnit 2")
    return pdf.bytes()


TABLE_HEADER = ["Name", "Count", "Place", "Remark"]


def table_rows() -> list[list[str]]:
    """Forty rows of data; from the twentieth on the last column is empty."""
    return [[f"ship {n:02d}", str(100 + n), f"pier {n % 7}", f"note {n}" if n < 20 else ""] for n in range(40)]


def long_table(*, repeated: bool = True) -> bytes:
    """A ruled table of `table_rows` over two pages, its header again on the second or not."""
    document = pymupdf.open()
    rows = table_rows()
    for number, part in enumerate((rows[:20], rows[20:])):
        page = document.new_page(width=WIDTH, height=HEIGHT)
        if number == 0:
            page.insert_text((72, 70), "The ships of the spring are listed in this table.", fontsize=11)
        header = [TABLE_HEADER] if repeated or number == 0 else []
        end = _ruled(page, 72, 90, [*header, *part], [120, 90, 120, 120])
        if number == 1:
            page.insert_text((72, end + 40), "After the table comes this sentence.", fontsize=11)
    return bytes(document.tobytes(no_new_id=True))


GENUINE = "A real heading at that height"


def running_heads() -> bytes:
    """Ten pages with a header and a page number; the fifth has a heading of its own where the others have the header."""
    document = pymupdf.open()
    for number in range(1, 11):
        page = document.new_page(width=WIDTH, height=HEIGHT)
        if number == 5:
            page.insert_text((72, 50), GENUINE, fontsize=20, fontname="hebo")
        else:
            page.insert_text((72, 50), "Quarterly report of the harbour office", fontsize=9)
        page.insert_text((270, 760), f"Page {number} of 10", fontsize=9)
        for row, text in enumerate(SENTENCES * 3):
            page.insert_text((72, 110 + 20 * row), f"{number}.{row} {text}", fontsize=11)
    return bytes(document.tobytes(no_new_id=True))


def tracked_changes() -> bytes:
    """A DOCX with an insertion and a deletion in a paragraph and in a cell."""
    return docx(
        p("The crane costs ", ins("nine hundred"), gone("eight hundred"), " a day.")
        + tbl([tc("Pier"), tc(p(gone("south"), ins("north")))])
        + p("Nothing changed here.")
    )


def blank_pages() -> list[bytes]:
    """A white page, and a white page with the dust of a scanner, as pictures."""
    white = Image.new("L", (1275, 1650), 255)
    dusty = white.copy()
    noise = random.Random(19)
    for _ in range(40):
        dusty.putpixel((noise.randrange(1275), noise.randrange(1650)), noise.randrange(90, 200))
    out = []
    for image in (white, dusty):
        stream = io.BytesIO()
        image.save(stream, "PNG", dpi=(150, 150))
        out.append(stream.getvalue())
    return out
