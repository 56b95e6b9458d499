"""Operands in brackets. Manual: "Addresses as Operands", "Tensors", "Texture Instructions"."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pyptx_ir.isa.kinds.kind import ADDRESS_SPACE, OPERAND_TYPE, VECTOR_LENGTH, Kind, Mismatch, Use
from pyptx_ir.isa.scalar_types import SIZES, is_float

if TYPE_CHECKING:
    from pyptx_ir.isa.shapes import Shape

# State space of the variables that an instruction with `.shared` or a similar modifier can access.
SPACES: dict[str, str] = {
    "global": "global",
    "const": "const",
    "local": "local",
    "param": "param",
    "param::entry": "param",
    "param::func": "param",
    "shared": "shared",
    "shared::cta": "shared",
    "shared::cluster": "shared",
}
# Name of the variable or parameter of each state space in example operands: `[gmem]`.
EXAMPLES: dict[str, str] = {
    "global": "gmem",
    "const": "cmem",
    "local": "lmem",
    "param": "pp",
    "param::entry": "pp",
    "param::func": "fp",
    "shared": "smem",
    "shared::cta": "smem",
    "shared::cluster": "smem",
}
# State spaces whose variables may be used as a generic address: .const and .param need cvta.
_GENERIC = frozenset({"global", "shared", "local"})
# Words in the argument of the operand kind `address(…)` that are not state spaces: they permit or restrict address
# forms.
_SIZED, _CONSTANT, _INDEXED = "sized", "constant", "indexed"
_TRAITS = frozenset({_SIZED, _CONSTANT, _INDEXED})
_COORDINATES = ("b32", "u32", "s32", "")


def _mismatch_address(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    # An array element, `values[2]`, is an address without brackets around it. Manual: "Arrays as Operands".
    if shape[0] == "element" and _INDEXED in argument.split():
        return _mismatch_base(str(shape[1]), _reachable(argument, use))
    if shape[0] != "address":
        return Mismatch("an address in brackets")
    return _mismatch_made(argument, shape, use) or _mismatch_base(str(shape[1]), _spaces(argument, use))


def _reachable(argument: str, use: Use) -> frozenset[str]:
    """Return the state spaces of variables that an address can access; without a space, those of generic addresses."""
    return _spaces(argument, use) if any(word in SPACES for word in use.filled.values()) else _GENERIC


def _mismatch_made(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    """Check the form of an address: a constant, or a register that is too narrow.

    ptxas accepts constants only as addresses of local memory. It accepts 32-bit registers for 64-bit addresses, except
    in generic or global addresses of instructions marked `sized` in the table.
    """
    traits, named = _TRAITS.intersection(argument.split()), spaces_named(use)
    if shape[1] == "literal":
        fits = shape[2] == "int" and (_CONSTANT in traits or named == {"local"})
        return None if fits else Mismatch("an address in a register, or a variable (a number only in .local memory)")
    narrow = SIZES.get(str(shape[1]), use.address_size) < use.address_size
    if narrow and _SIZED in traits and named <= {"global"}:
        where = ".global" if named else "generic"
        wanted = f"a {where} address in a {use.address_size}-bit register (.address_size)"
        return Mismatch(wanted, OPERAND_TYPE)
    return None


def _mismatch_base(base: str, spaces: frozenset[str]) -> Mismatch | None:
    if base == "literal":
        return None
    if base.startswith("."):
        if base[1:] in spaces or not spaces:
            return None
        return Mismatch(f"an address in {' or '.join('.' + space for space in sorted(spaces))} memory", ADDRESS_SPACE)
    if base and (is_float(base) or SIZES.get(base) not in {32, 64}):
        return Mismatch("an address in an integer or untyped register of 32 or 64 bits", OPERAND_TYPE)
    return None


def _mismatch_memory(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    """Check an address, generic if the opcode has no state space; call parameters must be given by name."""
    if shape[0] != "address":
        return _mismatch_address(argument, shape, use)
    if "param::func" in use.filled.values() and shape[1] not in ("", "literal") and not str(shape[1]).startswith("."):
        return Mismatch("a .param variable, not a register with its address", ADDRESS_SPACE)
    return _mismatch_made(argument, shape, use) or _mismatch_base(str(shape[1]), _reachable(argument, use))


def spaces_named(use: Use) -> frozenset[str]:
    """Return the state space in the opcode, if the opcode has exactly one."""
    words = {SPACES[word] for word in use.filled.values() if word in SPACES}
    return frozenset(words) if len(words) == 1 else frozenset[str]()


def _spaces(argument: str, use: Use) -> frozenset[str]:
    """Return the state spaces of the variables that an operand accepts: its kind's, narrowed by the opcode's space."""
    named = spaces_named(use)
    allowed = frozenset(argument.split()) - {"generic"} - _TRAITS
    return (named & allowed) or allowed or named


def _example_address(argument: str, use: Use, index: int) -> tuple[str, ...]:
    spaces = [word for word in argument.split() if word not in _TRAITS]
    if spaces:
        first, *others = spaces
        fitting = _spaces(argument, use) | {"generic"}
        space = next((other for other in (first, *others) if other in fitting), first)
        return (f"[{EXAMPLES[space]}]" if space in EXAMPLES else f"[%u64_{index}]",)
    words = [word for word in use.filled.values() if word in EXAMPLES]
    if words and words[0] == "param" and use.place.written:
        return (f"[{EXAMPLES['param::func']}]",)
    return (f"[{EXAMPLES[words[0]]}]" if words else "[%u64_9]",)


def _mismatch_tensor(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    """Check `[map, {c0, …}]`: a tensor map and one 32-bit coordinate per dimension of the tensor."""
    count = use.count(argument)
    wanted = f"a tensor map and {count} coordinates: [map, {{{', '.join(f'c{i}' for i in range(count))}}}]"
    parts = cast("tuple[Shape, ...]", shape[1:])
    if shape[0] != "bracket" or len(parts) != 2 or parts[1][0] != "vector":
        return Mismatch(wanted)
    if len(parts[1]) - 1 != count:
        return Mismatch(wanted, VECTOR_LENGTH)
    coordinates = cast("tuple[Shape, ...]", parts[1][1:])
    if any(part[0] == "register" and part[1] not in _COORDINATES for part in coordinates):
        return Mismatch("coordinates in .b32, .u32 or .s32 registers", OPERAND_TYPE)
    return _mismatch_handle(parts[0])


def _mismatch_handle(shape: Shape) -> Mismatch | None:
    """Check the handle of a tensor map, texture or surface: a variable, or a 64-bit register."""
    if shape[0] == "symbol" or (shape[0] == "register" and shape[1] in ("b64", "u64", "s64", "")):
        return None
    return Mismatch("a variable or a 64-bit register before the coordinates", OPERAND_TYPE)


KINDS = (
    Kind("address", "an address", _mismatch_address, _example_address),
    Kind("memory", "an address, generic if the opcode has no state space", _mismatch_memory, _example_address),
    Kind(
        "tensor",
        "a tensor map and the coordinates of an element",
        _mismatch_tensor,
        lambda argument, use, _index: (
            f"[%u64_9, {{{', '.join(f'%s32_{10 + i}' for i in range(use.count(argument)))}}}]",
        ),
    ),
)
