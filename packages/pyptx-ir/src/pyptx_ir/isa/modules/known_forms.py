"""Cache of valid instruction forms, so that a process checks each form against the table only once.

A form is an opcode, the address size, and the operand shapes, which are numbered so that a lookup is cheaper than a
check.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, TypeAlias

from pyptx_ir.isa.scalar_types import TYPES
from pyptx_ir.plugins.caches import until_plugins_change

if TYPE_CHECKING:
    from pyptx_ir.isa.limits import Limits
    from pyptx_ir.isa.shapes import Shape

FormKey: TypeAlias = "tuple[tuple[str, ...] | int, ...]"
# For each valid combination of opcode and operand shapes, the alternative sets of limits on constant operands; an empty
# set permits any constants.
RightForms: TypeAlias = "dict[FormKey, tuple[tuple[tuple[int, Limits], ...], ...]]"

_SPACES = (".const", ".global", ".local", ".param")
# Limits of the cache of valid forms: maximum elements of a cached operand shape; maximum cached shapes, and maximum
# cached forms per target.
_LONGEST = 20
_MOST = 1 << 16


@functools.cache
def _numbers() -> dict[Shape, int]:
    return {}


def shape_number(shape: Shape) -> int:
    """Return the number of an operand shape, counted from 1; 0 if the shape has no number."""
    numbers = _numbers()
    if len(shape) > _LONGEST or len(numbers) >= _MOST:
        return numbers.get(shape, 0)
    return numbers.setdefault(shape, len(numbers) + 1)


@functools.cache
def plain_names() -> dict[str | None, int]:
    """Return the `shape_number` of a scalar register, by type, and of a label."""
    numbers: dict[str | None, int] = {name: shape_number(("register", name)) for name in sorted(TYPES)}
    return numbers | {".label": shape_number(("symbol", ".label"))}


@functools.cache
def plain_addresses() -> dict[str | None, int]:
    """Return the `shape_number` of an address, by its base: the type of a scalar register or a variable's space.

    Addresses of .shared variables have no number here, because the walk records each use of such a variable.
    """
    return {name: shape_number(("address", name)) for name in (*sorted(TYPES), *_SPACES)}


@functools.lru_cache(maxsize=1 << 10)
def vector_number(kinds: tuple[str | None, ...]) -> int:
    """Return the `shape_number` of a vector of scalar registers of these types; 0 if one is not a register type."""
    if not all(kind in TYPES for kind in kinds):
        return 0
    return shape_number(("vector", *[("register", str(kind)) for kind in kinds]))


@until_plugins_change(maxsize=64)
def _right_forms(target: str, version: tuple[int, int]) -> RightForms:  # noqa: ARG001 - a table per combination
    return {}


def right_forms(target: str, version: tuple[int, int]) -> RightForms:
    """Return the cache of valid instruction forms, with the limits of their constants; callers add forms to it."""
    forms = _right_forms(target, version)
    if len(forms) > _MOST:
        forms.clear()
    return forms
