"""The simulator has semantics for all instructions of the corpus.

`PYPTX_KERNELS=all` lowers every entry of every module and compiles every instruction that the entry can reach. By
default each combination of opcode, operand kinds and guard is compiled once. The test lowers the entries with a new
combination. If a function that is not an entry has a new combination, the test lowers all entries of the module.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest
from tools.shares import FULL, full

from pyptx_ir.syntax import decode, parse
from pyptx_ir.syntax.nodes import Function
from pyptx_sim.errors import MissingSemantics, ProgramError
from pyptx_sim.instructions.compiling.held import hold
from pyptx_sim.instructions.compiling.operands import Operands
from pyptx_sim.instructions.compiling.table import _end, _meaning, _step
from pyptx_sim.program.lowering import lower
from pyptx_sim.program.params import instructions_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_ir.syntax.nodes import Instruction, Module

pytestmark = pytest.mark.scaled

Shape: TypeAlias = "tuple[tuple[str, ...], tuple[str, ...], bool]"

CORPUS = Path(__file__).resolve().parents[2] / "corpus"

# Modules that cannot run: they show syntax, use undeclared names, or ptxas rejects them.
NO_PROGRAMS = frozenset({"handmade/leniencies.ptx", "handmade/listing.ptx", "handmade/old_style.ptx"})


@cache
def _missing() -> tuple[Counter[str], dict[str, str], int]:
    """Return counts of opcodes without semantics, errors of other opcodes, number of instructions that compile."""
    missing: Counter[str] = Counter()
    refused: dict[str, str] = {}
    compiled: set[Shape] = set()
    known = 0
    for name, module, entry in _entries():
        program = lower(module, entry)
        ends = {block.last - 1: block.index for block in program.blocks if block.ends}
        for site in program.sites:
            shape = _shape(site.instruction)
            if not FULL and shape in compiled:
                continue
            compiled.add(shape)
            operands = Operands(program, site, checked=True)
            try:
                hold(operands)
                _compile(operands, ends)
                known += 1
            except MissingSemantics:
                missing[".".join(operands.opcode)] += 1
            except ProgramError as error:
                refused[f"{name}: {'.'.join(operands.opcode)}"] = str(error)
    return missing, refused, known


def _entries() -> Iterator[tuple[str, Module, str]]:
    """Yield each tested entry: its module's name, the module, and the entry's name."""
    met: set[Shape] = set()
    for path in sorted(CORPUS.glob("*/*.ptx")):
        name = path.relative_to(CORPUS).as_posix()
        if name in NO_PROGRAMS:
            continue
        module = parse(decode(path.read_bytes()), name)
        functions = [each for each in module.body if isinstance(each, Function)]
        called = {shape for each in functions if each.kind != "entry" for shape in _shapes(each)}
        whole = FULL or not called <= met
        met |= called
        for entry in functions:
            shapes = _shapes(entry)
            if entry.kind == "entry" and entry.body is not None and (whole or not shapes <= met):
                met |= shapes
                yield name, module, entry.name


def _shapes(function: Function) -> set[Shape]:
    """Return a `Shape` (opcode, operand kinds, whether it has a guard) for each instruction of a function."""
    return {_shape(each) for each in (instructions_of(function.body) if function.body is not None else ())}


def _shape(each: Instruction) -> Shape:
    return each.opcode, tuple(type(operand).__name__ for operand in each.operands), each.guard is not None


def _compile(operands: Operands, ends: dict[int, int]) -> None:
    if operands.pc in ends:
        _end(operands, ends[operands.pc] + 1)
    else:
        _step(operands, _meaning(operands), None)


@pytest.mark.long
def test_no_instruction_lacks_semantics() -> None:
    missing, _, _ = _missing()
    assert missing == {}


def test_every_instruction_compiles() -> None:
    _, refused, known = _missing()
    assert refused == {}
    assert known > full(100_000, default=1_500)
