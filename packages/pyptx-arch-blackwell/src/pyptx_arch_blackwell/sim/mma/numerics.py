"""How products are summed. Manual: "tcgen05.mma"; the numbers of the exact model: see `pyptx_sim.numerics`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.numerics.dot_products import Sum, dot, exact_float, fast_float, integer, paired
from pyptx_sim.numerics.nan import canonical
from pyptx_sim.numerics.scales import scales
from pyptx_sim.numerics.tensor_cores import Model, exact_sum

if TYPE_CHECKING:
    from pyptx_arch_blackwell.sim.mma.plan import Plan
    from pyptx_sim.extension import Array

__all__ = ["sum_of", "times"]

# Measured by others (arXiv 2512.07004): so many bits behind the largest term, over all of K.
_SCALED_FRACTION: Final = 35
_SINGLE: Final = ("f32",) * 4


def sum_of(plan: Plan) -> Sum:
    """Return how a product is summed: fast, or as the tensor cores of the target do it, bit for bit."""
    it, exact = plan.descriptor, plan.opcode.exact
    if it.kind == "i8":
        return partial(integer, saturates=it.saturate)
    if plan.opcode.scaled:
        return _fast_scaled if exact is None else partial(_exact_scaled, model=Model(_SCALED_FRACTION, it.depth))
    types = (it.d, it.a, it.b, it.d)
    return fast_float(types) if exact is None else exact_float(types, exact)


def _fast_scaled(a: Array, b: Array, c: Array) -> Array:
    """Return the sums of float64 factors, rounded once."""
    return canonical((dot(a, b) + c).astype(np.float32))


def _exact_scaled(a: Array, b: Array, c: Array, *, model: Model) -> Array:
    return exact_sum(*paired(a, b), np.broadcast_to(c, (len(a), a.shape[1], b.shape[1])), _SINGLE, model)


def times(values: Array, codes: Array, element: str) -> Array:
    """Return elements, `[…, k]`, times the scales of the parts of k, `[…, parts]`, which are codes of `element`."""
    factors = scales(codes, element)
    parts = values.reshape(*values.shape[:-1], factors.shape[-1], -1).astype(np.float64)
    return (parts * factors[..., None]).reshape(values.shape)
