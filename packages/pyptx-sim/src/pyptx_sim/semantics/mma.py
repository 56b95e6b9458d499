"""MMAs on fragments in the registers of a warp.

Manual: "Multiply-and-Accumulate Instruction: mma", "… mma.sp / mma.sp::ordered_metadata", "… wmma.mma".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_ir.fragments import Fragment, fragment_of
from pyptx_ir.isa.kinds.fragments import element_of
from pyptx_ir.plugins.semantics import Semantics
from pyptx_sim.numerics.dot_products import (
    SparseSum,
    Sum,
    exact_double,
    fast,
    fast_float,
    fast_sparse,
    integer,
    population,
    selected,
)
from pyptx_sim.numerics.elements import packing, unpacking
from pyptx_sim.numerics.lowering import exact_warp_float
from pyptx_sim.numerics.operands import WIDEN
from pyptx_sim.numerics.recent import Recent
from pyptx_sim.numerics.sparse_operands import selecting
from pyptx_sim.semantics.errors import NoSemantics
from pyptx_sim.semantics.mma_batches import batching
from pyptx_sim.semantics.operations import constant, operation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyptx_ir.isa.binding import Bound
    from pyptx_sim.operation import Array, Compute, Mask, Operation, Spread

Types: TypeAlias = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Shares:
    """Fragments of an MMA's d, a, b and c, and `types`, their element types in this order."""

    d: Fragment
    a: Fragment
    b: Fragment
    c: Fragment
    types: Types

    def reading(self) -> Callable[[Sequence[Array]], tuple[Array, Array, Array]]:
        """Return a function from the source registers to a, the transpose of b, and c, as arrays of numbers."""
        first = self.a.registers
        second = first + self.b.registers
        of_a, of_b = numbers(self.a, self.types[1]), numbers(self.b, self.types[2], transposed=True)
        of_c = numbers(self.c, self.types[3])

        def read(registers: Sequence[Array]) -> tuple[Array, Array, Array]:
            return of_a(registers[:first]), of_b(registers[first:second]), of_c.take(registers[second:])

        return read

    def writing(self) -> Callable[[Array], tuple[Array, ...]]:
        """Return a function from matrix d to its registers; it caches an f32 d for the next MMA that has it as c."""
        pack = packing(self.d)
        if self.types[0] != "f32" or (self.d.lanes, self.d.elements) != (self.c.lanes, self.c.elements):
            return pack
        of_c = numbers(self.c, self.types[0])

        def write(sums: Array) -> tuple[Array, ...]:
            registers = pack(sums)
            of_c.keep(registers, sums)
            return registers

        return write


@cache
def numbers(fragment: Fragment, element: str, *, transposed: bool = False) -> Recent:
    """Return a function from a fragment's registers to its matrix of numbers, with a cache of recent results."""
    unpack, widen = unpacking(fragment, transposed=transposed), WIDEN[element]
    return Recent(lambda registers: widen(unpack(registers)))


def _shares(form: Bound, instruction: str, layouts: Mapping[str, str] = MappingProxyType({})) -> Shares:
    """Return the fragments of a form's operands; `layouts`: layouts of a and b, if their registers depend on them."""
    shape = form.word("shape")
    d, a, b, c = (element_of(form.places[name], form.words) for name in "dabc")
    return Shares(
        fragment_of(instruction, shape, "d", d),
        fragment_of(instruction, shape, "a", a, layouts.get("a", "")),
        fragment_of(instruction, shape, "b", b, layouts.get("b", "")),
        fragment_of(instruction, shape, "c", c),
        (d, a, b, c),
    )


def _product(form: Bound, shares: Shares) -> Operation:
    """Return the `Operation` of a dense MMA."""
    sums, exact = _sums(form, shares.types)
    read, write = shares.reading(), shares.writing()

    def using(total: Sum) -> Compute:
        def compute(_mask: Mask, *registers: Array) -> tuple[Array, ...]:
            return write(total(*read(registers)))

        return compute

    batch = batching(shares, sums, lambda registers: write(sums(*read(registers))))
    product = operation(form, using(sums), warp=True)
    return replace(product, exact=_of_target(using, exact), batch=batch, undefined=_undefined(shares))


def _undefined(shares: Shares) -> Spread:
    """Return a function that propagates undefined bits: to an element of d from its row of a, column of b, and c."""
    first = shares.a.registers
    second = first + shares.b.registers
    of_a, of_b, of_c = unpacking(shares.a), unpacking(shares.b, transposed=True), unpacking(shares.c)
    pack = packing(shares.d)
    element = np.dtype(f"<u{shares.d.bits // 8}").type

    def spread(values: Sequence[Array], bits: Sequence[Array | None], mask: Mask) -> Sequence[Array]:
        words = [np.dtype(f"<u{value.dtype.itemsize}") for value in values]
        known = [
            np.broadcast_to(word.type(0) if each is None else each, mask.shape)
            for each, word in zip(bits, words, strict=True)
        ]
        rows = (of_a(known[:first]) != 0).any(axis=-1)[..., :, None]
        columns = (of_b(known[first:second]) != 0).any(axis=-1)[..., None, :]
        unknown = rows | columns | (of_c(known[second:]) != 0)
        return pack(np.where(unknown, ~element(0), element(0)))

    return spread


def _of_target(using: Callable[[Sum], Compute], exact: Callable[[str], Sum] | None) -> Callable[[str], Compute] | None:
    if exact is None:
        return None
    sum_of = exact

    def precise(target: str) -> Compute:
        return using(sum_of(target))

    return precise


def _sums(form: Bound, types: Types) -> tuple[Sum, Callable[[str], Sum] | None]:
    """Return the dot product functions of `fast` numerics and, by target, of `exact` numerics (None: equal)."""
    if types[1] == "f64":
        return fast, lambda _target: exact_double(form.word("rnd") or "rn")
    if types[1] == "b1":
        return partial(population, operation="xor" if "xor" in form.words else "and"), None
    if types[0] == "s32":
        return partial(integer, saturates="satfinite" in form.words), None
    return fast_float(types), partial(exact_warp_float, types, form.word("shape"))


def _dense(form: Bound) -> Operation:
    # Only the oldest shape, m8n8k4, has fragments that depend on the layouts.
    either = form.word("alayout") and {"a": form.word("alayout"), "b": form.word("blayout")}
    return _product(form, _shares(form, "mma", either or {}))


def _opaque(form: Bound) -> Operation:
    """Return the `Operation` of wmma.mma; the layouts in the opcode do not affect the fragments in registers."""
    shares = _shares(form, "wmma")
    if "satfinite" in form.words and shares.types[0] != "s32":
        raise NoSemantics(form.instruction, ".satfinite of floating-point accumulators is undocumented")
    return _product(form, shares)


def _sparse(form: Bound) -> Operation:
    shares, selector = _shares(form, "mma.sp"), constant(form, "f")
    if selector is None:
        raise NoSemantics(form.instruction, "the sparsity selector must be a constant")
    select = selecting(form.word("shape"), shares.types[1], selector)
    sums, exact = _sums(form, shares.types)
    read, write = shares.reading(), shares.writing()

    def using(total: SparseSum) -> Compute:
        def compute(_mask: Mask, *registers: Array) -> tuple[Array, ...]:
            return write(total(registers[-1], *read(registers[:-1])))

        return compute

    fast_sums = selected(sums, select) if exact is None else fast_sparse(shares.types, select)
    product = operation(form, using(fast_sums), warp=True, unread=("f",))
    return replace(product, exact=_of_target(lambda total: using(selected(total, select)), exact))


ROWS = (
    Semantics("mma", _dense, manual="mma"),
    Semantics("mma", _sparse, manual="mma.sp"),
    Semantics("wmma.mma", _opaque),
)
