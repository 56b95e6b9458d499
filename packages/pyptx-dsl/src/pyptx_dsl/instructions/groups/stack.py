"""Stack allocation. Manual: "Stack Manipulation Instructions: alloca, stacksave, stackrestore" (PTX 7.3, sm_52)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms
from pyptx_dsl.trace_context import active

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.types import PtxType

__all__ = ["alloca", "stackrestore", "stacksave"]

_ALLOCATE = InstructionForms("ptx.alloca", "alloca")
_SAVE = InstructionForms("ptx.stacksave", "stacksave")
_RESTORE = InstructionForms("ptx.stackrestore", "stackrestore")


def alloca(dtype: PtxType, dst: Reg, size: object, align: int | None = None, *, pred: Reg | None = None) -> Reg:
    """Emit `alloca.type ptr, size{, align};` and return `ptr`: the local address of `size` bytes.

    `dtype`, u32 or u64, is the type of that address.
    """
    operands = (dst, size) if align is None else (dst, size, align)
    active("ptx.alloca").emit(_ALLOCATE.words(dtype), operands, pred)
    return dst


def stacksave(dtype: PtxType, dst: Reg, *, pred: Reg | None = None) -> Reg:
    """Emit `stacksave.type d;` and return `d`: the current stack pointer."""
    active("ptx.stacksave").emit(_SAVE.words(dtype), (dst,), pred)
    return dst


def stackrestore(dtype: PtxType, saved: Reg, *, pred: Reg | None = None) -> None:
    """Emit `stackrestore.type a;`: free all allocations since `stacksave`."""
    active("ptx.stackrestore").emit(_RESTORE.words(dtype), (saved,), pred)
