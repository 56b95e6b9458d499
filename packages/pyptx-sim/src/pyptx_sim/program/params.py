"""`.param` variables that must be in memory, not in registers. Manual: "Device Function Parameters"."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pyptx_ir.isa.check import forms_of
from pyptx_ir.syntax.nodes import Block, Instruction
from pyptx_ir.syntax.operands import Address, CallList, Immediate, Register, Symbol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_ir.syntax.nodes import Function
    from pyptx_ir.syntax.operands import Operand


# Operand classes that contain no symbols or nested operands; most operands are of these classes.
_NAMELESS = (Register, Immediate, str)


def instructions_of(block: Block) -> Iterator[Instruction]:
    """Yield the instructions of a body, including those in nested blocks, in reading order."""
    for statement in block.body:
        if isinstance(statement, Instruction):
            yield statement
        elif isinstance(statement, Block):
            yield from instructions_of(statement)


def symbols_of(operand: Operand | str | None) -> Iterator[str]:
    """Yield every symbol named anywhere in an operand."""
    if isinstance(operand, Symbol):
        yield operand.name
        return
    if operand is None or isinstance(operand, _NAMELESS):
        return
    for name in operand.__dataclass_fields__:
        value = getattr(operand, name)
        parts = cast("tuple[Operand, ...]", value if isinstance(value, tuple) else (value,))
        for part in parts:
            yield from symbols_of(part)


def params_in_memory(function: Function) -> frozenset[str]:
    """Return the symbols that some instruction uses other than to load, store or pass the whole variable.

    All other `.param` variables can be stored in registers. Symbols are compared by name, not by scope: superfluous
    variables in memory only cost time.
    """
    if function.body is None:
        return frozenset()
    names: set[str] = set()
    for instruction in instructions_of(function.body):
        for operand in instruction.operands:
            if not _keeps_register(instruction.opcode, operand):
                names.update(symbols_of(operand))
    return frozenset(names)


def _keeps_register(opcode: tuple[str, ...], operand: Operand) -> bool:
    if opcode[0] == "call":
        return isinstance(operand, CallList | Symbol)
    if opcode[0] not in {"ld", "st"} or not isinstance(operand, Address) or not isinstance(operand.base, Symbol):
        return False
    words = next((words for _, words in forms_of(opcode)), {})
    whole = operand.offset is None or (isinstance(operand.offset, Immediate) and operand.offset.text.strip("-") == "0")
    return whole and "vec" not in words and words.get("ss", "").startswith("param")
