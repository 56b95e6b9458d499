"""Errors and hints for address operands that `Checker` accepts, or for which it has no useful hint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import InstructionUseError
from pyptx_dsl.registers.faults import pointer_hint
from pyptx_ir.isa.scalar_types import WIDTHS
from pyptx_ir.isa.special_registers import special_registers
from pyptx_ir.syntax.operands import Address, Register, Symbol
from pyptx_ir.syntax.spelling import spell

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.isa.check import Verdict
    from pyptx_ir.syntax.nodes import Instruction

__all__ = ["refuse_address", "remedy"]

_WIDE = frozenset({"ld", "ldu", "st", "atom", "red", "prefetch"})
"""Opcodes that access global memory or generic addresses, which have 64 bits. Verified with ptxas 13.5."""

_NARROW = frozenset(
    {"shared", "shared::cta", "shared::cluster", "local", "const", "param", "param::entry", "param::func"}
)
_POINTER_BITS = 64


def refuse_address(node: Instruction, declared: Callable[[str], str | None]) -> None:
    """Raise InstructionUseError for a global or generic access whose address is a shared variable or has 32 bits."""
    if node.opcode[0] not in _WIDE or not _NARROW.isdisjoint(node.opcode):
        return
    for operand in node.operands:
        base = operand.base if isinstance(operand, Address) else None
        if isinstance(base, Register | Symbol):
            _refuse(node, base.name, declared(base.name) or "", spell(operand))


def _refuse(node: Instruction, name: str, kind: str, shown: str) -> None:
    opcode, *words = node.opcode
    space = "global" if "global" in words else "generic"
    shared = f'for shared memory write ptx.{opcode}(…, space="shared") or ptx.inst.{opcode}.shared.…'
    if kind == ".shared":
        raise InstructionUseError(
            f"{'.'.join(node.opcode)}: {shown} is in shared memory, but the instruction accesses {space} addresses",
            help=shared,
        )
    if WIDTHS.get(kind, _POINTER_BITS) < _POINTER_BITS:
        raise InstructionUseError(
            f"{'.'.join(node.opcode)}: {space} addresses have 64 bits, got the {kind} register {name}",
            help=f"start with a pointer: (p,) = ptx.global_ptrs(X), then ptx.addr(p + index * 4); {shared}",
        )


def remedy(node: Instruction, verdict: Verdict, declared: Callable[[str], str | None]) -> str | None:
    """Return a hint for a rejected operand that is an array parameter or a special register; else None."""
    operand = None if verdict.operand is None else node.operands[verdict.operand]
    match operand:
        case Address(base=Symbol(name=name)) if declared(name) == ".param":
            return pointer_hint(name)
        case Register(name=name) if name in special_registers():
            dtype = special_registers()[name]
            return f'copy the special register, which only mov and cvt can read: reg.from_("{name}", {dtype})'
        case _:
            return None
