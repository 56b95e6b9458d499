"""Numerics of tcgen05.mma. Manual: "tcgen05.mma"; parameters of the exact model: see `pyptx_sim.numerics`.

Inputs are the values of A, `[n, rows, k]`, and of B, `[n, columns, k]`, the scale factors of A and B if any, `[n, rows,
parts of k]` and `[n, columns, parts of k]`, and the addend.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_arch_blackwell.mma import container_bits
from pyptx_sim.numerics.dot_products import fast, fast_float, fast_scaled, integer, paired
from pyptx_sim.numerics.tensor_cores import exact_sum, model_of, model_of_scaled, rounded

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_arch_blackwell.sim.mma.plan import MmaPlan
    from pyptx_sim.extension import Array
    from pyptx_sim.numerics.tensor_cores import Model

__all__ = ["Sum", "sum_of"]

Sum: TypeAlias = "Callable[..., Array]"
"""Function from A, B, their scale factors and the addend to the elements of D."""

_Types: TypeAlias = tuple[str, str, str, str]
_PACKED = 4  # number of bits of an e2m1 element in a packed operand, where elements do not fill bytes


def sum_of(plan: MmaPlan) -> Sum:
    """Return the `Dot` function of an MMA: fast, or bit-exact for the tensor cores of the target.

    NaN in an f32 accumulator need not be canonical: the caller canonicalizes.
    """
    it, exact = plan.descriptor, plan.opcode.exact
    types = (it.d, it.a, it.b, it.d)
    if it.kind == "i8":
        return partial(integer, saturates=it.saturate)
    if exact is None:
        return _fast_scaled if plan.opcode.scaled else fast if it.d == "f32" else fast_float(types)
    if not plan.opcode.scaled:
        return partial(_exact, types=types, model=_whole(model_of(exact, it.a), plan))
    packed = container_bits(it.kind) == _PACKED
    if packed:
        types = it.d, "b4", "b4", it.d
    return partial(_exact_scaled, types=types, model=_whole(model_of_scaled(types[1]), plan))


def _whole(model: Model, plan: MmaPlan) -> Model:
    """Return the exact model with one sum over K.

    For a sparse A, a group of products that are added exactly is twice as long, because it includes the zeros of A.
    """
    twice = plan.opcode.sparse and model.group > 1
    return replace(model, length=plan.descriptor.depth, group=model.group * (2 if twice else 1))


def _fast_scaled(a: Array, b: Array, of_a: Array, of_b: Array, c: Array) -> Array:
    return fast_scaled(a, b, (of_a, of_b), c)


def _exact(a: Array, b: Array, c: Array, *, types: _Types, model: Model) -> Array:
    return rounded(exact_sum(*paired(a, b), c, types, model), types[0])


def _exact_scaled(a: Array, b: Array, of_a: Array, of_b: Array, c: Array, *, types: _Types, model: Model) -> Array:
    of = paired(_each(of_a, a.shape[-1]), _each(of_b, b.shape[-1]))
    return rounded(exact_sum(*paired(a, b), c, types, model, of), types[0])


def _each(scales: Array, depth: int) -> Array:
    """Return the scale factor of each element along K."""
    return np.repeat(scales, depth // scales.shape[-1], axis=-1)
