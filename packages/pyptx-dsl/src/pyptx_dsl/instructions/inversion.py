"""From an instruction to the call of `ptx` that emits it: `call_of`.

Which functions there are, the namespace says: `fence.proxy.alias` may be `ptx.fence.proxy.alias` or `ptx.fence`, the
first of which says more. What a function takes, its signature says: its parameters are called as the slots and
operands in the rows are, or a declaration beside it says what they are (`emission.py`). What there is to pass, the
rows of the instruction say. A call made of these is tried, and it counts only if it emits the instruction that it was
made from.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from functools import cache, lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

from pyptx_dsl.instructions.binding import bound, may_lack
from pyptx_dsl.instructions.call_forms import Call
from pyptx_dsl.instructions.completion import provided
from pyptx_dsl.instructions.dotted import Inst
from pyptx_dsl.instructions.emission import emission_of
from pyptx_dsl.instructions.names import MODULES, load
from pyptx_dsl.instructions.readings import readings
from pyptx_dsl.instructions.rehearsal import rehearsed
from pyptx_dsl.instructions.wrapper import Wrapper
from pyptx_dsl.naming import to_ptx
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyptx_dsl.instructions.call_forms import Argument
    from pyptx_ir.syntax.nodes import Instruction
    from pyptx_ir.syntax.operands import Operand

__all__ = ["call_of"]


def call_of(instruction: Instruction, declared: Callable[[str], str | None] | None = None) -> Call | None:
    """Return the call of a function of `ptx` that emits `instruction`, or None where only `ptx.inst` can.

    `declared` returns the type of a register by its name, `"u32"`, or None where it is not known: functions that look
    at the types of their registers then refuse them. The call says no more than it must, and has a guard as `pred`.
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
    """Yield calls of a function that may emit an instruction: with None for the sink, and with numbers of Python."""
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
    """Return None for the sink."""
    return None if isinstance(argument, tree.Sink) else argument


def _number(argument: Argument) -> Argument:
    """Return the integer that a literal is, where it is spelt as Python spells it."""
    if not isinstance(argument, tree.Immediate):
        return argument
    digits = argument.text.lstrip("-")
    return int(argument.text) if digits.isdecimal() and (digits == "0" or digits[0] != "0") else argument


def _confirmed(call: Call, instruction: Instruction, declared: Callable[[str], str | None]) -> Call | None:
    """Return a call if it emits the instruction, with the register that it returns if that is one of its own."""
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
    """Leave out the keywords without which a call emits the same."""
    function = call.function
    for keyword in [each for each in call.keywords if may_lack(function, each[0])]:
        shorter = replace(call, keywords=tuple(each for each in call.keywords if each != keyword), result=None)
        call = _confirmed(shorter, instruction, declared) or call
    return call


@lru_cache(maxsize=4096)
def _candidates(opcode: tuple[str, ...]) -> tuple[str, ...]:
    """Return the functions whose names are made of words of an opcode, those of most words first."""
    lengths = _runs(opcode)
    said = {
        name: sum(lengths[segment] for segment in segments)
        for name, segments in _functions().items()
        if all(segment in lengths for segment in segments)
    }
    return tuple(sorted(said, key=lambda name: (-said[name], name)))


def _runs(opcode: tuple[str, ...]) -> dict[str, int]:
    """Return what can be a segment of a function's name, and how many words it says: `arriveexpecttx` says two.

    A word may lack what stands behind its `::`, as `sp` in `mma.sp` stands for `sp::ordered_metadata`.
    """
    heads = tuple(word.partition("::")[0] for word in opcode)
    places = combinations(range(len(opcode) + 1), 2)
    return {_plain("".join(words[start:end])): end - start for start, end in places for words in (opcode, heads)}


def _plain(word: str) -> str:
    return word.replace("_", "").replace("::", "").lower()


@cache
def _functions() -> dict[str, tuple[str, ...]]:
    """Return the names of all functions of `ptx`, those of plugins too, and their segments."""
    names = dict.fromkeys([*(name for line in MODULES.values() for name in line.split()), *provided()])
    found = (pair for name in names for pair in _below(name, load(name, {})))
    return {path: tuple(_plain(segment) for segment in _segments(path, function)) for path, function in found}


def _segments(path: str, function: object) -> list[str]:
    """Return the words that an instruction of a function has: those that are declared, or those of its name."""
    return emission_of(function).head.split(".") if emission_of(function).head else list(map(to_ptx, path.split(".")))


def _below(path: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield a function, or those of a namespace; `ptx.inst` has every instruction, and is none of them."""
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
