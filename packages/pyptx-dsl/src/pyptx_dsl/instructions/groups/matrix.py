"""Copies of matrices between shared memory and the registers of a warp.

Manual: "Warp-level Matrix Instructions: ldmatrix, stmatrix, movmatrix".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.forms.emission import emits
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms, choice
from pyptx_dsl.instructions.groups.fragments import fragment
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import s4, s8

if TYPE_CHECKING:
    from pyptx_dsl.instructions.groups.fragments import Fragment
    from pyptx_dsl.registers.register import Reg

__all__ = ["ldmatrix", "movmatrix", "stmatrix"]

_COUNTS = ("x1", "x2", "x4")
_LOAD = InstructionForms("ptx.ldmatrix", "ldmatrix")
_STORE = InstructionForms("ptx.stmatrix", "stmatrix")


@emits(source="source type.1")
def ldmatrix(
    *,
    dst: Fragment,
    src: object,
    layout: str = "x4",
    trans: bool = False,
    shape: str = "m8n8",
    source: str | None = None,
    space: str | None = "shared",
    pred: Reg | None = None,
) -> None:
    """Emit `ldmatrix.sync.aligned.shape.layout{.trans}.shared.type {dst…}, [src];`.

    Load 1, 2 or 4 matrices (`layout` `x1`, `x2`, `x4`; also `m8n8.x4`, `x4.trans`) of 8 x 8 16-bit elements into as
    many 32-bit registers; lane i gets two elements of row i/4. Each of the first 8, 16 or 32 lanes supplies the address
    of one 16-byte row. `src` is `ptx.addr(…)`, a 32-bit register, or a shared allocation.

    With bytes (sm_100a, sm_110a, sm_120a): `shape="m16n16"` loads and transposes 16 x 16 bytes, into two registers for
    each of 1 or 2 matrices, from 16 rows each. `source` (`b6x16_p32`, `b4x16_p64`) declares that a row contains 16
    elements of 6 or 4 bits, and padding. It is required for `shape="m8n16"`: 8 x 16 elements into one register, where
    `s4` (PTX 9.4) widens 4-bit elements to bytes.

    `space` is `shared`, `shared::cta`, or None for a generic address. Raise OperandError for another layout or number
    of registers.
    """
    count, transposed = _layout(layout, shape)
    if shape == "m8n16" and source is None:
        known = ", ".join((*_LOAD.choices("source"), "s4"))
        raise OperandError("ptx.ldmatrix: shape='m8n16' needs source=", help=f"pass source= as one of {known}")
    types = (s8, s4) if source == "s4" else None
    modifiers: dict[str, str | bool | None] = {"shape": shape, "layout": count, "space": space}
    modifiers |= {"trans": trans or transposed, "source": None if source == "s4" else source}
    words, form = _LOAD.chosen(types, **modifiers)
    registers = fragment("dst", dst, form.length("layout", count))
    active("ptx.ldmatrix").emit(words, (registers, as_address(src)), pred)


def stmatrix(
    *,
    smem: object,
    regs: Fragment,
    layout: str = "x4",
    trans: bool = False,
    shape: str = "m8n8",
    space: str | None = "shared",
    pred: Reg | None = None,
) -> None:
    """Emit `stmatrix.sync.aligned.shape.layout{.trans}.shared.type [smem], {regs…};` (from sm_90).

    The inverse of `ldmatrix`, with the same layouts, registers and addresses. `shape="m16n8"` (sm_100a, sm_110a,
    sm_120a) stores 16 x 8 bytes transposed, four per register, in the fragment layout of a 16 x 8 accumulator. Raise
    OperandError for other shapes, layouts or numbers of registers. `space` is that of `ldmatrix`.
    """
    count, transposed = _layout(layout, shape)
    words, form = _STORE.chosen(shape=shape, layout=count, trans=trans or transposed, space=space)
    registers = fragment("regs", regs, form.length("layout", count))
    active("ptx.stmatrix").emit(words, (as_address(smem), registers), pred)


def movmatrix(dst: Reg, src: Reg, *, pred: Reg | None = None) -> Reg:
    """Emit `movmatrix.sync.aligned.m8n8.trans.b16 d, a;` and return `d`: transpose a matrix in the warp's registers."""
    active("ptx.movmatrix").emit(("movmatrix", "sync", "aligned", "m8n8", "trans", "b16"), (dst, src), pred)
    return dst


def _layout(layout: str, shape: str) -> tuple[str, bool]:
    """Return the number of matrices for `x4`, `m8n8.x4` or `x4.trans`, and whether `.trans` transposes them."""
    parts = [part for part in layout.split(".") if part != shape]
    count = ".".join(part for part in parts if part != "trans")
    return choice("layout", count, _COUNTS), "trans" in parts
