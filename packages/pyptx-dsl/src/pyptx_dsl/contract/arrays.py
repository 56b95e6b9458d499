"""Checks that the arrays of a call are of one framework, and that NumPy arrays have element types of PTX.

Each runtime accepts arrays of one framework. Arrays of no framework or of different frameworks are rejected here, by
argument name, so that the error does not depend on the runtime. No framework is imported: a caller with an array has
already imported it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, cast

from pyptx_dsl.errors import DtypeError, ForeignArrayError, LayoutError
from pyptx_ir.element_types import BY_ARRAY
from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@value
class ArrayKind(Value):
    """Array type of a framework: its name in messages, module, type, and the call that converts other arrays to it."""

    name: str
    module: str
    type: str
    prefix: str
    function: str


JAX: Final = ArrayKind("jax array", "jax", "Array", "jnp", "asarray")
TORCH: Final = ArrayKind("torch tensor", "torch", "Tensor", "torch", "as_tensor")
NUMPY: Final = ArrayKind("NumPy array", "numpy", "ndarray", "np", "asarray")
KINDS: Final = (JAX, TORCH, NUMPY)
"""Array kinds by priority: the first of them that a call has among its arguments determines the call's framework."""


def kind_of(value: object) -> ArrayKind | None:
    """Return the array kind (framework) of an array; None for a value of no known framework."""
    for kind in KINDS:
        known = getattr(sys.modules.get(kind.module), kind.type, None)
        if known is not None and isinstance(value, known):
            return kind
    return None


def check_arrays(kernel: str, named: Iterable[tuple[str, object]]) -> None:
    """Raise ContractError for the first argument of another framework, or for an invalid NumPy array.

    Torch tensors cannot be mixed with other arrays; jax arrays can be mixed with NumPy arrays, which jax converts. A
    call without arrays is not checked here.
    """
    arguments = [(name, value, kind_of(value)) for name, value in named]
    first = next((kind for kind in KINDS if any(found is kind for _, _, found in arguments)), None)
    if first is None:
        return
    for name, argument, kind in arguments:
        if kind is not first and (first, kind) != (JAX, NUMPY):
            raise foreign(kernel, name, argument, first)
    for name, argument, kind in arguments:
        if kind is NUMPY:
            _check_numpy(kernel, name, argument)


def foreign(kernel: str, name: str, value: object, wanted: ArrayKind) -> ForeignArrayError:
    """Return the error for an argument whose framework differs from the framework of the call."""
    kind = kind_of(value)
    what = f"a {kind.name}" if kind else f"of type {type(value).__name__}"
    function = "from_dlpack" if hasattr(value, "__dlpack__") else wanted.function
    return ForeignArrayError(
        f"{kernel}: {name} is {what}, in a call with {wanted.name}s",
        help=f"convert it: {wanted.prefix}.{function}({name})",
    )


def element_name(array: object) -> str:
    """Return the name of an array's element type, which NumPy, torch and jax share."""
    dtype = cast("Any", array).dtype
    return str(getattr(dtype, "name", dtype)).rpartition(".")[2]


def unknown_elements(kernel: str, name: str, array: object) -> DtypeError:
    """Return the error for an array with an element type that PTX lacks."""
    return DtypeError(
        f"{kernel}: {name} has dtype {element_name(array)}, which has no PTX type",
        help=f"convert {name} before the call",
    )


def _check_numpy(kernel: str, name: str, array: object) -> None:
    """Raise ContractError for a NumPy array that no runtime accepts; runtimes check other arrays."""
    if element_name(array) not in BY_ARRAY:
        raise unknown_elements(kernel, name, array)
    dtype = cast("Any", array).dtype
    if not dtype.isnative:
        raise DtypeError(
            f"{kernel}: {name} has non-native byte order ({dtype.str})",
            help=f'convert it: {name}.astype({name}.dtype.newbyteorder("="))',
        )
    if isinstance(array, sys.modules["numpy"].ma.MaskedArray):
        raise LayoutError(
            f"{kernel}: {name} is a masked array, whose mask would be ignored",
            help=f"pass {name}.filled(value), or pass {name}.data and the mask as separate arrays",
        )


def named_arguments(
    tensors: Sequence[str], arrays: Sequence[object], outputs: Sequence[object] = ()
) -> list[tuple[str, object]]:
    """Return the arguments of a call by name: inputs in order, then the arrays of `out=`."""
    found = [(tensors[at] if at < len(tensors) else f"array {at}", array) for at, array in enumerate(arrays)]
    behind = tensors[len(tensors) - len(outputs) :] if len(outputs) <= len(tensors) else ()
    return [*found, *((f"out= for {name}", array) for name, array in zip(behind, outputs, strict=False))]
