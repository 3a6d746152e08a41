"""What is said in a DOCX: paragraphs, headings, tracked changes, notes, links, text boxes, running headers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.docx import docx, gone, ins, p, part, r, read, tbl, tc, texts

pytestmark = pytest.mark.unit


def style(style_id: str, name: str, inner: str = "", based: str = "") -> str:
    base = f'<w:basedOn w:val="{based}"/>' if based else ""
    return f'<w:style w:type="paragraph" w:styleId="{style_id}"><w:name w:val="{name}"/>{base}{inner}</w:style>'


def level(value: int) -> str:
    return f'<w:outlineLvl w:val="{value}"/>'


def test_headings_by_style_name_outline_level_and_inheritance(tmp_path: Path) -> None:
    styles = part(
        "w:styles",
        style("T", "Title")
        + style("H2", "heading 2")
        + style("Mine", "Our chapter", f"<w:pPr>{level(0)}</w:pPr>")
        + style("Mine2", "Our chapter, blue", based="Mine")
        + style("Plain", "Not one", f"<w:pPr>{level(9)}</w:pPr>", based="H2")
        + style("Loop", "a loop", based="Loop2")
        + style("Loop2", "another loop", based="Loop"),
    )
    body = (
        p("The title", style="T")
        + p("By  name", style="H2")
        + p("Inherited", style="Mine2")
        + p("Own level", properties=level(3))
        + p("Level taken away", style="Plain")
        + p("Own body level", style="H2", properties=level(9))
        + p("", style="H2")
        + p("In a loop", style="Loop")
        + p("Unknown style", style="Nowhere")
    )
    blocks = read(docx(body, parts={"styles.xml": styles}), tmp_path).blocks
    assert [(one.label, one.level, one.text) for one in blocks] == [
        ("title", 0, "The title"),
        ("section_header", 2, "By name"),
        ("section_header", 1, "Inherited"),
        ("section_header", 4, "Own level"),
        ("text", None, "Level taken away"),
        ("text", None, "Own body level"),
        ("text", None, "In a loop"),
        ("text", None, "Unknown style"),
    ]


def test_insertions_are_in_and_deletions_kept_apart(tmp_path: Path) -> None:
    body = p("Pay ", ins("100"), gone("90"), " euros") + p(gone("All of this went")) + p("after")
    blocks = read(docx(body), tmp_path).blocks
    assert texts(blocks) == ["Pay 100 euros", "after"]
    assert [(one.text, one.owner, one.reason) for one in blocks if one.layer == "invisible"] == [
        ("90", 0, "tracked deletion"),
        ("All of this went", 1, "tracked deletion"),
    ]


def test_a_moved_paragraph_is_there_once(tmp_path: Path) -> None:
    moved = "<w:moveFrom w:id='1'>" + r("moved") + "</w:moveFrom>"
    body = p(moved) + p("kept") + p("<w:moveTo w:id='2'>" + r("moved") + "</w:moveTo>")
    assert texts(read(docx(body), tmp_path).blocks) == ["kept", "moved"]


def test_a_deleted_paragraph_mark_joins_two_paragraphs(tmp_path: Path) -> None:
    body = p("one ", properties="<w:rPr><w:del w:id='1'/></w:rPr>") + p("sentence") + p("next")
    assert texts(read(docx(body), tmp_path).blocks) == ["one sentence", "next"]


def test_hidden_text_is_in_its_own_layer(tmp_path: Path) -> None:
    blocks = read(docx(p("seen", r(" secret", "<w:vanish/>"), r(" shown", '<w:vanish w:val="0"/>'))), tmp_path).blocks
    assert texts(blocks) == ["seen shown"]
    assert [(one.text, one.reason) for one in blocks if one.layer == "invisible"] == [("secret", "hidden text")]


def box(text: str) -> str:
    content = f"<w:txbxContent>{p(text)}</w:txbxContent>"
    return (
        '<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wp:inline><a:graphic><wps:wsp><wps:txbx>'
        f"{content}</wps:txbx></wps:wsp></a:graphic></wp:inline></w:drawing></mc:Choice>"
        f"<mc:Fallback><w:pict><v:shape><v:textbox>{content}</v:textbox></v:shape></w:pict></mc:Fallback>"
        "</mc:AlternateContent></w:r>"
    )


def test_a_text_box_that_is_written_twice_is_read_once(tmp_path: Path) -> None:
    assert texts(read(docx(p("beside", box("in the box")) + p("below")), tmp_path).blocks) == [
        "beside",
        "in the box",
        "below",
    ]


def test_of_an_unknown_choice_the_fallback_is_read(tmp_path: Path) -> None:
    odd = (
        '<mc:AlternateContent><mc:Choice Requires="future"><w:r><w:t>new</w:t></w:r></mc:Choice>'
        "<mc:Fallback><w:r><w:t>old</w:t></w:r></mc:Fallback></mc:AlternateContent>"
    )
    assert texts(read(docx(p("<w:r/>", odd)), tmp_path).blocks) == ["old"]


def reference(kind: str, note: int) -> str:
    return f'<w:r><w:{kind}Reference w:id="{note}"/></w:r>'


def test_notes_have_their_marks_and_know_their_place(tmp_path: Path) -> None:
    def note(kind: str, number: int, text: str) -> str:
        return f'<w:{kind} w:id="{number}">{p("<w:r><w:footnoteRef/></w:r>", text)}</w:{kind}>'

    body = (
        p("plain")
        + p("first", reference("footnote", 7), " and second", reference("footnote", 3))
        + tbl([tc(p("cell", reference("endnote", 2)))])
        + p("said", reference("comment", 5))
    )
    parts = {
        "footnotes.xml": part("w:footnotes", note("footnote", 3, " three") + note("footnote", 7, " seven")),
        "endnotes.xml": part("w:endnotes", note("endnote", 2, " the end") + note("endnote", 9, " nobody cites")),
        "comments.xml": part("w:comments", f'<w:comment w:id="5">{p("Is that so?")}</w:comment>'),
    }
    blocks = read(docx(body, parts=parts), tmp_path).blocks
    assert texts(blocks) == ["plain", "first¹ and second²", "", "said"]
    assert blocks[2].table is not None
    assert blocks[2].table.cells[0].text == "cellⁱ"
    assert [(one.label, one.raw_label, one.text, one.owner) for one in blocks if one.layer == "notes"] == [
        ("footnote", "footnote", "¹ seven", 1),
        ("footnote", "footnote", "² three", 1),
        ("footnote", "endnote", "ⁱ the end", 2),
        ("text", "comment", "Is that so?", 3),
    ]


def test_links_of_relationships_fields_and_anchors(tmp_path: Path) -> None:
    field = (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> HYPERLINK "http://b.example" </w:instrText></w:r>'
        '<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>there</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )
    body = p(
        " go ", '<w:hyperlink r:id="x">' + r("here") + "</w:hyperlink>", " or ", field, " ",
        '<w:hyperlink w:anchor="s1">' + r("up") + "</w:hyperlink>",
    )  # fmt: skip
    block = read(docx(body, external={"x": ("hyperlink", "http://a.example/?q=1")}), tmp_path).blocks[0]
    assert block.text == "go here or there up"
    assert [(block.text[one.start : one.end], one.uri) for one in block.links] == [
        ("here", "http://a.example/?q=1"),
        ("there", "http://b.example"),
        ("up", "#s1"),
    ]


def test_a_field_shows_its_result_and_a_broken_one_hides_nothing(tmp_path: Path) -> None:
    begin = '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> PAGE </w:instrText></w:r>'
    end = '<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>7</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>'
    body = p("page ", begin + end) + p("open", begin) + p("not lost")
    assert texts(read(docx(body), tmp_path).blocks) == ["page 7", "open", "not lost"]


def test_odd_characters(tmp_path: Path) -> None:
    run = (
        "<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t><w:softHyphen/><w:t>e</w:t>"
        '<w:br w:type="page"/><w:sym w:font="Wingdings" w:char="F0FC"/></w:r>'
    )
    assert texts(read(docx(p(run)), tmp_path).blocks) == ["a\tb\nc-de✓"]


def test_running_headers_and_footers_are_furniture_and_only_those_that_are_shown(tmp_path: Path) -> None:
    sections = (
        '<w:sectPr><w:headerReference w:type="default" r:id="h1"/><w:headerReference w:type="even" r:id="h2"/>'
        '<w:headerReference w:type="first" r:id="h3"/><w:footerReference w:type="default" r:id="f1"/></w:sectPr>'
    )
    parts = {
        "h1.x": part("w:hdr", p("Report 7")),
        "h2.x": part("w:hdr", p("left pages")),
        "h3.x": part("w:hdr", p("first page")),
        "f1.x": part("w:ftr", p("12") + p("Confidential")),
    }
    links = {"h1": ("header", "h1.x"), "h2": ("header", "h2.x"), "h3": ("header", "h3.x"), "f1": ("footer", "f1.x")}
    body = p("one", properties=sections) + p("two", reference("comment", 1)) + sections
    parts["comments.xml"] = part("w:comments", f'<w:comment w:id="1">{p("why")}</w:comment>')
    blocks = read(docx(body, parts=parts, links=links), tmp_path).blocks
    assert [(one.label, one.text) for one in blocks] == [
        ("page_header", "Report 7"),
        ("text", "one"),
        ("text", "two"),
        ("text", "why"),
        ("page_number", "12"),
        ("page_footer", "Confidential"),
    ]
    assert blocks[3].owner == 2, "owners move with what is put before them"


def test_pictures_captions_and_what_is_outside(tmp_path: Path) -> None:
    def picture(relation: str, alt: str) -> str:
        return (
            f'<w:r><w:drawing><wp:inline><wp:docPr id="1" name="n" descr="{alt}"/><a:graphic><a:blip {relation}/>'
            "</a:graphic></wp:inline></w:drawing></w:r>"
        )

    body = (
        p(picture('r:embed="i1"', "a duck"))
        + p("Figure 1: the duck", style="C")
        + p(picture('r:link="i2"', "far away"), picture('r:embed="i1"', "again"), picture('r:embed="i3"', "drawn"))
        + p("Table 1: numbers", style="C")
        + tbl([tc("1")])
    )
    parts: dict[str, str | bytes] = {
        "styles.xml": part("w:styles", style("C", "caption")),
        "media/a.png": b"\x89PNG\r\n\x1a\nrest",
        "media/b.emf": b"vector",
    }
    data = docx(
        body,
        parts=parts,
        links={"i1": ("image", "media/a.png"), "i3": ("image", "media/b.emf")},
        external={"i2": ("image", "http://127.0.0.1:9/x.png")},
    )
    answer = read(data, tmp_path, pictures=True)
    shown = [(one.label, one.text, one.owner) for one in answer.blocks]
    assert shown == [
        ("picture", "a duck", None),
        ("caption", "Figure 1: the duck", 0),
        ("picture", "far away", None),
        ("picture", "again", None),
        ("picture", "drawn", None),
        ("caption", "Table 1: numbers", 6),
        ("table", "", None),
    ]
    assert [(one.index, one.number, one.mime_type) for one in answer.pictures] == [
        (0, 1, "image/png"),
        (3, 1, "image/png"),
    ]
    assert "not fetched" in (answer.blocks[2].reason or "")
    assert "vector" in (answer.blocks[4].reason or "")
    assert read(data, tmp_path).pictures == []


def test_strict_files_are_read_alike(tmp_path: Path) -> None:
    strict = part("w:document", f"<w:body>{p('strict')}</w:body>").replace(
        "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "http://purl.oclc.org/ooxml/wordprocessingml/main",
    )
    assert texts(read(docx("", raw=strict), tmp_path).blocks) == ["strict"]
