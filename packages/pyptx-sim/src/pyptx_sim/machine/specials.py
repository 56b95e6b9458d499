"""Special registers. Manual: "Special Registers"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_ir.plugins.targets import find_target
from pyptx_sim.machine.lanes import WARP
from pyptx_sim.program.layout import aligned
from pyptx_sim.program.windows import GLOBAL_WINDOW, SHARED_BASE

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_sim.machine.geometry import Geometry
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array
    from pyptx_sim.types import DType

_AXES = {"x": 0, "y": 1, "z": 2}
_UNUSED = "w"  # the fourth component of every vector register, always zero
_LANE = np.arange(WARP, dtype=np.uint64)[None]
_ONE = np.uint64(1)

# Increment per scheduler step of %clock (cycles) and %globaltimer (nanoseconds): arbitrary, but monotonic.
_CYCLES_PER_STEP = 8


def _one(value: int) -> Array:
    return np.full((1, 1), value, np.uint64)


def _per_warp(values: Array) -> Array:
    column = values.astype(np.uint64)[:, None]
    return column[:1] if (column == column[0]).all() else column


def _tid(geometry: Geometry, axis: int) -> Array:
    x, y, _ = geometry.launch.block
    number = geometry.thread
    index = (number % x, number // x % y, number // (x * y))[axis].astype(np.uint64)
    return index[:1] if geometry.launch.warps_per_cta == 1 else index


# Special registers with components: function from the wave's `Geometry` and an axis (0 for x) to the value.
_VECTORS: dict[str, Callable[[Geometry, int], Array]] = {
    "tid": _tid,
    "ntid": lambda g, axis: _one(g.launch.block[axis]),
    "ctaid": lambda g, axis: _per_warp(g.ctaid[axis]),
    "nctaid": lambda g, axis: _one(g.launch.grid[axis]),
    "clusterid": lambda g, axis: _per_warp(g.cluster_position[axis]),
    "nclusterid": lambda g, axis: _one(g.launch.grid[axis] // g.launch.cluster[axis]),
    "cluster_ctaid": lambda g, axis: _per_warp(g.cta_in_cluster[axis]),
    "cluster_nctaid": lambda g, axis: _one(g.launch.cluster[axis]),
}

_SCALARS: dict[str, Callable[[Geometry], Array]] = {
    "laneid": lambda _: _LANE,
    "warpid": lambda g: _per_warp(g.warp),
    "nwarpid": lambda _: _one(64),
    "smid": lambda g: _per_warp(g.numbers[g.cta]),
    "nsmid": lambda g: _one(g.launch.ctas),
    "gridid": lambda _: _one(1),
    "is_explicit_cluster": lambda g: _one(int(g.launch.cluster_size > 1)),
    "cluster_ctarank": lambda g: _per_warp(g.rank),
    "cluster_nctarank": lambda g: _one(g.launch.cluster_size),
    "lanemask_eq": lambda _: _ONE << _LANE,
    "lanemask_le": lambda _: (_ONE << (_LANE + _ONE)) - _ONE,
    "lanemask_lt": lambda _: (_ONE << _LANE) - _ONE,
    "lanemask_ge": lambda _: np.uint64(0xFFFFFFFF) & ~((_ONE << _LANE) - _ONE),
    "lanemask_gt": lambda _: np.uint64(0xFFFFFFFF) & ~((_ONE << (_LANE + _ONE)) - _ONE),
    "dynamic_smem_size": lambda g: _one(g.launch.shared_bytes),
    "current_graph_exec": lambda _: _one(0),
}

# Shared memory reserved for system software, before the program's shared memory: its bounds, size and two parts.
_RESERVED = {
    "reserved_smem_offset_begin": 0,
    "reserved_smem_offset_end": SHARED_BASE,
    "reserved_smem_offset_cap": SHARED_BASE,
    "reserved_smem_offset_0": 0,
    "reserved_smem_offset_1": SHARED_BASE // 2,
}
_CLOCKS = frozenset({"clock", "clock64", "clock_hi", "globaltimer", "globaltimer_lo", "globaltimer_hi"})
# Granularity of %total_smem_size: from sm_80 on 128 bytes, before 256 bytes. Manual: "%total_smem_size".
_UNITS = (80, 128, 256)
# Bytes that each special register adds to the size of the CTA's own shared memory.
_OWN = {"total_smem_size": 0, "aggr_smem_size": SHARED_BASE}


def is_special(name: str) -> bool:
    """Return whether `name` (with its `%`) is a PTX special register that the simulator supports."""
    base, _, axis = name[1:].partition(".")
    if axis:
        return base in _VECTORS and (axis in _AXES or axis == _UNUSED)
    return base in {*_SCALARS, *_CLOCKS, *_RESERVED, *_OWN} or base[:3] == "env" or base[:2] == "pm"


def changes(name: str) -> bool:
    """Return whether a special register `name` (with its `%`) changes over time."""
    return name[1:] in _CLOCKS


def is_special_vector(name: str) -> bool:
    """Return whether `name` (with its `%`) has components: `%tid` is `%tid.x`, `%tid.y`, `%tid.z` and 0."""
    return name[1:] in _VECTORS


class Specials:
    """Special registers of one wave, computed on first use."""

    __slots__ = ("_known", "_wave")

    def __init__(self, wave: Wave) -> None:
        """Provide the special registers of `wave`."""
        self._wave = wave
        self._known: dict[tuple[str, DType], Array] = {}

    def read(self, name: str, dtype: DType) -> Array:
        """Return the value of `name` (with its `%`) for all warps of the wave, as `dtype`."""
        known = self._known.get((name, dtype))
        if known is not None:
            return known
        base, _, axis = name[1:].partition(".")
        if base in _CLOCKS:
            return _one(self._clock(base)).astype(dtype)
        value = self._known[name, dtype] = self._value(base, axis).astype(dtype)
        return value

    def _value(self, base: str, axis: str) -> Array:
        geometry = self._wave.geometry
        if axis == _UNUSED:
            return _one(0)
        if base in _VECTORS:
            return _VECTORS[base](geometry, _AXES[axis])
        if base in _SCALARS:
            return _SCALARS[base](geometry)
        if base in _RESERVED:
            self._wave.shared.open_reserved()
            return _one(_RESERVED[base])
        if base in _OWN:
            return _one(self._allocated() + _OWN[base])
        return _one(self._workspace().get(base, 0))  # %envreg and %pm: driver-defined, zero without a driver

    def _workspace(self) -> dict[str, int]:
        """Return %envreg1 and %envreg2: the upper and lower half of the address of a cooperative grid's workspace.

        `cooperative_groups::this_grid()` of CUDA 13 reads it from these registers (docs/internals/compilers.md).
        """
        machine = self._wave.machine
        offset = machine.program.workspace
        if offset is None or not machine.launch.cooperative:
            return {}
        address = GLOBAL_WINDOW + offset
        return {"envreg1": address >> 32, "envreg2": address & 0xFFFFFFFF}

    def _allocated(self) -> int:
        """Return the size of a CTA's shared memory in bytes, rounded up to the allocation granularity."""
        machine = self._wave.machine
        first, unit, before = _UNITS
        number = find_target(machine.program.target).number
        return aligned(machine.shared_end - SHARED_BASE, unit if number >= first else before)

    def _clock(self, base: str) -> int:
        # %clock and %globaltimer also count the scheduler steps of earlier waves of CTAs.
        cycles = (self._wave.machine.steps + self._wave.steps) * _CYCLES_PER_STEP
        if base in {"clock_hi", "globaltimer_hi"}:
            return cycles >> 32
        return cycles & 0xFFFFFFFF if base in {"clock", "globaltimer_lo"} else cycles
