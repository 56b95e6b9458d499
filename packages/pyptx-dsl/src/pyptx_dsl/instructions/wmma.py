"""`ptx.wmma`: products of a warp whose fragments are opaque: what loads them must be `ptx.wmma.load`.

Manual: "Matrix multiply-accumulate operation using wmma instructions".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.fragments import held, shape_name
from pyptx_dsl.instructions.spelling import choice, ptx_type
from pyptx_dsl.trace_context import active
from pyptx_ir.fragments import wmma_fragment
from pyptx_ir.isa.table.wmma import FACTORS, SUMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_dsl.instructions.fragments import Fragment
    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.types import PtxType
    from pyptx_ir.fragments import Fragment as Layout

__all__ = ["Wmma", "wmma"]

Which: TypeAlias = Literal["a", "b", "c", "d"]
_LAYOUTS = ("row", "col")
_SPACES = ("shared", "global")


class Wmma:
    """Loads, products and stores of opaque fragments; each call emits one instruction."""

    def load(
        self,
        which: Which,
        *,
        shape: Sequence[int],
        dtype: PtxType,
        dst: Fragment,
        src: object,
        layout: str = "row",
        stride: Reg | int | None = None,
        space: str | None = "shared",
        pred: Reg | None = None,
    ) -> None:
        """Emit `wmma.load.which.sync.aligned.layout.shape{.space}.type {dst…}, [src]{, stride};`.

        `which` is `a`, `b` or `c`. `stride` counts elements from row to row (`layout` `row`) or from column to column
        (`col`); without it they touch. `space` is `shared`, `global`, or None for a generic address. All lanes give the
        same address and stride. Raise OperandError for a matrix that does not exist, or other registers.
        """
        choice("which", which, ("a", "b", "c"))
        layouts = _share("load", which, shape, dtype)
        words = ("wmma", "load", which, *_order(layout), shape_name(shape), *_space(space), dtype.name)
        registers = held("dst", dst, layouts, dtype.name)
        more = () if stride is None else (stride,)
        active("ptx.wmma.load").emit(words, (registers, as_address(src), *more), pred)

    def store(
        self,
        *,
        shape: Sequence[int],
        dtype: PtxType,
        dst: object,
        src: Fragment,
        layout: str = "row",
        stride: Reg | int | None = None,
        space: str | None = "shared",
        pred: Reg | None = None,
    ) -> None:
        """Emit `wmma.store.d.sync.aligned.layout.shape{.space}.type [dst], {src…}{, stride};`; the rest as `load`."""
        layouts = _share("store", "d", shape, dtype)
        words = ("wmma", "store", "d", *_order(layout), shape_name(shape), *_space(space), dtype.name)
        registers = held("src", src, layouts, dtype.name)
        more = () if stride is None else (stride,)
        active("ptx.wmma.store").emit(words, (as_address(dst), registers, *more), pred)

    def mma(
        self,
        *,
        shape: Sequence[int],
        dtype_d: PtxType,
        dtype_a: PtxType,
        dtype_c: PtxType,
        d: Fragment,
        a: Fragment,
        b: Fragment,
        c: Fragment,
        a_layout: str = "row",
        b_layout: str = "col",
        satfinite: bool = False,
        bit_op: str | None = None,
        rounding: str | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `wmma.mma{.bit_op.popc}.sync.aligned.alayout.blayout.shape… {d…}, {a…}, {b…}, {c…};`: d = ab + c.

        `dtype_a` is that of b too, and the layouts are those of the loads. Registers of a thread:

        | types a → d, c | shapes (registers of d, a, b) |
        |---|---|
        | f16 → f16 or f32 | m16n16k16, m8n32k16, m32n8k16 (f32: 8, 8, 8; f16: 4, 8, 8) |
        | bf16 → f32 | m16n16k16 (8, 4, 4), m8n32k16 (8, 2, 8), m32n8k16 (8, 8, 2) |
        | tf32 → f32 | m16n16k8 (8, 4, 4) |
        | f64 → f64, `rounding` | m8n8k4 (2, 1, 1) |
        | s8, u8 → s32, `satfinite` | m16n16k16 (8, 2, 2), m8n32k16 (8, 1, 4), m32n8k16 (8, 4, 1) |
        | s4, u4 → s32, `satfinite` | m8n8k32 (2, 1, 1) |
        | b1 → s32, `bit_op` `xor` or `and` | m8n8k128 (2, 1, 1) |

        Raise OperandError for matrices that do not exist or other registers, InstructionUseError for a target or PTX
        version without them.
        """
        name = shape_name(shape)
        factor = ptx_type(dtype_a, "ptx.wmma.mma").name
        shares: tuple[tuple[Which, PtxType, Fragment], ...] = (
            ("d", dtype_d, d),
            ("a", dtype_a, a),
            ("b", dtype_a, b),
            ("c", dtype_c, c),
        )
        registers = [held(which, value, _share("mma", which, shape, kind), kind.name) for which, kind, value in shares]
        if (bit_op is not None) != (factor == "b1"):
            raise OperandError(f"ptx.wmma.mma: bit_op={bit_op!r} with {factor}", hint="xor or and, for b1 alone")
        operation = (choice("bit_op", bit_op, ("xor", "and")), "popc") if bit_op is not None else ()
        types = (dtype_d.name, dtype_c.name) if factor == "f16" else (dtype_d.name, factor, factor, dtype_c.name)
        layouts = (choice("a_layout", a_layout, _LAYOUTS), choice("b_layout", b_layout, _LAYOUTS))
        tail = (*(("satfinite",) if satfinite else ()), *(() if rounding is None else (rounding,)))
        words = ("wmma", "mma", *operation, "sync", "aligned", *layouts, name, *types, *tail)
        active("ptx.wmma.mma").emit(words, registers, pred)

    def fragment(self, *, shape: Sequence[int], operand: Which, dtype: PtxType) -> Layout:
        """Return the layout that the simulator gives an operand; the hardware's is not documented. Emits nothing."""
        return wmma_fragment(shape_name(shape), operand, ptx_type(dtype, "ptx.wmma.fragment").name)


def _share(what: str, which: Which, shape: Sequence[int], dtype: PtxType) -> Layout:
    """Return the layout of a matrix; raise OperandError if no shape has one such."""
    name, element = shape_name(shape), ptx_type(dtype, f"ptx.wmma.{what}").name
    wanted = "c" if which == "d" else which
    shares = [share for share in (*FACTORS, *SUMS) if wanted in share.which]
    if not any(name in share.shapes and element in share.types for share in shares):
        known = sorted({f"{each} of {kind}" for share in shares for each in share.shapes for kind in share.types})
        raise OperandError(f"wmma.{what} has no {which} of {name} with {element}", hint=f"there are {', '.join(known)}")
    return wmma_fragment(name, which, element)


def _order(layout: str) -> tuple[str, str, str]:
    return ("sync", "aligned", choice("layout", layout, _LAYOUTS))


def _space(space: str | None) -> tuple[str, ...]:
    return () if space is None else (choice("space", space, _SPACES),)


wmma = Wmma()
