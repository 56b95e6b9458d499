"""Find 32-bit addresses in 64-bit modules, which make ptxas compile for the 32-bit ABI, absent since sm_90.

Measured on ptxas 13.0 and 13.5, which reject such addresses for all targets; earlier releases accept them up to sm_89.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.isa.targets import includes
from pyptx_ir.syntax.operands import Index, Register, Symbol

if TYPE_CHECKING:
    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import Instruction

_NARROW = frozenset({"b32", "u32", "s32"})
_WIDE = 64


def address(walk: Walk, node: Instruction) -> None:
    """Check a 32-bit `mov` of a global variable's address, or a 32-bit `cvta`."""
    if walk.address_size != _WIDE or node.opcode[-1] not in _NARROW or len(node.operands) < 2:
        return
    if node.opcode[0] == "mov":
        operand = node.operands[1]
        base = operand.base if isinstance(operand, Index) else operand
        if not isinstance(base, Symbol | Register) or walk.scope[base.name] != ".global":
            return
    if walk.target is not None and includes(walk.target, "sm_90"):
        message = f"{'.'.join(node.opcode)} takes a 32-bit address, but .address_size is 64"
        help = f"write {'.'.join((*node.opcode[:-1], 'u64'))} with a 64-bit register"
        walk.report(Finding("operand-type", message, help, operand=1))
