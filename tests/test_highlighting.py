"""The Pygments lexer reads whatever compilers write, and knows what the instruction table knows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, Punctuation, String, _TokenType

from pyptx_ir.isa.reference.lexer import PtxLexer
from pyptx_ir.plugins.manager import manager
from pyptx_ir.syntax import decode, nodes, parse
from pyptx_ir.syntax.spans import positions

CORPUS = Path(__file__).parents[1] / "corpus"
LEXER = PtxLexer()
KNOWN = {row.opcode for row in manager().instructions()}
GUARD = re.compile(r"@\s*!?\s*[\w$%]+\s*")


def text_of(path: Path) -> str:
    return decode(path.read_bytes())


def tokens(text: str) -> list[tuple[_TokenType, str]]:
    return [(kind, value) for _, kind, value in LEXER.get_tokens_unprocessed(text) if value.strip()]


def unlike_lines(texts: list[str]) -> str:
    """Return the lines of some texts, in order, but for those that differ from an earlier one in digits only."""
    lines = [line for text in texts for line in text.splitlines(keepends=True)]
    return "".join({re.sub(r"[0-9]+", "0", line): line for line in reversed(lines)}.values())


HANDMADE = sorted(CORPUS.glob("handmade/*.ptx"))
PRODUCERS = sorted({path.parent for path in CORPUS.glob("*/*.ptx")} - {path.parent for path in HANDMADE})


@pytest.mark.parametrize("path", HANDMADE, ids=lambda path: path.name)
def test_nothing_of_an_odd_text_is_marked_as_wrong_or_lost(path: Path) -> None:
    text = text_of(path)
    found = list(LEXER.get_tokens_unprocessed(text))
    assert "".join(value for _, _, value in found) == text
    assert [value for _, kind, value in found if kind is Error] == []


@pytest.mark.parametrize("producer", PRODUCERS, ids=lambda path: path.name)
def test_nothing_that_a_compiler_wrote_is_marked_as_wrong_or_lost(producer: Path) -> None:
    text = unlike_lines([text_of(path) for path in sorted(producer.glob("*.ptx"))])
    found = list(LEXER.get_tokens_unprocessed(text))
    assert "".join(value for _, _, value in found) == text
    assert [value for _, kind, value in found if kind is Error] == []


@pytest.mark.parametrize("path", sorted(CORPUS.glob("nvcc-13.0/inline_ptx.*.ptx")), ids=lambda path: path.name)
def test_every_opcode_of_the_table_is_a_keyword(path: Path) -> None:
    text = text_of(path)
    kinds = {at: (kind, value) for at, kind, value in LEXER.get_tokens_unprocessed(text)}
    checked = 0
    for node, span in positions(parse(text, path.name)):
        if isinstance(node, nodes.Instruction) and node.opcode[0] in KNOWN:
            guard = GUARD.match(text, span.start)
            assert kinds[guard.end() if guard else span.start] == (Keyword, node.opcode[0])
            checked += 1
    assert checked > 20


def test_each_sort_of_word_is_told_apart() -> None:
    assert tokens('@!%p1 mad.lo.u32 %r1, %tid.x, -0x7U, "s"; // end') == [
        (Operator, "@!"),
        (Name.Variable, "%p1"),
        (Keyword, "mad"),
        (Name.Attribute, ".lo"),
        (Keyword.Type, ".u32"),
        *((Name.Variable, "%r1"), (Punctuation, ",")),
        *((Name.Builtin, "%tid.x"), (Punctuation, ",")),
        *((Operator, "-"), (Number, "0x7U"), (Punctuation, ",")),
        *((String.Double, '"s"'), (Punctuation, ";")),
        (Comment.Single, "// end"),
    ]


def test_labels_directives_and_what_no_table_knows_are_told_apart() -> None:
    assert tokens(".reg .u32 add;\nadd: frob.odd.shared::cta add, _;")[:9] == [
        (Keyword.Declaration, ".reg"),
        (Keyword.Type, ".u32"),
        (Name, "add"),
        (Punctuation, ";"),
        (Name.Label, "add"),
        (Operator, ":"),
        (Name.Function, "frob"),
        (Name.Decorator, ".odd"),
        (Name.Attribute, ".shared::cta"),
    ]


def test_pygments_finds_it() -> None:
    assert isinstance(get_lexer_by_name("pyptx"), PtxLexer)
    assert isinstance(get_lexer_for_filename("kernel.ptx"), PtxLexer)
