"""Declarations of the instructions that a function of `ptx` emits; inversion (instruction to call) needs them.

By default, the parts of a function's dotted name are the opcode prefix, and its parameters have the names of operands
and modifier slots (`.rnd`) in the instruction table. `emits` declares the exceptions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Emission", "emission_of", "emits"]

Function = TypeVar("Function", bound="Callable[..., object]")


@dataclass(frozen=True, slots=True)
class Emission:
    """Opcode prefix of a `ptx` function (empty: its dotted name), and parameter -> operands that the parameter sets."""

    head: str = ""
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


_PLAIN = Emission()


def emits(head: str = "", **names: str) -> Callable[[Function], Function]:
    """Declare the opcode prefix `head` of a function's instructions, and operands or modifiers of its parameters.

    `head` may contain attributes of the function's object: `"cp.async.bulk.tensor.{self.rank}d"`. A parameter is an
    operand or a modifier slot in a table row; several names are alternatives: `metadata="e meta"`. `"|"` is `q` of an
    operand `p|q`. `"box.map"`, `"box.address"` and `"box.coordinates"` are the elements of a tensor address.
    `"left,right"` are two operands in one parameter, and `"type.1"` is the name of the second type.
    """
    emission = Emission(head, {parameter: tuple(each.split()) for parameter, each in names.items()})

    def declare(function: Function) -> Function:
        function.__dict__["__emission__"] = emission
        return function

    return declare


def emission_of(function: object) -> Emission:
    """Return the `emits` declaration of a function, of a method, or of the `__call__` of an object."""
    caller = function if hasattr(function, "__emission__") else getattr(type(function), "__call__", None)  # noqa: B004  its own, not the object's
    found = cast("Emission", getattr(caller, "__emission__", _PLAIN))
    owner = getattr(function, "__self__", function)
    return Emission(found.head.format(self=owner), found.names) if "{" in found.head else found
