"""Module variables: their offsets in the global and the constant space, and their initial bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyptx_ir.syntax.operands import Binary, Symbol, Vector
from pyptx_sim.errors import Declaring, ProgramError
from pyptx_sim.numerics.sampling import Sampler
from pyptx_sim.program.constants import Form, encode_initializer
from pyptx_sim.program.layout import Shape, SpaceAllocator, numbered, variable_shape
from pyptx_sim.program.program import Image
from pyptx_sim.program.scopes import FunctionBinding, Placement
from pyptx_sim.program.windows import CODE_STRIDE, CODE_WINDOW, FIRST_OFFSET, GLOBAL_WINDOW, generic_address

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyptx_ir.syntax.nodes import Declarator, Variable
    from pyptx_sim.program.scopes import Scope

# Unused bytes after every global variable, so that an access past its end does not reach another variable.
RED_ZONE = 256

_DRIVER_ALIGNMENT = 256

# Types whose initializers set properties (`addr_mode_0 = clamp_to_edge`), not bytes.
OPAQUE_TYPES = frozenset({"texref", "samplerref", "surfref"})
_ADDRESS_MODES = {"clamp_ogl": "clamp", "clamp_to_edge": "clamp", "clamp_to_border": "border"}


def symbol_address(binding: object, functions: Mapping[str, int], *, generic: bool) -> int:
    """Return the address of a variable or function. Manual: "Operands", "mov".

    Addresses of the global space are generic addresses. Addresses of the other spaces are relative to their window, or
    generic addresses if `generic`.
    """
    match binding:
        case FunctionBinding(name):
            return CODE_WINDOW + CODE_STRIDE * (1 + functions[name])
        case Placement(space="global", offset=offset):
            return GLOBAL_WINDOW + offset
        case Placement(space=space, offset=offset):
            return generic_address(space, offset) if generic else offset
        case _:
            raise ProgramError(f"expected a variable or function, got {binding!r}")


class ImageBuilder:
    """Builder of the initial bytes of the global and the constant space, from `.global` and `.const` variables."""

    def __init__(self, start: int = 0) -> None:
        """Start without variables in global memory, from offset `start` on, and in constant memory."""
        self._start = start
        self._regions = {
            "global": SpaceAllocator("global", start + RED_ZONE, RED_ZONE),
            "const": SpaceAllocator("const", FIRST_OFFSET, 16),
        }
        self._declared: list[tuple[Placement, Shape, Declarator, Variable, Scope]] = []
        self._reserved: list[tuple[Placement, bytes]] = []

    def declare(self, variable: Variable, scope: Scope) -> None:
        """Assign offsets to the variables of one declaration, and bind their names in `scope`."""
        declared = variable
        space = variable.space.partition("[")[0].partition("::")[0]
        if space == "tex":  # .tex is an older name of .global .texref; manual: "Texture State Space"
            variable = replace(variable, space="global", type="texref")
        region = self._regions["global" if space == "tex" else space]
        for declarator in numbered(variable):
            shape = variable_shape(variable, declarator)
            placement = region.place(declarator.name, shape)
            scope.bind(declarator.name, placement)
            self._declared.append((placement, shape, declarator, declared, scope))

    def reserve(self, name: str, data: bytes) -> int:
        """Place `data`, which on a GPU the driver provides, in global memory; return its offset."""
        shape = Shape("b8", (len(data),), len(data), _DRIVER_ALIGNMENT)
        placement = self._regions["global"].place(name, shape)
        self._reserved.append((placement, data))
        return placement.offset

    def samplers(self) -> dict[int, Sampler]:
        """Return the samplers whose initializers set properties, by their offsets in the global space."""
        return {
            placement.offset: _sampler(declarator.initializer)
            for placement, shape, declarator, *_ in self._declared
            if shape.type == "samplerref" and isinstance(declarator.initializer, Vector)
        }

    def images(self, functions: Mapping[str, int]) -> tuple[Image, Image]:
        """Return the initial contents of global and constant memory; initializers may name any variable or function."""
        starts = {"global": self._start, "const": 0}
        data = {space: bytearray(region.end - starts[space]) for space, region in self._regions.items()}
        for placement, shape, declarator, variable, scope in self._declared:
            if declarator.initializer is None or shape.type in OPAQUE_TYPES:
                continue

            def address_of(name: str, form: Form, scope: Scope = scope) -> int:
                binding = scope.find(name)
                if binding is None:
                    raise ProgramError(f"undeclared name {name} in an initializer")
                return symbol_address(binding, functions, generic=form == "generic")

            with Declaring(variable):
                image = encode_initializer(declarator.initializer, shape.type, shape.dimensions, address_of)
                if len(image) > shape.size:
                    raise ProgramError(f"too many elements in the initializer of {placement.name}")
            first = placement.offset - starts[placement.space]
            data[placement.space][first : first + len(image)] = image
        for placement, image in self._reserved:
            first = placement.offset - self._start
            data[placement.space][first : first + len(image)] = image
        placements = [*(place for place, *_ in self._declared), *(place for place, _ in self._reserved)]
        places = {space: tuple(place for place in placements if place.space == space) for space in data}
        globals_ = Image(bytes(data["global"]), places["global"], self._start)
        return globals_, Image(bytes(data["const"]), places["const"])


def _sampler(fields: Vector) -> Sampler:
    """Return the sampler that an initializer describes: `{addr_mode_0 = wrap, …}`. Manual: "Samplerref"."""
    given = {
        field.name: value.name if isinstance(value, Symbol) else getattr(value, "text", "")
        for part in fields.elements
        if isinstance(part, Binary)
        for field, value in [(part.left, part.right)]
        if isinstance(field, Symbol)
    }
    modes = [given.get(f"addr_mode_{axis}", "clamp_to_edge") for axis in range(3)]
    return Sampler(
        address=tuple(_ADDRESS_MODES.get(mode, mode) for mode in modes),
        filter="linear" if given.get("filter_mode") == "linear" else "point",
        normalized=given.get("force_unnormalized_coords", "0") != "1",
    )
