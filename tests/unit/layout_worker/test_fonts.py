"""Which fonts show what their characters claim: by letters, by common characters, and by a comparison where these leave a doubt."""

import random

import pytest

from services.layout_worker.trust.fonts import Compared, doubts_of, fonts_of, is_believed, is_broken, looks
from services.layout_worker.trust.trust import judge
from shared.documents.page import NativeLine, OpenedPage
from shared.settings import Layout

pytestmark = pytest.mark.unit

MOST = Layout().compared_fonts

ENGLISH = [
    "The harbour took in four hundred and twelve ships during the spring,",
    "which is more than in any other spring since the counting began.",
    "Most of them carried timber and grain, some of them carried wool.",
]
OTHERS = {
    "de": "Das Schiff brachte im Frühjahr Getreide und Holz, einige wenige auch Wolle und Öl aus dem Süden.",
    "fr": "Les navires apportaient au printemps du bois et du blé, et quelques-uns de la laine du nord.",
    "pl": "Statki przywoziły wiosną drewno i zboże, a niektóre z nich również wełnę z północy kraju.",
    "tr": "Gemiler ilkbaharda kereste ve tahıl getirdi, bazıları da kuzeyden yün taşıdı ve geri döndü.",
    "ru": "Весной корабли привозили лес и зерно, а некоторые из них также шерсть с севера страны.",
    "el": "Την άνοιξη τα πλοία έφεραν ξυλεία και σιτάρι, και μερικά από αυτά μαλλί από τον βορρά.",
    "upper": "THE HARBOUR TOOK IN FOUR HUNDRED AND TWELVE SHIPS DURING THE SPRING OF THIS YEAR",
}
CHINESE = (
    "今年春天港口共接待了四百一十二艘船，比以往任何一个春天都多。其中大多数运来的是木材和粮食，也有一些运"
    "来羊毛，还有三艘什么也没有装，第二天就离开了。第二码头的起重机坏了十一天，所以有六艘船等了一个多星期。"
)


def line(text, y=100.0, font="A+F", **more):
    return NativeLine(bbox=[50, y, 300, y + 12], text=text, font_name="F", font=font, font_size=10.0, **more)


def page(*lines, **more):
    return OpenedPage(page_no=1, width=595, height=842, unit="pt", lines=list(lines), **more)


def shifted(text, by):
    return "".join(chr(ord(char) + by) if char != " " else char for char in text)


def permuted(text, seed):
    letters = "abcdefghijklmnopqrstuvwxyz"
    other = list(letters)
    random.Random(seed).shuffle(other)
    return text.lower().translate(str.maketrans(letters, "".join(other)))


@pytest.mark.parametrize("text", [" ".join(ENGLISH), *OTHERS.values(), CHINESE])
def test_text_of_many_languages_looks_right(text):
    assert looks(text) == "right"


@pytest.mark.parametrize("by", [1, 2, 3, 4, 5, 7, 11, 13, -3, -29])
def test_shifted_letters_never_look_right(by):
    assert looks(shifted(" ".join(ENGLISH), by)) != "right"


def test_permuted_letters_look_wrong():
    text = " ".join(ENGLISH)
    assert [looks(permuted(text, seed)) for seed in range(20)].count("right") == 0
    assert [looks(permuted(text, seed)) for seed in range(20)].count("wrong") >= 19


@pytest.mark.parametrize("by", [1, 3, 7, 40, -3])
def test_shifted_chinese_looks_wrong(by):
    assert looks("".join(chr(ord(char) + by) if char > "\u4e00" else char for char in CHINESE)) == "wrong"


def test_numbers_and_signs_say_nothing():
    for text in ("12.5 38.0 1,204", "• – —", "(1) [2]"):
        assert looks(text) == "unclear"
    assert doubts_of(page(line("12.5 38.0 1,204"), line("• • •", 120, "B+G")), MOST) == []


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("(cid:12)(cid:7)(cid:88)", True),
        ("/G21/G22/G0A", True),
        ("/uni4E00/uni4E8C", True),
        ("see /Go/home for more", False),
        ("the word (cid:12) in a longer sentence about PDF files", False),
        ("and/or", False),
    ],
)
def test_names_of_glyphs_are_no_text(text, broken):
    assert is_broken(line(text)) is broken


def test_a_short_heading_in_a_shifted_font_is_a_doubt_and_the_text_below_is_none():
    opened = page(
        line("Lqwurgxfwlrq dqg vxppdub", font="B+Head"), *(line(t, 130 + 14 * i) for i, t in enumerate(ENGLISH))
    )
    (doubt,) = doubts_of(opened, MOST)
    assert [item.text for item in doubt.lines] == ["Lqwurgxfwlrq dqg vxppdub"]
    wrong, right = ({doubt.key: Compared(similarity=value)} for value in (0.1, 0.95))
    trust = judge(opened, "auto", 1, wrong)
    assert ([item.text for item in trust.trusted], len(trust.untrusted)) == (ENGLISH, 1)
    assert any("Head" in reason and "not believed" in reason for reason in trust.reasons)
    assert judge(opened, "auto", 1, right).untrusted == []


def test_two_fonts_of_one_name_are_told_apart_by_their_lines():
    bad = [line(shifted(t, 3), 300 + 14 * i) for i, t in enumerate(ENGLISH)]
    opened = page(*(line(t, 130 + 14 * i) for i, t in enumerate(ENGLISH)), *bad)
    assert {font.key: font.looks for font in fonts_of(opened)} == {"A+F": "right", "A+F (odd lines)": "wrong"}
    assert len(judge(opened, "auto", 1).untrusted) == 3


def test_what_cannot_be_compared_is_decided_by_its_looks():
    (odd,) = fonts_of(page(line("XKCD QRTZ 77-GHTY")))
    assert odd.looks == "unclear"
    assert is_believed(odd, {})
    assert is_believed(odd, {odd.key: Compared()})
    assert not is_believed(odd, {odd.key: Compared(similarity=0.2)})
    (guessed,) = fonts_of(page(line('"7+%-'), guessed_fonts=["A+F"]))
    assert not is_believed(guessed, {}), "nobody said that these are its characters"
    assert is_believed(guessed, {guessed.key: Compared(similarity=0.9)})


def test_a_font_that_is_not_in_the_file_cannot_be_compared():
    opened = page(line("开票通知单"), unembedded_fonts=["A+F"])
    assert doubts_of(opened, MOST) == []
    assert [item.text for item in judge(opened, "auto", 1).trusted] == ["开票通知单"]


def test_a_page_has_few_doubts():
    opened = page(*(line(f"XKCD QRTZ {i}", 20 + 14 * i, f"F{i:02d}") for i in range(40)))
    assert len(doubts_of(opened, MOST)) == MOST
    assert len(doubts_of(opened, 4)) == 4
    assert doubts_of(opened, 0) == []


def test_samples_are_few_short_and_from_all_over_the_page():
    opened = page(*(line(f"QXZW-{i:03d} RTKLP", 20 + 14 * i) for i in range(50)))
    (doubt,) = doubts_of(opened, MOST)
    assert len(doubt.lines) == 3
    assert doubts_of(opened, MOST) == [doubt]
