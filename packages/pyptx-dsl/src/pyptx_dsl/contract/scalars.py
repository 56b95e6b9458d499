"""Numbers among the arguments of a kernel: `in_specs=(Tile("N", f32), Scalar(f32))`, and `k(x, 2.0)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import ArgumentCountError, SpecError
from pyptx_dsl.types import is_type
from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyptx_dsl.kernels.declaration import Declaration
    from pyptx_dsl.types import PtxType

__all__ = ["Scalar", "apart"]


@value
class Scalar(Value):
    """A number of type `dtype` that a call passes at the position of an input, or by the parameter's name.

    In the kernel's function it is a register, loaded by `ld.param`. The number is a launch parameter: another value
    needs no new trace. Manual: "Kernel Function Parameters".
    """

    dtype: PtxType

    def __init__(self, dtype: PtxType) -> None:
        """Store the element type of the number; raise SpecError for a type that a kernel parameter cannot have."""
        if not is_type(dtype):
            raise SpecError(
                f"Scalar needs a PTX type, got {dtype!r}", help="pass a type of pyptx.types, as in Scalar(f32)"
            )
        if dtype.memory != dtype.name:
            raise SpecError(f"a parameter cannot be .{dtype}", help=f"write Scalar({dtype.memory or 'u32'})")
        object.__setattr__(self, "dtype", dtype)

    def __repr__(self) -> str:
        """Return the Python call that constructs the Scalar."""
        return f"Scalar({self.dtype})"


def apart(
    declaration: Declaration, arguments: tuple[object, ...], keywords: Mapping[str, object]
) -> tuple[tuple[object, ...], dict[str, object]]:
    """Return the arrays among a call's positional arguments, and the call's keywords with its positional numbers added.

    Raises ArgumentCountError for a wrong number of arguments. torch.compile traces this function.
    """
    given = [(place, name) for place, name in declaration.scalars if name not in keywords]
    if len(arguments) != len(declaration.in_specs) + len(given):
        raise _miscounted(declaration, keywords, len(arguments))
    by_name = [place for place, name in declaration.scalars if name in keywords]
    arrays, named = list(arguments), dict(keywords)
    for place, name in reversed(given):
        named[name] = arrays.pop(place - len([each for each in by_name if each < place]))
    return tuple(arrays), named


def _miscounted(declaration: Declaration, keywords: Mapping[str, object], count: int) -> ArgumentCountError:
    from pyptx_ir.isa.modules.counting import counted

    types = {parameter.name: parameter.type for parameter in declaration.raw}
    listed = [f"{name}: {tile!r}" for name, tile in zip(declaration.tensors, declaration.in_specs, strict=False)]
    for place, name in declaration.scalars:
        listed.insert(place, f"{name}: Scalar({types[name]})")
    wanted = [each for each in listed if each.partition(":")[0] not in keywords]
    return ArgumentCountError(
        f"{declaration.name}: expected {counted(len(wanted), 'argument')} ({', '.join(wanted)}), got {count}"
    )
