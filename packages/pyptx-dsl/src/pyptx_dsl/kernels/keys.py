"""Keys of the trace cache: two template values have equal keys only if they produce the same PTX."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Mapping
from dataclasses import is_dataclass
from functools import partial
from types import MethodType
from typing import cast

from pyptx_dsl.errors import KeywordError
from pyptx_dsl.registers.operands import as_items
from pyptx_dsl.types import PtxType

_SCALARS = (bool, int, str, bytes, type(None))
_IMMUTABLE = frozenset({*_SCALARS, float, PtxType})
# Top-level modules and packages whose objects are immutable if Python compares them by identity.
_LIBRARIES = frozenset({*sys.stdlib_module_names, "pyptx", "jaxlib"})


def freeze(value: object, name: str = "") -> Hashable | None:
    """Return a hashable cache key of a template value; None for a value that may change.

    Keys include types, because `1`, `1.0` and `True` are equal in Python and different in PTX. Floats are compared by
    repr, because `-0.0 == 0.0` and NaN differs from itself. Raises KeywordError for a mutable object that is compared
    by identity: its trace would be found again after a change. `name` is the value's name in messages, by default the
    keys of a mapping.
    """
    if isinstance(value, _SCALARS):
        return (type(value), value)
    if isinstance(value, float):
        return (float, repr(value))
    items = as_items(value)
    if items is not None:
        parts = [freeze(item, f"{name}[{at}]") for at, item in enumerate(items)]
        return None if None in parts else (type(value).__name__, *parts)
    if isinstance(value, Mapping):
        named = cast("Mapping[object, object]", value).items()
        rows = [(freeze(key), freeze(item, f"{name}[{key!r}]" if name else str(key))) for key, item in named]
        return None if any(None in row for row in rows) else (dict, *rows)
    if isinstance(value, partial | MethodType):
        return _freeze_bound(value, name)
    if type(value).__hash__ is None or _root(value) in {"numpy", "torch", "jax"}:
        return _freeze_number(value)
    _refuse_identity(value, name)
    return (type(value), value)


def is_immutable(value: object) -> bool:
    """Return whether a template value is immutable, so that its identity is a valid cache key."""
    if type(value) is tuple:
        return all(map(is_immutable, cast("tuple[object, ...]", value)))
    return type(value) in _IMMUTABLE


def _freeze_bound(value: partial[object] | MethodType, name: str) -> Hashable | None:
    """Return the cache key of a `functools.partial` or bound method: the keys of its function and bound arguments."""
    if isinstance(value, MethodType):
        parts = [freeze(value.__func__, name), freeze(value.__self__, f"{name}.__self__")]
    else:
        parts = [freeze(part, name) for part in (value.func, value.args, value.keywords)]
    return None if None in parts else (type(value).__name__, *parts)


def _refuse_identity(value: object, name: str) -> None:
    """Raise KeywordError for a template value that is an iterator, or of a user's class without its own `__eq__`."""
    kind = type(value)
    by_identity = kind.__eq__ is object.__eq__ and kind.__hash__ is object.__hash__
    library = _root(value) in _LIBRARIES or _root(value).startswith("pyptx_")
    frozen = is_dataclass(kind) and kind.__dataclass_params__.frozen  # type: ignore[attr-defined] # dataclass's own
    if by_identity and not frozen and (not library or hasattr(kind, "__next__")):
        told = kind.__qualname__
        raise KeywordError(
            f"{name or 'a template value'} must be comparable by value, got an instance of {told}",
            help=f"make {told} a frozen dataclass, or pass numbers, strings, types, functions and tuples",
        )


def _root(value: object) -> str:
    return type(value).__module__.partition(".")[0]


def _freeze_number(value: object) -> Hashable | None:
    """Return the cache key of a NumPy scalar; None for arrays and tensors, whose elements may change afterwards."""
    item = getattr(value, "item", None)
    if item is None or getattr(value, "shape", None) != ():
        return None
    return (type(value).__name__, repr(item()))
