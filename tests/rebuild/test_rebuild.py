"""Everything that a compiler writes can be written by hand: corpus modules are rebuilt with public names only.

A module is parsed, printed as Python, and run. The Python only calls `pyptx`, one call per statement, without raw text.
The resulting tree equals the parsed tree, with the same order and positions. Its text, in the style inferred from the
source, is byte-identical. The Python sets whitespace and source text only for statements that deviate from the style,
which are few in compiled modules. By default the tests use a share of the compiled modules, and all of them with
`PYPTX_KERNELS=all`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest
from tests.corpus_modules import BY_HAND, CORPUS, FOLDERS, refused
from tests.wild.rebuilding import Rebuilt, rebuild, run
from tests.wild.work import PrintTask
from tools.shares import at_most

from pyptx_ir.syntax import decode, encode, nodes, parse, walk
from pyptx_ir.syntax.style import infer_style, stripped

from .printer import printed

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.scaled(2)

PER_PRODUCER = 3  # rebuilt modules of each compiler of the corpus, by default
MOST = 5.0  # maximum percentage of statements of compiled modules that need explicit formatting


def some(folder: str, turn: int) -> list[Path]:
    paths = sorted((CORPUS / folder).glob("*.ptx"))
    return paths if folder == BY_HAND else at_most(paths, PER_PRODUCER, turn)


@cache
def rebuilt(folder: str) -> dict[str, Rebuilt]:
    work = [PrintTask(path.read_bytes(), path.name, refused(path)) for path in some(folder, 1)]
    return {one.name: rebuild(one) for one in work}


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_module_is_written_statement_by_statement_and_byte_for_byte(folder: str) -> None:
    assert {name: found.fault for name, found in rebuilt(folder).items() if found.fault} == {}


@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if folder != BY_HAND])
def test_little_is_said_of_white_space_and_spelling(folder: str) -> None:
    deviating = sum(found.deviating for found in rebuilt(folder).values())
    statements = sum(found.statements for found in rebuilt(folder).values())
    assert 100 * deviating <= MOST * statements, f"{deviating} of {statements}"


@pytest.mark.parametrize("folder", FOLDERS)
def test_without_a_style_the_text_reads_as_the_same_tree(folder: str) -> None:
    for path in some(folder, 2):
        tree = parse(decode(path.read_bytes()))
        python = printed(stripped(tree, infer_style(tree)), unchecked=refused(path))
        assert parse(run(python, path.name).ptx()) == tree, path.name


@pytest.mark.parametrize("folder", FOLDERS)
def test_white_space_and_spelling_can_be_said_of_every_statement(folder: str) -> None:
    for path in some(folder, 3):
        data = path.read_bytes()
        python = printed(parse(decode(data)), unchecked=refused(path))
        assert encode(run(python, path.name).ptx()) == data, path.name


def test_the_corpus_has_every_statement() -> None:
    """Each kind of statement is in a handmade module; otherwise these tests would not cover it."""
    paths = sorted((CORPUS / BY_HAND).glob("*.ptx"))
    found = {type(node) for path in paths for node in walk(parse(decode(path.read_bytes())))}
    assert {kind for kind in nodes.Statement.__args__ if kind is not nodes.Invalid} <= found


def test_nothing_is_printed_as_raw_text() -> None:
    for path in some(BY_HAND, 0):
        text = "".join(printed(parse(decode(path.read_bytes()))))
        assert "ptx.raw(" not in text
        assert not [line for line in text.splitlines() if "import" in line and not line.startswith("from pyptx")]
