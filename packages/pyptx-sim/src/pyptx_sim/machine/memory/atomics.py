"""Atomic updates of many lanes in a few array operations; the result is that of sequential updates in lane order.

Manual: "atom", "red".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from pyptx_sim.numerics.extremes import Extreme
from pyptx_sim.numerics.formats import HALVES
from pyptx_sim.numerics.nan import canonical
from pyptx_sim.numerics.subnormals import flushed
from pyptx_sim.operation import Array

if TYPE_CHECKING:
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.numerics.formats import Half
    from pyptx_sim.types import DType

# Function of atomic operations: from arrays of old values, operands and second operands (`cas`) to the new values; all
# arrays have one dtype.
Combine: TypeAlias = Callable[[Array, Array, Array], Array]

# If at most this many lanes update one address, rounds of updates of distinct addresses are faster than a loop over
# addresses.
_ROUNDS = 64


def all_defined(kind: DType) -> Array:
    """Return one element of dtype `kind` with all bits set."""
    return np.frombuffer(b"\xff" * kind.itemsize, kind)


def _keeps_whole(defined: Array, _: Array, __: Array) -> Array:
    every = all_defined(defined.dtype)
    return np.where(defined == every, every, np.zeros_like(every))


def _keeps_below(defined: Array, _: Array, __: Array) -> Array:
    """Return the defined bits of a sum: the bits below the lowest undefined one, because carries propagate upwards."""
    below: Array = defined & ~(defined + defined.dtype.type(1))
    return below


@dataclass(frozen=True, slots=True)
class Update:
    """Atomic operation: `combine` updates distinct addresses; `ufunc`, if any, accumulates updates of one address.

    `finish` converts results of `ufunc` to those of `combine`. `keeps` returns the defined bits of the result, from the
    defined bits of the old value and the operands, all as unsigned integers.
    """

    combine: Combine
    ufunc: np.ufunc | None = None
    finish: Callable[[Array], Array] | None = None
    keeps: Combine = field(default=_keeps_whole)


def _from_ufunc(ufunc: np.ufunc, keeps: Combine = _keeps_whole) -> Update:
    def combine(old: Array, value: Array, _: Array) -> Array:
        return np.asarray(cast("Array", ufunc(old, value)))

    return Update(combine, ufunc, keeps=keeps)


def _increment(old: Array, bound: Array, _: Array) -> Array:
    return np.asarray(np.where(old >= bound, 0, old + 1), old.dtype)


def _decrement(old: Array, bound: Array, _: Array) -> Array:
    return np.asarray(np.where((old == 0) | (old > bound), bound, old - 1), old.dtype)


def _in_half(half: Half, core: Callable[..., Array]) -> Update:
    """Return the `Update` of 16-bit floats that applies `core` to widened values and rounds once."""

    def combine(old: Array, value: Array, _: Array) -> Array:
        return half.narrow(core(half.widen(old), half.widen(value)))

    return Update(combine)


def _add_f32(old: Array, value: Array, _: Array) -> Array:
    return canonical(np.asarray(old + value))


def _add_flushing(old: Array, value: Array, _: Array) -> Array:
    return canonical(flushed(flushed(old) + flushed(value)))


UPDATES: dict[str, Update] = {
    "add": _from_ufunc(np.add, _keeps_below),
    "min": _from_ufunc(np.minimum),
    "max": _from_ufunc(np.maximum),
    "and": _from_ufunc(np.bitwise_and, lambda defined, value, _: defined | ~value),
    "or": _from_ufunc(np.bitwise_or, lambda defined, value, _: defined | value),
    "xor": _from_ufunc(np.bitwise_xor, lambda defined, _, __: defined),
    "inc": Update(_increment),
    "dec": Update(_decrement),
    "exch": Update(
        lambda _, value, __: value, keeps=lambda defined, _, __: np.full_like(defined, all_defined(defined.dtype))
    ),
    "cas": Update(lambda old, compare, value: np.where(old == compare, value, old)),
}
_OF_HALVES: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "min": Extreme(largest=False),
    "max": Extreme(largest=True),
}
# Atomic operations on floats that differ from those on integers, by type; NaN results are canonical.
FLOAT_UPDATES: dict[str, dict[str, Update]] = {
    "f32": {"add": Update(_add_f32, np.add, canonical)},
    **{name: {op: _in_half(half, core) for op, core in _OF_HALVES.items()} for name, half in HALVES.items()},
}
# Manual, "atom": add.f32 on global memory flushes subnormal inputs and results.
GLOBAL_F32_ADD = Update(_add_flushing)


def apply(memory: Array, index: IntArray, update: Update, value: Array, second: Array) -> Array:
    """Update the elements of `memory` at `index`, in order; return each element's value before its update."""
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    leads = np.ones(len(index), np.bool_)
    leads[1:] = ordered[1:] != ordered[:-1]
    if leads.all():
        old = memory[index]
        memory[index] = update.combine(old, value, second)
        return old
    starts = np.flatnonzero(leads)
    sizes = np.diff(np.append(starts, len(index)))
    if update.ufunc is not None and sizes.max() > _ROUNDS:
        return _by_address(memory, index, order, starts, update, value)
    rank = np.arange(len(index)) - np.repeat(starts, sizes)
    return _by_rounds(memory, index, order[np.argsort(rank, kind="stable")], np.bincount(rank), update, value, second)


def _by_address(
    memory: Array, index: IntArray, order: IntArray, starts: IntArray, update: Update, value: Array
) -> Array:
    """Perform all updates of one address at once, address by address, with `ufunc.accumulate`."""
    old = np.empty(len(index), memory.dtype)
    for series in np.split(order, starts[1:]):
        at = index[series[0]]
        chain: Any = np.empty(len(series) + 1, memory.dtype)
        chain[0] = memory[at]
        chain[1:] = value[series]
        chain = cast("np.ufunc", update.ufunc).accumulate(chain, dtype=memory.dtype)
        chain = update.finish(chain) if update.finish else chain
        old[series] = chain[:-1]
        memory[at] = chain[-1]
    return old


def _by_rounds(
    memory: Array, index: IntArray, by_rank: IntArray, counts: IntArray, update: Update, value: Array, second: Array
) -> Array:
    """Perform the first update of every address, then the second update of every address, and so on."""
    old = np.empty(len(index), memory.dtype)
    for turn in np.split(by_rank, np.cumsum(counts)[:-1]):
        at = index[turn]
        old[turn] = memory[at]
        memory[at] = update.combine(old[turn], value[turn], second[turn])
    return old
