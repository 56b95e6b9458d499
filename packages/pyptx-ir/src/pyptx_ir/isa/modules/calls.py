"""Compare calls with their callees: number, size and kind of arguments. Measured on ptxas 13.5; manual: "call"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.counting import counted
from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.isa.modules.scopes import UNDECLARED, UNKNOWN
from pyptx_ir.isa.modules.sizes import storage_of, type_bytes
from pyptx_ir.isa.scalar_types import is_bits, is_float, is_integer
from pyptx_ir.isa.shapes import shape_of
from pyptx_ir.syntax.nodes import BranchTargets, CallTargets
from pyptx_ir.syntax.operands import CallList, Register, Sink, Symbol, Vector

if TYPE_CHECKING:
    from pyptx_ir.isa.modules.scopes import Storage
    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import CallPrototype, Function, Instruction, Parameter
    from pyptx_ir.syntax.operands import Operand


# Register types of function pointers, which have the module's address size; empty if the type is unknown.
_POINTERS = frozenset({"b32", "u32", "s32", "b64", "u64", "s64", ""})
# Register types that cannot be arguments of a call: integers of 8 or 16 bits and predicates.
_UNPASSED = frozenset({"pred", "u8", "s8", "u16", "s16"})
_PACKED = "f16x2"
_RESULT = "return value"
_SINGLE_BYTES, _DOUBLE_BYTES = 4, 8
_DIRECT = "call{.uni} (returns), function, (arguments)"
_INDIRECT = "call{.uni} (returns), pointer, (arguments), label of a .callprototype or .calltargets"


@dataclass(frozen=True, slots=True)
class _Call:
    """Parts of a call: each parenthesized list with its operand index; `prototype` is the label after the lists."""

    callee: Operand | None
    callee_at: int = 0
    returns: tuple[Operand, ...] = ()
    arguments: tuple[Operand, ...] = ()
    returns_at: int = 0
    arguments_at: int = 0
    prototype: str = ""
    surplus: int = 0


def call(walk: Walk, node: Instruction) -> None:
    """Check the operands of a call, and compare them with the declaration or prototype of its callee."""
    parts = _parts(node)
    finding = _misspelt(node, parts)
    if finding is None and isinstance(parts.callee, Register | Symbol):
        finding = _by_name(walk, parts, parts.callee.name)
    if finding is not None:
        walk.report(finding)


def _misspelt(node: Instruction, parts: _Call) -> Finding | None:
    unknown = [word for word in node.opcode[1:] if word != "uni"]
    help = f"use the form {_DIRECT}"
    if unknown:
        return Finding("modifier", f"call has no modifier .{unknown[0]}", help, word=f".{unknown[0]}")
    if parts.callee is None:
        return Finding("operand-count", "call without a function", help)
    if parts.surplus:
        return Finding("operand-count", "call with unexpected operands", help)
    if not isinstance(parts.callee, Register | Symbol) or "." in parts.callee.name:
        return Finding("operand-kind", "callee must be a function or a pointer to one", help, operand=parts.callee_at)
    return None


def _by_name(walk: Walk, parts: _Call, name: str) -> Finding | None:
    """Check a call by its callee: a function, a pointer, or another name."""
    kind = walk.scope[name]
    if kind == ".func" and parts.prototype:
        message = f"direct call of '{name}' with a prototype: only indirect calls take one"
        return Finding("operand-count", message, f"remove '{parts.prototype}'", word=parts.prototype)
    if kind == ".func":
        if walk.routine is not None:
            walk.routine.callees.add(name)
        _compare(walk, parts, walk.functions[name][0], name)
        return None
    if kind not in _POINTERS:
        what = "an entry" if kind == ".entry" else "neither a function nor a pointer to one"
        help = (
            "move the entry's code into a .func and call that .func" if kind == ".entry" else f"use the form {_DIRECT}"
        )
        return Finding("call-target", f"'{name}' is {what}: only a .func can be called", help, word=name)
    return _through_pointer(walk, parts, name)


def _through_pointer(walk: Walk, parts: _Call, name: str) -> Finding | None:
    help = f"use the form {_INDIRECT}"
    if not parts.prototype:
        message = f"indirect call through '{name}' without a .callprototype or .calltargets"
        return Finding("operand-count", message, help, word=name)
    named = walk.scope.list_of(parts.prototype)
    if isinstance(named, BranchTargets) or walk.scope[parts.prototype] not in (".targets", UNKNOWN):
        message = f"'{parts.prototype}' is not the label of a .callprototype or .calltargets"
        return Finding("operand-kind", message, help, word=parts.prototype)
    for wanted in _wanted(walk, named):
        _compare(walk, parts, wanted, parts.prototype)
    return None


def _wanted(walk: Walk, named: CallPrototype | CallTargets | None) -> tuple[Function | CallPrototype, ...]:
    """Return the declaration that an indirect call must match: its prototype, or the first function of its targets."""
    if isinstance(named, CallTargets):
        return tuple(walk.functions[target][0] for target in named.targets if target in walk.functions)[:1]
    return () if named is None else (named,)


def _parts(node: Instruction) -> _Call:
    operands = node.operands
    returns_at = 0 if operands and isinstance(operands[0], CallList) else -1
    callee_at = returns_at + 1
    callee = operands[callee_at] if callee_at < len(operands) else None
    arguments_at = next((i for i in range(callee_at + 1, len(operands)) if isinstance(operands[i], CallList)), -1)
    last = operands[-1] if operands else None
    prototype = last.name if isinstance(last, Symbol) and last is not callee and len(operands) > callee_at + 1 else ""
    return _Call(
        callee,
        callee_at,
        _elements(operands[0]) if returns_at == 0 else (),
        _elements(operands[arguments_at]) if arguments_at > 0 else (),
        0,
        max(arguments_at, callee_at),
        prototype,
        len(operands) - callee_at - 1 - (arguments_at > 0) - bool(prototype),
    )


def _elements(operand: Operand) -> tuple[Operand, ...]:
    return operand.elements if isinstance(operand, CallList) else ()


def _compare(walk: Walk, parts: _Call, wanted: Function | CallPrototype, name: str) -> None:
    parameters = wanted.parameters or ()
    for what, given, expected, at in (
        ("argument", parts.arguments, parameters, parts.arguments_at),
        (_RESULT, parts.returns, wanted.returns, parts.returns_at),
    ):
        if len(given) != len(expected):
            message = f"'{name}' has {counted(len(expected), what)}; this call has {len(given)}"
            help = f"match the declaration: {_signature(wanted)}"
            walk.report(Finding("call-arguments", message, help, operand=at))
            continue
        _note_narrow(walk, expected, name, what, at)
        for argument, parameter in zip(given, expected, strict=True):
            fault = _fault(walk, argument, parameter, what)
            if fault:
                word = argument.name if isinstance(argument, Register | Symbol) else ""
                help = f"match the declaration of '{name}': {_signature(wanted)}"
                walk.report(Finding("call-argument", fault, help, operand=at, word=word))


def _note_narrow(walk: Walk, expected: tuple[Parameter, ...], name: str, what: str, at: int) -> None:
    """Record a call that passes a predicate or a small integer: ptxas rejects kernels that reach the call."""
    small = next((one for one in expected if one.type in _UNPASSED and not one.dimensions and not one.vector), None)
    if small is None or walk.routine is None:
        return
    message = f"{what} of '{name}' has type .{small.type}, which calls cannot pass"
    help = "declare the parameter .b32, or an array"
    walk.routine.narrow_calls += (Finding("call-argument", message, help, operand=at, at=walk.at),)


def narrow(walk: Walk) -> None:
    """Report the calls with predicates and small integers that entries reach.

    If a function returns several values, ptxas compiles the module without ABI and passes values of any type.
    """
    if not any(routine.narrow_calls for routine in walk.routines):
        return
    if any(len(node.returns) > 1 for node, _ in walk.functions.values()):
        return
    reached = {id(one): one for entry in walk.entries() for one in walk.called_by(entry)}
    for routine in reached.values():
        for finding in routine.narrow_calls:
            walk.report(finding)


def _fault(walk: Walk, argument: Operand, parameter: Parameter, what: str) -> str:
    """Return the fault of a call's argument or return value (`what`), or an empty string."""
    wanted = storage_of("param", parameter, parameter.dimensions)
    if isinstance(argument, Register | Symbol):
        return _named_fault(walk, argument.name, parameter, wanted, what)
    if isinstance(argument, Sink):
        return "" if what == _RESULT else "'_' as an argument: only return values can be discarded"
    if isinstance(argument, Vector):
        return "vector argument in braces: pass the vector register by its name"
    shape = shape_of(argument, walk.scope.__getitem__)
    if shape[0] != "literal":
        return "expected a register, a .param variable or a constant"
    return _constant_fault(str(shape[1]), parameter, wanted, what)


def _constant_fault(kind: str, parameter: Parameter, wanted: Storage, what: str) -> str:
    """Return the fault of a constant in a call. ptxas accepts floating-point constants for results, but drops them."""
    if wanted.is_array:
        return "expected an array, got a literal"
    if kind == "int" and what == _RESULT:
        return "expected a register or a .param variable for a return value, got an integer constant"
    if parameter.vector:
        fits = wanted.size == _SINGLE_BYTES or (wanted.size == _DOUBLE_BYTES and kind != "single")
    else:
        is_pattern = kind == "single" and parameter.type == _PACKED
        fits = is_pattern or is_bits(parameter.type) or (is_integer if kind == "int" else is_float)(parameter.type)
    given = "an integer" if kind == "int" else "a floating-point"
    return "" if fits else f"expected .{parameter.type}, got {given} constant"


def _named_fault(walk: Walk, name: str, parameter: Parameter, wanted: Storage, what: str) -> str:
    kind = walk.scope[name]
    if kind in (UNDECLARED, UNKNOWN):
        return ""
    if "." in name:
        return f"'{name}' is a component of a vector register: pass the whole register"
    if kind == ".param":
        storage = walk.scope.storage_of(name)
        return _memory_fault(name, storage, wanted) if storage is not None else ""
    if kind is None:
        return f"'{name}' is a special register: copy it with mov first"
    if kind.startswith("."):
        return f"expected a register or a .param variable, got '{name}'"
    return _register_fault(name, kind, parameter, wanted, what) if kind else ""


def _register_fault(name: str, kind: str, parameter: Parameter, wanted: Storage, what: str) -> str:
    vector, _, element = kind.rpartition(".")
    if vector and not parameter.vector:
        return f"expected a scalar, got the vector register '{name}'"
    passed, taken = vector, parameter.vector or ""
    if what == _RESULT:
        passed, taken = taken, passed
    if (parameter.vector and not vector) or passed < taken:  # ptxas accepts v4.u16 for v2.u32; the reverse crashes it
        return f"expected a .{parameter.vector} vector, got the .{kind} register '{name}'"
    if not vector and _differ(element, parameter.type, is_array=False):
        return f"expected .{parameter.type}, got the .{kind} register '{name}'"
    is_other = "pred" in (kind, parameter.type) and kind != parameter.type
    if is_other or wanted.is_array or type_bytes(element, vector or None) != wanted.size:
        described = "a predicate" if parameter.type == "pred" else _described(wanted)
        return f"expected {described}, got the .{kind} register '{name}'"
    return ""


def _differ(given: str, wanted: str, *, is_array: bool) -> bool:
    """Return whether ptxas rejects a type of an argument for a parameter of the same size; untyped bits match all."""
    if is_bits(given) or is_bits(wanted) or _PACKED in (given, wanted) or "pred" in (given, wanted):
        return False
    return given != wanted if is_array else is_float(given) != is_float(wanted)


def _memory_fault(name: str, storage: Storage, wanted: Storage) -> str:
    """Return the fault of a variable as a call's argument; an array parameter without a size accepts any size."""
    if storage.header:
        return f"'{name}' is a parameter of this function: copy it to a local .param variable"
    if storage.is_array != wanted.is_array or (wanted.size and storage.size != wanted.size):
        return f"expected {_described(wanted)}, got '{name}', {_described(storage)}"
    if storage.type and wanted.type and _differ(storage.type, wanted.type, is_array=wanted.is_array):
        return f"expected .{wanted.type}, got '{name}' of type .{storage.type}"
    if storage.alignment != wanted.alignment:
        return f"expected an alignment of {wanted.alignment} bytes, got {storage.alignment} ('{name}')"
    return ""


def _described(storage: Storage) -> str:
    what = "an array" if storage.is_array else "a scalar"
    return what if storage.size is None else f"{what} of {counted(storage.size, 'byte')}"


def _signature(wanted: Function | CallPrototype) -> str:
    def spelt(parameters: tuple[Parameter, ...]) -> str:
        return ", ".join(
            f".{parameter.space} .{parameter.type}" + "[]" * bool(parameter.dimensions) for parameter in parameters
        )

    returns = f"({spelt(wanted.returns)}) " if wanted.returns else ""
    return f"{returns}({spelt(wanted.parameters or ())})"
