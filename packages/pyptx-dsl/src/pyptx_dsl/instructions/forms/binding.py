"""`bound`: calls of a function of `ptx` that may emit a given instruction, with arguments by parameter name."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from pyptx_dsl.instructions.forms.call_forms import Call
from pyptx_dsl.instructions.forms.emission import emission_of
from pyptx_dsl.instructions.forms.wrapper import Wrapper
from pyptx_dsl.types import BY_NAME
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyptx_dsl.instructions.forms.call_forms import Argument
    from pyptx_dsl.instructions.forms.readings import Reading
    from pyptx_ir.syntax.operands import Operand

__all__ = ["bound", "may_lack"]

# Number of types in an MMA opcode -> matrices that have these types; with two types, A and B are f16.
_MATRICES = {2: ("d", "c"), 3: ("d", "a", "b"), 4: ("d", "a", "b", "c"), 5: ("d", "a", "b", "c", "scale")}
_EXTENTS = re.compile(r"m(\d+)n(\d+)k(\d+)")


def bound(name: str, function: object, reading: Reading, guard: Operand | None) -> Iterator[Call]:
    """Yield calls of `function` that may emit an instruction: with its destination as an argument, and without."""
    if _is_generic(function):
        yield _called(name, _wrapped(reading), {**reading.keywords}, guard)
        return
    parameters, names = _parameters(function), emission_of(function).names
    for operands in (reading.operands, _behind_result(reading.operands)):
        values = Binding(parameters, replace(reading, operands=operands), names).values
        yield _called(name, *_split(parameters, values), guard)


def _behind_result(operands: dict[str, Operand]) -> dict[str, Operand]:
    """Return the operands after the destination; if that is a pair `p|q`, the operand named `"|"` is `q`."""
    first = next(iter(operands.values()), None)
    rest = dict(list(operands.items())[1:])
    return {"|": first.second, **rest} if isinstance(first, tree.Pair) else rest


def _called(name: str, arguments: tuple[Argument, ...], keywords: dict[str, Argument], guard: Operand | None) -> Call:
    guarded = {} if guard is None else {"pred": guard}
    return Call(name, arguments, tuple({**keywords, **guarded}.items()))


def may_lack(function: object, keyword: str) -> bool:
    """Return whether a call of `function` may omit the keyword `keyword`."""
    if _is_generic(function):
        return True
    return all(each.default is not each.empty for each in _parameters(function) if each.name == keyword)


def _is_generic(function: object) -> bool:
    """Return whether a function accepts, as `**modifiers`, every modifier that the instruction table has for it."""
    return isinstance(function, Wrapper) and any(each.kind is each.VAR_KEYWORD for each in _parameters(function))


def _wrapped(reading: Reading) -> tuple[Argument, ...]:
    types = tuple(BY_NAME[word] for word in reading.types)
    return (types if len(types) != 1 else types[0], *reading.operands.values())


@lru_cache(maxsize=1024)
def _parameters(function: object) -> tuple[inspect.Parameter, ...]:
    signature = inspect.signature(cast("Callable[..., object]", function))
    return tuple(each for each in signature.parameters.values() if each.name != "pred")


def _split(
    parameters: tuple[inspect.Parameter, ...], values: dict[str, Argument]
) -> tuple[tuple[Argument, ...], dict[str, Argument]]:
    """Split `values` (by parameter name) into positional arguments, up to the first omitted parameter, and keywords."""
    placed: list[Argument] = []
    for parameter in parameters:
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or parameter.name not in values:
            break
        placed.append(values[parameter.name])
    return tuple(placed), {each.name: values[each.name] for each in parameters[len(placed) :] if each.name in values}


class Binding:
    """Arguments of a `ptx` function, as far as a `Reading` (instruction matched with a table row) contains them.

    A parameter for a type has `type` in its name. Any other parameter is a modifier or an operand of the table row,
    under the name that `emits` declares for the parameter, or else under its own name. Remaining operands are assigned
    in order to the remaining parameters.
    """

    def __init__(
        self, parameters: tuple[inspect.Parameter, ...], reading: Reading, names: Mapping[str, tuple[str, ...]]
    ) -> None:
        """Assign types, modifiers and operands of the `Reading` (instruction and table row) to the parameters."""
        self._types = list(reading.types)
        self._words = reading.keywords
        self._operands = dict(_out_of_brackets(reading.operands))
        self.values: dict[str, Argument] = {}
        for parameter in parameters:
            for name in (*names.get(parameter.name, ()), parameter.name):
                if parameter.name not in self.values:
                    self._take(parameter, name)
        for parameter in parameters:
            if self._operands and parameter.name not in self.values and _is_placed(parameter):
                self.values[parameter.name] = self._operands.pop(next(iter(self._operands)))
        for parameter in parameters:
            if parameter.name not in self.values and not _may_stay(parameter):
                self.values[parameter.name] = False if parameter.default is True else None

    def _take(self, parameter: inspect.Parameter, name: str) -> None:
        if "type" in parameter.name:
            self._take_type(parameter)
        elif name in self._operands and name != parameter.name:
            self.values[parameter.name] = self._operands.pop(name)
        elif name in self._words:
            word = self._words[name]
            self.values[parameter.name] = True if isinstance(parameter.default, bool) else _extents(word)
        elif name.startswith("type."):
            self._take_type_at(parameter.name, int(name.removeprefix("type.")))
        elif name == "|":
            self._take_second(parameter.name)
        elif "," in name:
            self._take_both(parameter.name, *name.split(","))
        elif name in self._operands:
            self.values[parameter.name] = self._operands.pop(name)

    def _take_type(self, parameter: inspect.Parameter) -> None:
        matrix = parameter.name.removeprefix("dtype_")
        if matrix == parameter.name:
            if self._types:
                word = self._types.pop(0)
                self.values[matrix] = BY_NAME.get(word, word)
            return
        named = dict(zip(_MATRICES.get(len(self._types), ()), self._types, strict=False))
        if matrix in named or parameter.default is parameter.empty:
            self.values[parameter.name] = BY_NAME[named.get(matrix, "f16")]

    def _take_type_at(self, parameter: str, place: int) -> None:
        """Set a parameter to the name of the instruction's type at index `place`; do nothing without such a type."""
        if place < len(self._types):
            self.values[parameter] = self._types[place]

    def _take_second(self, parameter: str) -> None:
        """Set a parameter to `q` of an operand or argument `p|q`, which becomes `p`."""
        if "|" in self._operands:
            self.values[parameter] = self._operands.pop("|")
        for held in (self._operands, self.values):
            for name, value in held.items():
                if isinstance(value, tree.Pair):
                    held[name], self.values[parameter] = value.first, value.second
                    return

    def _take_both(self, parameter: str, first: str, second: str) -> None:
        """Set one parameter to a list of the operands named `first` and `second`."""
        if first in self._operands and second in self._operands:
            self.values[parameter] = tree.Vector((self._operands.pop(first), self._operands.pop(second)))


def _extents(word: object) -> Argument:
    """Return a shape such as `m16n8k16` as a tuple, a decimal word as a number, and any other value unchanged."""
    if not isinstance(word, str):
        return cast("Argument", word)
    extents = _EXTENTS.fullmatch(word)
    return tuple(map(int, extents.groups())) if extents else int(word) if word.isdecimal() else word


def _out_of_brackets(operands: dict[str, Operand]) -> Iterator[tuple[str, Operand]]:
    """Yield operand names and operands; split a tensor address `[map, …, {x, y}]` into map, coordinates and rest."""
    for name, operand in operands.items():
        if name == "box" and isinstance(operand, tree.TensorAddress):
            first, *between, last = operand.elements
            yield from (("box.map", first), ("box.coordinates", last))
            if between:
                yield "box.address", between[0] if len(between) == 1 else tree.Vector(tuple(between))
        else:
            yield name, operand


def _may_stay(parameter: inspect.Parameter) -> bool:
    """Return whether calls may omit a parameter that the instruction does not set: its default is not True or a str."""
    default = parameter.default
    return default is not parameter.empty and default is not True and not isinstance(default, str)


def _is_placed(parameter: inspect.Parameter) -> bool:
    """Return whether a parameter is for an operand: it is positional, or keyword-only without a default."""
    placed = parameter.kind is not parameter.KEYWORD_ONLY or parameter.default is parameter.empty
    return placed and "type" not in parameter.name
