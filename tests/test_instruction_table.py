"""Compilers emit legal PTX: every instruction of the corpus passes the instruction table.

By default a few modules of each compiler are read, with `PYPTX_KERNELS=all` all of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.corpus_modules import BY_HAND, CORPUS, FOLDERS
from tools.shares import at_most

from pyptx_ir.isa.check import check_instruction
from pyptx_ir.isa.errors import InstructionError
from pyptx_ir.isa.patterns import compile_row
from pyptx_ir.plugins.manager import manager
from pyptx_ir.syntax import decode, nodes, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.scaled

MOST = 8  # checked modules of each compiler of the corpus, by default
# Compilers' folders of the corpus, without the handmade parser tests, of which ptxas and the table reject some.
PRODUCERS = [CORPUS / folder for folder in FOLDERS if folder != BY_HAND]


def declared(body: Iterable[object]) -> dict[str, str]:
    """Return the types of the registers that a scope declares, by name; "" for vectors."""
    types: dict[str, str] = {}
    for node in body:
        if not isinstance(node, nodes.RegisterDeclaration):
            continue
        for name in node.names:
            each = [name.name] if name.count is None else [f"{name.name}{i}" for i in range(name.count)]
            types |= dict.fromkeys(each, "" if node.vector else node.type)
    return types


def instructions(body: Iterable[object], outer: dict[str, str]) -> Iterator[tuple[nodes.Instruction, dict[str, str]]]:
    """Yield each instruction of a body, nested blocks included, with the registers in scope."""
    body = tuple(body)
    scope = outer | declared(body)
    for node in body:
        if isinstance(node, nodes.Instruction):
            yield node, scope
        elif isinstance(node, nodes.Block):
            yield from instructions(node.body, scope)


def refusals(path: Path) -> list[str]:
    module = parse(decode(path.read_bytes()), path.name)
    version = next((node.major, node.minor) for node in module.body if isinstance(node, nodes.Version))
    target = next(node.names[0] for node in module.body if isinstance(node, nodes.Target))
    found: list[str] = []
    for function in module.body:
        if not isinstance(function, nodes.Function) or function.body is None:
            continue
        parameters = (*(function.parameters or ()), *function.returns)
        outer = declared(module.body) | {each.name: each.type for each in parameters if each.space == "reg"}
        for node, scope in instructions(function.body.body, outer):
            try:
                check_instruction(node, scope.get, target, version)
            except InstructionError as error:
                found.append(f"{path.name}: {node.raw}: {error}")
    return found


@pytest.mark.parametrize("producer", PRODUCERS, ids=lambda path: path.name)
def test_every_instruction_that_a_compiler_wrote_passes_the_table(producer: Path) -> None:
    paths = sorted(producer.glob("*.ptx"))
    assert paths
    assert [refusal for path in at_most(paths, MOST, 1) for refusal in refusals(path)] == []


def test_the_corpus_has_producers() -> None:
    assert len(PRODUCERS) >= 4


def test_destinations_in_memory_are_written() -> None:
    stores = re.compile(r"(st|stmatrix|sust|red|multimem\.(st|red)|wmma\.store|fabric\.try_(get|pullred))[.{]")
    rows = [row for row in manager().instructions() if stores.match(row.syntax)]
    assert len(rows) > 60
    assert [row.syntax for row in rows if not compile_row(row).places[0].written] == []
