"""Footnotes, endnotes and comments: after the text, each tied to the block that it was put to."""

from __future__ import annotations

from shared.contracts.document import Link
from shared.contracts.layout import FlowBlock
from shared.documents.docx.marks import Marks
from shared.documents.docx.story import Story, Told
from shared.documents.docx.xml import Element, attribute, name


def notes(told: Told, kind: str, root: Element | None, story: Story, marks: Marks) -> None:
    """Append the notes of `kind` (`footnote`, `endnote`) that the text cites, in that order, with their marks."""
    elements = _by_id(root, f"w:{kind}")
    done: set[str] = set()
    for of, note, owner in list(told.notes):
        if of == kind and note in elements and note not in done:
            done.add(note)
            text, links = _read(story, elements[note])
            mark = f"{marks.of(kind, note)} "
            if text:
                moved = [Link(start=one.start + len(mark), end=one.end + len(mark), uri=one.uri) for one in links]
                told.add(
                    FlowBlock(
                        label="footnote", raw_label=kind, layer="notes", text=mark + text, links=moved, owner=owner
                    )
                )


def comments(told: Told, root: Element | None, story: Story) -> None:
    """Append the comments that reviewers put to the text."""
    elements = _by_id(root, "w:comment")
    done: set[str] = set()
    for comment, owner in list(told.comments):
        if comment in elements and comment not in done:
            done.add(comment)
            text, links = _read(story, elements[comment])
            if text:
                told.add(
                    FlowBlock(label="text", raw_label="comment", layer="notes", text=text, links=links, owner=owner)
                )


def _by_id(root: Element | None, wanted: str) -> dict[str, Element]:
    found = {}
    for one in root if root is not None else ():
        if name(one) == wanted:
            found[attribute(one, "w:id") or ""] = one
    return found


def _read(story: Story, element: Element) -> tuple[str, list[Link]]:
    """The paragraphs of a note as lines of one text."""
    begin = len(story.told.blocks)
    story.read(element)
    text, links = "", []
    for block in story.told.blocks[begin:]:
        if block.layer != "body":
            continue
        words = block.text or (f"${block.latex}$" if block.latex else "")
        words = words or "\n".join(cell.text for cell in block.table.cells) if block.table else words
        if words:
            text += "\n" if text else ""
            links += [Link(start=one.start + len(text), end=one.end + len(text), uri=one.uri) for one in block.links]
            text += words
    return text, links
