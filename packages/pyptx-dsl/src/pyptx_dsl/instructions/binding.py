"""The arguments with which a function of `ptx` may emit an instruction, found by its signature."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from pyptx_dsl.instructions.call_forms import Call
from pyptx_dsl.instructions.wrapper import Wrapper
from pyptx_dsl.types import BY_NAME
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyptx_dsl.instructions.call_forms import Argument
    from pyptx_dsl.instructions.readings import Reading
    from pyptx_ir.syntax.operands import Operand

__all__ = ["bound", "may_lack"]

# Parameters of functions, and the operands of rows that they may stand for, where these are called otherwise.
_OPERANDS: dict[str, tuple[str, ...]] = {
    "dst": ("d", "p", "policy"),
    "pred_out": ("p",),
    "src": ("a",),
    "addr": ("a", "addr"),
    "mbar": ("addr", "mbar"),
    "phase": ("parity", "state"),
    "suspend_time_hint": ("time_hint",),
    "count": ("count", "b"),
    "n": ("n", "a"),
    "p": ("c",),
    "cache_policy": ("policy", "cache_policy"),
    "random_bits": ("rbits",),
    "lut": ("immLut",),
    "metadata": ("e",),
    "selector": ("f",),
    "compare": ("b",),
    "value": ("c",),
    "smem_dst": ("dst",),
    "global_src": ("src",),
    "smem": ("a", "p"),
}
_FRAGMENTS = ("r", "d", "b")
# Parameters that take a word, and the keywords that it has by itself, where it is called otherwise.
_WORDS: dict[str, tuple[str, ...]] = {
    "property": ("op",),
    "level": ("scope",),
    "ordered": ("sp::ordered_metadata",),
}
# Of which matrices the types of a product are, by their number: one of two types multiplies f16.
_MATRICES = {4: "dabc", 2: "dc"}
# Parameters that take a word without what stands in front of its `::`.
_BARE = frozenset({"evict_l1", "evict_l2", "prefetch", "primary", "secondary", "evict"})
_EXTENTS = re.compile(r"m(\d+)n(\d+)k(\d+)")


def bound(name: str, function: object, reading: Reading, guard: Operand | None) -> Iterator[Call]:
    """Yield calls of `function` with what a reading has: with a destination, and without, where it declares its own."""
    if _is_generic(function):
        yield _called(name, _wrapped(reading), {**reading.keywords}, guard)
        return
    parameters = _parameters(function)
    for operands in (reading.operands, dict(list(reading.operands.items())[1:])):
        values = Binding(parameters, replace(reading, operands=operands)).values
        if values is not None:
            yield _called(name, *_split(parameters, values), guard)


def _called(name: str, arguments: tuple[Argument, ...], keywords: dict[str, Argument], guard: Operand | None) -> Call:
    guarded = {} if guard is None else {"pred": guard}
    return Call(name, arguments, tuple({**keywords, **guarded}.items()))


def may_lack(function: object, keyword: str) -> bool:
    """Tell whether a call may leave out a keyword."""
    if _is_generic(function):
        return True
    return all(each.default is not each.empty for each in _parameters(function) if each.name == keyword)


def _is_generic(function: object) -> bool:
    """Tell whether a function takes the keywords of its rows, whatever they are."""
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
    """Return the arguments that go by place, up to the first that is left out, and those that go by keyword."""
    placed: list[Argument] = []
    for parameter in parameters:
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or parameter.name not in values:
            break
        placed.append(values[parameter.name])
    return tuple(placed), {each.name: values[each.name] for each in parameters[len(placed) :] if each.name in values}


class Binding:
    """The values of parameters, as far as a reading has them; `values` is None where one lacks that must be given."""

    def __init__(self, parameters: tuple[inspect.Parameter, ...], reading: Reading) -> None:
        """Take types and words by what parameters are, then operands by their names, then those that are left."""
        self._types = list(reading.types)
        self._words = dict(reading.keywords)
        self._operands = dict(reading.operands)
        self._values: dict[str, Argument] = {}
        for parameter in parameters:
            self._take(parameter)
        for parameter in parameters:
            if self._operands and parameter.name not in self._values and _is_placed_operand(parameter):
                self._keep(parameter, self._operands.pop(next(iter(self._operands))))
        missing = [each for each in parameters if each.default is each.empty and each.name not in self._values]
        self._values.update(dict.fromkeys((each.name for each in missing), None))
        self.values = self._values if all("None" in str(each.annotation) for each in missing) else None

    def _take(self, parameter: inspect.Parameter) -> None:
        kind, name = str(parameter.annotation), parameter.name
        if "PtxType" in kind:
            self._take_type(name)
        elif "bool" in kind:
            said = self._word(name) is not None or name in self._words.values()
            if said != (parameter.default is True):
                self._values[name] = said
        elif not _is_operand(parameter):
            self._take_word(parameter)
        else:
            self._take_operand(parameter)

    def _take_type(self, name: str) -> None:
        matrix = name.removeprefix("dtype_")
        if matrix != name:
            named = dict(zip(_MATRICES.get(len(self._types), ""), self._types, strict=False))
            self._values[name] = BY_NAME[named.get(matrix, "f16")]
        elif self._types:
            word = self._types.pop(0)
            self._values[name] = BY_NAME.get(word, word)

    def _word(self, name: str) -> str | bool | None:
        return next((self._words[each] for each in (name, *_WORDS.get(name, ())) if each in self._words), None)

    def _take_word(self, parameter: inspect.Parameter) -> None:
        name = parameter.name
        word = self._word(name)
        if isinstance(word, str):
            extents = _EXTENTS.fullmatch(word)
            bare = word.partition("::")[2] if name in _BARE else ""
            as_extents = extents is not None and "Sequence" in str(parameter.annotation)
            self._values[name] = tuple(map(int, extents.groups())) if extents and as_extents else bare or word
        elif name == "space":
            self._values[name] = None if "None" in str(parameter.annotation) else "generic"

    def _take_operand(self, parameter: inspect.Parameter) -> None:
        if parameter.name == "p" and parameter.kind is parameter.KEYWORD_ONLY:
            self._take_second(parameter)
            return
        others = _FRAGMENTS if "Fragment" in str(parameter.annotation) else _OPERANDS.get(parameter.name, ())
        for name in (parameter.name, *others):
            if name in self._operands:
                self._keep(parameter, self._operands.pop(name))
                return

    def _take_second(self, parameter: inspect.Parameter) -> None:
        """Give the second half of a pair its own parameter."""
        for name, value in self._values.items():
            if isinstance(value, tree.Pair):
                self._values[name], self._values[parameter.name] = value.first, value.second
                return

    def _keep(self, parameter: inspect.Parameter, operand: Operand) -> None:
        nothing = isinstance(operand, tree.Sink) and "None" in str(parameter.annotation)
        self._values[parameter.name] = None if nothing else operand


def _is_operand(parameter: inspect.Parameter) -> bool:
    """Tell whether a parameter is for an operand: not for a type, a word, a switch or a shape."""
    kind = str(parameter.annotation)
    return not any(each in kind for each in ("PtxType", "bool", "str", "Literal", "Which", "Sequence[int]"))


def _is_placed_operand(parameter: inspect.Parameter) -> bool:
    """Tell whether a parameter is for an operand that a call names by its place, or must name."""
    placed = parameter.kind is not parameter.KEYWORD_ONLY or parameter.default is parameter.empty
    return placed and _is_operand(parameter)
