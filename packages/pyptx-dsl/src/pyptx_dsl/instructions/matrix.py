"""Matrices between shared memory and the registers of a warp.

Manual: "Warp-level Matrix Instructions: ldmatrix, stmatrix, movmatrix".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.fragments import fragment
from pyptx_dsl.trace_context import active
from pyptx_ir.fragments import move_of

if TYPE_CHECKING:
    from pyptx_dsl.instructions.fragments import Fragment
    from pyptx_dsl.registers.register import Reg

__all__ = ["ldmatrix", "movmatrix", "stmatrix"]

_COUNTS = {"x1": 1, "x2": 2, "x4": 4}
_LOADED: dict[str, tuple[str | None, ...]] = {
    "m8n8": (None,),
    "m16n16": (None, "b6x16_p32", "b4x16_p64"),
    "m8n16": ("b6x16_p32", "b4x16_p64"),
}
_MOST_REGISTERS = 4


def ldmatrix(
    *,
    dst: Fragment,
    src: object,
    layout: str = "x4",
    trans: bool = False,
    shape: str = "m8n8",
    source: str | None = None,
    pred: Reg | None = None,
) -> None:
    """Emit `ldmatrix.sync.aligned.shape.layout{.trans}.shared.type {dst…}, [src];`.

    Load 1, 2 or 4 matrices (`layout` `x1`, `x2`, `x4`; also `m8n8.x4`, `x4.trans`) of 8 x 8 16-bit elements into as
    many 32-bit registers; lane i holds two elements of row i/4. Lane i of the first 8, 16 or 32 gives the address of
    one row of 16 bytes. `src` is `ptx.addr(…)`, a 32-bit register, or a shared allocation.

    With bytes (sm_100a, sm_110a, sm_120a): `shape="m16n16"` loads 16 x 16 of them and transposes, into two registers
    for each of 1 or 2 matrices, from 16 rows each. `source` (`b6x16_p32`, `b4x16_p64`) says that a row holds 16
    elements of 6 or 4 bits, and padding; so must it for `shape="m8n16"`, 8 x 16 elements into one register.

    Raise OperandError for another layout or number of registers.
    """
    count, transposed = _layout("ptx.ldmatrix", layout, shape)
    if shape not in _LOADED or source not in _LOADED[shape]:
        said = f"shape={shape!r}, source={source!r}"
        raise OperandError(f"ptx.ldmatrix: {said}", hint=f"shapes and sources: {_LOADED}")
    turned = trans or transposed or shape == "m16n16"
    if turned and shape == "m8n16":
        raise OperandError("ptx.ldmatrix: m8n16 is never transposed", hint="use m16n16")
    types = ("b16",) if shape == "m8n8" else ("b8x16", source) if source else ("b8",)
    registers = move_of(shape, *types, transposed=turned).fragment.registers * _COUNTS[count]
    if registers > _MOST_REGISTERS:
        raise OperandError(f"ptx.ldmatrix: layout={layout!r} with {shape}", hint="x1 or x2")
    words = ("ldmatrix", "sync", "aligned", shape, count, *(("trans",) if turned else ()), "shared", *types)
    active("ptx.ldmatrix").emit(words, (fragment("dst", dst, registers), as_address(src)), pred)


def stmatrix(
    *,
    smem: object,
    regs: Fragment,
    layout: str = "x4",
    trans: bool = False,
    shape: str = "m8n8",
    pred: Reg | None = None,
) -> None:
    """Emit `stmatrix.sync.aligned.shape.layout{.trans}.shared.type [smem], {regs…};` (from sm_90).

    The inverse of `ldmatrix`, with the same layouts, registers and addresses. `shape="m16n8"` (sm_100a, sm_110a,
    sm_120a) stores 16 x 8 bytes transposed, four in each register: those of a sum of 16 x 8. Raise OperandError for
    others.
    """
    if shape not in {"m8n8", "m16n8"}:
        raise OperandError(f"ptx.stmatrix: shape={shape!r}", hint="m8n8, or m16n8 for bytes")
    count, transposed = _layout("ptx.stmatrix", layout, shape)
    turned = trans or transposed or shape == "m16n8"
    kind = "b16" if shape == "m8n8" else "b8"
    words = ("stmatrix", "sync", "aligned", shape, count, *(("trans",) if turned else ()), "shared", kind)
    operands = (as_address(smem), fragment("regs", regs, _COUNTS[count]))
    active("ptx.stmatrix").emit(words, operands, pred)


def movmatrix(dst: Reg, src: Reg, *, pred: Reg | None = None) -> Reg:
    """Emit `movmatrix.sync.aligned.m8n8.trans.b16 d, a;` and return `d`: transpose one matrix held by the warp."""
    active("ptx.movmatrix").emit(("movmatrix", "sync", "aligned", "m8n8", "trans", "b16"), (dst, src), pred)
    return dst


def _layout(what: str, layout: str, shape: str) -> tuple[str, bool]:
    """Read `x4`, `m8n8.x4`, `x4.trans`."""
    parts = [part for part in layout.split(".") if part != shape]
    transposed = "trans" in parts
    counts = [part for part in parts if part != "trans"]
    if len(counts) != 1 or counts[0] not in _COUNTS:
        raise OperandError(f"{what}: layout={layout!r}", hint=f"one of {', '.join(_COUNTS)}")
    return counts[0], transposed
