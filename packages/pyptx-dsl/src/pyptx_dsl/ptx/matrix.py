"""Matrices of 8 x 8 elements between shared memory and the registers of a warp.

Manual: "Warp-level Matrix Instructions: ldmatrix, stmatrix, movmatrix".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import OperandError
from pyptx_dsl.ptx.address import as_address
from pyptx_dsl.ptx.products import Fragment, fragment
from pyptx_dsl.trace_context import active

if TYPE_CHECKING:
    from pyptx_dsl.register import Reg

__all__ = ["ldmatrix", "movmatrix", "stmatrix"]

_COUNTS = {"x1": 1, "x2": 2, "x4": 4}


def ldmatrix(*, dst: Fragment, src: object, layout: str = "x4", trans: bool = False, pred: Reg | None = None) -> None:
    """Emit `ldmatrix.sync.aligned.m8n8.layout{.trans}.shared.b16 {dst…}, [src];`.

    Load 1, 2 or 4 matrices (`layout` `x1`, `x2`, `x4`; also `m8n8.x4`, `x4.trans`) of 8 x 8 16-bit elements into as
    many 32-bit registers; lane i holds two elements of row i/4. Lane i of the first 8, 16 or 32 gives the address of
    one row of 16 bytes. `src` is `ptx.addr(…)`, a 32-bit register, or a shared allocation. Raise OperandError for
    another layout or number of registers.
    """
    count, transposed = _layout("ptx.ldmatrix", layout)
    words = [
        "ldmatrix",
        "sync",
        "aligned",
        "m8n8",
        count,
        *(("trans",) if trans or transposed else ()),
        "shared",
        "b16",
    ]
    operands = (fragment("dst", dst, _COUNTS[count]), as_address(src))
    active("ptx.ldmatrix").emit(tuple(words), operands, pred)


def stmatrix(
    *,
    smem: object,
    regs: Fragment,
    layout: str = "x4",
    trans: bool = False,
    shape: str = "m8n8",
    pred: Reg | None = None,
) -> None:
    """Emit `stmatrix.sync.aligned.m8n8.layout{.trans}.shared.b16 [smem], {regs…};` (from sm_90).

    The inverse of `ldmatrix`, with the same layouts, registers and addresses. Raise OperandError for others.
    """
    if shape != "m8n8":
        raise OperandError(f"ptx.stmatrix: shape={shape!r}", hint="m8n8; for 8-bit elements use ptx.inst.stmatrix")
    count, transposed = _layout("ptx.stmatrix", layout)
    words = [
        "stmatrix",
        "sync",
        "aligned",
        "m8n8",
        count,
        *(("trans",) if trans or transposed else ()),
        "shared",
        "b16",
    ]
    operands = (as_address(smem), fragment("regs", regs, _COUNTS[count]))
    active("ptx.stmatrix").emit(tuple(words), operands, pred)


def movmatrix(dst: Reg, src: Reg, *, pred: Reg | None = None) -> Reg:
    """Emit `movmatrix.sync.aligned.m8n8.trans.b16 d, a;` and return `d`: transpose one matrix held by the warp."""
    active("ptx.movmatrix").emit(("movmatrix", "sync", "aligned", "m8n8", "trans", "b16"), (dst, src), pred)
    return dst


def _layout(what: str, layout: str) -> tuple[str, bool]:
    """Read `x4`, `m8n8.x4`, `x4.trans`."""
    parts = [part for part in layout.split(".") if part != "m8n8"]
    transposed = "trans" in parts
    counts = [part for part in parts if part != "trans"]
    if len(counts) != 1 or counts[0] not in _COUNTS:
        raise OperandError(f"{what}: layout={layout!r}", hint=f"one of {', '.join(_COUNTS)}")
    return counts[0], transposed
