"""Sizes of variables, and their offsets in a state space."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from pyptx_ir.syntax.operands import Vector
from pyptx_sim.errors import ProgramError
from pyptx_sim.program.constants import Form, evaluate
from pyptx_sim.program.scopes import DYNAMIC_OFFSET, Placement
from pyptx_sim.types import byte_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_ir.syntax.nodes import Declarator, Parameter, Variable
    from pyptx_ir.syntax.operands import Operand


# Limits of the variables of a program in each space, in bytes. Manual: "Constant State Space" for .const, ".entry" for
# parameters. CUDA C++ Programming Guide, "Compute Capabilities", for local memory of a thread and shared memory of a
# CTA; a target may have less. .global: the simulator needs several times as much (initial values, copy, checks).
MOST_BYTES: Final = {
    "global": 1 << 28,
    "const": 1 << 16,
    "shared": 1 << 20,
    "local": 1 << 19,
    "param": 32764,
}
_MOST_PADDING: Final = 1 << 24
_MOST_NAMES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Shape:
    """Layout of a variable: element type, array extents (last the vector length), size and alignment in bytes."""

    type: str
    dimensions: tuple[int, ...]
    size: int
    alignment: int


def _no_symbols(name: str, _form: Form) -> int:
    raise ProgramError(f"array size must be a constant, got {name}")


def _extent(bound: Operand | None) -> int:
    extent = 0 if bound is None else evaluate(bound, _no_symbols)
    if not isinstance(extent, int) or extent < 0:
        raise ProgramError(f"array size must be a non-negative integer, got {extent}")
    return extent


def shape_of(
    ptx_type: str,
    vector: str | None,
    dimensions: tuple[Operand | None, ...],
    alignment: int | None,
    elements: int | None = None,
) -> Shape:
    """Return the `Shape` of a declaration; an omitted first extent (`x[]`) is `elements`, or 0 if that is None."""
    extents = [_extent(bound) for bound in dimensions]
    if dimensions and dimensions[0] is None and elements is not None:
        extents[0] = elements
    if vector is not None:
        extents.append(int(vector[1:]))
    size = byte_size(ptx_type)
    for extent in extents:
        size *= extent
    lanes = int(vector[1:]) if vector is not None else 1
    if alignment is not None and (alignment <= 0 or alignment & (alignment - 1)):
        raise ProgramError(f"alignment must be a power of two, got {alignment}")
    return Shape(ptx_type, tuple(extents), size, alignment or byte_size(ptx_type) * lanes)


def variable_shape(variable: Variable, declarator: Declarator) -> Shape:
    """Return the `Shape` of one variable of a declaration; an initializer determines an omitted first extent."""
    initializer = declarator.initializer
    count = len(initializer.elements) if isinstance(initializer, Vector) else None
    return shape_of(variable.type, variable.vector, declarator.dimensions, variable.alignment, count)


def numbered(variable: Variable) -> Iterator[Declarator]:
    """Yield the variables of a declaration; `name<n>` declares n variables.

    Manual: "Parameterized Variable Names".
    """
    for declarator in variable.declarators:
        if declarator.count is None:
            yield declarator
        else:
            names = numbered_names(declarator.name, declarator.count)
            yield from (replace(declarator, name=name, count=None) for name in names)


def numbered_names(stem: str, count: int) -> Iterator[str]:
    """Return `stem0` to `stem(count-1)`, the variables or labels that `stem<count>` declares."""
    if count > _MOST_NAMES:
        raise ProgramError(f"too many names in {stem}<{count}>: limit {_MOST_NAMES}")
    return (f"{stem}{number}" for number in range(count))


def parameter_shape(parameter: Parameter) -> Shape:
    """Return the `Shape` of a `.param` parameter in a function header."""
    return shape_of(parameter.type, parameter.vector, parameter.dimensions, parameter.alignment)


@dataclass(slots=True)
class SpaceAllocator:
    """Allocator of offsets in one state space, in order of declaration, with `gap` unused bytes after each variable."""

    space: str
    end: int = 0
    gap: int = 0
    used: int = 0

    def place(self, name: str, shape: Shape) -> Placement:
        """Return the placement of a variable at the next aligned offset; raise ProgramError past the space's limit."""
        most = MOST_BYTES[self.space]
        self.used += shape.size
        if self.used > most:
            raise ProgramError(f"variables up to {name} need {self.used} bytes of .{self.space} memory (limit {most})")
        offset = aligned(self.end, shape.alignment)
        if offset - self.end > _MOST_PADDING:
            raise ProgramError(f"alignment of {name} is {shape.alignment} bytes (limit {_MOST_PADDING})")
        self.end = offset + shape.size + self.gap
        return Placement(name, self.space, offset, shape.size, shape.type)


@dataclass(slots=True)
class SharedRegion:
    """Allocator of static shared variables; also tracks the alignment of dynamic shared memory."""

    static: SpaceAllocator
    alignment: int = 16  # CUDA's default alignment of dynamic shared memory, in bytes
    placements: list[Placement] = field(default_factory=list[Placement])

    def place(self, name: str, shape: Shape, *, dynamic: bool) -> Placement:
        """Return the placement of a shared variable; all dynamic variables start after the last static variable."""
        if dynamic and shape.size == 0:
            self.alignment = max(self.alignment, shape.alignment)
            placement = Placement(name, "shared", DYNAMIC_OFFSET, 0, shape.type)
        else:
            placement = self.static.place(name, shape)
        self.placements.append(placement)
        return placement


def aligned(offset: int, alignment: int) -> int:
    """Return the next multiple of `alignment` at or above `offset`."""
    return -(-offset // alignment) * alignment
