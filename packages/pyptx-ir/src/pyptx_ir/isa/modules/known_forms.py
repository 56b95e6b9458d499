"""What instructions the table has nothing against, so that a process asks it once for each form.

A form is an opcode, the bits of an address, and the shapes of the operands, which are numbered: to look one up must
cost less than to judge it.
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
# By form, what its constants must keep to, one way of reading it after the other; nothing if they may be any.
RightForms: TypeAlias = "dict[FormKey, tuple[tuple[tuple[int, Limits], ...], ...]]"

_SPACES = (".const", ".global", ".local", ".param")
# Whatever texts a process reads, what is kept is small: longer shapes have no number, and a full set begins anew.
_LONGEST = 20
_MOST = 1 << 16


@functools.cache
def _numbers() -> dict[Shape, int]:
    return {}


def shape_number(shape: Shape) -> int:
    """Return the number of a shape, from 1 on; 0 if it has none."""
    numbers = _numbers()
    if len(shape) > _LONGEST or len(numbers) >= _MOST:
        return numbers.get(shape, 0)
    return numbers.setdefault(shape, len(numbers) + 1)


@functools.cache
def plain_names() -> dict[str | None, int]:
    """Return the numbers of the shapes of a scalar register, by its type, and of a label."""
    numbers: dict[str | None, int] = {name: shape_number(("register", name)) for name in sorted(TYPES)}
    return numbers | {".label": shape_number(("symbol", ".label"))}


@functools.cache
def plain_addresses() -> dict[str | None, int]:
    """Return the number of the shape of an address by what its base stands for: a scalar register or a variable.

    Not one in .shared: which of these a function uses is noted.
    """
    return {name: shape_number(("address", name)) for name in (*sorted(TYPES), *_SPACES)}


@functools.lru_cache(maxsize=1 << 10)
def vector_number(kinds: tuple[str | None, ...]) -> int:
    """Return the number of the shape of a vector of scalar registers of these types; 0 if one is none."""
    if not all(kind in TYPES for kind in kinds):
        return 0
    return shape_number(("vector", *[("register", str(kind)) for kind in kinds]))


@until_plugins_change(maxsize=64)
def _right_forms(target: str, version: tuple[int, int]) -> RightForms:  # noqa: ARG001 - a table for each of these
    return {}


def right_forms(target: str, version: tuple[int, int]) -> RightForms:
    """Return the forms that are known to be right if their constants are; whoever judges another one adds it."""
    forms = _right_forms(target, version)
    if len(forms) > _MOST:
        forms.clear()
    return forms
