"""Surfaces: loads, stores and reductions. Manual: "suld", "sust", "sured".

With `.b` the x coordinate counts bytes, with `.p` texels. Outside the surface, `.trap` faults, `.clamp` accesses the
nearest location, and `.zero` reads zeros and writes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.errors import SimulationError
from pyptx_sim.instructions.memory.atomics import update_of
from pyptx_sim.instructions.textures.threads import TextureThreads, check_geometry, handle, numbers, parts_of
from pyptx_sim.machine.memory.access import Access, fault
from pyptx_sim.machine.memory.texels import GEOMETRIES, Texels
from pyptx_sim.observer import Order
from pyptx_sim.types import byte_size, dtype_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.lanes import IntArray, Lanes
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array
    from pyptx_sim.types import DType


class _Places:
    """Surface locations that the threads of one instruction access, `size` bytes each (0: a texel)."""

    def __init__(self, operands: Operands, size: int) -> None:
        self._geometry, self._clamp = operands.word("geom"), operands.word("clamp")
        shape = GEOMETRIES[self._geometry]
        handle_of, coordinates = parts_of(operands, "a")
        self._handle = handle(operands, handle_of)
        types = ["u32"] * shape.layered + ["s32"] * shape.axes
        self._coordinates = numbers(operands, coordinates, types)
        self._size = size

    def of(self, threads: TextureThreads) -> Iterator[tuple[NDArray[np.bool_], TextureThreads, Texels, IntArray]]:
        """Yield, per surface: a mask of threads with a valid access, these threads, the surface, and arena offsets."""
        for which, some, texels in threads.by_handle(self._handle, Texels, "surface"):
            if not texels.writeable:
                raise SimulationError(
                    f"expected a surface, got texture {texels.name}",
                    where=threads.wave.machine.where(threads.wave.pc),
                    help="pass a pyptx_sim.Surface",
                )
            check_geometry(some, texels, self._geometry)
            inside, offsets = self._offsets(some, texels)
            few = some.chosen(inside)
            if few is not None:
                at = np.zeros(len(threads), np.bool_)
                at[np.flatnonzero(which)[inside]] = True
                yield at, few, texels, offsets[inside]

    def _offsets(self, threads: TextureThreads, texels: Texels) -> tuple[NDArray[np.bool_], IntArray]:
        """Return a mask of the threads that access the surface, and the arena offset of each thread's location."""
        values = [threads.read(reader).astype(np.int64) for reader in self._coordinates]
        level, shape = texels.levels[0], texels.shape
        step = 1 if self._size else texels.texel_bytes
        size = self._size or texels.texel_bytes
        row = level.extents[0] * texels.texel_bytes
        limits = [*([texels.slices - 1] if shape.layered else []), (row - size) // step]
        limits += [extent - 1 for extent in level.extents[1:]]
        inside = np.all([(value >= 0) & (value <= most) for value, most in zip(values, limits, strict=True)], axis=0)
        if self._clamp == "clamp":
            values = [np.clip(value, 0, most) for value, most in zip(values, limits, strict=True)]
            inside = np.ones(len(threads), np.bool_)
        elif self._clamp == "trap" and not inside.all():
            self._report(threads, texels, values, inside)
        slice_ = values.pop(0) if shape.layered else 0
        return inside, texels.rows(level, slice_, tuple(values[1:])) + values[0] * step

    def _report(
        self, threads: TextureThreads, texels: Texels, values: list[IntArray], inside: NDArray[np.bool_]
    ) -> None:
        first = int((~inside).argmax())
        place = ", ".join(str(int(value[first])) for value in values)
        extents = " x ".join(map(str, texels.levels[0].extents))
        fault(
            threads.wave,
            "out-of-bounds",
            f"invalid surface access at {{{place}}} of {texels.name}: {extents} texels of {texels.texel_bytes} bytes",
            "check the coordinates (x is in bytes with .b, in texels with .p), or use .clamp",
            int(np.count_nonzero(~inside)),
        )


def compile_load(operands: Operands) -> Action:
    """Compile `suld`: load from a surface."""
    ptx_type, parts = operands.word("type"), operands.elements(operands.named("d"))
    size, dtype = byte_size(ptx_type) * len(parts), dtype_of(ptx_type)
    places, access = _Places(operands, size), Access("read", size)
    writers = [operands.write(part, ptx_type) for part in parts]

    def load(wave: Wave, lanes: Lanes) -> None:
        threads = TextureThreads(wave, lanes)
        results = [np.zeros(len(threads), dtype) for _ in parts]
        for which, some, _, offsets in places.of(threads):
            for result, values in zip(results, some.load(access, offsets, dtype, len(parts)), strict=True):
                result[which] = values
        for write, result in zip(writers, results, strict=True):
            write(wave, lanes, threads.spread(result))

    return load


def compile_store(operands: Operands) -> Action:
    """Compile `sust`: store bytes (`.b`) or components of texels (`.p`) to a surface."""
    formatted = bool(operands.word("p"))
    ptx_type = "b32" if formatted else operands.word("type")
    parts = operands.elements(operands.named("c"))
    size = byte_size(ptx_type) * len(parts)
    places = _Places(operands, 0 if formatted else size)
    readers = [operands.read(part, ptx_type) for part in parts]
    plain = Access("write", size)

    def store(wave: Wave, lanes: Lanes) -> None:
        threads = TextureThreads(wave, lanes)
        values = [threads.read(reader) for reader in readers]
        for which, some, texels, offsets in places.of(threads):
            mine = [each[which] for each in values]
            if not formatted:
                some.store(plain, offsets, mine)
                continue
            components = [_component(each, texels.dtype) for each in mine[: texels.channels]]
            components += [np.zeros(len(some), texels.dtype)] * (texels.channels - len(components))
            some.store(Access("write", texels.texel_bytes), offsets, components)

    return store


def _component(words: Array, dtype: DType) -> Array:
    """Return 32-bit words as components of texels: floats are rounded, integers clamped to the texel type's range."""
    if dtype.kind == "f":
        return words.view(np.float32).astype(dtype)
    limits, values = np.iinfo(dtype), words.view(np.int32 if dtype.kind == "i" else np.uint32)
    return np.clip(values, limits.min, limits.max).astype(dtype)


def compile_reduction(operands: Operands) -> Action:
    """Compile `sured`: update surface elements atomically with the threads' values, in thread order."""
    ptx_type, name = operands.word("type"), operands.word("op")
    formatted, size = bool(operands.word("p")), byte_size(ptx_type)
    places, read = _Places(operands, 0 if formatted else size), operands.read(operands.named("c"), ptx_type)
    order = Order("gpu", reads=True, writes=True, acquires=False, releases=False, hears=False)
    access = Access("atomic", size, strong=True, order=order)

    def reduce(wave: Wave, lanes: Lanes) -> None:
        threads = TextureThreads(wave, lanes)
        values = threads.read(read)
        for which, some, texels, offsets in places.of(threads):
            element = _element(texels, ptx_type) if formatted else ptx_type
            update = update_of(name, element, "global")
            if update is not None:
                some.update(access, offsets, update, values[which].view(dtype_of(element)))

    return reduce


def _element(texels: Texels, ptx_type: str) -> str:
    """Return the element type of a reduction of texels: signed if the texels are signed."""
    return f"{'s' if texels.dtype.kind == 'i' else 'u'}{ptx_type[1:]}"
