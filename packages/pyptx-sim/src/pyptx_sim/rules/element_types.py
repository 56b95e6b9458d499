"""`element-type`: an access of one float type to an array of another one, such as `ld.f32` of f16 elements.

An access does not convert values. Vector, integer and untyped accesses may copy elements of any type, and integer
arrays may contain any bits. Therefore only scalar accesses of a float type to float arrays are checked, at their first
execution.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from pyptx_ir.element_types import BY_ARRAY, ELEMENT_TYPES
from pyptx_sim.arrays import is_cpu_array, storage_of, type_of
from pyptx_sim.memory import DeviceArray
from pyptx_sim.observer import Observer
from pyptx_sim.program.windows import GLOBAL_WINDOW
from pyptx_sim.values import Uninitialized

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyptx_sim.launch import Launch
    from pyptx_sim.machine.memory.spaces import FlatMemory
    from pyptx_sim.observer import AccessKind, Offsets, RunView, Space
    from pyptx_sim.program.program import Program

__all__ = ["ELEMENT_TYPE", "ElementTypes"]

ELEMENT_TYPE: Final = "element-type"
_FLOATS: Final = frozenset(row.name for row in ELEMENT_TYPES if row.kind == "float" and row.name != "tf32")
_OPCODES: Final = frozenset({"ld", "ldu", "st", "atom", "red"})
# Number of consecutive accesses by already checked instructions after which the checker of element types stops.
_PATIENCE: Final = 256
_VECTORS: Final = frozenset({"v2", "v4", "v8"})


@dataclass(frozen=True, slots=True)
class _Elements:
    """Byte range of an array in global memory, and the float type of its elements."""

    start: int
    end: int
    kind: str


class ElementTypes(Observer):
    """Checker of the first execution of each scalar float access, against the float arrays of a launch.

    The checker calls `finish` when it needs no further accesses.
    """

    def __init__(self, view: RunView, arrays: Sequence[_Elements], types: Mapping[int, str]) -> None:
        """Check accesses to these arrays; `types` are the float types of the accesses by pc."""
        self._view, self._arrays, self._types = view, arrays, dict(types)
        self._known = 0
        self.finish: Callable[[], None] | None = None

    @classmethod
    def of(
        cls, view: RunView, program: Program, launch: Launch, memories: Mapping[str, FlatMemory]
    ) -> ElementTypes | None:
        """Return the checker of a launch; None if no access of the program can differ in float type from an array."""
        arrays = _apart(list(_arrays(program, launch, memories["param"])))
        if not arrays:
            return None
        types = _types_of(program)
        differ = any(each.kind != kind for each in arrays for kind in set(types.values()))
        return cls(view, arrays, types) if differ else None

    def access(
        self, space: Space, kind: AccessKind, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets, pc: int
    ) -> None:
        """Report an access to elements of another float type."""
        del kind, size, warps, lanes
        given = self._types.pop(pc, None)
        self._known = self._known + 1 if given is None else 0
        if self.finish is not None and (not self._types or self._known > _PATIENCE):
            self.finish()
        if given is None or space != "global":
            return
        for each in self._arrays:
            inside = (offsets >= each.start) & (offsets < each.end)
            if each.kind != given and inside.any():
                self._report(pc, int(offsets[inside.argmax()]), each.kind, int(np.count_nonzero(inside)))

    def _report(self, pc: int, offset: int, kind: str, count: int) -> None:
        text = ".".join(self._view.opcode(pc))
        place = self._view.describe("global", offset)
        self._view.report(ELEMENT_TYPE, f"{text} access to {place}, an array of {kind} elements", pc, count=count)


@lru_cache(maxsize=32)
def _types_of(program: Program) -> Mapping[int, str]:
    """Return the float types of scalar memory accesses by pc."""
    return {site.pc: kind for site in program.sites if (kind := _type_of(site.instruction.opcode)) is not None}


def _type_of(opcode: tuple[str, ...]) -> str | None:
    """Return the float type of a scalar memory access, None for other instructions."""
    found = opcode[0] in _OPCODES and opcode[-1] in _FLOATS and _VECTORS.isdisjoint(opcode)
    return opcode[-1] if found else None


def _arrays(program: Program, launch: Launch, bank: FlatMemory) -> Iterator[_Elements]:
    """Yield the byte range and float type of each float array among the arguments of a launch."""
    for place, argument in zip(program.parameters, launch.args, strict=True):
        value = argument.array if isinstance(argument, Uninitialized | DeviceArray) else argument
        if not is_cpu_array(value):
            continue
        known = BY_ARRAY.get(type_of(value))
        kind = "" if known is None else known.name
        size = _bytes_of(value)
        if kind in _FLOATS and size:
            (address,) = bank.arena.data[place.offset : place.offset + 8].view(np.uint64)
            start = int(address) - GLOBAL_WINDOW
            yield _Elements(start, start + size, kind)


def _bytes_of(value: object) -> int:
    """Return the size of an array in bytes, 0 if its elements are not contiguous."""
    if isinstance(value, np.ndarray):
        array = cast("np.ndarray[tuple[int, ...], np.dtype[np.generic]]", value)
        return array.nbytes if array.flags.c_contiguous or array.flags.f_contiguous else 0
    return storage_of(value).nbytes


def _apart(arrays: Sequence[_Elements]) -> list[_Elements]:
    """Return the arrays that do not overlap an array of another type."""
    return [
        each
        for each in arrays
        if all(each.kind == other.kind or each.end <= other.start or other.end <= each.start for other in arrays)
    ]
