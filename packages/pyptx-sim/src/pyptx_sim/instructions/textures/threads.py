"""Threads that access textures or surfaces, as flat arrays; lookup of textures, surfaces and samplers by handle."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from pyptx_ir.syntax.operands import Address, Symbol, TensorAddress
from pyptx_sim.errors import SimulationError
from pyptx_sim.machine.lanes import pick, spread
from pyptx_sim.machine.memory.texels import Texels
from pyptx_sim.program.scopes import Placement
from pyptx_sim.program.windows import GLOBAL_WINDOW

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.instructions.compiling.registers import Reader
    from pyptx_sim.machine.lanes import IntArray, Lanes
    from pyptx_sim.machine.memory.access import Access
    from pyptx_sim.machine.memory.atomics import Update
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array, Mask
    from pyptx_sim.types import DType

B = TypeVar("B")

_HANDLE_BYTES = 8
_HELP = "pass a pyptx_sim.Texture, Surface or Sampler as the argument, or give the variable one: Launch(textures={…})"


class TextureThreads:
    """Threads that execute a texture or surface instruction: entry i of every array belongs to thread i."""

    __slots__ = ("_columns", "_lanes", "_positions", "wave")

    def __init__(self, wave: Wave, lanes: Lanes) -> None:
        """Represent the active lanes as threads, in order of rows and lanes."""
        self.wave, self._lanes = wave, lanes
        self._positions, self._columns = lanes.active

    def __len__(self) -> int:
        """Return the number of threads."""
        return len(self._positions)

    @property
    def lanes(self) -> Lanes:
        """The same threads as active lanes of warps."""
        return self._lanes

    def read(self, reader: Reader) -> Array:
        """Return the value of an operand, one per thread."""
        return pick(reader(self.wave, self._lanes), self._positions, self._columns)

    def spread(self, values: Array) -> Array:
        """Return the threads' values as an array `[rows, 32]`, with zeros for other lanes."""
        return spread(values, self._positions, self._columns, self._lanes.height)

    def chosen(self, which: Mask) -> TextureThreads | None:
        """Return the threads that the mask `which` selects; None if there are none."""
        if which.all():
            return self
        part = self._lanes.narrowed(self.spread(which).astype(np.bool_))
        return None if part is None else TextureThreads(self.wave, part)

    def load(self, access: Access, offsets: IntArray, dtype: DType, count: int) -> list[Array]:
        """Return `count` elements at each thread's offset in the global arena; zeros for an invalid access."""
        memory, everywhere = self.wave.memories["global"], self.spread(offsets)
        places = access.places(self.wave, self._lanes, memory, everywhere)
        if places is None:
            return [np.zeros(len(self), dtype)] * count
        if self.wave.machine.checked:
            access.before(self.wave, self._lanes, memory, places)
        found = memory.arena.gather(places.offsets, dtype, count)
        return [pick(places.spread(each, self._lanes.height), self._positions, self._columns) for each in found]

    def store(self, access: Access, offsets: IntArray, values: Sequence[Array]) -> None:
        """Store contiguous elements at each thread's offset in the global arena."""
        memory, everywhere = self.wave.memories["global"], self.spread(offsets)
        places = access.places(self.wave, self._lanes, memory, everywhere)
        if places is None:
            return
        stored = [places.pick(self.spread(each)) for each in values]
        if self.wave.machine.checked:
            access.before(self.wave, self._lanes, memory, places, stored)
        if self.wave.watching and memory.arena.holds(places.offsets, stored):
            return
        memory.arena.scatter(places.offsets, stored)
        memory.arena.mark(places.offsets, access.size)
        self.wave.version += 1

    def update(self, access: Access, offsets: IntArray, how: Update, values: Array) -> None:
        """Combine the element at each thread's offset in the global arena with the thread's value, in thread order."""
        memory, everywhere = self.wave.memories["global"], self.spread(offsets)
        places = access.places(self.wave, self._lanes, memory, everywhere)
        if places is None:
            return
        if self.wave.machine.checked:
            access.before(self.wave, self._lanes, memory, places)
        sources = np.broadcast_to(places.pick(self.spread(values)), places.offsets.shape).reshape(-1)
        memory.arena.mark(places.offsets, access.size)
        memory.arena.update(places.offsets.reshape(-1) // access.size, how, np.ascontiguousarray(sources))
        self.wave.version += 1

    def by_handle(
        self, reader: Reader, kind: type[B] | tuple[type[B], ...], what: str
    ) -> Iterator[tuple[Mask, TextureThreads, B]]:
        """Yield, per handle: a mask of the threads with it, these threads, and the texture, surface or sampler."""
        handles = self.read(reader)
        for handle in np.unique(handles).tolist():
            found = self.wave.machine.handles.get(int(handle))
            if not isinstance(found, kind):
                known = "invalid handle" if found is None else f"the handle of a {_kind(found)}"
                raise SimulationError(
                    f"expected the handle of a {what}, got {int(handle):#x} ({known})",
                    where=self.wave.machine.where(self.wave.pc),
                    help=_HELP,
                )
            which: NDArray[np.bool_] = handles == handle
            some = self.chosen(which)
            if some is not None:
                yield which, some, found


def parts_of(operands: Operands, name: str) -> tuple[Operand, ...]:
    """Return the elements of an operand `[texture, sampler, {x, y}]`: handles and, last, coordinates."""
    found = operands.named(name)
    if isinstance(found, TensorAddress):
        return found.elements
    if isinstance(found, Address):
        return (found.base,)
    return (found,)


def handle(operands: Operands, operand: Operand) -> Reader:
    """Return a function that reads a texture handle: a variable's address, or a register's or parameter's value."""
    placed = operands.scope.find(operand.name) if isinstance(operand, Symbol) else None
    if not isinstance(placed, Placement):
        return operands.read(operand, "u64")
    if placed.space != "param":
        address = np.full((1, 1), GLOBAL_WINDOW + placed.offset, np.uint64)
        return lambda _wave, _lanes: address
    first = placed.offset

    def read(wave: Wave, _lanes: Lanes) -> Array:
        data = wave.memories["param"].arena.bytes_at(first, _HANDLE_BYTES)
        return cast("Array", np.frombuffer(data, np.uint64).reshape(1, 1))

    return read


def numbers(operands: Operands, operand: Operand, types: Sequence[str]) -> list[Reader]:
    """Return a reader function per element of a vector operand; `types` are the types of the elements."""
    elements = operands.elements(operand)
    return [operands.read(*pair) for pair in zip(elements, types, strict=False)]


def _kind(found: object) -> str:
    if not isinstance(found, Texels):
        return "sampler"
    return "surface" if found.writeable else "texture"


def check_geometry(threads: TextureThreads, texels: Texels, geometry: str) -> None:
    """Reject an access whose opcode's geometry (`.2d`) differs from the texture's or surface's geometry."""
    if texels.geometry == geometry:
        return
    raise SimulationError(
        f"expected geometry .{geometry}, got {texels.name} of geometry .{texels.geometry}",
        where=threads.wave.machine.where(threads.wave.pc),
        help=f'create the texture or surface with geometry="{geometry}"',
    )
