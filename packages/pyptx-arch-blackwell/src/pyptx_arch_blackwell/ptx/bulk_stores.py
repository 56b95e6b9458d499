"""`ptx.st_bulk`: zero a region of shared memory (sm_100). Manual: "st.bulk"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.forms.emission import emits
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms
from pyptx_dsl.registers.operands import as_integer
from pyptx_dsl.trace_context import active

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg

__all__ = ["st_bulk"]

_UNIT, _MOST = 8, 1 << 24
_FORMS = InstructionForms("ptx.st_bulk", "st.bulk")


@emits("st.bulk", size="size size_32", weak="sem")
def st_bulk(
    addr: object, size: object, *, weak: bool = False, space: str | None = "shared::cta", pred: Reg | None = None
) -> None:
    """Emit `st.bulk{.weak}{.space} [addr], size, 0;`: fill `size` bytes of shared memory with zeros.

    `size` is a multiple of 8 up to 16 MiB: a number, a 64-bit register, or (PTX 9.0) a 32-bit one. `addr` is a multiple
    of 8; with `space=None` it is a generic address in shared memory. Move the address of a variable to a register
    first: ptxas (13.0, 13.5) rejects a name in `[addr]`. Raise OperandError for an invalid number.
    """
    number = as_integer(size)
    if number is not None and (number % _UNIT or not 0 <= number <= _MOST):
        raise OperandError(
            f"invalid size of ptx.st_bulk: {size!r} bytes", help=f"use a multiple of {_UNIT} up to {_MOST}"
        )
    words = _FORMS.words(space=space, sem="weak" if weak else None)
    active("ptx.st_bulk").emit(words, (as_address(addr), size, 0), pred)
