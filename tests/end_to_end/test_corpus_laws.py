"""Properties of the syntax tree (L1, L2) for every module of the corpus, whichever compiler wrote it.

All modules are tested for a byte-identical round trip. Handmade modules are also tested for all other properties (the
slow parser: at most 40 of them). Compiled modules are often the same source for another target: by default `MOST`
of them per producer are tested for each other property, and all with `PYPTX_KERNELS=all`.
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import pytest
from tests.corpus_modules import BY_HAND, CORPUS
from tools.shares import at_most

from pyptx_ir.syntax import decode, emit, encode, evolve, parse, positions, spell, walk
from pyptx_ir.syntax.nodes import Block, Function, Instruction, Module, Section, Statement, trivia_of
from pyptx_ir.syntax.parser import _parse
from pyptx_ir.syntax.source import Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.syntax.source import Span

pytestmark = pytest.mark.scaled

FOLDERS = sorted({path.parent.relative_to(CORPUS).as_posix() for path in CORPUS.rglob("*.ptx")})
MOST = 8  # tested modules of each compiler of the corpus and each property, by default


@cache
def trees(folder: str) -> tuple[tuple[str, bytes, Module], ...]:
    """Return name, bytes and syntax tree of every module of a folder."""
    found: list[tuple[str, bytes, Module]] = []
    for path in sorted((CORPUS / folder).glob("*.ptx")):
        data = path.read_bytes()
        found.append((path.name, data, parse(decode(data), path.name)))
    return tuple(found)


def some(folder: str, turn: int, most: int = MOST) -> Sequence[tuple[str, bytes, Module]]:
    """Return a folder's modules on which one property is tested; each `turn` (a number) selects other modules."""
    return trees(folder) if folder == BY_HAND else at_most(trees(folder), most, turn)


@pytest.mark.long
def test_there_is_a_corpus() -> None:
    assert sum(len(trees(folder)) for folder in FOLDERS) >= 150


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_module_comes_back_byte_for_byte(folder: str) -> None:
    for name, data, tree in trees(folder):
        assert encode(emit(tree)) == data, name


@pytest.mark.parametrize("folder", FOLDERS)
def test_canonical_text_reads_as_the_same_tree(folder: str) -> None:
    for name, _, tree in some(folder, 1):
        assert parse(spell(tree), name) == tree, name


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_tree_without_its_spellings_reads_as_the_same_tree(folder: str) -> None:
    for name, _, tree in some(folder, 2):
        assert parse(emit(replace(tree, body=tuple(map(bare, tree.body)))), name) == tree, name


def bare(node: Statement) -> Statement:
    """Drop the source text of a statement and of its nested statements; keep leading trivia."""
    match node:
        case Block():
            return replace(node, body=tuple(map(bare, node.body)))
        case Function(body=Block() as block):
            return replace(node, raw=None, body=replace(block, body=tuple(map(bare, block.body))))
        case Section():
            return replace(node, head=None, body=tuple(replace(line, raw=None) for line in node.body))
        case _:
            return replace(node, raw=None)


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_careful_parser_alone_makes_the_same_tree(folder: str) -> None:
    for name, data, tree in at_most(trees(folder), MOST // 2 if folder != BY_HAND else 40, 3):
        careful, errors = _parse(Source(decode(data)), fast=False)
        assert not errors, name
        assert careful == tree, name
        owned = [(node.leading_trivia, node.raw) for node in walk(tree)]
        assert [(node.leading_trivia, node.raw) for node in walk(careful)] == owned, name


@pytest.mark.parametrize("folder", FOLDERS)
def test_spans_cut_out_the_statements(folder: str) -> None:
    for name, data, tree in some(folder, 3):
        text = decode(data)
        for node, span in positions(tree):
            if not isinstance(node, Block | Function | Section):
                assert text[span.start : span.end] == node.raw, name


@pytest.mark.parametrize("folder", FOLDERS)
def test_editing_one_instruction_changes_only_its_bytes(folder: str) -> None:
    for name, data, tree in some(folder, 4):
        found = [(node, span) for node, span in positions(tree) if isinstance(node, Instruction)]
        for node, span in random.Random(name).sample(found, min(2, len(found))):
            check_locality(decode(data), tree, node, span)


def check_locality(text: str, tree: Module, node: Instruction, span: Span) -> None:
    """Check that editing one instruction leaves the surrounding text unchanged."""
    edited = evolve(node, opcode=("edited", *node.opcode))
    after = emit(replace(tree, body=tuple(swapped(one, node, edited) for one in tree.body)))
    assert after == text[: span.start - len(trivia_of(node))] + trivia_of(edited) + spell(edited) + text[span.end :]


def swapped(node: Statement, old: Instruction, new: Instruction) -> Statement:
    """Return the statements with `old`, found by identity, replaced by `new`."""
    match node:
        case _ if node is old:
            return new
        case Block():
            return evolve(node, body=tuple(swapped(one, old, new) for one in node.body))
        case Function(body=Block() as block):
            return evolve(node, body=swapped(block, old, new))
        case _:
            return node
