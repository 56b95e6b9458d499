"""Atomic updates of many lanes at once, with the result that some order of the lanes gives: the order of the lanes.

Manual: "atom", "red".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

if TYPE_CHECKING:
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.operation import Array

# (old, operand, second operand) → new, all arrays of one dtype.
Combine: TypeAlias = Callable[["Array", "Array", "Array"], "Array"]

# Lanes at one address are combined round by round up to this many; more are worth a loop over addresses.
_ROUNDS = 64


@dataclass(frozen=True, slots=True)
class Update:
    """An atomic operation: `combine` for lanes at distinct addresses, `ufunc` where one does a whole series."""

    combine: Combine
    ufunc: np.ufunc | None = None


def _from_ufunc(ufunc: np.ufunc) -> Update:
    def combine(old: Array, value: Array, _: Array) -> Array:
        return np.asarray(cast("Array", ufunc(old, value)))

    return Update(combine, ufunc)


def _increment(old: Array, bound: Array, _: Array) -> Array:
    return np.asarray(np.where(old >= bound, 0, old + 1), old.dtype)


def _decrement(old: Array, bound: Array, _: Array) -> Array:
    return np.asarray(np.where((old == 0) | (old > bound), bound, old - 1), old.dtype)


def _add_bf16(old: Array, value: Array, _: Array) -> Array:
    total: Array = _widen_bf16(old) + _widen_bf16(value)
    bits = total.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(total), np.uint16(0x7FFF), rounded.astype(np.uint16))


def _widen_bf16(bits: Array) -> Array:
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _pick_bf16(choose: np.ufunc) -> Update:
    def combine(old: Array, value: Array, _: Array) -> Array:
        chosen = cast("Array", choose(_widen_bf16(old), _widen_bf16(value)))
        return (chosen.view(np.uint32) >> np.uint32(16)).astype(np.uint16)

    return Update(combine)


def flush_subnormals(values: Array) -> Array:
    """Return float32 values with subnormals made zeros of their sign."""
    tiny = np.abs(values) < np.finfo(np.float32).tiny
    return np.where(tiny, np.copysign(np.float32(0), values), values) if tiny.any() else values


def _add_flushing(old: Array, value: Array, _: Array) -> Array:
    return flush_subnormals(flush_subnormals(old) + flush_subnormals(value))


UPDATES: dict[str, Update] = {
    "add": _from_ufunc(np.add),
    "min": _from_ufunc(np.minimum),
    "max": _from_ufunc(np.maximum),
    "and": _from_ufunc(np.bitwise_and),
    "or": _from_ufunc(np.bitwise_or),
    "xor": _from_ufunc(np.bitwise_xor),
    "inc": Update(_increment),
    "dec": Update(_decrement),
    "exch": Update(lambda _, value, __: value),
    "cas": Update(lambda old, compare, value: np.where(old == compare, value, old)),
}
FLOAT_UPDATES: dict[str, Update] = {"min": _from_ufunc(np.fmin), "max": _from_ufunc(np.fmax)}
BF16_UPDATES: dict[str, Update] = {"add": Update(_add_bf16), "min": _pick_bf16(np.fmin), "max": _pick_bf16(np.fmax)}
# Manual, "atom": add.f32 on global memory flushes subnormal inputs and results.
GLOBAL_F32_ADD = Update(_add_flushing)


def apply(memory: Array, index: IntArray, update: Update, value: Array, second: Array) -> Array:
    """Update `memory` at `index`, entry after entry, and return what each entry found there."""
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
        return _by_address(memory, index, order, starts, update.ufunc, value)
    rank = np.arange(len(index)) - np.repeat(starts, sizes)
    return _by_rounds(memory, index, order[np.argsort(rank, kind="stable")], np.bincount(rank), update, value, second)


def _by_address(
    memory: Array, index: IntArray, order: IntArray, starts: IntArray, ufunc: np.ufunc, value: Array
) -> Array:
    """Run the series of each address in one go."""
    old = np.empty(len(index), memory.dtype)
    for series in np.split(order, starts[1:]):
        at = index[series[0]]
        chain: Any = np.empty(len(series) + 1, memory.dtype)
        chain[0] = memory[at]
        chain[1:] = value[series]
        chain = ufunc.accumulate(chain, dtype=memory.dtype)
        old[series] = chain[:-1]
        memory[at] = chain[-1]
    return old


def _by_rounds(
    memory: Array, index: IntArray, by_rank: IntArray, counts: IntArray, update: Update, value: Array, second: Array
) -> Array:
    """Update the first entry of every address, then the second, and so on."""
    old = np.empty(len(index), memory.dtype)
    for turn in np.split(by_rank, np.cumsum(counts)[:-1]):
        at = index[turn]
        old[turn] = memory[at]
        memory[at] = update.combine(old[turn], value[turn], second[turn])
    return old
