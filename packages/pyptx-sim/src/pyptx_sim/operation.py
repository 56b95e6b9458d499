"""The contract between an instruction's semantics and the engine.

A semantics row binds one instruction to an `Operation`: which types its operands are read and written with, and a pure
function over arrays. The engine does everything else: it flattens operands, reads registers, applies guards and masks,
and writes results.

Operand 0 holds the destinations (a `Pair` `p|q` or a `Vector` flattens to several); all further operands, flattened
the same way, are the sources, in order. An instruction without a destination sets `results=()`, and then operand 0 is
a source.

Arrays are `[warps, 32]`, `[warps, 1]` or `[1, 1]` (uniform), and broadcast against each other. Their dtype is that of
the PTX type, see `pyptx_sim.types.dtype_of`. `compute` must never change its arguments in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Mask: TypeAlias = NDArray[np.bool_]
Compute: TypeAlias = Callable[..., "Array | tuple[Array, ...]"]
Batch: TypeAlias = Callable[[Sequence[Sequence[Array]]], Sequence[tuple[Array, ...]]]
Spread: TypeAlias = Callable[[Sequence[Array], "Sequence[Array | None]", Mask], Sequence[Array]]
"""From what is read, which bits of it are undefined (None: none) and the active lanes: which bits of the results are.

Bits are unsigned, as wide as the value, or bool for `pred`; those of lanes that are not active do not matter.
"""


@dataclass(frozen=True, slots=True)
class Unspecified:
    """Inputs for which the manual leaves the results of an instruction undefined.

    `where` returns which values of the sources are such inputs, broadcastable to their shape. `what` is the cause, such
    as "an integer division by zero".
    """

    where: Callable[..., Mask]
    what: str
    hint: str


@dataclass(frozen=True, slots=True)
class Operation:
    """What one instruction computes.

    `results` and `sources` are PTX type names without the dot, one for each flattened operand. A result is written with
    the width of its type; into a wider register it is extended by its type (signed: sign, else zero).

    `warp`: the lanes see each other; `compute` gets the active mask, bool `[warps, 32]`, first, and every source as a
    full `[warps, 32]` array. `reads_carry`: the carry flag (bool) is the last source. `writes_carry`: it is the last
    result. `exact`: given a target (`sm_90a`), returns the function that computes what its hardware computes, bit for
    bit, where `compute` keeps within a bound only; a run with exact numerics uses it. `batch`, of a `warp` operation
    whose mask does not matter: given the sources of several such instructions in a row, none of which reads what one
    before it writes, returns the results of each; sources that are the same array are the same register. `places` are
    the operands that are written and those that are read, by their numbers, where these are not the first and the rest.
    `undefined` says how undefined bits of the sources reach the results, in a checked run; without it, what the
    instruction is a form of does, in the end that any makes all results undefined. `unspecified` are defined inputs
    whose results are undefined. `source_lanes`, for an instruction that reads a register of another lane, returns the
    source lane of each lane, int64 `[rows|1, 32]`, from the sources.
    """

    results: tuple[str, ...]
    sources: tuple[str, ...]
    compute: Compute
    warp: bool = False
    reads_carry: bool = False
    writes_carry: bool = False
    exact: Callable[[str], Compute] | None = None
    batch: Batch | None = None
    places: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    undefined: Spread | None = None
    unspecified: Unspecified | None = None
    source_lanes: Callable[..., Array] | None = None
