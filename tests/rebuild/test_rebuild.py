"""Whatever a compiler writes can be written by hand: each module of the corpus, rebuilt through public names alone.

A module is parsed, printed as Python that calls nothing but `pyptx`, one call a statement and no raw text, and run: the
tree that comes of it equals the one that was parsed, in order and place. With what the Python says of white space and
spelling beside, its text is the same bytes. By default each law takes a share of what compilers wrote, and all of it
with `PYPTX_KERNELS=all`.
"""

from __future__ import annotations

import os
import tomllib
from functools import cache
from pathlib import Path

import pytest

from pyptx.modules import ModuleBuilder
from pyptx_ir.syntax import decode, encode, nodes, parse, walk

from .printer import printed

CORPUS = Path(__file__).resolve().parents[2] / "corpus"
FOLDERS = sorted({path.parent.name for path in CORPUS.glob("*/*.ptx")})
BY_HAND = "handmade"
SHARE = 1 if os.environ.get("PYPTX_KERNELS") == "all" else 4


@cache
def refused() -> frozenset[str]:
    """Return the modules that ptxas refuses: so does the instruction table, and they are written unchecked."""
    rows = tomllib.loads((CORPUS / "manifest.toml").read_text(encoding="utf-8"))["module"]
    return frozenset(row["path"] for row in rows if not row["assembles"])


def some(folder: str, turn: int) -> list[Path]:
    paths = sorted((CORPUS / folder).glob("*.ptx"))
    return paths if folder == BY_HAND else paths[turn % SHARE :: SHARE]


def rebuilt(path: Path, tree: nodes.Module, *, written: bool = False) -> ModuleBuilder:
    """Print a module as Python and run that."""
    unchecked = path.relative_to(CORPUS).as_posix() in refused()
    names: dict[str, object] = {}
    for part in printed(tree, unchecked=unchecked, written=written):
        exec(compile(part, f"<{path.name}>", "exec"), names)  # noqa: S102  what the printer wrote
    builder = names["m"]
    assert isinstance(builder, ModuleBuilder)
    return builder


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_module_is_written_statement_by_statement(folder: str) -> None:
    for path in some(folder, 1):
        tree = parse(decode(path.read_bytes()))
        assert rebuilt(path, tree).module() == tree, path.name


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_text_of_what_was_written_reads_as_the_same_tree(folder: str) -> None:
    for path in some(folder, 2):
        tree = parse(decode(path.read_bytes()))
        assert parse(rebuilt(path, tree).ptx()) == tree, path.name


@pytest.mark.parametrize("folder", FOLDERS)
def test_white_space_and_spelling_can_be_said_of_every_statement(folder: str) -> None:
    for path in some(folder, 3):
        data = path.read_bytes()
        assert encode(rebuilt(path, parse(decode(data)), written=True).ptx()) == data, path.name


def test_the_corpus_has_every_statement() -> None:
    """A kind of statement that no module has would not be under these laws."""
    paths = sorted((CORPUS / BY_HAND).glob("*.ptx"))
    found = {type(node) for path in paths for node in walk(parse(decode(path.read_bytes())))}
    assert {kind for kind in nodes.Statement.__args__ if kind is not nodes.Invalid} <= found


def test_nothing_is_printed_as_raw_text() -> None:
    for path in some(BY_HAND, 0):
        text = "".join(printed(parse(decode(path.read_bytes()))))
        assert "ptx.raw(" not in text
        assert not [line for line in text.splitlines() if "import" in line and not line.startswith("from pyptx")]
