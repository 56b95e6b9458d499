"""Textures and surfaces: handles with coordinates, offsets and gradients. Manual: "Texture Instructions".

A handle is a variable (`.texref`, `.samplerref`, `.surfref`), or a 64-bit register with its address or with the
driver's handle. The argument of an operand kind here is the modifier slot of the geometry (`2d`, `cube`)
and, for coordinates, their type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pyptx_ir.isa.kinds import vectors
from pyptx_ir.isa.kinds.kind import OPERAND_KIND, OPERAND_TYPE, VECTOR_LENGTH, Kind, Mismatch, Use
from pyptx_ir.isa.scalar_types import takes, takes_immediate

if TYPE_CHECKING:
    from pyptx_ir.isa.shapes import Shape


@dataclass(frozen=True, slots=True)
class Geometry:
    """Numbers of coordinates, offsets and gradient components; `indexed` if coordinate 0 is a layer or sample index."""

    coordinates: int
    offsets: int
    gradient: int
    indexed: bool = False


# Coordinate vectors have 1, 2 or 4 elements: three coordinates take four elements, of which the last is ignored.
GEOMETRIES = {
    "1d": Geometry(1, 1, 1),
    "2d": Geometry(2, 2, 2),
    "3d": Geometry(4, 4, 4),
    "a1d": Geometry(2, 1, 1, indexed=True),
    "a2d": Geometry(4, 2, 2, indexed=True),
    "cube": Geometry(4, 0, 4),
    "acube": Geometry(4, 0, 4, indexed=True),
    "2dms": Geometry(4, 2, 0, indexed=True),
    "a2dms": Geometry(4, 2, 0, indexed=True),
}
_LENGTHS = (1, 2, 4)
_VEC = next(kind for kind in vectors.KINDS if kind.name == "vec")
_HANDLES = ("b64", "u64", "s64", "")


def _mismatch_texture(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    """Check a texture operand: `[texture, {x, …}]` or `[texture, sampler, {x, …}]`."""
    parts = cast("tuple[Shape, ...]", shape[1:])
    if shape[0] != "bracket" or len(parts) not in (2, 3):
        return Mismatch("a texture and coordinates: [texture, {x, y}] or [texture, sampler, {x, y}]")
    sampler = _mismatch_handle(".samplerref", parts[1]) if len(parts) == 3 else None
    if len(parts) == 3 and parts[2][0] != "vector":
        return Mismatch("coordinates in braces after a sampler")
    return _mismatch_handle(".texref", parts[0]) or sampler or _mismatch_coordinates(argument, parts[-1], use)


def _mismatch_surface(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    parts = cast("tuple[Shape, ...]", shape[1:])
    if shape[0] != "bracket" or len(parts) != 2:
        return Mismatch("a surface and coordinates: [surface, {x, y}]")
    return _mismatch_handle(".surfref", parts[0]) or _mismatch_coordinates(f"{argument} s32", parts[1], use)


def _mismatch_handle(kind: str, shape: Shape) -> Mismatch | None:
    """Check the handle of a texture, sampler or surface; it may be a kernel parameter."""
    if shape[0] == "symbol" and shape[1] in (kind, ".param", ""):
        return None
    if shape[0] == "register" and shape[1] in _HANDLES:
        return None
    return Mismatch(f"a {kind} variable or a 64-bit register before the coordinates", OPERAND_TYPE)


def _mismatch_coordinates(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    name, _, slot = argument.partition(" ")
    geometry, type_name = GEOMETRIES[use.word(name)], use.word(slot)
    if shape[0] != "vector":
        single = geometry.coordinates == 1 or shape == ("register", "")
        return _mismatch_element(type_name, shape) if single else Mismatch(_vector(geometry.coordinates), VECTOR_LENGTH)
    elements = cast("tuple[Shape, ...]", shape[1:])
    if len(elements) not in _LENGTHS or len(elements) < geometry.coordinates:
        return Mismatch(_vector(geometry.coordinates), VECTOR_LENGTH)
    types = ["u32" if geometry.indexed and not place else type_name for place in range(len(elements))]
    mismatches = (_mismatch_element(name, element) for name, element in zip(types, elements, strict=True))
    return next((mismatch for mismatch in mismatches if mismatch), None)


def _vector(count: int) -> str:
    return f"{count or 1} coordinates in braces" + (" (further ones are ignored)" if count < _LENGTHS[-1] else "")


def _mismatch_element(type_name: str, shape: Shape) -> Mismatch | None:
    """Check one component of a texture operand: a register of the type (not .f16x2), or a literal."""
    if shape[0] == "register":
        fits = shape[1] == "" or (shape[1] != "f16x2" and takes(type_name, str(shape[1])))
        return None if fits else Mismatch(f".{type_name} numbers", OPERAND_TYPE)
    fits = shape[0] == "literal" and takes_immediate(type_name, str(shape[1]))
    return None if fits else Mismatch(f".{type_name} numbers", OPERAND_KIND)


def _mismatch_offsets(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    count = GEOMETRIES[use.word(argument)].offsets
    return _mismatch_numbers("s32", [length for length in _LENGTHS if length >= count], shape)


def _mismatch_gradient(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    return _mismatch_numbers("f32", [GEOMETRIES[use.word(argument)].gradient], shape)


def _mismatch_numbers(type_name: str, lengths: list[int], shape: Shape) -> Mismatch | None:
    if shape == ("register", ""):
        return None  # the register's type is unknown; it may be a vector register
    wanted = f"a vector of {' or '.join(map(str, lengths))}"
    if shape[0] != "vector":
        return Mismatch(wanted)
    elements = cast("tuple[Shape, ...]", shape[1:])
    if len(elements) not in lengths:
        return Mismatch(wanted, VECTOR_LENGTH)
    mismatches = (_mismatch_element(type_name, element) for element in elements)
    return next((mismatch for mismatch in mismatches if mismatch), None)


def _mismatch_texels(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    """Check the data operand of a surface access: like the kind `vec`, but one value may also be in braces."""
    alone = not {"v2", "v4"}.intersection(use.filled.values())
    inner = cast("Shape", shape[1]) if alone and shape[0] == "vector" and len(shape) == 2 else shape
    return _VEC.mismatch(argument, inner, use)


def _mismatch_opaque(argument: str, shape: Shape, _use: Use) -> Mismatch | None:
    """Check `[texture]`, a handle without coordinates; `argument` lists the valid kinds of variables."""
    variables = tuple(f".{word}" for word in argument.split())
    if shape[0] == "address" and shape[1] in (*variables, ".param", *_HANDLES):
        return None
    return Mismatch(f"a {' or '.join(variables)} variable or a 64-bit register, in brackets", OPERAND_TYPE)


def _coordinates(argument: str, use: Use) -> tuple[str, ...]:
    """Return example coordinates: vectors of every length, and a single number."""
    name, _, slot = argument.partition(" ")
    geometry, type_name = GEOMETRIES[use.word(name)], use.word(slot)
    numbers = [f"%{type_name}_{10 + place}" for place in range(4)]
    if geometry.indexed:
        numbers[0] = "%u32_10"
    found = [f"{{{', '.join(numbers[:length])}}}" for length in _LENGTHS if length >= geometry.coordinates]
    return (*found, numbers[0]) if geometry.coordinates == 1 else tuple(found)


def _textures(argument: str, use: Use, _index: int) -> tuple[str, ...]:
    """Return example textures of unified mode; a separate sampler needs a module in independent mode."""
    first, *others = _coordinates(argument, use)
    return (f"[tex0, {first}]", f"[%u64_9, {first}]", *(f"[tex0, {other}]" for other in others))


def _surfaces(argument: str, use: Use, _index: int) -> tuple[str, ...]:
    first, *others = _coordinates(f"{argument} s32", use)
    return (f"[surf0, {first}]", f"[%u64_9, {first}]", *(f"[surf0, {other}]" for other in others))


def _numbers(type_name: str, count: int) -> tuple[str, ...]:
    return (f"{{{', '.join(f'%{type_name}_{14 + place}' for place in range(count))}}}",)


KINDS = (
    Kind("texture", "a texture, optionally a sampler, and coordinates", _mismatch_texture, _textures),
    Kind("surface", "a surface element, given by the surface and coordinates", _mismatch_surface, _surfaces),
    Kind("texels", "{}, or a vector of 2 or 4 such elements (.v2, .v4)", _mismatch_texels, _VEC.examples),
    Kind("opaque", "the handle of a {}", _mismatch_opaque, lambda argument, _u, _i: (_opaque(argument), "[%u64_9]")),
    Kind(
        "texture_offsets",
        "a vector of texel offsets, of type `.s32`, from -8 to 7",
        _mismatch_offsets,
        lambda argument, use, _index: _numbers("s32", GEOMETRIES[use.word(argument)].offsets),
    ),
    Kind(
        "gradient",
        "a vector of partial derivatives of the coordinates, of type `.f32`",
        _mismatch_gradient,
        lambda argument, use, _index: _numbers("f32", GEOMETRIES[use.word(argument)].gradient),
    ),
)


def _opaque(argument: str) -> str:
    return {"surfref": "[surf0]", "samplerref": "[%u64_9]"}.get(argument.split(maxsplit=1)[0], "[tex0]")
