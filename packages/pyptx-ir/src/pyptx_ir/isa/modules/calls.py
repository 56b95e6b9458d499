"""Calls against what they call: number, size and kind of arguments. Measured on ptxas 13.5; manual: "call"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.isa.modules.scopes import UNDECLARED, UNKNOWN
from pyptx_ir.isa.modules.sizes import storage_of, type_bytes
from pyptx_ir.syntax.operands import CallList, Immediate, Register, Sink, Symbol

if TYPE_CHECKING:
    from pyptx_ir.isa.modules.scopes import Storage
    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import CallPrototype, Function, Instruction, Parameter
    from pyptx_ir.syntax.operands import Operand


@dataclass(frozen=True, slots=True)
class _Call:
    """The parts of a call, each list with its place among the operands."""

    callee: Operand | None
    returns: tuple[Operand, ...] = ()
    arguments: tuple[Operand, ...] = ()
    returns_at: int = 0
    arguments_at: int = 0
    prototype: str = ""


def call(walk: Walk, node: Instruction) -> None:
    """Compare a call with the declaration or the prototype of what it calls."""
    parts = _parts(node)
    if not isinstance(parts.callee, Register | Symbol):
        return
    name = parts.callee.name
    kind = walk.scope[name]
    if kind == ".entry":
        message = f"'{name}' is an entry; only a .func can be called"
        walk.report(Finding("call-target", message, "move the code into a .func that both use", word=name))
        return
    if kind == ".func":
        if walk.routine is not None:
            walk.routine.callees.add(name)
        _compare(walk, parts, walk.functions[name][0], name)
    elif parts.prototype and (prototype := walk.scope.prototype_of(parts.prototype)) is not None:
        _compare(walk, parts, prototype, parts.prototype)


def _parts(node: Instruction) -> _Call:
    operands = node.operands
    returns_at = 0 if operands and isinstance(operands[0], CallList) else -1
    callee_at = returns_at + 1
    callee = operands[callee_at] if callee_at < len(operands) else None
    arguments_at = next((i for i in range(callee_at + 1, len(operands)) if isinstance(operands[i], CallList)), -1)
    last = operands[-1] if operands else None
    return _Call(
        callee,
        _elements(operands[0]) if returns_at == 0 else (),
        _elements(operands[arguments_at]) if arguments_at > 0 else (),
        0,
        max(arguments_at, callee_at),
        last.name if isinstance(last, Symbol) and last is not callee else "",
    )


def _elements(operand: Operand) -> tuple[Operand, ...]:
    return operand.elements if isinstance(operand, CallList) else ()


def _compare(walk: Walk, parts: _Call, wanted: Function | CallPrototype, name: str) -> None:
    parameters = wanted.parameters or ()
    for what, given, expected, at in (
        ("arguments", parts.arguments, parameters, parts.arguments_at),
        ("return values", parts.returns, wanted.returns, parts.returns_at),
    ):
        if len(given) != len(expected):
            message = f"'{name}' has {len(expected)} {what}; this call has {len(given)}"
            hint = f"it is declared as {_signature(wanted)}"
            walk.report(Finding("call-arguments", message, hint, operand=at))
            continue
        for argument, parameter in zip(given, expected, strict=True):
            fault = _fault(walk, argument, parameter)
            if fault:
                word = argument.name if isinstance(argument, Register | Symbol) else ""
                hint = f"'{name}' is declared as {_signature(wanted)}"
                walk.report(Finding("call-argument", fault, hint, operand=at, word=word))


def _fault(walk: Walk, argument: Operand, parameter: Parameter) -> str:
    """Return what is wrong with an argument, or an empty string."""
    wanted = storage_of("param", parameter, parameter.dimensions)
    if isinstance(argument, Immediate):
        return "a literal is no array" if wanted.is_array else ""
    if isinstance(argument, Sink) or not isinstance(argument, Register | Symbol):
        return ""
    kind = walk.scope[argument.name]
    if kind is None or kind in (UNDECLARED, UNKNOWN, ""):
        return ""
    if kind == ".param":
        storage = walk.scope.storage_of(argument.name)
        return _memory_fault(argument.name, storage, wanted) if storage is not None else ""
    if kind.startswith("."):
        return f"'{argument.name}' is no register and no .param variable"
    if kind == "pred":
        return ""
    size = type_bytes(kind)
    if wanted.is_array or (size is not None and wanted.size is not None and size != wanted.size):
        return f"'{argument.name}' is a .{kind} register, and the parameter {_described(wanted)}"
    return ""


def _memory_fault(name: str, storage: Storage, wanted: Storage) -> str:
    if storage.header:
        return f"'{name}' is a parameter of this function, which can't be handed on as it is"
    if storage.is_array != wanted.is_array or (wanted.size is not None and storage.size != wanted.size):
        return f"'{name}' {_described(storage)}, and the parameter {_described(wanted)}"
    if storage.alignment != wanted.alignment:
        return f"'{name}' is aligned to {storage.alignment} bytes, and the parameter to {wanted.alignment}"
    return ""


def _described(storage: Storage) -> str:
    what = "is an array" if storage.is_array else "is a scalar"
    return what if storage.size is None else f"{what} of {storage.size} bytes"


def _signature(wanted: Function | CallPrototype) -> str:
    def spelt(parameters: tuple[Parameter, ...]) -> str:
        return ", ".join(
            f".{parameter.space} .{parameter.type}" + "[]" * bool(parameter.dimensions) for parameter in parameters
        )

    returns = f"({spelt(wanted.returns)}) " if wanted.returns else ""
    return f"{returns}({spelt(wanted.parameters or ())})"
