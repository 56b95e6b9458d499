"""Pictures are well-formed XML, whatever their texts contain."""

from __future__ import annotations

import copy
import pickle
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from pyptx_ir.drawing import Drawing, Markup, element, label, notebook, page, stacked, svg, table, text_lines

PIECES = (
    *(
        "<script>",
        "</style>",
        "]]>",
        "<!--",
        "-->",
        "&amp;",
        "&",
        "<",
        ">",
        '"',
        "'",
        "a",
        " ",
        "\t",
        "\n",
        "\r",
        "\r\n",
    ),
    *("\x00", "\x1b", "\x7f", "\x85", "\u2028", "\u202e", "\ud800", "\ufffe", "\U0001f600", "\U0010ffff"),
)
texts = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)


def parsed(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 - our own text


def shown(text: str) -> str:
    """Return a text as a parser of XML 1.0 returns it: its productions Char and "End-of-Line Handling"."""
    code = [ord(character) for character in text]
    allowed = [each in (9, 10, 13) or 32 <= each < 0xD800 or 0xE000 <= each < 0xFFFE or each > 0xFFFF for each in code]
    kept = "".join(character if fine else "?" for character, fine in zip(text, allowed, strict=True))
    return kept.replace("\r\n", "\n").replace("\r", "\n")


@given(texts, texts)
def test_texts_and_attributes_come_back_from_a_parser(text: str, title: str) -> None:
    root = parsed(element("p", text, title=title))
    assert list(root) == []
    assert (root.text or "") == shown(text)
    assert root.attrib == {"title": shown(title).translate({9: " ", 10: " "})}


@given(texts)
def test_pages_and_drawings_have_only_the_elements_that_they_draw(text: str) -> None:
    drawing = svg(100, 20, label(0, 10, text))
    root = parsed(page(text, notebook(table(text, [text], [[text, 1]]), drawing), text).partition("\n")[2])
    names = {each.tag.rpartition("}")[2] for each in root.iter()}
    assert names <= {
        *("html", "head", "meta", "title", "body", "div", "style", "table", "caption", "tr", "th", "td"),
        *("svg", "rect", "text"),
    }


def test_only_markup_is_inserted_unchanged() -> None:
    assert element("b", Markup("<i>x</i>"), "<i>") == "<b><i>x</i>&lt;i&gt;</b>"
    assert element("line", x1=1, stroke_width=2, class_=None) == '<line x1="1" stroke-width="2"/>'
    assert element("div") == "<div></div>"  # HTML ignores the slash of <div/>


def test_stacked_drawings_are_below_each_other() -> None:
    first, second = text_lines("a", "b"), text_lines("a long line")
    both = stacked(first, second)
    assert (both.width, both.height) == (second.width, first.height + second.height)
    moved = [group.get("transform") for group in parsed(both).iter("{http://www.w3.org/2000/svg}g")]
    assert moved == ["translate(0,0)", f"translate(0,{first.height})"]


def test_copies_of_drawings_have_their_size() -> None:
    drawing = text_lines("a", "b")
    for each in (copy.deepcopy(drawing), pickle.loads(pickle.dumps(drawing))):  # noqa: S301 - our own bytes
        assert (type(each), each, each.width, each.height) == (Drawing, drawing, drawing.width, drawing.height)
