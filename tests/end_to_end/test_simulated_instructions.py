"""Which instructions of the corpus the simulator knows: all of them.

With `PYPTX_KERNELS=all` every entry of every module is lowered and every instruction in its reach compiled. Without it,
the entries are those in which an opcode stands with operands of kinds that it has not had before, and all of a module
where one of its functions has such an instruction; each such instruction is compiled once.
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

# Modules that no program can come of: they show syntax, name what they do not declare, or what ptxas does not take.
NO_PROGRAMS = frozenset({"handmade/leniencies.ptx", "handmade/listing.ptx", "handmade/old_style.ptx"})


@cache
def _missing() -> tuple[Counter[str], dict[str, str], int]:
    """Return how often each opcode is met without semantics, what else cannot be lowered, and how much can."""
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
    """Yield the modules' names, the modules and the entries that are asked about."""
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
    """Return the opcodes of a function's instructions, each with its operands' kinds and whether it is guarded."""
    return {_shape(each) for each in (instructions_of(function.body) if function.body is not None else ())}


def _shape(each: Instruction) -> Shape:
    return each.opcode, tuple(type(operand).__name__ for operand in each.operands), each.guard is not None


def _compile(operands: Operands, ends: dict[int, int]) -> None:
    if operands.pc in ends:
        _end(operands, ends[operands.pc] + 1)
    else:
        _step(operands, _meaning(operands), None)


def test_no_instruction_lacks_semantics() -> None:
    missing, _, _ = _missing()
    assert missing == {}


def test_every_instruction_compiles() -> None:
    _, refused, known = _missing()
    assert refused == {}
    assert known > full(100_000, default=1_500)
