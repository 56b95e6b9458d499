"""`ptx.mma.sync`: the tensor cores of a warp. Manual: "Matrix Multiply-Accumulate Operation Using mma Instruction"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias, cast

from pyptx_dsl.errors import OperandError
from pyptx_dsl.ptx.wrapper import choice, ptx_type
from pyptx_dsl.register import Reg, RegArray
from pyptx_dsl.trace_context import active
from pyptx_ir.isa.table.mma import PRODUCTS

if TYPE_CHECKING:
    from pyptx_dsl.types import PtxType

__all__ = ["Fragment", "Mma", "fragment", "mma"]

Fragment: TypeAlias = Reg | RegArray | Sequence[Reg]
"""A thread's registers of one matrix, in the order of the manual's figures."""


@dataclass(frozen=True, slots=True)
class Form:
    """One shape of mma.sync with its types, and the registers that a thread holds of d, a, b and c."""

    shape: str
    types: tuple[str, str, str, str]
    counts: tuple[int, int, int, int]
    saturates: bool = False
    bitwise: bool = False
    any_layout: bool = False


@lru_cache(maxsize=1)
def _forms() -> tuple[Form, ...]:
    return tuple(_all_forms())


def _all_forms() -> Iterator[Form]:
    """Yield the forms of the instruction table."""
    for product in PRODUCTS:
        for shape in product.shapes:
            for types in product.types():
                yield Form(
                    shape,
                    types,
                    product.registers(shape, types),
                    product.saturates,
                    bool(product.operation),
                    product.any_layout,
                )


class Mma:
    """Matrix products of a warp; each call emits one instruction."""

    def sync(
        self,
        *,
        shape: Sequence[int],
        dtype_d: PtxType,
        dtype_a: PtxType,
        dtype_b: PtxType,
        dtype_c: PtxType,
        d: Fragment,
        a: Fragment,
        b: Fragment,
        c: Fragment,
        a_layout: str = "row",
        b_layout: str = "col",
        satfinite: bool = False,
        bit_op: str | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `mma.sync.aligned.mMnNkK.row.col{.satfinite}.d.a.b.c{.bit_op.popc} {d…}, {a…}, {b…}, {c…};`: d = ab + c.

        All lanes of the warp take part. `shape` is (M, N, K). Registers of a thread, with f16, bf16, fp8, s8 and s4
        packed into 32 bits:

        | types a, b → d, c | shapes (registers of d, a, b) |
        |---|---|
        | f16 → f16 or f32 | m16n8k8 (f32: 4, 2, 1; f16: 2, 2, 1), m16n8k16 (f32: 4, 4, 2; f16: 2, 4, 2), m8n8k4 |
        | bf16 → f32 | m16n8k8 (4, 2, 1), m16n8k16 (4, 4, 2) |
        | tf32 → f32 | m16n8k4 (4, 2, 1), m16n8k8 (4, 4, 2) |
        | e4m3, e5m2 → f32 or f16 (sm_89) | m16n8k16 (4, 2, 1), m16n8k32 (4, 4, 2); with f16 half of d |
        | f64 → f64 | m8n8k4 (2, 1, 1); from sm_90 m16n8k4, m16n8k8, m16n8k16 |
        | s8, u8 → s32 | m8n8k16 (2, 1, 1), m16n8k16 (4, 2, 1), m16n8k32 (4, 4, 2) |
        | s4, u4 → s32 | m8n8k32 (2, 1, 1), m16n8k32 (4, 2, 1), m16n8k64 (4, 4, 2) |
        | b1 → s32, `bit_op="xor"` or `"and"` | m8n8k128 (2, 1, 1), m16n8k128 (4, 2, 1), m16n8k256 (4, 4, 2) |

        `satfinite` clamps integer sums. Raise OperandError for a shape, type, layout or number of registers that does
        not exist, InstructionUseError for a target or PTX version that has it not.
        """
        types = tuple(ptx_type(dtype, "ptx.mma.sync").name for dtype in (dtype_d, dtype_a, dtype_b, dtype_c))
        form = _find(shape, types)
        layouts = (choice("a_layout", a_layout, ("row", "col")), choice("b_layout", b_layout, ("row", "col")))
        if layouts != ("row", "col") and not form.any_layout:
            raise OperandError(
                f"mma.sync {form.shape} of {types[1]} multiplies row by column, not {layouts[0]} by {layouts[1]}"
            )
        if satfinite and not form.saturates:
            raise OperandError(
                f"mma.sync {form.shape} of {types[1]} has no satfinite", hint="only integer products have it"
            )
        fragments = [
            fragment(name, value, count) for name, value, count in zip("dabc", (d, a, b, c), form.counts, strict=True)
        ]
        words = ("mma", "sync", "aligned", form.shape, *layouts, *(("satfinite",) if satfinite else ()), *types)
        active("ptx.mma.sync").emit((*words, *_bit_words(form, bit_op)), fragments, pred)


def _find(shape: Sequence[int], types: tuple[str, ...]) -> Form:
    name = "m{}n{}k{}".format(*shape) if len(shape) == 3 else repr(shape)
    for form in _forms():
        if form.shape == name and form.types == types:
            return form
    shapes = dict.fromkeys(form.shape for form in _forms() if form.types == types)
    if shapes:
        raise OperandError(f"mma.sync has no shape {name} for {'.'.join(types)}", hint=f"it has {', '.join(shapes)}")
    kinds = dict.fromkeys(".".join(form.types) for form in _forms() if form.shape == name)
    if kinds:
        raise OperandError(
            f"mma.sync {name} has no types {'.'.join(types)} (d, a, b, c)", hint=f"it has {', '.join(kinds)}"
        )
    raise OperandError(f"mma.sync has neither the shape {name} nor the types {'.'.join(types)} (d, a, b, c)")


def fragment(name: str, value: object, count: int) -> list[object]:
    """Return the registers of a fragment; raise OperandError unless there are `count`."""
    registers: list[object] = [value] if isinstance(value, Reg) else list(cast("Sequence[object]", value))
    if len(registers) != count:
        raise OperandError(f"{name} is {count} registers, not {len(registers)}", hint="the docstring has a table")
    return registers


def _bit_words(form: Form, bit_op: str | None) -> tuple[str, ...]:
    if form.bitwise:
        return (choice("bit_op", bit_op, ("xor", "and")), "popc")
    if bit_op is not None:
        raise OperandError(f"bit_op={bit_op!r}: only products of b1 have it")
    return ()


mma = Mma()
