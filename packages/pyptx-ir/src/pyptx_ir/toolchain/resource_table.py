"""Table of an entry's resources and the limits of its target, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_ir.drawing import table
from pyptx_ir.isa.target_rows import TargetError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyptx_ir.drawing import Markup
    from pyptx_ir.isa.target_rows import TargetRow
    from pyptx_ir.toolchain.resources import Resources

# Allocation of registers since compute capability 3.0. CUDA occupancy calculator: "GPU Data".
_KEPLER: Final = 30
_WARP: Final = 32
_UNIT: Final = 256
_PARTITIONS: Final = 4
_BARRIERS: Final = 16  # per CTA. Manual: "Parallel Synchronization and Communication Instructions: bar"
_TITLES: Final = ("resource", "used", "limit", "of")


def resource_table(used: Resources) -> Markup:
    """Return a table of an entry's resources, with the limits of its target if the target is known."""
    return table(f"resources of {used.entry} for {used.target}", _TITLES, _rows(used, _target(used.target)))


def _target(name: str) -> TargetRow | None:
    from pyptx_ir.plugins.targets import find_target

    try:
        return find_target(name)
    except TargetError:
        return None


def _rows(used: Resources, target: TargetRow | None) -> Iterator[Sequence[object]]:
    """Yield the rows: figures of registers, shared memory and barriers always, all others if they are not 0."""
    registers, shared = (target.registers, target.shared_optin) if target else ("", "")
    yield "registers", used.registers, registers, "a thread"
    if target is not None and target.number >= _KEPLER:
        yield "threads that these registers allow", _threads(used.registers, target), target.threads, "a CTA"
    yield "shared memory, bytes", used.shared, shared, "a CTA"
    yield "barriers", used.barriers, _BARRIERS, "a CTA"
    stack = (("stack, bytes", used.stack), ("local memory, bytes", used.local))
    spills = (("spill stores, bytes", used.spill_stores), ("spill loads, bytes", used.spill_loads))
    bound = (("textures", used.textures), ("surfaces", used.surfaces), ("samplers", used.samplers))
    yield from ((name, count, "", "a thread") for name, count in (*stack, *spills) if count)
    yield from ((f"constant bank {bank}, bytes", size, "", "the entry") for bank, size in used.constant)
    yield from ((name, count, "", "the entry") for name, count in bound if count)


def _threads(registers: int, target: TargetRow) -> int:
    """Return the size of the largest CTA whose registers fit.

    A CTA's warps are distributed over four partitions of the SM, each with a quarter of the registers. A warp's
    registers are allocated in units of 256.
    """
    of_warp = -(-max(registers, 1) * _WARP // _UNIT) * _UNIT
    return min(target.threads, target.registers_per_block // _PARTITIONS // of_warp * _PARTITIONS * _WARP)
