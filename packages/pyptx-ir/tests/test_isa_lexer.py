"""The Pygments lexer distinguishes the kinds of tokens."""

from __future__ import annotations

from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, _TokenType

from pyptx_ir.isa.reference.lexer import PtxLexer

LEXER = PtxLexer()


def tokens(text: str) -> list[tuple[_TokenType, str]]:
    return [(kind, value) for _, kind, value in LEXER.get_tokens_unprocessed(text) if value.strip()]


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
