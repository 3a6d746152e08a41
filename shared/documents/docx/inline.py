"""What stands in a paragraph: its text as Word shows it, and all that hangs on it (links, notes, pictures, text boxes, deletions)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from shared.contracts.document import Link
from shared.documents.docx.archive import Target
from shared.documents.docx.drawings import Drawing, chosen, drawing_of
from shared.documents.docx.formula import latex
from shared.documents.docx.marks import Marks
from shared.documents.docx.numbering import SYMBOLS
from shared.documents.docx.styles import Styles
from shared.documents.docx.xml import Element, attribute, child, name, switched

_TRANSPARENT = frozenset(
    {
        "w:ins", "w:moveTo", "w:smartTag", "w:sdt", "w:sdtContent", "w:fldSimple", "w:customXml", "w:dir", "w:bdo", "m:oMathPara",
        "w:ruby", "w:rubyBase",
    }
)  # fmt: skip
"""Elements whose content is simply there. Insertions are: what was inserted is in the text."""
_GONE = frozenset({"w:del", "w:moveFrom"})
_LETTERS = {"w:tab": "\t", "w:ptab": "\t", "w:cr": "\n", "w:noBreakHyphen": "-", "w:softHyphen": "\u00ad"}
_FIELD_LINK = re.compile(r'\s*HYPERLINK\s+(?:(?P<local>\\l)\s+)?"(?P<uri>[^"]*)"', re.I)


@dataclass
class Inline:
    """A paragraph while it is read. `text` and `links` are of what is shown; the rest in the order of the paragraph."""

    parts: list[str] = field(default_factory=list)
    length: int = 0
    links: list[Link] = field(default_factory=list)
    formulas: list[str] = field(default_factory=list)
    worded: bool = False
    """Whether there is anything but formulas and blanks."""
    deleted: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    drawings: list[Drawing] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)

    def write(self, text: str) -> None:
        self.parts.append(text)
        self.length += len(text)
        self.worded = self.worded or bool(text.strip())

    def link(self, start: int, uri: str) -> None:
        """What was written since `start` leads to `uri`."""
        if uri and self.length > start:
            self.links.append(Link(start=start, end=self.length, uri=uri))

    def shown(self, prefix: str = "") -> tuple[str, list[Link]]:
        """The text without blanks at its ends, after `prefix`, and the links in it."""
        whole = "".join(self.parts)
        text = whole.strip()
        shift = len(prefix) - (len(whole) - len(whole.lstrip()))
        links = []
        for one in self.links:
            start, end = max(one.start + shift, len(prefix)), min(one.end + shift, len(prefix) + len(text))
            if end > start:
                links.append(Link(start=start, end=end, uri=one.uri))
        return prefix + text, links


@dataclass
class _Field:
    """A field (`PAGEREF`, `HYPERLINK`, …): what it says in its code is not shown, only its result is."""

    code: str = ""
    result: bool = False
    into: Inline | None = None
    start: int = 0


class Runs:
    """Reads paragraphs of one part. Fields may go on over several paragraphs (a table of contents is one)."""

    def __init__(self, styles: Styles, relationships: dict[str, Target], marks: Marks) -> None:
        self._styles, self._relationships, self._marks = styles, relationships, marks
        self._fields: list[_Field] = []

    def read(self, paragraph: Element, out: Inline, *, hidden: bool = False) -> None:
        """Add the content of a `w:p` to `out`. `hidden`: its style hides text."""
        self._walk(paragraph, out, deleted=False, hidden=hidden)
        # A code that did not end with its paragraph is broken: the text after it must not vanish.
        self._fields = [one for one in self._fields if one.result]

    def _walk(self, element: Element, out: Inline, *, deleted: bool, hidden: bool) -> None:
        for one in element:
            kind = name(one)
            if kind == "w:r":
                self._run(one, out, deleted=deleted, hidden=hidden)
            elif kind in _GONE:
                self._walk(one, out, deleted=True, hidden=hidden)
            elif kind == "w:hyperlink":
                start = out.length
                self._walk(one, out, deleted=deleted, hidden=hidden)
                out.link(start, self._address(one))
            elif kind == "m:oMath":
                self._formula(one, out, deleted=deleted)
            elif kind == "mc:AlternateContent":
                for other in chosen(one):
                    self._walk(other, out, deleted=deleted, hidden=hidden)
            elif kind in _TRANSPARENT:
                self._walk(one, out, deleted=deleted, hidden=hidden)

    def _run(self, run: Element, out: Inline, *, deleted: bool, hidden: bool) -> None:
        properties = child(run, "w:rPr")
        own = switched(properties, "w:vanish")
        if own is None and (style := attribute(child(properties, "w:rStyle"), "w:val")):
            own = self._styles.get(style).hidden
        self._content(run, out, deleted=deleted, hidden=hidden if own is None else own)

    def _content(self, run: Element, out: Inline, *, deleted: bool, hidden: bool) -> None:
        for one in run:
            kind = name(one)
            if kind in ("w:t", "w:delText"):
                self._say(one.text or "", out, deleted=deleted or kind == "w:delText", hidden=hidden)
            elif kind in _LETTERS:
                self._say(_LETTERS[kind], out, deleted=deleted, hidden=hidden)
            elif kind == "w:br":
                if attribute(one, "w:type", "textWrapping") == "textWrapping":
                    self._say("\n", out, deleted=deleted, hidden=hidden)
            elif kind == "w:sym":
                self._say(_symbol(one), out, deleted=deleted, hidden=hidden)
            elif kind == "w:fldChar":
                self._turn(attribute(one, "w:fldCharType"), out)
            elif kind == "w:instrText":
                if self._fields and not self._fields[-1].result:
                    self._fields[-1].code += one.text or ""
            elif kind in ("w:drawing", "w:pict", "w:object"):
                if not (deleted or hidden):
                    out.drawings.append(drawing_of(one))
            elif kind in ("w:footnoteReference", "w:endnoteReference"):
                if not (deleted or hidden):
                    self._refer(kind[2:-9], one, out)
            elif kind == "w:commentReference":
                out.comments.append(attribute(one, "w:id") or "")
            elif kind == "mc:AlternateContent":
                for other in chosen(one):
                    self._content(other, out, deleted=deleted, hidden=hidden)
            elif kind == "w:ruby":
                self._walk(
                    child(one, "w:rubyBase") if child(one, "w:rubyBase") is not None else one,
                    out,
                    deleted=deleted,
                    hidden=hidden,
                )

    def _say(self, text: str, out: Inline, *, deleted: bool, hidden: bool) -> None:
        if any(not one.result for one in self._fields):
            return  # part of a field's code
        if deleted:
            out.deleted.append(text)
        elif hidden:
            out.hidden.append(text)
        else:
            out.write(text)

    def _turn(self, kind: str | None, out: Inline) -> None:
        if kind == "begin":
            self._fields.append(_Field())
        elif kind == "separate" and self._fields:
            at = self._fields[-1]
            at.result, at.into, at.start = True, out, out.length
        elif kind == "end" and self._fields:
            ended = self._fields.pop()
            found = _FIELD_LINK.match(ended.code)
            if found and ended.into is out:
                out.link(ended.start, ("#" if found["local"] else "") + found["uri"])

    def _refer(self, kind: str, reference: Element, out: Inline) -> None:
        note = attribute(reference, "w:id") or ""
        mark = self._marks.of(kind, note)
        out.notes.append((kind, note))
        if not switched_on(reference, "w:customMarkFollows"):  # else its mark is the text that follows
            out.write(mark)

    def _address(self, link: Element) -> str:
        target = self._relationships.get(attribute(link, "r:id") or "")
        anchor = attribute(link, "w:anchor")
        if target is not None and target.kind == "hyperlink":
            return target.target + (f"#{anchor}" if anchor else "")
        return f"#{anchor}" if anchor else ""

    def _formula(self, element: Element, out: Inline, *, deleted: bool) -> None:
        written = latex(element)
        if not written or deleted:
            return
        out.formulas.append(written)
        text = f"${written}$"
        out.parts.append(text)
        out.length += len(text)


def switched_on(element: Element, prefixed: str) -> bool:
    """A flag among the attributes."""
    return attribute(element, prefixed) in ("1", "true", "on")


def _symbol(element: Element) -> str:
    """A character of a symbol font; Word keeps them in the private use area."""
    code = attribute(element, "w:char") or ""
    try:
        point = int(code, 16)
    except ValueError:
        return ""
    if not 0x20 <= point <= 0xFFFF or 0xD800 <= point <= 0xDFFF:
        return ""
    one = chr(point)
    return SYMBOLS.get(chr(0xF000 | point & 0xFF), one) if 0xF000 <= point <= 0xF0FF else one
