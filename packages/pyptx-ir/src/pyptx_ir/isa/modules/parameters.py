"""Check loads and stores of `.param` variables: in bounds, aligned, no stores to a function's inputs.

ptxas rejects only such stores. If an access is out of bounds or misaligned, the hardware reads other data or traps.
Manual: "Parameter State Space", "Addresses as Operands".
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.counting import counted
from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.isa.modules.sizes import type_bytes, value_of
from pyptx_ir.isa.scalar_types import SIZES
from pyptx_ir.syntax.operands import Address, Register, Symbol

if TYPE_CHECKING:
    from pyptx_ir.isa.modules.scopes import Storage
    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import Instruction

_SPACES = frozenset({"param", "param::entry", "param::func"})


def access(walk: Walk, node: Instruction) -> None:
    """Check the address of one `ld.param` or `st.param`."""
    size = _parameter_bytes(node.opcode)
    if size == 0:
        return
    index = next((i for i, operand in enumerate(node.operands) if isinstance(operand, Address)), None)
    operand = node.operands[index] if index is not None else None
    if not isinstance(operand, Address) or not isinstance(operand.base, Register | Symbol):
        return
    storage = walk.scope.storage_of(operand.base.name)
    offset = value_of(operand.offset) if operand.offset is not None else 0
    if storage is None or storage.space != "param":
        return
    name = operand.base.name
    if node.opcode[0] == "st" and storage.input:
        message = f"store to input parameter '{name}'"
        help = "store to a local .param variable or to the return parameter"
        walk.report(Finding("parameter-write", message, help, operand=index))
        return
    if offset is not None and size is not None:
        _layout(walk, node, storage, (name, offset, size, index))


@lru_cache(maxsize=1 << 10)
def _parameter_bytes(opcode: tuple[str, ...]) -> int | None:
    """Return the bytes of a parameter access; 0 for another space, None for an unknown type."""
    if _SPACES.isdisjoint(opcode):
        return 0
    type_name = next((word for word in reversed(opcode) if word in SIZES), "")
    return type_bytes(type_name, next((word for word in opcode if word in ("v2", "v4", "v8")), None))


def _layout(walk: Walk, node: Instruction, storage: Storage, access: tuple[str, int, int, int | None]) -> None:
    name, offset, size, index = access
    opcode = ".".join(node.opcode)
    if storage.size is not None and not 0 <= offset <= storage.size - size:
        last, most = offset + size - 1, counted(storage.size, "byte")
        message = f"{opcode} accesses bytes {offset} to {last} of '{name}', which has {most}"
        help = "correct the offset, or the size of the parameter"
        walk.report(Finding("parameter-bounds", message, help, operand=index))
    elif offset % size or storage.alignment % min(size, 16):
        aligned = counted(storage.alignment, "byte")
        message = f"{opcode} accesses {size} bytes at offset {offset} of '{name}', which is aligned to {aligned}"
        help = f"align the parameter and the offset to {size} bytes, or use smaller accesses"
        walk.report(Finding("parameter-alignment", message, help, operand=index))
