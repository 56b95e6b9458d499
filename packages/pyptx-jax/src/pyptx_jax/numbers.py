"""Traced scalars of a kernel: operands of rank 0 of the custom call, whose values are known when the call runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, cast

from pyptx_bundles import BundleError
from pyptx_dsl.contract.parameters import RawParameter
from pyptx_dsl.errors import KeywordError
from pyptx_dsl.types import from_name
from pyptx_ir.element_types import BY_NAME
from pyptx_jax.framework import dtype, has_dtype, is_integer, is_traced, shape_and_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import jax

    from pyptx_dsl.kernels.declaration import Declaration
    from pyptx_ir.plugins.rows import Launchable, Specialization

    Number = int | float

_TYPES: Final = {"bool", *(row.array for row in BY_NAME.values() if has_dtype(row.array) and row.bits >= 8)}


@dataclass(frozen=True, slots=True)
class Operand:
    """A scalar parameter whose value is an operand of the custom call, and the operand's jax dtype."""

    name: str
    dtype: str

    @property
    def nbytes(self) -> int:
        """Size of the operand in bytes."""
        return dtype(self.dtype).itemsize

    def read(self, memory: memoryview) -> int | float:
        """Return the scalar's value, read from the operand's memory."""
        import numpy as np

        value = np.ndarray((), dtype(self.dtype), memory)
        return int(value) if is_integer(value.dtype) else float(value)


def split(
    kernel: Launchable[Declaration], keywords: Mapping[str, object]
) -> tuple[dict[str, object], dict[str, jax.Array]]:
    """Return the constant keywords, and the traced scalar parameters; raise KeywordError for an invalid traced scalar.

    A traced scalar must have no dimensions and an element type that its parameter accepts.
    """
    declaration = kernel.declaration
    shaping = {*declaration.dimensions, *declaration.templates}
    scalars = {row.name: row for row in declaration.raw if row.is_scalar and row.name not in shaping}
    numbers = {name: value for name, value in keywords.items() if name in scalars and is_traced(value)}
    for name, value in numbers.items():
        _check(kernel.name, scalars[name], value)
    rest = {name: value for name, value in keywords.items() if name not in numbers}
    return rest, cast("dict[str, jax.Array]", numbers)


def _check(kernel: str, parameter: RawParameter, value: object) -> None:
    shape, held = shape_and_dtype(value)
    if shape:
        raise KeywordError(f"{kernel}: {parameter.name} must be a number, got an array of shape {shape}")
    fits = held is not None and held.name in _TYPES and (parameter.type.is_float or is_integer(held))
    if not fits:
        raise KeywordError(f"{kernel}: {parameter.name} has type {held}, declared {parameter.type}")


def operands_of(numbers: Mapping[str, jax.Array]) -> tuple[Operand, ...]:
    """Return an `Operand` for each traced scalar; in the custom call, the operands follow the arrays."""
    return tuple(Operand(name, value.dtype.name) for name, value in numbers.items())


def opened(special: Specialization, names: Sequence[str]) -> Specialization:
    """Return a copy of a specialization in which the scalar parameters with these names have no value."""
    return replace(
        special, parameters=tuple(replace(row, value=None) if row.name in names else row for row in special.parameters)
    )


def filled(special: Specialization, values: Mapping[str, Number]) -> Specialization:
    """Return a specialization with values for scalars that lack one; raise KeywordError for a value out of range."""
    return replace(
        special,
        parameters=tuple(
            replace(row, value=RawParameter(row.name, from_name(row.type)).value(values[row.name]))
            if row.name in values
            else row
            for row in special.parameters
        ),
    )


def check_operands(special: Specialization, plain: object) -> tuple[Operand, ...]:
    """Return the scalar operands listed in a record; raise BundleError if they do not match `special`."""
    named = cast("dict[str, object]", plain) if isinstance(plain, dict) else {}
    operands = tuple(Operand(name, str(held)) for name, held in named.items())
    left = {row.name for row in special.parameters if row.kind == "scalar" and row.value is None}
    if left != set(named) or any(operand.dtype not in _TYPES for operand in operands):
        raise BundleError(
            f"the program's record of {special.entry} lists other operands than the kernel's scalars without a value",
            help="export the program again",
        )
    return operands
