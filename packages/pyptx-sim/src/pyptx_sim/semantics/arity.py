"""Operations with one result, by the number of their sources."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from pyptx_sim.operation import Array, Operation

Unary: TypeAlias = Callable[[Array], Array]
Binary: TypeAlias = Callable[[Array, Array], Array]
Ternary: TypeAlias = Callable[[Array, Array, Array], Array]


def unary(result: str, source: str, compute: Unary) -> Operation:
    """Return the operation that computes one value of type `result` from one of type `source`."""
    return Operation((result,), (source,), compute)


def binary(result: str, sources: tuple[str, str], compute: Binary) -> Operation:
    """Return the operation that computes one value of type `result` from two."""
    return Operation((result,), sources, compute)


def ternary(result: str, sources: tuple[str, str, str], compute: Ternary) -> Operation:
    """Return the operation that computes one value of type `result` from three."""
    return Operation((result,), sources, compute)
