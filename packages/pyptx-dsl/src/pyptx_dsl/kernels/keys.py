"""Keys of the trace cache: template values that are equal only if they give the same text."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import cast

from pyptx_dsl.registers.operands import as_items

_SCALARS = (bool, int, str, bytes, type(None))


def freeze(value: object) -> Hashable | None:
    """Return a hashable stand-in for a value, or None when there is no safe one.

    Types take part, because `1`, `1.0` and `True` are equal in Python and different in PTX; floats by their repr,
    because `-0.0 == 0.0` and NaN differs from itself.
    """
    if isinstance(value, _SCALARS):
        return (type(value), value)
    if isinstance(value, float):
        return (float, repr(value))
    items = as_items(value)
    if items is not None:
        parts = [freeze(item) for item in items]
        return None if None in parts else (type(value).__name__, *parts)
    if isinstance(value, Mapping):
        rows = [(freeze(key), freeze(item)) for key, item in cast("Mapping[object, object]", value).items()]
        return None if any(None in row for row in rows) else (dict, *rows)
    if type(value).__hash__ is None or type(value).__module__.partition(".")[0] in {"numpy", "torch", "jax"}:
        return _freeze_number(value)
    return (type(value), value)


def _freeze_number(value: object) -> Hashable | None:
    """NumPy scalars are numbers; arrays and tensors may change behind a key, so they have none."""
    item = getattr(value, "item", None)
    if item is None or getattr(value, "shape", None) != ():
        return None
    return (type(value).__name__, repr(item()))
