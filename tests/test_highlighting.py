"""The Pygments lexer accepts the output of all compilers, and has the names of the instruction table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pygments.token import Error, Keyword

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


def unlike_lines(texts: list[str]) -> str:
    """Return the lines of some texts in order, without lines that equal an earlier one except for digits."""
    lines = [line for text in texts for line in text.splitlines(keepends=True)]
    return "".join({re.sub(r"[0-9]+", "0", line): line for line in reversed(lines)}.values())


HANDMADE = sorted(CORPUS.glob("handmade/*.ptx"))
PRODUCERS = sorted({path.parent for path in CORPUS.glob("*/*.ptx")} - {path.parent for path in HANDMADE})


@pytest.mark.no_cover
@pytest.mark.parametrize("path", HANDMADE, ids=lambda path: path.name)
def test_nothing_of_an_odd_text_is_marked_as_wrong_or_lost(path: Path) -> None:
    text = text_of(path)
    found = list(LEXER.get_tokens_unprocessed(text))
    assert "".join(value for _, _, value in found) == text
    assert [value for _, kind, value in found if kind is Error] == []


@pytest.mark.no_cover
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
