"""Python's own errors in the body of a kernel, worded for who wrote it.

`ptx.fma.rn`, `range(register)`, `ptx.add(u32, d, a)` end in an AttributeError or TypeError of Python that knows nothing
of PTX. `worded` stands around the body and raises in their place an error of ours: at the same line, with what is
wrong and what to write. An error that has nothing to do with this package passes as it is.
"""

from __future__ import annotations

import ast
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyptx_dsl.errors import CallError, OperandError
from pyptx_dsl.origin import at_instruction
from pyptx_dsl.python_habits import BLOCKS, CALLS, OPERATORS, RUNS_EARLY
from pyptx_dsl.registers.faults import pointer_hint
from pyptx_dsl.registers.operands import TypeOperandError
from pyptx_ir.errors import PyptxError
from pyptx_ir.machinery import is_machinery

if TYPE_CHECKING:
    from collections.abc import Generator

    from pyptx_dsl.errors import DslError
    from pyptx_dsl.mistakes.source_expressions import Place

__all__ = ["worded"]

_OURS = "SpecialReg|RegArray|NegPred|Reg|TensorSpec|SharedAlloc|SharedSlice|Dimensions|Single|method|function|Inst"
_OPERATION = re.compile(r"unsupported operand type\(s\) for (.+?): '(\w+)' and '(\w+)'")
_NAMED = re.compile(
    rf"'({_OURS})' object|must be real number, not ({_OURS})\b|not '?({_OURS})\b'?|type ({_OURS}) does|type '({_OURS})'"
)
_UFUNC = "does not support ufuncs"


@contextmanager
def worded() -> Generator[None]:
    """Raise an error of ours in place of a TypeError or AttributeError of Python's about something of ours."""
    try:
        yield
    except TypeOperandError as error:
        raise _without_type(error).with_traceback(error.__traceback__) from None
    except PyptxError:
        raise
    except (TypeError, AttributeError) as error:
        told = _told(error)
        if told is None:
            raise
        raise told.with_traceback(error.__traceback__) from None


def _without_type(error: TypeOperandError) -> DslError:
    """Return the error of a type among operands, with the call as it is to be written."""
    from pyptx_dsl.mistakes.calling import type_as_operand
    from pyptx_dsl.mistakes.source_expressions import place_of

    step, users = error.__traceback__, None
    while step is not None:
        users = users if is_machinery(step.tb_frame) else step
        step = step.tb_next
    return type_as_operand(error, None if users is None else place_of(users.tb_frame, users.tb_lasti))


def _told(error: TypeError | AttributeError) -> DslError | None:
    """Return the error to raise instead, or None for one that is the user's own."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    if step is None or is_machinery(step.tb_frame):
        return None
    from pyptx_dsl.mistakes.source_expressions import place_of

    where = at_instruction(step.tb_frame.f_code, step.tb_lineno, step.tb_lasti)
    place = place_of(step.tb_frame, step.tb_lasti)
    if isinstance(error, AttributeError):
        from pyptx_dsl.mistakes.unknown_attributes import unknown_attribute

        return unknown_attribute(error, place, where)
    return _of_type(str(error), place, where)


def _of_type(text: str, place: Place | None, where: str | None) -> DslError | None:
    """Word a TypeError: an operator, a block, a call, or something that wants a number."""
    operation = _OPERATION.search(text)
    if operation is not None:
        return _operation(operation, place, where)
    if "context manager" in text:
        return _block(place, where)
    if place is not None and isinstance(place.node, ast.Call):
        from pyptx_dsl.mistakes.calling import mismatched_call

        told = mismatched_call(place.node, place, where)
        if told is not None:
            return told
    if _NAMED.search(text) is None and _UFUNC not in text:
        return None
    return _wants_number(text, place, where)


def _operation(found: re.Match[str], place: Place | None, where: str | None) -> DslError | None:
    symbol, *kinds = found.groups()
    if not any(re.fullmatch(_OURS, kind) for kind in kinds):
        return None
    if place is not None and isinstance(place.node, ast.BinOp | ast.AugAssign):
        for side in ast.iter_child_nodes(place.node):
            if _is_uncalled(place.value(side)):
                return _uncalled(ast.unparse(side), where)
    if not {"Reg", "SpecialReg", "NegPred", "RegArray", "TensorSpec"} & set(kinds):
        return None
    shown = "**" if symbol.startswith("**") else symbol
    return OperandError(
        f"{shown} is not defined for {kinds[0]} and {kinds[1]}",
        where=where,
        hint=_tensor_hint(kinds, place) or OPERATORS.get(symbol, OPERATORS[""]),
    )


def _tensor_hint(kinds: list[str], place: Place | None) -> str:
    if "TensorSpec" not in kinds:
        return ""
    name = "X"
    if place is not None and isinstance(place.node, ast.BinOp):
        side = place.node.left if kinds[0] == "TensorSpec" else place.node.right
        name = ast.unparse(side)
    return pointer_hint(name)


def _is_uncalled(value: object) -> bool:
    """Tell whether a value is a special register whose parentheses are missing."""
    from pyptx_dsl.instructions.special_registers import Dimensions, Single

    return isinstance(getattr(value, "__self__", value), Dimensions | Single)


def _uncalled(text: str, where: str | None) -> CallError:
    inner = text if text.endswith((".x", ".y", ".z")) or not _has_components(text) else f"{text}.x"
    return CallError(f"{text} is no register yet", where=where, hint=f"call it: {inner}()")


def _has_components(text: str) -> bool:
    from pyptx_dsl.instructions.special_registers import Dimensions, Special

    return isinstance(getattr(Special, text.rpartition(".")[2], None), Dimensions)


def _block(place: Place | None, where: str | None) -> DslError | None:
    """Word a `with` around something that is no block: `with ptx.if_:`, `with ptx.range_(8):`."""
    if place is None:
        return None
    # Up to Python 3.12 the fault lies at the whole statement, from then on at the expression.
    items = place.node.items if isinstance(place.node, ast.With) else ()
    for node in (place.node, *(item.context_expr for item in items)):
        called = isinstance(node, ast.Call)
        function = place.value(node.func if isinstance(node, ast.Call) else node)
        name = getattr(function, "__name__", "")
        if name in BLOCKS and str(getattr(function, "__module__", "")).startswith("pyptx"):
            message = f"ptx.{name} is no block of `with`" if called else f"ptx.{name} is not called"
            return CallError(message, where=where, hint=f"write `{BLOCKS[name]}`")
    return None


def _wants_number(text: str, place: Place | None, where: str | None) -> DslError:
    """Word what Python, `math` or NumPy says of a register: it is no number yet."""
    node = None if place is None else place.node
    if place is not None and isinstance(node, ast.Subscript):
        return _subscript(place, node, where)
    if place is not None and isinstance(node, ast.Call):
        if _is_uncalled(place.value(node.func)):
            return _uncalled(ast.unparse(node.func), where)
        name = ast.unparse(node.func)
        hint = CALLS.get(name.rpartition(".")[2], CALLS[""])
        return OperandError(f"{name} cannot take a register: it wants a number now", where=where, hint=hint)
    if "iterable" in text:
        return OperandError(text, where=where, hint="a loop on the GPU is `for i in ptx.range_(n):`")
    return OperandError(text, where=where, hint=CALLS[""])


def _subscript(place: Place, node: ast.Subscript, where: str | None) -> DslError:
    from pyptx_dsl.contract.tensors import TensorSpec

    name, value = ast.unparse(node.value), place.value(node.value)
    if isinstance(value, TensorSpec):
        message = f"{name} is an array in global memory: it has no elements here"
        return OperandError(message, where=where, hint=pointer_hint(name))
    if isinstance(node.value, ast.List | ast.Tuple | ast.Dict) or type(value) in {list, tuple, range, str, dict}:
        return OperandError(
            f"a register cannot index {name}, which is Python's: {RUNS_EARLY}",
            where=where,
            hint="keep the data in shared memory (smem.alloc), or pass it as an array",
        )
    return OperandError(
        f"{ast.unparse(node)}: {name} has no elements",
        where=where,
        hint="registers in an array are reg.array(f32, n); shared memory is smem.alloc",
    )
