"""The arrays of a call: all of one framework, and those of NumPy with elements that PTX has types for.

Runtimes claim arrays by their framework. What belongs to none, and what belongs to two, is refused here, by argument,
so that the error is the same whoever would have run the call. No framework is imported: whoever has an array has done
that.
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
    """Arrays of a framework: what they are called, their type, and what makes one of something else."""

    name: str
    module: str
    type: str
    prefix: str
    function: str


JAX: Final = ArrayKind("jax array", "jax", "Array", "jnp", "asarray")
TORCH: Final = ArrayKind("torch tensor", "torch", "Tensor", "torch", "as_tensor")
NUMPY: Final = ArrayKind("NumPy array", "numpy", "ndarray", "np", "asarray")
KINDS: Final = (JAX, TORCH, NUMPY)
"""In the order in which they decide whose a call is."""


def kind_of(value: object) -> ArrayKind | None:
    """Return what kind of array a value is."""
    for kind in KINDS:
        known = getattr(sys.modules.get(kind.module), kind.type, None)
        if known is not None and isinstance(value, known):
            return kind
    return None


def check_arrays(kernel: str, named: Iterable[tuple[str, object]]) -> None:
    """Raise the ContractError of the first argument that is no array like the others, or of NumPy's and no kernel's.

    Torch tensors stand by themselves; beside jax arrays there may be NumPy's, which jax takes as its own. A call with
    no array at all is left to whoever looks for its runtime.
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
    """Return the error of an argument that is no array of the kind that the others are."""
    kind = kind_of(value)
    what = f"a {kind.name}" if kind else f"of type {type(value).__name__}"
    function = "from_dlpack" if hasattr(value, "__dlpack__") else wanted.function
    return ForeignArrayError(
        f"{kernel}: {name} is {what}, in a call with {wanted.name}s",
        hint=f"convert it: {wanted.prefix}.{function}({name})",
    )


def element_name(array: object) -> str:
    """Return the name of an array's element type, as NumPy, torch and jax share it."""
    dtype = cast("Any", array).dtype
    return str(getattr(dtype, "name", dtype)).rpartition(".")[2]


def unknown_elements(kernel: str, name: str, array: object) -> DtypeError:
    """Return the error of an array whose elements PTX has no type for."""
    return DtypeError(
        f"{kernel}: {name} holds {element_name(array)}, which PTX has no type for",
        hint=f"convert {name} before the call",
    )


def _check_numpy(kernel: str, name: str, array: object) -> None:
    """Raise the ContractError of a NumPy array that no runtime takes; other arrays are their runtimes' to judge."""
    if element_name(array) not in BY_ARRAY:
        raise unknown_elements(kernel, name, array)
    dtype = cast("Any", array).dtype
    if not dtype.isnative:
        raise DtypeError(
            f"{kernel}: {name} is of foreign byte order ({dtype.str})",
            hint=f'convert it: {name}.astype({name}.dtype.newbyteorder("="))',
        )
    if isinstance(array, sys.modules["numpy"].ma.MaskedArray):
        raise LayoutError(
            f"{kernel}: {name} is a masked array, whose mask would be lost",
            hint=f"pass {name}.filled(value), or {name}.data and the mask as arrays of their own",
        )


def named_arguments(
    tensors: Sequence[str], arrays: Sequence[object], outputs: Sequence[object] = ()
) -> list[tuple[str, object]]:
    """Return the arguments of a call by name: inputs in order, then those that were given for outputs."""
    found = [(tensors[at] if at < len(tensors) else f"array {at}", array) for at, array in enumerate(arrays)]
    behind = tensors[len(tensors) - len(outputs) :] if len(outputs) <= len(tensors) else ()
    return [*found, *((f"out= for {name}", array) for name, array in zip(behind, outputs, strict=False))]
