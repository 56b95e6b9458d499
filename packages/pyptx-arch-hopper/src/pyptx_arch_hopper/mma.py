"""Forms of wgmma.mma_async, from the instruction table: types, shapes, and registers per thread."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product as combinations
from typing import TYPE_CHECKING

from pyptx_arch_hopper.table.wgmma import PRODUCTS, WgmmaTypes
from pyptx_dsl.errors import OperandError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Form", "find_form", "forms"]

_ROWS = 64
_THREADS = 128
_PACKED = {"f16": 2}  # accumulator elements per 32-bit register of wgmma, by type of D (others: 1)


@dataclass(frozen=True, slots=True)
class Form:
    """Types of D, A and B of a wgmma, and the properties that depend on the types; `depth` is K of the dense MMA."""

    d: str
    a: str
    b: str
    depth: int
    columns: tuple[int, ...]
    words: tuple[str, ...]
    negates: bool
    transposes: bool
    saturates: bool
    selectors: int

    @property
    def types(self) -> str:
        """Types of the form as text, such as `f32 += bf16 x bf16`."""
        return f"{self.d} += {self.a} x {self.b}"

    def accumulators(self, columns: int) -> int:
        """Return the number of D registers per thread: 64 x N elements over 128 threads."""
        return _ROWS * columns // _THREADS // _PACKED.get(self.d, 1)


@lru_cache(maxsize=1)
def forms() -> tuple[Form, ...]:
    """Return all forms of wgmma.mma_async, one for each combination of types."""
    return tuple(form for product in PRODUCTS for form in _forms(product))


def _forms(product: WgmmaTypes) -> Iterator[Form]:
    """Yield the forms of an instruction-table row, which may list several operand types."""
    slots = dict(product.slots)
    words = [word for word in product.factors.replace("{.satfinite}", "").split(".") if word]
    for a, b in combinations(*(slots.get(word, (word,)) for word in words[:2])):
        yield Form(
            product.d,
            a,
            b,
            product.depth,
            product.columns,
            tuple(words[2:]),
            product.negates,
            product.transposes,
            "satfinite" in product.factors,
            0 if product.selector is None else product.selector + 1,
        )


def find_form(what: str, types: tuple[str, str, str], shape: Sequence[int], *, sparse: bool) -> Form:
    """Return the form with these types and this shape; the OperandError lists the valid types or shapes."""
    form = next((form for form in forms() if (form.d, form.a, form.b) == types), None)
    if form is None:
        known = dict.fromkeys(form.types for form in forms())
        raise OperandError(
            f"{what} does not support {types[0]} += {types[1]} x {types[2]}", help=f"supported: {', '.join(known)}"
        )
    if sparse and not form.selectors:
        raise OperandError(f"{what}: {form.types} does not support sparsity")
    depth = form.depth * (2 if sparse else 1)
    sizes = tuple(shape)
    if len(sizes) != 3 or sizes[0] != _ROWS or sizes[1] not in form.columns or sizes[2] != depth:
        columns = ", ".join(map(str, form.columns)) if len(form.columns) < 25 else "8, 16, … 256"
        raise OperandError(
            f"{what}: {form.types} does not support shape {sizes!r}",
            help=f"use ({_ROWS}, N, {depth}) with N one of {columns}"
            + (f"; loop over K = {sizes[2]} in steps of {depth}" if len(sizes) == 3 and sizes[2] != depth else ""),
        )
    return form
