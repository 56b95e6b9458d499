"""What a function of `ptx` emits, declared beside it: the way from an instruction back to its call needs that.

A function is found by its name, whose parts are words of the opcode, and its parameters by theirs, which are those of
the operands and slots in the rows. What is called otherwise is declared by `emits`.
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
    """The words with which the instructions of a function begin (empty: its name says it), and its parameters."""

    head: str = ""
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


_PLAIN = Emission()


def emits(head: str = "", **names: str) -> Callable[[Function], Function]:
    """Declare that a function emits instructions which begin with `head`, and what its parameters are in their rows.

    `head` may take words from the object that the function belongs to: `"cp.async.bulk.tensor.{self.rank}d"`. A
    parameter is an operand or a slot; several names are alternatives: `metadata="e meta"`. `"|"` is the second half of
    a pair, `"box.map"`, `"box.address"` and `"box.coordinates"` are what stands in a bracket, `"left,right"` are two
    operands in one parameter, and `"type.1"` is the second of the types, as a word.
    """
    emission = Emission(head, {parameter: tuple(each.split()) for parameter, each in names.items()})

    def declare(function: Function) -> Function:
        function.__dict__["__emission__"] = emission
        return function

    return declare


def emission_of(function: object) -> Emission:
    """Return what is declared of a function, of a method, or of the `__call__` of an object."""
    caller = function if hasattr(function, "__emission__") else getattr(type(function), "__call__", None)  # noqa: B004  its own, not the object's
    found = cast("Emission", getattr(caller, "__emission__", _PLAIN))
    owner = getattr(function, "__self__", function)
    return Emission(found.head.format(self=owner), found.names) if "{" in found.head else found
