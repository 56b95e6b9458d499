"""`Call`: a call of a function of `ptx` as data, its execution, and its Python source."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias, cast

from pyptx_dsl.instructions.names import load
from pyptx_dsl.registers.operands import PipeRef
from pyptx_dsl.types import PtxType
from pyptx_ir.isa.special_registers import special_registers
from pyptx_ir.syntax import operands as tree
from pyptx_ir.syntax.spelling import spell

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.syntax.operands import Operand

__all__ = ["Argument", "Call", "expression", "perform", "source"]

Argument: TypeAlias = "PtxType | Operand | str | float | bool | tuple[PtxType, ...] | tuple[int, ...] | None"
"""An argument of a call: one or several types, an operand, a modifier, a number, a bool, or a shape (M, N, K)."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function of `ptx`; `name` is its dotted name without `ptx.`.

    `result` is the register that the instruction writes and the call declares and returns. `result` is None if the
    destination is an argument, or if the instruction has no destination.
    """

    name: str
    arguments: tuple[Argument, ...]
    keywords: tuple[tuple[str, Argument], ...] = ()
    result: Operand | None = None

    @property
    def function(self) -> Callable[..., object]:
        """The function of `ptx` that the call names, loaded from its module or plugin."""
        return _function(self.name)


@lru_cache(maxsize=1024)
def _function(name: str) -> Callable[..., object]:
    first, *rest = name.split(".")
    value = load(first, {})
    for attribute in rest:
        value = getattr(value, attribute)
    return cast("Callable[..., object]", value)


def perform(call: Call, value: Callable[[Operand], object]) -> object:
    """Execute a call in the active trace and return its result; `value` converts an operand to an argument."""
    arguments = [_given(argument, value) for argument in call.arguments]
    return call.function(*arguments, **{name: _given(argument, value) for name, argument in call.keywords})


def _given(argument: Argument, value: Callable[[Operand], object]) -> object:
    match argument:
        case tree.Vector(elements=parts):
            return [_given(part, value) for part in parts]
        case tree.Pair(first=first, second=second):
            return PipeRef(cast("str", _given(first, value)), cast("str", _given(second, value)))
        case PtxType() | str() | float() | int() | tuple() | None:
            return argument
        case _:
            return value(argument)


def source(call: Call, operand: Callable[[Operand], str] | None = None) -> str:
    """Return the Python source of a call; `operand` formats operands and defaults to `expression`.

    The source uses the names `ptx` and `reg`, names of types, and the names in the results of `operand`.
    """
    write = operand or expression
    arguments = [_written(argument, write) for argument in call.arguments]
    arguments += [f"{name}={_written(argument, write)}" for name, argument in call.keywords]
    text = f"ptx.{call.name}({', '.join(arguments)})"
    return text if call.result is None else f"{write(call.result)} = {text}"


def _written(argument: Argument, write: Callable[[Operand], str]) -> str:
    match argument:
        case tree.Vector(elements=parts):
            return f"[{', '.join(_written(part, write) for part in parts)}]"
        case tree.Pair(first=first, second=second):
            return f"reg.PipeRef({_written(first, write)}, {_written(second, write)})"
        case str():
            return json.dumps(argument)
        case PtxType() | float() | int() | tuple() | None:
            return repr(argument)
        case _:
            return write(argument)


def expression(operand: Operand) -> str:
    """Return Python source for an operand: `r1` for `%r1`, `ptx.addr(p, 8)` for `[p+8]`, `~p` for `!p`, or a str."""
    match operand:
        case tree.Register(name=name) if name in special_registers():
            return f"ptx.sreg({json.dumps(name)})"
        case tree.Register(name=name):
            return name.lstrip("%").replace(".", "_")
        case tree.Negated(operand=inner):
            return f"~{expression(inner)}"
        case tree.Vector(elements=parts):
            return f"[{', '.join(map(expression, parts))}]"
        case tree.TensorAddress(elements=parts):
            return f"ptx.tensor_addr({', '.join(map(expression, parts))})"
        case tree.Address(base=base, offset=None):
            return f"ptx.addr({expression(base)})"
        case tree.Address(base=base, offset=tree.Immediate(text=text)) if _is_plain(text):
            return f"ptx.addr({expression(base)}, {text})"
        case _:
            return json.dumps(spell(operand))


def _is_plain(text: str) -> bool:
    return text.lstrip("-").isdecimal() and str(int(text)) == text
