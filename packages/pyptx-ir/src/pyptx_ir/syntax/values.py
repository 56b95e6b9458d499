"""Equality, hash and text of nodes and operands."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Value:
    """What `dataclass` would generate for each class of the tree anew: `==` and `hash` by what counts, and a text.

    Generated for forty classes, these methods take a sixth of the time of `import pyptx`.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        kind: Any = self.__class__
        key = _key(kind)
        return bool(key(self) == key(other))

    def __hash__(self) -> int:
        kind: Any = self.__class__
        return hash(_key(kind)(self))

    def __repr__(self) -> str:
        kind: Any = self.__class__
        shown = ", ".join([f"{name}={getattr(self, name)!r}" for name in _shown(kind)])
        return f"{kind.__qualname__}({shown})"


@cache
def _key(kind: Any) -> Callable[[object], object]:  # noqa: ANN401 - `fields` takes a type that typing can't spell
    """Return the function that gets the fields which count in a comparison."""
    names = [field.name for field in fields(kind) if field.compare]
    return attrgetter(*names) if names else _nothing


@cache
def _shown(kind: Any) -> tuple[str, ...]:  # noqa: ANN401 - as above
    return tuple(field.name for field in fields(kind) if field.repr)


def _nothing(_: object) -> object:
    return ()
