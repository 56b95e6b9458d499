"""`tensormap.replace` and `tensormap.cp_fenceproxy`: tensor maps that a kernel edits.

Manual: "tensormap.replace", "tensormap.cp_fenceproxy".
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_arch_hopper.sim.fences import TENSOR_MAPS
from pyptx_arch_hopper.sim.tma.maps import ALIGNMENT, SIZE, Record, unpack
from pyptx_sim.errors import MissingSemantics
from pyptx_sim.extension import Step
from pyptx_sim.instructions.memory.addresses import target
from pyptx_sim.instructions.synchronization.threads import threads_at
from pyptx_sim.machine.lanes import by_warp
from pyptx_sim.machine.memory.access import Access, Places
from pyptx_sim.program.windows import GLOBAL_WINDOW

if TYPE_CHECKING:
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.instructions.synchronization.threads import Threads
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.memory.arena import Arena
    from pyptx_sim.machine.memory.spaces import Memory
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave

_READ = Access("read", SIZE, alignment=ALIGNMENT)
_WRITE = Access("write", SIZE, alignment=ALIGNMENT)
# The fields that have a number for each dimension, and the dimension of the first one.
_LISTS = {"box_dim": ("box", 0), "global_dim": ("extents", 0), "element_stride": ("steps", 0),
          "global_stride": ("strides", 1)}  # fmt: skip
# What the record holds; a sound map has five dimensions at most, and steps up to eight.
_MOST_DIMENSIONS, _MOST_STEP = 0xFF, 0xFFFF
_MASK64 = (1 << 64) - 1
# Manual: "tensormap.replace": where the map may lie.
_SPACES = frozenset({"global", "shared"})
# The fields that take one of a few modes, and how many of them the simulator knows.
_MODES = {"elemtype": ("element", 13), "interleave_layout": ("interleave", 3), "swizzle_mode": ("swizzle", 4),
          "swizzle_atomicity": ("atom", 4), "fill_mode": ("fill", 2)}  # fmt: skip


def compile_tensor_map(operands: Operands) -> Action:
    """Replace a field of a tensor map, or copy one and release it."""
    if operands.opcode[1] == "replace":
        return _compile_replace(operands)
    return _compile_copy(operands)


def _compile_replace(operands: Operands) -> Action:
    opcode = operands.opcode
    field = opcode[3]
    address, *numbers = operands.operands
    ordinal = int(operands.constant(numbers[0])) if field in _LISTS else 0
    if field in _MODES and int(operands.constant(numbers[-1])) >= _MODES[field][1]:
        raise MissingSemantics(f"the simulator has no {field} {operands.constant(numbers[-1])}")
    find = target(operands, address, "generic" if opcode[4] == "b1024" else opcode[4].partition("::")[0])
    read = operands.read(numbers[-1], opcode[-1])

    def step(wave: Wave, lanes: Lanes) -> None:
        for memory, part, addresses in find(wave, lanes):
            if memory.space not in _SPACES:
                where = f"a field of a tensor map in {memory.space} memory is replaced"
                wave.mbarriers.misuse("tensor-map", where, wave.pc, "copy the map to global or shared memory first")
                continue
            threads = threads_at(wave, part, memory, addresses, _WRITE)
            if threads is None:
                continue
            values = threads.read(read, wave, part).tolist()
            _observe(wave, part, memory, threads, _READ, _WRITE)
            for offset, value in zip(threads.offsets.tolist(), values, strict=True):
                _edit(wave, memory.arena, offset, field, ordinal, value)

    return step


def _edit(wave: Wave, arena: Arena, offset: int, field: str, ordinal: int, value: int) -> None:
    data = arena.data[offset : offset + SIZE]
    record = unpack(data.tobytes())
    if record is None:
        wave.mbarriers.misuse(
            "tensor-map",
            f"no tensor map lies where the {field} of one is replaced",
            wave.pc,
            "copy a map that the host has encoded there first; its fields are then replaced one by one",
        )
        return
    data[:] = np.frombuffer(_edited(record, field, ordinal, value).pack(), np.uint8)
    wave.version += 1


def _edited(record: Record, field: str, ordinal: int, value: int) -> Record:
    """Return a map with another value in a field, as `tensormap.replace` numbers fields and values."""
    values = {each.name: getattr(record, each.name) for each in fields(record)}
    if field == "global_address":
        relative = (value - GLOBAL_WINDOW) & _MASK64
        values["address"] = relative - (relative >> 63 << 64)
    elif field == "rank":
        values["rank"] = min(value + 1, _MOST_DIMENSIONS)
    elif field in _MODES:
        values[_MODES[field][0]] = value
    else:
        name, first = _LISTS[field]
        numbers = list(values[name])
        numbers[ordinal + first] = min(value, _MOST_STEP) if name == "steps" else value & _MASK64
        values[name] = tuple(numbers)
    return Record(**values)


def _compile_copy(operands: Operands) -> Action:
    """Copy 128 bytes from shared to global memory, once for each warp, and release them to the proxy of maps."""
    finds = target(operands, operands.operands[0], "global"), target(operands, operands.operands[1], "shared")

    def step(wave: Wave, lanes: Lanes) -> None:
        ends: list[Threads] = []
        one = _first_lanes(lanes)
        for find, access in zip(finds, (_WRITE, _READ), strict=True):
            for memory, part, addresses in find(wave, one):
                threads = threads_at(wave, part, memory, addresses, access)
                if threads is not None:
                    _observe(wave, part, memory, threads, access)
                    ends.append(threads)
        if len(ends) == len(finds) and len(ends[0]) == len(ends[1]):
            into, out_of = (wave.memories[space].arena for space in ("global", "shared"))
            for to, start in zip(ends[0].offsets.tolist(), ends[1].offsets.tolist(), strict=True):
                into.data[to : to + SIZE] = out_of.data[start : start + SIZE]
            _mark(into, ends[0])
            wave.version += 1
        if wave.machine.observers.active:
            wave.machine.observers.proxy_released(TENSOR_MAPS, *lanes.by_warp())

    return step


def _first_lanes(lanes: Lanes) -> Lanes:
    """Return the first active lane of each row."""
    mask = lanes.full_mask
    first = np.zeros_like(mask)
    first[np.arange(lanes.height), mask.argmax(axis=1)] = True
    return type(lanes)(lanes.rows, first & mask, lanes.height, whole=False)


def _observe(wave: Wave, lanes: Lanes, memory: Memory, threads: Threads, *accesses: Access) -> None:
    if wave.machine.checked:
        places = Places(threads.offsets, threads.positions, threads.columns)
        for access in accesses:
            access.before(wave, lanes, memory, places)


def _mark(arena: Arena, threads: Threads) -> None:
    if arena.initialised is not None:
        for offset in threads.offsets.tolist():
            arena.initialised[offset : offset + SIZE] = 1


def map_fence(operands: Operands) -> Action:
    """Release what a thread did to the proxy of tensor maps, or acquire one map for it. Manual: "membar, fence"."""
    if "release" in operands.opcode:
        return _release
    find = target(operands, operands.operands[0], "generic")

    def acquire(wave: Wave, lanes: Lanes) -> None:
        for memory, part, addresses in find(wave, lanes):
            if memory.space != "global":
                where = f"a tensor map is acquired in {memory.space} memory"
                wave.mbarriers.misuse("tensor-map", where, wave.pc, "only maps in global memory are written by kernels")
                continue
            threads = threads_at(wave, part, memory, addresses, _READ)
            if threads is None or not wave.machine.observers.active:
                continue
            for place in np.unique(threads.offsets).tolist():
                here = threads.offsets == place
                some = by_warp(threads.warps[here], threads.columns[here])
                wave.machine.observers.proxy_acquired(TENSOR_MAPS, "global", place, SIZE, *some)

    return acquire


def _release(wave: Wave, lanes: Lanes) -> None:
    if wave.machine.observers.active:
        wave.machine.observers.proxy_released(TENSOR_MAPS, *lanes.by_warp())


STEPS: Final = (
    Step(opcode="tensormap", effect="access", compile=compile_tensor_map),
    Step(opcode="fence.proxy.tensormap::generic", effect="order", compile=map_fence),
)
