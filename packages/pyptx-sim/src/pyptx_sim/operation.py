"""Interface between an instruction's semantics and the engine.

A `Semantics` row binds an instruction to an `Operation`: the PTX types of the operands, and a pure function over
arrays. The engine flattens operands, reads registers, applies guards and masks, calls the function, and writes results.

Operand 0 holds the destinations (a `Pair` `p|q` or a `Vector` flattens to several); all further operands, flattened the
same way, are the sources, in order. An instruction without a destination sets `results=()`, and then operand 0 is a
source.

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
"""Function from sources, their undefined bits (None: none) and active lanes to the undefined bits of the results.

Bits are unsigned, as wide as the value, or bool for `pred`; bits of inactive lanes are ignored.
"""


@dataclass(frozen=True, slots=True)
class Unspecified:
    """Inputs for which the manual does not specify the results of an instruction.

    `where` returns a mask of these inputs in the source arrays, broadcastable to their shape. `what` is the cause for
    messages, such as "an integer division by zero".
    """

    where: Callable[..., Mask]
    what: str
    help: str


@dataclass(frozen=True, slots=True)
class Operation:
    """Computation of one instruction.

    - `results`, `sources`: PTX type names without the dot, one per flattened operand. A result is written with the
      width of its type; into a wider register it is extended by its type (signed: sign, else zero).
    - `warp`: lanes read each other's values. `compute` gets the active mask, bool `[warps, 32]`, first, and every
      source as a full `[warps, 32]` array.
    - `reads_carry`: the carry flag (bool) is the last source. `writes_carry`: it is the last result.
    - `exact`: given a target (`sm_90a`), returns a function that is bit-exact with the target's hardware, where
      `compute` is only within an error bound; a run with exact numerics calls this function.
    - `batch`, for a `warp` operation that ignores the mask: given the sources of several such consecutive instructions,
      none of which reads a result of an earlier one, returns the results of each. Sources that are the same array are
      the same register.
    - `places`: indices of the written operands and of the read operands, if these are not operand 0 and all others.
    - `undefined`: maps undefined bits of the sources to the results in a checked run. Without it, the function of the
      instruction's form applies; the default makes all results undefined if any source bit is.
    - `unspecified`: defined inputs with undefined results.
    - `source_lanes`, for an instruction that reads a register of another lane: returns the source lane of each lane,
      int64 `[rows|1, 32]`, from the sources.
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
