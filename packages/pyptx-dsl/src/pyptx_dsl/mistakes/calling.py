"""The call syntaxes of instructions, and the conversion of a call from one syntax to another.

| syntax | type | modifiers |
|---|---|---|
| `ptx.inst.fma.rn.f32(d, a, b, c)` | a name in the opcode | names in the opcode |
| `ptx.fma(f32, d, a, b, c, rounding="rn")` | the first argument | keywords |
| `ptx.shfl.sync.up(d, a, lane)` | none: there is only one | names and keywords |
| `ptx.mma.sync(shape=…, d=d, a=a, b=b, c=c)` | keywords | keywords |
"""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING, cast

from pyptx_dsl.errors import CallError, OperandError, close
from pyptx_dsl.instructions.forms.wrapper import Wrapper, keywords_of
from pyptx_dsl.naming import to_ptx
from pyptx_dsl.python_habits import ARGUMENTS
from pyptx_dsl.registers.handle import Handle
from pyptx_dsl.types import BY_NAME, PtxType

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_dsl.mistakes.source_expressions import ExpressionContext
    from pyptx_dsl.registers.operands import TypeOperandError

__all__ = ["dotted", "mismatched_call", "type_as_operand"]

_TYPE_FIRST = frozenset({"dtype", "dst_type", "atype", "convert_type"})


def mismatched_call(call: ast.Call, place: ExpressionContext, where: str | None) -> CallError | None:
    """Return the error for a call whose arguments do not match the signature of this package's function; else None."""
    function = place.value(call.func)
    if not callable(function) or not _is_ours(function):
        return None
    if any(isinstance(argument, ast.Starred) for argument in call.args) or any(not key.arg for key in call.keywords):
        return None
    signature = inspect.signature(function)
    name = ast.unparse(call.func)
    try:
        signature.bind(*call.args, **{str(key.arg): key for key in call.keywords})
    except TypeError as error:
        help = (
            ARGUMENTS.get(name)
            or _respelt(call, place, signature)
            or _stray(call, signature)
            or f"the signature is {name}{_plain(signature)}"
        )
        return CallError(f"{name}: {error}", where=where, help=help)
    return None


def dotted(function: object, place: ExpressionContext, where: str | None) -> CallError | None:
    """Return the error for modifiers as attributes of a function that takes them as arguments: `ptx.fma.rn.f32(…)`."""
    call = place.call()
    if call is None or not isinstance(place.node, ast.Attribute):
        return None
    name = ast.unparse(place.node.value)
    ways = _ways(ast.unparse(call.func), call, function)
    signature = _plain(inspect.signature(cast("Callable[..., object]", function)))
    if not ways:
        return CallError(f"{name} has no {place.node.attr!r}", where=where, help=f"the signature is {name}{signature}")
    message = f"{name} is a function with keyword arguments for modifiers: it has no .{place.node.attr}"
    return CallError(message, where=where, help=f"write {' or '.join(ways)}")


def type_as_operand(error: TypeOperandError, place: ExpressionContext | None) -> OperandError:
    """Return the error for a type among the operands of an instruction, with the corrected call."""
    if place is None or not isinstance(place.node, ast.Call):
        return error
    dtype, opcode = error.dtype, error.opcode
    call = place.node
    text, rest = ast.unparse(call.func), [each for each in call.args if not isinstance(place.value(each), PtxType)]
    plain = ast.unparse(ast.Call(call.func, rest, call.keywords))
    if not text.startswith("ptx.inst."):
        return OperandError(f"{text} has no type argument, got {dtype}", where=error.where, help=f"write {plain}")
    typed = text if opcode[-1] == dtype.name else f"{text}.{dtype.name}"
    ways = [ast.unparse(ast.Call(ast.Name(typed), rest, []))]
    ways += _type_first(text.removeprefix("ptx.inst."), call)
    return OperandError(
        f"the type of {text} is part of its opcode, got {dtype} as an operand",
        where=error.where,
        help=f"write {' or '.join(ways)}",
    )


def _type_first(words: str, call: ast.Call) -> list[str]:
    """Return the same call as `ptx.<opcode>(type, …)`, if that function exists and the opcode has no modifiers."""
    from pyptx_dsl import ptx

    function = None if "." in words else vars(ptx).get(words) or (getattr(ptx, words) if words in ptx.__all__ else None)
    if function is None:
        return []
    return [ast.unparse(ast.Call(ast.Name(f"ptx.{words}"), call.args, call.keywords))]


def _respelt(call: ast.Call, place: ExpressionContext, signature: inspect.Signature) -> str:
    """Return a help text with the corrected call, if the call has another function's syntax; else ""."""
    text = ast.unparse(call.func)
    if text.startswith("ptx.inst."):
        ways = _type_first(text.removeprefix("ptx.inst.").partition(".")[0], _typed(call, text))
        return f"write modifiers of ptx.inst as part of the opcode: {' or '.join([_inst(call, text), *ways])}"
    first = next(iter(signature.parameters.values()), None)
    given = place.value(call.args[0]) if call.args else None
    if first is None or first.name not in _TYPE_FIRST or not isinstance(given, Handle):
        return ""
    typed = ast.Call(call.func, [ast.Name(given.dtype.name), *call.args], call.keywords)
    return f"pass the type first: {ast.unparse(typed)}; the signature is {text}{_plain(signature)}"


def _typed(call: ast.Call, text: str) -> ast.Call:
    """Return the call of a `ptx.inst` opcode with the opcode's type as the first argument."""
    word = next((each for each in text.split(".")[:1:-1] if each in BY_NAME), None)
    return call if word is None else ast.Call(call.func, [ast.Name(word), *call.args], call.keywords)


def _inst(call: ast.Call, text: str) -> str:
    """Return a call of `ptx.inst` with the values of its keywords as modifiers of the opcode."""
    values = [key.value.value for key in call.keywords if key.arg != "pred" and isinstance(key.value, ast.Constant)]
    words = [str(value) for value in values if isinstance(value, str)]
    opcode, *behind = text.removeprefix("ptx.inst.").split(".")
    names = [each for each in call.args if isinstance(each, ast.Name) and each.id in BY_NAME]
    spelt = ".".join(["ptx.inst", opcode, *words, *behind, *(each.id for each in names[:1])])
    guards = [key for key in call.keywords if key.arg == "pred"]
    return ast.unparse(ast.Call(ast.Name(spelt), [each for each in call.args if each not in names], guards))


def _stray(call: ast.Call, signature: inspect.Signature) -> str:
    """Return a help text with the valid keywords nearest to the first unknown keyword; "" if all are known."""
    for key in call.keywords:
        if key.arg is not None and key.arg not in signature.parameters:
            return close(key.arg, tuple(signature.parameters))
    return ""


def _ways(text: str, call: ast.Call, function: object) -> list[str]:
    """Return corrected calls for `ptx.<opcode>.<modifiers>(…)`: of `ptx.inst`, and with the modifiers as keywords."""
    root, _, words = text.partition(".")
    opcode, *modifiers = words.split(".")
    from pyptx_ir.plugins.manager import manager

    if root != "ptx" or not manager().instructions_of(to_ptx(opcode)):
        return []
    ways = [ast.unparse(ast.Call(ast.Name(f"ptx.inst.{words}"), call.args, call.keywords))]
    if modifiers and modifiers[-1] in BY_NAME and (given := _as_keywords(function, modifiers)) is not None:
        keywords = [ast.keyword(name, ast.Constant(value)) for name, value in given.items()]
        typed = [ast.Name(modifiers[-1]), *call.args]
        ways.append(ast.unparse(ast.Call(ast.Name(f"ptx.{opcode}"), typed, [*keywords, *call.keywords])))
    return ways


def _as_keywords(function: object, modifiers: list[str]) -> dict[str, str | bool] | None:
    """Return the modifiers before an opcode's type as keywords of a function; None if the function lacks a keyword."""
    if isinstance(function, Wrapper):
        return keywords_of(function, tuple(map(to_ptx, modifiers)))
    first = next(iter(inspect.signature(cast("Callable[..., object]", function)).parameters), "")
    return {} if len(modifiers) == 1 and first in _TYPE_FIRST else None


def _plain(signature: inspect.Signature) -> str:
    """Return the text of a function's signature without annotations."""
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def _is_ours(function: object) -> bool:
    module = getattr(function, "__module__", None) or type(function).__module__
    return isinstance(module, str) and module.startswith("pyptx")
