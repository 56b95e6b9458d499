"""Check `brx.idx`, an indexed branch to one of a list of labels. Measured on ptxas 13.5; manual: "brx.idx"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.constant_values import constant_value
from pyptx_ir.isa.modules.counting import counted
from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.syntax.nodes import BranchTargets
from pyptx_ir.syntax.operands import Register, Symbol

if TYPE_CHECKING:
    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import Instruction
    from pyptx_ir.syntax.operands import Operand

_FORM = "write brx.idx{.uni} index, label of a .branchtargets"
_INDICES = frozenset({"b32", "u32", "s32", ""})


def indexed(walk: Walk, node: Instruction) -> None:
    """Check the operands of a `brx.idx`: an index and the label of a `.branchtargets`."""
    finding = _fault(walk, node)
    if finding is not None:
        walk.report(finding)


def _fault(walk: Walk, node: Instruction) -> Finding | None:
    words = node.opcode[1:]
    if words[:1] != ("idx",) or any(word != "uni" for word in words[1:]):
        wrong = next((word for word in words if word not in ("idx", "uni")), "")
        return Finding(
            "modifier", f"invalid modifiers: {'.'.join(node.opcode)}", _FORM, word=f".{wrong}" if wrong else ""
        )
    if len(node.operands) != 2:
        return Finding("operand-count", f"brx.idx has {counted(len(node.operands), 'operand')}; it takes 2", _FORM)
    index, targets = node.operands
    if not _is_list(walk, targets):
        return Finding("operand-kind", "operand 2 of brx.idx must be the label of a .branchtargets", _FORM, operand=1)
    if isinstance(index, Register | Symbol):
        kind = walk.scope[index.name]
        if kind not in _INDICES or (not kind and "." in index.name):  # a register with a selector: %r.b0
            return Finding(
                "operand-type", f"index must be a 32-bit integer register, got '{index.name}'", _FORM, operand=0
            )
    elif constant_value(index) is None:
        return Finding("operand-kind", "operand 1 of brx.idx must be a register or an integer", _FORM, operand=0)
    return None


def _is_list(walk: Walk, operand: Operand) -> bool:
    return isinstance(operand, Symbol) and isinstance(walk.scope.list_of(operand.name), BranchTargets)
