"""Registers with packed elements (f16x2, s16x2) as arrays with an additional axis for the elements.

Splitting is a view: the bytes of a register are little-endian, so element 0 has the low bits. The axis of elements is
last, so arrays still broadcast along lanes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_sim.operation import Array
    from pyptx_sim.types import DType


def split(bits: Array, element: DType) -> Array:
    """Return the registers `bits`, `[…]`, as their packed elements, `[…, n]`, low bits first."""
    return bits[..., None].view(element)


def join(elements: Array, register: DType) -> Array:
    """Return registers of dtype `register`, `[…]`, from their packed elements, `[…, n]`, low bits first."""
    return np.ascontiguousarray(elements).view(register)[..., 0]


def elementwise(core: Callable[..., Array], element: DType, register: DType) -> Callable[..., Array]:
    """Return a function of packed registers that applies `core`, a function of element arrays, to their elements."""

    def compute(*sources: Array) -> Array:
        return join(core(*(split(source, element) for source in sources)), register)

    return compute
