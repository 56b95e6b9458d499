"""`ptx.tcgen05.alloc`, `dealloc` and `relinquish_alloc_permit`: tensor memory columns (sm_100a, sm_103a, sm_110a).

`ptx.tmem.alloc` emits them together. Manual: "Tensor Memory Allocation and Management Instructions".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_arch_blackwell.ptx.kernel_rules import allocated, freed
from pyptx_arch_blackwell.ptx.operands import cta_group_word
from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.forms.emission import emits
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms
from pyptx_dsl.registers.operands import as_integer
from pyptx_dsl.trace_context import active

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg

__all__ = ["alloc", "bracketed", "columns_of", "dealloc", "relinquish_alloc_permit"]

_ALLOC = InstructionForms("ptx.tcgen05.alloc", "tcgen05.alloc")
_DEALLOC = InstructionForms("ptx.tcgen05.dealloc", "tcgen05.dealloc")
_RELINQUISH = InstructionForms("ptx.tcgen05.relinquish_alloc_permit", "tcgen05.relinquish_alloc_permit")
_SHAREABLE = (32, 64, 128, 256, 512)
_UNIT = 32


@emits("tcgen05.alloc", tmem_addr="dst", ncols="columns columns512 columns576")
def alloc(
    tmem_addr: object,
    ncols: object,
    *,
    cta_group: int | str = 1,
    exclusive: bool = False,
    space: str | None = "shared::cta",
    pred: Reg | None = None,
) -> None:
    """Emit `tcgen05.alloc.cta_group::N.sync.aligned{.shared::cta}.b32 [tmem_addr], ncols;`.

    A whole warp allocates; with `cta_group=2`, one warp in each CTA of a pair. The address of the columns is written to
    the 32-bit word of shared memory at `tmem_addr` (generic address with `space="generic"`); the warp waits while other
    CTAs of the SM hold the columns. `ncols` is 32, 64, 128, 256 or 512, or a register. With `exclusive` (PTX 9.4) it is
    any multiple of 32.
    """
    what = "ptx.tcgen05.alloc"
    allocated(what)
    words = _ALLOC.words(cta_group=cta_group_word(what, cta_group), exclusive=exclusive, space=space)
    active(what).emit(words, (bracketed(tmem_addr), _columns(what, ncols, exclusive=exclusive)), pred)


@emits("tcgen05.dealloc", taddr="taddr", ncols="columns columns512 columns576")
def dealloc(
    taddr: object,
    ncols: object,
    *,
    cta_group: int | str = 1,
    exclusive: bool = False,
    pred: Reg | None = None,
) -> None:
    """Emit `tcgen05.dealloc.cta_group::N.sync.aligned.b32 taddr, ncols;`: free columns, by a whole warp.

    `taddr` is the register with the address that `alloc` wrote. Free all allocated columns before the CTA exits, and
    after all operations that access them; with `cta_group=2` synchronize the CTA pair first.
    """
    what = "ptx.tcgen05.dealloc"
    freed(what)
    words = _DEALLOC.words(cta_group=cta_group_word(what, cta_group), exclusive=exclusive)
    active(what).emit(words, (taddr, _columns(what, ncols, exclusive=exclusive)), pred)


@emits("tcgen05.relinquish_alloc_permit")
def relinquish_alloc_permit(*, cta_group: int | str = 1, pred: Reg | None = None) -> None:
    """Emit `tcgen05.relinquish_alloc_permit.cta_group::N.sync.aligned;`: the CTA gives up the right to allocate.

    CTAs that wait for columns on the same SM can then allocate. A whole warp executes it.
    """
    what = "ptx.tcgen05.relinquish_alloc_permit"
    active(what).emit(_RELINQUISH.words(cta_group=cta_group_word(what, cta_group)), (), pred)


def bracketed(word: object) -> object:
    """Return the operand `[word]`: the shared memory word that receives the address of the allocated columns."""
    return as_address(word)


def columns_of(what: str, columns: object) -> int:
    """Return the constant number of columns; raise OperandError for an invalid number and for a register."""
    number = _columns(what, columns, exclusive=False)
    if not isinstance(number, int):
        help = "pass a number; only ptx.tcgen05.alloc accepts a register"
        raise OperandError(f"{what}: the number of columns must be known while tracing, got {columns!r}", help=help)
    return number


def _columns(what: str, ncols: object, *, exclusive: bool) -> object:
    number = as_integer(ncols)
    if number is None:
        return ncols
    if number < _UNIT or (number % _UNIT if exclusive else number not in _SHAREABLE):
        known = f"a multiple of {_UNIT}" if exclusive else ", ".join(map(str, _SHAREABLE))
        raise OperandError(f"{what}: invalid number of columns {ncols!r}", help=f"use {known} columns")
    return number
