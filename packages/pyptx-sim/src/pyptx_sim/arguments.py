"""Launch arguments: arrays placed in simulated global memory, scalars and structures packed as kernel parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from pyptx_ir.isa.modules.counting import counted
from pyptx_sim.device_memory import DeviceMemory
from pyptx_sim.errors import LaunchError
from pyptx_sim.machine.geometry import extent_of
from pyptx_sim.machine.memory.arena import Arena
from pyptx_sim.machine.memory.buffers import Buffer, Buffers
from pyptx_sim.machine.memory.heap import Heap
from pyptx_sim.machine.memory.spaces import FlatMemory
from pyptx_sim.mapping import PAGE
from pyptx_sim.memory import DeviceArray
from pyptx_sim.numerics.sampling import Sampler
from pyptx_sim.placing import Placing, is_pointer
from pyptx_sim.program.constants import encode
from pyptx_sim.program.images import OPAQUE_TYPES
from pyptx_sim.program.layout import aligned
from pyptx_sim.program.windows import FIRST_OFFSET, GLOBAL_WINDOW
from pyptx_sim.regions import Placed, Regions, load, next_place, store
from pyptx_sim.structures import raw_member
from pyptx_sim.textures import Surface, Texture
from pyptx_sim.types import byte_size
from pyptx_sim.values import Uninitialized, WithDescriptor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from pyptx_sim.arrays import Tensor
    from pyptx_sim.device_memory import Snapshot
    from pyptx_sim.launch import Launch
    from pyptx_sim.machine.memory.texels import Bound, Handles
    from pyptx_sim.memory import Memory
    from pyptx_sim.operation import Array
    from pyptx_sim.program.program import Image, Program
    from pyptx_sim.program.scopes import Placement
    from pyptx_sim.regions import Region
    from pyptx_sim.values import Argument

_POINTER_BYTES: Final = 8
# Size of the heap of device-side malloc, as CUDA's default; host pages are untouched until the kernel calls malloc.
_HEAP_BYTES = 8 << 20


@dataclass(slots=True)
class Arguments:
    """Packed arguments of one launch; `memories` are its global, constant and parameter memory, by state space.

    `handles` maps 64-bit handles to the launch's textures, samplers and surfaces.
    """

    memories: dict[str, FlatMemory]
    heap: Heap
    handles: Handles
    _placed: list[Placed] = field(default_factory=list[Placed])
    _snapshot: Snapshot | None = None

    @property
    def outputs(self) -> list[Placed]:
        """Output arrays in global memory, of which the kernel must write every element."""
        return [placed for placed in self._placed if placed.output is not None]

    def copy_back(self) -> None:
        """Copy the arrays' bytes from the simulated global memory back to the caller's arrays and to device memory."""
        if self._snapshot is not None:
            self._snapshot.commit()
        store(self._placed, self.memories["global"].arena)


def pack_arguments(launches: Sequence[tuple[Program, Launch]], *, checked: bool) -> tuple[Arguments, ...]:
    """Give the arrays global addresses, and pack the other arguments, of launches of one module that share memory.

    Messages use the launch's argument names, or else the entry's parameter names. Raises LaunchError for a wrong number
    of arguments or an invalid value.
    """
    variables = max((program.globals for program, _ in launches), key=lambda image: len(image.data))
    memory_of_arrays = _memory(launches)
    placing = _placing(variables, memory_of_arrays)
    banks, named = _banks(placing, launches)
    grown = placing.regions.grown()
    if grown:  # pack the arguments again: the extents of regions of overlapping arrays are known only now
        placing = _placing(variables, memory_of_arrays, grown)
        banks, named = _banks(placing, launches)
    if isinstance(memory_of_arrays, DeviceMemory):
        snapshot = _of_device(memory_of_arrays, launches, placing, checked=checked)
        heap, memory = snapshot.heap, FlatMemory("global", snapshot.arena, snapshot.buffers)
    else:
        snapshot = None
        heap, memory = _global_memory(launches, variables, placing, checked=checked)
    return tuple(
        Arguments(
            {
                "global": memory,
                "const": _constants(program, memory_of_arrays, checked=checked),
                "param": _bank(bank, checked=checked),
            },
            heap,
            {**placing.handles, **handles},
            placing.placed,
            snapshot,
        )
        for (program, _), bank, handles in zip(launches, banks, named, strict=True)
    )


def _banks(placing: Placing, launches: Sequence[tuple[Program, Launch]]) -> tuple[list[bytes], list[Handles]]:
    """Place the arrays of launches in global memory; return the packed parameters and the texture bindings."""
    return (
        [_bank_of(placing, program, launch) for program, launch in launches],
        [_named_handles(placing, program, launch) for program, launch in launches],
    )


def _bank_of(placing: Placing, program: Program, launch: Launch) -> bytes:
    """Return the kernel parameters of a launch as bytes, and place the launch's arrays in global memory."""
    values, names = launch.args, launch.names
    if len(values) != len(program.parameters):
        wanted = ", ".join(f".{place.type} {place.name}" for place in program.parameters) or "none"
        raise LaunchError(
            f"{program.entry.name}: expected {counted(len(program.parameters), 'argument')}, got {len(values)}",
            help=f"pass a value for each parameter: {wanted}",
        )
    bank = bytearray(program.parameter_bytes)
    for number, (place, value) in enumerate(zip(program.parameters, values, strict=True)):
        name = names[number] if number < len(names) else place.name
        packed = _packed(placing, place, value, f"argument {number} '{name}'", name)
        bank[place.offset : place.offset + len(packed)] = packed
    return bytes(bank)


def _named_handles(placing: Placing, program: Program, launch: Launch) -> Handles:
    """Return the textures, samplers and surfaces bound to the module's variables, by the variables' addresses."""
    handles: dict[int, Bound] = {GLOBAL_WINDOW + offset: sampler for offset, sampler in program.samplers.items()}
    variables = {place.name: place for place in program.globals.placements if place.type in OPAQUE_TYPES}
    for name, value in launch.textures.items():
        if name not in variables:
            known = ", ".join(variables) or "none"
            raise LaunchError(f"unknown .texref, .samplerref or .surfref {name!r}", help=f"use one of: {known}")
        handles[GLOBAL_WINDOW + variables[name].offset] = placing.bound(value, f"'{name}'", name)
    return handles


def _memory(launches: Sequence[tuple[Program, Launch]]) -> Memory | DeviceMemory | None:
    """Return the memory passed to the launches, or the `Memory` that contains their arrays; None without either."""
    memories: list[Memory | DeviceMemory] = []
    for _, launch in launches:
        memories += [launch.memory] if launch.memory is not None else []
        values = (*launch.args, *launch.textures.values())
        found = (array for value in values if not isinstance(value, np.ndarray) for array in _arrays(value))
        memories += [array.memory for array in found if isinstance(array, DeviceArray)]
    if any(memory is not memories[0] for memory in memories):
        raise LaunchError("arrays of the launch are in several Memory objects", help="place all arrays in one Memory")
    return memories[0] if memories else None


def _arrays(value: object) -> Iterator[Array | Tensor | DeviceArray]:
    """Yield the arrays in an argument, including those inside structures."""
    if is_pointer(value):
        yield value.array if isinstance(value, Uninitialized) else cast("Array | DeviceArray", value)
    elif isinstance(value, WithDescriptor | Texture | Surface):
        for array in (value.array, *(value.levels if isinstance(value, Texture) else ())):
            yield from _arrays(array)
    elif isinstance(value, Mapping | tuple | list):
        held = cast("Mapping[str, object] | Sequence[object]", value)
        for member in held.values() if isinstance(held, Mapping) else held:
            yield from _arrays(member)


def does_nothing(launch: Launch) -> bool:
    """Return whether a launch has no CTAs because an array is empty; in CUDA, a grid without CTAs is an error."""
    grid = launch.grid
    if 0 not in (tuple(grid) if isinstance(grid, Iterable) else (grid,)):
        return False
    extent_of(grid, "grid", least=0)
    arrays = (array for value in launch.args for array in _arrays(value))
    return any(0 in (array.array if isinstance(array, DeviceArray) else array).shape for array in arrays)


def _placing(image: Image, memory: Memory | DeviceMemory | None, unplaced: Iterable[Region] = ()) -> Placing:
    """Return a layout of global memory without the launches' arrays; the regions `unplaced` still need offsets."""
    resident = image.start > 0  # the variables of a loaded module are in device memory already
    variables, end = [] if resident else [_named(place) for place in image.placements], len(image.data)
    if memory is None:
        return Placing(next_place(end), Regions(unplaced), [], variables)
    if not resident and end > memory.module_bytes:
        raise LaunchError(
            f"module variables need {end} bytes, but the memory has module_bytes={memory.module_bytes}",
            help="load the module: Context.load"
            if isinstance(memory, DeviceMemory)
            else f"create the memory with Memory(module_bytes={end})",
        )
    if isinstance(memory, DeviceMemory):
        return Placing(next_place(aligned(memory.end, PAGE)), Regions(unplaced), [], variables, memory)
    return Placing(memory.end, Regions((*memory.regions, *unplaced)), list(memory.placed), variables)


def _packed(placing: Placing, place: Placement, value: Argument, what: str, name: str) -> bytes:
    """Return the bytes of argument `value` for parameter `place`, and place the arrays that the argument refers to."""
    if is_pointer(value) and raw_member(value) is None:
        _check_pointer(place)
        return placing.pointer(value, what, name)
    if isinstance(value, Texture | Surface | Sampler):
        _check_pointer(place)
        return placing.handle(value, what, name)
    if isinstance(value, WithDescriptor):
        return _descriptor(placing, place, value, what, name)
    raw = raw_member(value)
    if raw is None and not isinstance(value, Mapping | tuple | list):
        return _scalar(place, value)
    member = raw or placing.member(value, what, name)
    if len(member.data) != place.size:
        raise LaunchError(
            f"parameter {place.name}: expected {counted(place.size, 'byte')}, got {len(member.data)}",
            help=None if raw else f"compare the parameter's members with the value's (offset: type): {member.what}",
        )
    return member.data


def _descriptor(placing: Placing, place: Placement, value: WithDescriptor, what: str, name: str) -> bytes:
    """Return the bytes of parameter `place`: a hardware descriptor (tensor map), or its address in global memory."""
    kind, data = placing.descriptor(value, what, name)
    if place.size == len(data):
        return data
    if place.size != byte_size(place.type) or place.size != _POINTER_BYTES:
        raise LaunchError(
            f"parameter {place.name}: expected {counted(place.size, 'byte')}, got a {kind.name}",
            help=f"declare it .align {kind.alignment} .b8 {place.name}[{len(data)}], or .u64 for a pointer",
        )
    return placing.point_to(data, what)


def _global_memory(
    launches: Sequence[tuple[Program, Launch]], variables: Image, placing: Placing, *, checked: bool
) -> tuple[Heap, FlatMemory]:
    end, buffers = placing.end, Buffers(placing.buffers)
    uses_heap = any(name in program.functions for program, _ in launches for name in ("malloc", "free"))
    heap_end = end + (_HEAP_BYTES if uses_heap else 0)
    arena = Arena(heap_end, track=checked)
    _fill(arena, 0, variables.data)
    load(placing.placed, arena)
    for start, data in placing.descriptors:
        _fill(arena, start, data)
    return Heap(end, heap_end, buffers), FlatMemory("global", arena, buffers)


def _of_device(
    memory: DeviceMemory, launches: Sequence[tuple[Program, Launch]], placing: Placing, *, checked: bool
) -> Snapshot:
    """Return device memory for launches, with the launches' own arrays, descriptors and variables after it."""
    snapshot = memory.snapshot(placing.end, placing.buffers, placing.views, checked=checked)
    for program, _ in launches:
        if not program.globals.start:
            _fill(snapshot.arena, 0, program.globals.data)
        elif program.workspace is not None:
            first = program.workspace - program.globals.start
            _fill(snapshot.arena, program.workspace, program.globals.data[first:])
    load(placing.placed, snapshot.arena)
    for start, data in placing.descriptors:
        _fill(snapshot.arena, start, data)
    return snapshot


def _fill(arena: Arena, start: int, data: bytes | bytearray | NDArray[np.uint8]) -> None:
    raw = np.frombuffer(data, np.uint8) if isinstance(data, bytes | bytearray) else data
    arena.data[start : start + len(raw)] = raw
    if arena.defined is not None:
        arena.defined[start : start + len(raw)] = 0xFF


def _constants(program: Program, memory: Memory | DeviceMemory | None, *, checked: bool) -> FlatMemory:
    image = program.constants
    data = memory.constants(program) if isinstance(memory, DeviceMemory) else image.data
    arena = Arena(max(len(data), FIRST_OFFSET), track=checked)
    _fill(arena, 0, data)
    return FlatMemory("const", arena, Buffers([_named(place) for place in image.placements]))


def _bank(bank: bytes, *, checked: bool) -> FlatMemory:
    arena = Arena(len(bank), track=checked)
    _fill(arena, 0, bank)
    whole = [Buffer(0, len(bank), "parameters")] if bank else []
    return FlatMemory("param", arena, Buffers(whole))


def _named(place: Placement) -> Buffer:
    return Buffer(place.offset, place.offset + place.size, place.name)


def _check_pointer(place: Placement) -> None:
    if place.size == byte_size(place.type) == _POINTER_BYTES:
        return
    kind = f".{place.type}" if place.size == byte_size(place.type) else "structure"
    raise LaunchError(
        f"parameter {place.name}: expected a {kind} of {counted(place.size, 'byte')}, got an array",
        help="declare a 64-bit parameter for a pointer; pass a structure as a tuple of its members: "
        "(array, np.int32(7), …)",
    )


def _scalar(place: Placement, value: object) -> bytes:
    """Return the little-endian bytes of number `value` in the type of parameter `place`."""
    if place.size != byte_size(place.type):
        raise LaunchError(
            f"parameter {place.name}: expected a structure of {counted(place.size, 'byte')}, got {value!r}",
            help="pass a tuple of the structure's members, a ctypes or NumPy structure, or bytes of this length",
        )
    number: object = cast("np.number[Any]", value).item() if isinstance(value, np.generic) else value
    if not isinstance(number, int | float):
        raise LaunchError(f"parameter {place.name}: expected an array, a number or bytes, got {type(number).__name__}")
    _check_range(place, number)
    return encode(number, place.type)


def _check_range(place: Placement, value: int | float) -> None:
    bits = 8 * byte_size(place.type)
    if place.type in {"f16", "f32", "f64"}:
        return
    if isinstance(value, float):
        if place.type[0] in "us":
            raise LaunchError(f"parameter {place.name}: expected an int for .{place.type}, got the float {value!r}")
        return
    # Compilers declare a C int as .u32, so an unsigned parameter accepts negative numbers too.
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) if place.type[0] == "s" else 1 << bits
    if not low <= int(value) < high:
        raise LaunchError(f"parameter {place.name}: {value} is out of range for .{place.type}")
