"""Launch arguments: buffers placed in the global space, scalars and structures packed for the parameter bank."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_sim.errors import LaunchError
from pyptx_sim.extension import descriptor_of
from pyptx_sim.machine.memory.arena import Arena
from pyptx_sim.machine.memory.buffers import Buffer, Buffers
from pyptx_sim.machine.memory.heap import Heap
from pyptx_sim.machine.memory.spaces import FlatMemory
from pyptx_sim.program.constants import encode
from pyptx_sim.program.images import RED_ZONE
from pyptx_sim.program.layout import aligned
from pyptx_sim.program.windows import FIRST_OFFSET, GLOBAL_WINDOW
from pyptx_sim.types import byte_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pyptx_ir.plugins.rows import Output
    from pyptx_sim.operation import Array
    from pyptx_sim.program.program import Image, Program
    from pyptx_sim.program.scopes import Placement

Value: TypeAlias = "Mapped | Array | int | float | bool | np.generic | bytes | bytearray | memoryview"

# cudaMalloc aligns to 256 bytes at least; kernels may rely on it.
_BUFFER_ALIGNMENT = 256
# CUDA's default heap is 8 MiB; nothing is touched before the kernel calls malloc.
_HEAP_BYTES = 8 << 20


@dataclass(slots=True)
class Uninitialised:
    """An array argument whose contents nothing has written yet: a read before a write is a finding.

    `output`: it is this output of a kernel, allocated for the call; an element that is never written is a finding too.
    """

    array: Array
    output: Output | None = None


@dataclass(slots=True)
class Mapped:
    """An array and what a descriptor says of it: the argument for a parameter that holds that, or points to it.

    `fresh`: nothing has written the array yet.
    """

    array: Array
    descriptor: object
    fresh: bool = False


@dataclass(slots=True)
class Placed:
    """An array with its place in the global space; `output` as in `Uninitialised`."""

    array: Array
    start: int
    fresh: bool
    name: str
    output: Output | None = None


@dataclass(slots=True)
class Arguments:
    """The arguments of one launch, packed; `memories` are the spaces that outlive waves."""

    memories: dict[str, FlatMemory]
    heap: Heap
    _placed: list[Placed] = field(default_factory=list[Placed])

    @property
    def outputs(self) -> list[Placed]:
        """The arrays of which every element is to be written."""
        return [placed for placed in self._placed if placed.output is not None]

    def copy_back(self) -> None:
        """Write the buffers' contents into the caller's arrays."""
        data = self.memories["global"].arena.data
        for placed in self._placed:
            raw = data[placed.start : placed.start + placed.array.nbytes]
            now = raw.view(placed.array.dtype).reshape(placed.array.shape)
            if placed.array.flags.writeable:
                placed.array[...] = now
            elif now.tobytes() != placed.array.tobytes():
                raise LaunchError(
                    f"the kernel has written to argument {placed.name}, which is a read-only array",
                    hint="pass a writeable copy",
                )


def pack_arguments(
    program: Program, values: Sequence[Value | Uninitialised], *, checked: bool, names: Sequence[str] = ()
) -> Arguments:
    """Place arrays and pack everything else. Raises LaunchError for a count or a value that does not fit.

    `names` are the user's names of the arguments, for messages; without them the entry's parameters are named.
    """
    if len(values) != len(program.parameters):
        wanted = ", ".join(f".{place.type} {place.name}" for place in program.parameters) or "none"
        raise LaunchError(
            f"{program.entry.name} takes {len(program.parameters)} arguments, not {len(values)}",
            hint=f"its parameters: {wanted}",
        )
    bank = bytearray(program.parameter_bytes)
    end = aligned(len(program.globals.data) + RED_ZONE, _BUFFER_ALIGNMENT)
    placing = _Placing([_named(place) for place in program.globals.placements], [], [], end)
    for number, (place, value) in enumerate(zip(program.parameters, values, strict=True)):
        name = names[number] if number < len(names) else place.name
        packed = placing.pack(place, value, f"argument {number} '{name}'", name)
        bank[place.offset : place.offset + len(packed)] = packed
    return _arguments(program, bytes(bank), placing, checked=checked)


@dataclass(slots=True)
class _Placing:
    """Arrays and descriptors on their way into the global space, which is filled up to `end`.

    `descriptors` are those that parameters point to, with their places.
    """

    buffers: list[Buffer]
    placed: list[Placed]
    descriptors: list[tuple[int, bytes]]
    end: int

    def pack(self, place: Placement, value: Value | Uninitialised, what: str, name: str) -> bytes:
        """Return the bytes of a parameter, and give what it points to a place."""
        if isinstance(value, Mapped):
            return self._descriptor(place, value, what, name)
        array, fresh = (value.array, True) if isinstance(value, Uninitialised) else (value, False)
        if not isinstance(array, np.ndarray):
            return _pack(place, value)
        _check_buffer(place, array)
        output = value.output if isinstance(value, Uninitialised) else None
        return struct.pack("<Q", self._array(array, what, name, fresh=fresh, output=output))

    def _array(self, array: Array, what: str, name: str, *, fresh: bool, output: Output | None = None) -> int:
        """Return the address of an array; one that is known has its place."""
        known = next((item for item in self.placed if _same_storage(item.array, array)), None)
        if known is not None:
            return GLOBAL_WINDOW + known.start
        start = self._reserve(array.nbytes, what)
        self.placed.append(Placed(array, start, fresh, name, output))
        return GLOBAL_WINDOW + start

    def _reserve(self, size: int, what: str) -> int:
        start = self.end
        self.buffers.append(Buffer(start, start + size, what))
        self.end = aligned(start + size + RED_ZONE, _BUFFER_ALIGNMENT)
        return start

    def _descriptor(self, place: Placement, value: Mapped, what: str, name: str) -> bytes:
        """Return a descriptor, or the address of one in global memory."""
        address = self._array(value.array, f"the tensor of {what}", name, fresh=value.fresh)
        kind = descriptor_of(type(value.descriptor))
        if kind is None:
            described = type(value.descriptor).__name__
            raise LaunchError(
                f"nobody says how a {described} describes an array", hint="install the package of the architecture"
            )
        data = kind.encode(value.descriptor, address)
        if place.size == len(data):
            return data
        if place.size != byte_size(place.type) or place.size != struct.calcsize("<Q"):
            raise LaunchError(
                f"parameter {place.name} has {place.size} bytes, and got a {kind.name}",
                hint=f"declare it .align {kind.alignment} .b8 {place.name}[{len(data)}], or .u64 for a pointer",
            )
        start = self._reserve(len(data), what)
        self.descriptors.append((start, data))
        return struct.pack("<Q", GLOBAL_WINDOW + start)


def _arguments(program: Program, bank: bytes, placing: _Placing, *, checked: bool) -> Arguments:
    placed, end, buffers = placing.placed, placing.end, Buffers(placing.buffers)
    uses_heap = any(name in program.functions for name in ("malloc", "free"))
    heap_end = end + (_HEAP_BYTES if uses_heap else 0)
    arena = Arena(heap_end, track=checked)
    _fill(arena, 0, program.globals.data)
    for item in placed:
        raw = np.ascontiguousarray(item.array).reshape(-1).view(np.uint8)
        if item.fresh:
            arena.data[item.start : item.start + raw.nbytes] = raw
        else:
            _fill(arena, item.start, raw)
    for start, data in placing.descriptors:
        _fill(arena, start, data)
    memories = {
        "global": FlatMemory("global", arena, buffers),
        "const": _flat("const", program.constants, checked=checked),
        "param": _bank(bank, checked=checked),
    }
    return Arguments(memories, Heap(end, heap_end, buffers), placed)


def _fill(arena: Arena, start: int, data: bytes | NDArray[np.uint8]) -> None:
    raw = np.frombuffer(data, np.uint8) if isinstance(data, bytes) else data
    arena.data[start : start + len(raw)] = raw
    if arena.initialised is not None:
        arena.initialised[start : start + len(raw)] = 1


def _flat(space: str, image: Image, *, checked: bool) -> FlatMemory:
    arena = Arena(max(len(image.data), FIRST_OFFSET), track=checked)
    _fill(arena, 0, image.data)
    return FlatMemory(space, arena, Buffers([_named(place) for place in image.placements]))


def _bank(bank: bytes, *, checked: bool) -> FlatMemory:
    arena = Arena(len(bank), track=checked)
    _fill(arena, 0, bank)
    whole = [Buffer(0, len(bank), "the parameters")] if bank else []
    return FlatMemory("param", arena, Buffers(whole))


def _named(place: Placement) -> Buffer:
    return Buffer(place.offset, place.offset + place.size, place.name)


def _same_storage(one: Array, other: Array) -> bool:
    """Tell whether two arrays are the same bytes: an array passed twice, or an output written in place."""
    same = one.ctypes.data == other.ctypes.data and one.nbytes == other.nbytes and one.nbytes > 0
    return same and one.flags.c_contiguous and other.flags.c_contiguous


def _check_buffer(place: Placement, array: Array) -> None:
    if byte_size(place.type) != 8 or place.size != 8:
        raise LaunchError(
            f"parameter {place.name} is a .{place.type} of {place.size} bytes, and got an array",
            hint="arrays are passed to 64-bit parameters, as pointers",
        )
    if not array.dtype.isnative or array.dtype.hasobject:
        raise LaunchError(f"the array for {place.name} has dtype {array.dtype}", hint="use a native numeric dtype")


def _pack(place: Placement, value: Value | Uninitialised) -> bytes:
    """Return the bytes of a scalar or a structure."""
    if isinstance(value, bytes | bytearray | memoryview):
        if len(value) != place.size:
            raise LaunchError(f"parameter {place.name} has {place.size} bytes, not {len(value)}")
        return bytes(value)
    if place.size != byte_size(place.type):
        raise LaunchError(
            f"parameter {place.name} is a structure of {place.size} bytes, and got {value!r}",
            hint="pass a structure as bytes of exactly that length",
        )
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, int | float):
        raise LaunchError(
            f"parameter {place.name} cannot be {type(value).__name__}", hint="pass an array, a number or bytes"
        )
    _check_range(place, value)
    return encode(value, place.type)


def _check_range(place: Placement, value: int | float) -> None:
    bits = 8 * byte_size(place.type)
    if place.type in {"f16", "f32", "f64"}:
        return
    if isinstance(value, float):
        if place.type[0] in "us":
            raise LaunchError(
                f"parameter {place.name} is .{place.type} and got the float {value!r}", hint="pass an int"
            )
        return
    # Compilers declare a C int as .u32, so an unsigned parameter takes negative numbers too.
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) if place.type[0] == "s" else 1 << bits
    if not low <= int(value) < high:
        raise LaunchError(f"parameter {place.name} is .{place.type}, which cannot hold {value}")
