"""`call_of`: the call of a function of `ptx` that emits a given instruction.

Candidates are functions of `ptx` with a matching name, the longest first: for `fence.proxy.alias`,
`ptx.fence.proxy.alias`, then `ptx.fence`. A function's parameters have the names of modifier slots and operands in the
instruction table; `emits` declares exceptions (`emission.py`). The arguments are the modifiers and operands that match
these names in a table row. A call is accepted only if it emits the original instruction in a dry run.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from functools import cache, lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

from pyptx_dsl.instructions.completion import provided
from pyptx_dsl.instructions.forms.binding import bound, may_lack
from pyptx_dsl.instructions.forms.call_forms import Call
from pyptx_dsl.instructions.forms.dotted import Inst
from pyptx_dsl.instructions.forms.dry_run import rehearsed
from pyptx_dsl.instructions.forms.emission import emission_of
from pyptx_dsl.instructions.forms.readings import readings
from pyptx_dsl.instructions.forms.wrapper import Wrapper
from pyptx_dsl.instructions.names import MODULES, load
from pyptx_dsl.naming import to_ptx
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyptx_dsl.instructions.forms.call_forms import Argument
    from pyptx_ir.syntax.nodes import Instruction
    from pyptx_ir.syntax.operands import Operand

__all__ = ["call_of"]


def call_of(instruction: Instruction, declared: Callable[[str], str | None] | None = None) -> Call | None:
    """Return the call of a function of `ptx` that emits `instruction`, or None if only `ptx.inst` can emit it.

    `declared` returns the type of a register by its name, `"u32"`, or None if unknown; functions that check the types
    of their registers then reject the call. The call has no redundant keywords; a guard is its `pred`.
    """
    types = declared or _unknown
    for name in _candidates(instruction.opcode):
        for call in _attempts(name, instruction):
            found = _confirmed(call, instruction, types)
            if found is not None:
                return _shortest(found, instruction, types)
    return None


def _unknown(_name: str) -> str | None:
    return None


def _attempts(name: str, instruction: Instruction) -> Iterator[Call]:
    """Yield calls of a function that may emit an instruction; a sink `_` is tried as None, a literal as a number."""
    function = Call(name, ()).function
    for reading in readings(instruction):
        for call in bound(name, function, reading, _guard(instruction)):
            plain = _each(_number, call)
            yield from dict.fromkeys((_each(_nothing, plain), plain, call))


def _guard(instruction: Instruction) -> Operand | None:
    guard = instruction.guard
    if guard is None:
        return None
    register = tree.Register(guard.register) if guard.register.startswith("%") else tree.Symbol(guard.register)
    return tree.Negated(register) if guard.negated else register


def _each(change: Callable[[Argument], Argument], call: Call) -> Call:
    arguments = tuple(map(change, call.arguments))
    return replace(call, arguments=arguments, keywords=tuple((name, change(each)) for name, each in call.keywords))


def _nothing(argument: Argument) -> Argument:
    """Return None for the sink operand `_`, and any other argument unchanged."""
    return None if isinstance(argument, tree.Sink) else argument


def _number(argument: Argument) -> Argument:
    """Return a literal such as `12` as a Python integer, and any other argument unchanged."""
    if not isinstance(argument, tree.Immediate):
        return argument
    digits = argument.text.lstrip("-")
    return int(argument.text) if digits.isdecimal() and (digits == "0" or digits[0] != "0") else argument


def _confirmed(call: Call, instruction: Instruction, declared: Callable[[str], str | None]) -> Call | None:
    """Return a call if it emits exactly the instruction, with `result` set if the call declares its destination."""
    first = next(iter(instruction.operands), None)
    found = rehearsed(call, declared, first.first if isinstance(first, tree.Pair) else first)
    if found is None:
        return None
    emitted, result = found
    same = (emitted.opcode, emitted.operands, emitted.guard) == (
        instruction.opcode,
        instruction.operands,
        instruction.guard,
    )
    return replace(call, result=result) if same else None


def _shortest(call: Call, instruction: Instruction, declared: Callable[[str], str | None]) -> Call:
    """Return the call without keywords that are unnecessary: without them the call emits the same instruction."""
    function = call.function
    for keyword in [each for each in call.keywords if may_lack(function, each[0])]:
        shorter = replace(call, keywords=tuple(each for each in call.keywords if each != keyword), result=None)
        call = _confirmed(shorter, instruction, declared) or call
    return call


@lru_cache(maxsize=4096)
def _candidates(opcode: tuple[str, ...]) -> tuple[str, ...]:
    """Return the functions of `ptx` whose dotted name parts all occur in an opcode, longest match first."""
    lengths = _runs(opcode)
    said = {
        name: sum(lengths[segment] for segment in segments)
        for name, segments in _functions().items()
        if all(segment in lengths for segment in segments)
    }
    return tuple(sorted(said, key=lambda name: (-said[name], name)))


def _runs(opcode: tuple[str, ...]) -> dict[str, int]:
    """Return possible part of a function's name -> number of opcode tokens that it replaces (`arriveexpecttx`: 2).

    A name part may lack a modifier's text from `::` on: `sp` in `mma.sp` covers `sp::ordered_metadata`.
    """
    heads = tuple(word.partition("::")[0] for word in opcode)
    places = combinations(range(len(opcode) + 1), 2)
    return {_plain("".join(words[start:end])): end - start for start, end in places for words in (opcode, heads)}


def _plain(word: str) -> str:
    return word.replace("_", "").replace("::", "").lower()


@cache
def _functions() -> dict[str, tuple[str, ...]]:
    """Return the dotted name of each function of `ptx`, including plugins' -> parts of its opcode prefix."""
    names = dict.fromkeys([*(name for line in MODULES.values() for name in line.split()), *provided()])
    found = (pair for name in names for pair in _below(name, load(name, {})))
    return {path: tuple(_plain(segment) for segment in _segments(path, function)) for path, function in found}


def _segments(path: str, function: object) -> list[str]:
    """Return the opcode prefix of a function in parts: declared by `emits`, or else the parts of its name."""
    return emission_of(function).head.split(".") if emission_of(function).head else list(map(to_ptx, path.split(".")))


def _below(path: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield the dotted name and the object of each function in a namespace of `ptx`, except `ptx.inst`."""
    if isinstance(value, Inst):
        return
    if isinstance(value, Wrapper) or inspect.isfunction(value) or inspect.ismethod(value):
        yield path, value
        return
    if isinstance(value, type) or not type(value).__module__.startswith("pyptx"):
        return
    if callable(value):
        yield path, value
    for name in dir(value):
        if not name.startswith("_"):
            yield from _below(f"{path}.{name}", getattr(value, name))
