"""What type checkers must see of the public API. Never run: `nox -s types` holds it under mypy and pyright, strict.

`assert_type` fails where a type changes; an ignore with its code fails where an error is no longer seen.
"""

from __future__ import annotations

from typing import assert_type

from pyptx_ir.plugins.rows import Argument, EntryParameter, Output, Runtime, Semantics, Specialization
from pyptx_ir.syntax import Instruction, Module, evolve, parse, parse_instruction, parse_recovering, spell
from pyptx_ir.syntax.errors import PtxSyntaxError


def reading() -> None:
    """Trees, parsed and edited, keep their types."""
    module = parse("")
    assert_type(module, Module)
    assert_type(parse_recovering(""), tuple[Module, tuple[PtxSyntaxError, ...]])
    instruction = parse_instruction("ret;")
    assert_type(instruction, Instruction)
    assert_type(instruction.opcode, tuple[str, ...])
    assert_type(evolve(instruction, opcode=("exit",)), Instruction)
    assert_type(spell(instruction), str)


def values_are_frozen(instruction: Instruction) -> None:
    """A tree is edited by `evolve` alone."""
    instruction.opcode = ("exit",)  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]  frozen


def rows(argument: Argument, runtime: Runtime, specialization: Specialization) -> None:
    """What a kernel and a runtime exchange is typed on both sides."""
    assert_type(argument.shape, tuple[int, ...])
    assert_type(specialization.parameters, tuple[EntryParameter, ...])
    assert_type(specialization.outputs, tuple[Output, ...])
    assert_type(runtime.claims([argument]), bool)
    Semantics("add", lambda instruction: instruction.opcode)
