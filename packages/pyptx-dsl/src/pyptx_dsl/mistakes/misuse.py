"""Replacement of Python's errors in the body of a kernel by errors that explain the mistake.

`ptx.fma.rn`, `range(register)`, `ptx.add(u32, d, a)` raise an AttributeError or TypeError of Python without any
reference to PTX. `worded` encloses the body and raises an error of this package instead: at the same line, with the
mistake and the correction. Errors unrelated to this package are not changed.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyptx_dsl.errors import CallError, OperandError, TruthValueError
from pyptx_dsl.mistakes.conversions import conversion
from pyptx_dsl.origin import at_instruction
from pyptx_dsl.python_habits import BLOCKS, CALLS, OPERATORS, RUNS_EARLY
from pyptx_dsl.registers.faults import pointer_hint
from pyptx_dsl.registers.handle import Handle
from pyptx_dsl.registers.operands import TypeOperandError
from pyptx_dsl.types import PtxType
from pyptx_ir.errors import PyptxError
from pyptx_ir.machinery import is_machinery

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from types import TracebackType

    from pyptx_dsl.errors import DslError
    from pyptx_dsl.mistakes.source_expressions import ExpressionContext

__all__ = ["worded"]

_MARGIN = 100
"""Endless recursion: a function with at least this many frames, and at most this many frames left to Python's limit."""
_OURS = (
    "PtxType|SpecialReg|RegArray|NegPred|Reg|TensorSpec|SharedAlloc|SharedSlice|Dimensions|Single|method|function|Inst"
)
_OPERATION = re.compile(r"unsupported operand type\(s\) for (.+?): '(\w+)' and '(\w+)'")
_NAMED = re.compile(
    rf"'({_OURS})' object|must be real number, not ({_OURS})\b|not '?({_OURS})\b'?|type ({_OURS}) does|type '({_OURS})'"
)
_UFUNC = "does not support ufuncs"


@contextmanager
def worded() -> Generator[None]:
    """Replace a TypeError or AttributeError about an object of this package by an error that explains it."""
    try:
        yield
    except TypeOperandError as error:
        raise _without_type(error).with_traceback(error.__traceback__) from None
    except TruthValueError as error:
        raise _of_call(error).with_traceback(error.__traceback__) from None
    except PyptxError:
        raise
    except (TypeError, AttributeError, NameError, RecursionError) as error:
        told = _told(error)
        if told is None:
            raise
        raise told.with_traceback(error.__traceback__) from None


def _without_type(error: TypeOperandError) -> DslError:
    """Return the error for a type passed as an operand, with the user's call corrected in its help."""
    from pyptx_dsl.mistakes.calling import type_as_operand

    return type_as_operand(error, _users_place(error))


def _of_call(error: TruthValueError) -> TruthValueError:
    """Return the error for a Python function such as `max` that tests a register's truth value, with a remedy."""
    place = _users_place(error)
    called = place.node if place is not None else None
    help = CALLS.get(ast.unparse(called.func)) if isinstance(called, ast.Call) else None
    return error if help is None else TruthValueError(error.register, help, error.where)


def _users_place(error: BaseException) -> ExpressionContext | None:
    """Return the expression that raised in the innermost user frame of an error's traceback; None without source."""
    from pyptx_dsl.mistakes.source_expressions import place_of

    users = [step for step in _steps(error) if not is_machinery(step.tb_frame)]
    return place_of(users[-1].tb_frame, users[-1].tb_lasti) if users else None


def _steps(error: BaseException) -> list[TracebackType]:
    """Return the traceback entries of a caught error, one per frame, outermost frame first."""
    steps: list[TracebackType] = []
    step = error.__traceback__
    while step is not None:
        steps.append(step)
        step = step.tb_next
    return steps


def _told(error: TypeError | AttributeError | NameError | RecursionError) -> DslError | None:
    """Return the error that replaces Python's error; None if the mistake does not concern this package."""
    steps = _steps(error)
    step = steps[-1]
    if isinstance(error, RecursionError) or len(steps) > sys.getrecursionlimit() - _MARGIN:
        return _endless(steps)
    if is_machinery(step.tb_frame):
        return None
    from pyptx_dsl.mistakes.source_expressions import place_of

    where = at_instruction(step.tb_frame.f_code, step.tb_lineno, step.tb_lasti)
    place = place_of(step.tb_frame, step.tb_lasti)
    if isinstance(error, NameError):
        from pyptx_dsl.mistakes.foreign_names import foreign_name

        return foreign_name(error, place, where)
    if isinstance(error, AttributeError):
        from pyptx_dsl.mistakes.unknown_attributes import unknown_attribute

        return unknown_attribute(error, place, where)
    return _of_type(str(error), place, where)


def _endless(steps: Sequence[TracebackType]) -> DslError | None:
    """Return the error for endless recursion of a user's function; None for recursion elsewhere."""
    users = Counter(step.tb_frame.f_code for step in steps if not is_machinery(step.tb_frame))
    code, count = next(iter(users.most_common(1)), (None, 0))
    if code is None or count < _MARGIN:
        return None
    inner = next(step for step in reversed(steps) if step.tb_next is not None and step.tb_frame.f_code is code)
    return CallError(
        f"{code.co_name} recurses without end: a condition on a register has no effect while tracing",
        where=at_instruction(code, inner.tb_lineno, inner.tb_lasti),
        help="write a loop: `for i in ptx.range_(n):` or `with ptx.loop():`",
    )


def _of_type(text: str, place: ExpressionContext | None, where: str | None) -> DslError | None:
    """Return the error that explains a TypeError of an operator, a `with`, a call, or a function that needs numbers."""
    operation = _OPERATION.search(text)
    if operation is not None:
        return _operation(operation, place, where)
    if "context manager" in text:
        return _block(place, where)
    if place is not None and isinstance(place.node, ast.Call):
        if isinstance(dtype := place.value(place.node.func), PtxType):
            return _called_type(dtype, place.node, place, where)
        from pyptx_dsl.mistakes.calling import mismatched_call

        told = mismatched_call(place.node, place, where)
        if told is not None:
            return told
    if _NAMED.search(text) is None and _UFUNC not in text:
        return None
    return _wants_number(text, place, where)


def _called_type(dtype: PtxType, call: ast.Call, place: ExpressionContext, where: str | None) -> DslError:
    """Return the error for a call of a PTX type, such as `f32(i)`."""
    value = place.value(call.args[0]) if call.args else None
    help = f"create a register with a number with reg.scalar({dtype}, init=…)"
    if isinstance(value, Handle):
        help = conversion(dtype, value.dtype, ast.unparse(call.args[0]))
    return CallError(f"{dtype} is a type and cannot be called", where=where, help=help)


def _operation(found: re.Match[str], place: ExpressionContext | None, where: str | None) -> DslError | None:
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
        help=_tensor_hint(kinds, place) or OPERATORS.get(symbol, OPERATORS[""]),
    )


def _tensor_hint(kinds: list[str], place: ExpressionContext | None) -> str:
    if "TensorSpec" not in kinds:
        return ""
    name = "X"
    if place is not None and isinstance(place.node, ast.BinOp):
        side = place.node.left if kinds[0] == "TensorSpec" else place.node.right
        name = ast.unparse(side)
    return pointer_hint(name)


def _is_uncalled(value: object) -> bool:
    """Return whether a value is a special register's function, written without parentheses: `ptx.special.laneid`."""
    from pyptx_dsl.instructions.groups.special_registers import Dimensions, Single

    return isinstance(getattr(value, "__self__", value), Dimensions | Single)


def _uncalled(text: str, where: str | None) -> CallError:
    inner = text if text.endswith((".x", ".y", ".z")) or not _has_components(text) else f"{text}.x"
    return CallError(f"{text} is a function that returns a register", where=where, help=f"call it: {inner}()")


def _has_components(text: str) -> bool:
    from pyptx_dsl.instructions.groups.special_registers import Dimensions, Special

    return isinstance(getattr(Special, text.rpartition(".")[2], None), Dimensions)


def _block(place: ExpressionContext | None, where: str | None) -> DslError | None:
    """Return the error for `with` on a value without a context manager: `with ptx.if_:`, `with ptx.range_(8):`."""
    if place is None:
        return None
    # Python locates an error of `with` at the whole statement up to 3.12, at the context expression in later versions.
    items = place.node.items if isinstance(place.node, ast.With) else ()
    for node in (place.node, *(item.context_expr for item in items)):
        called = isinstance(node, ast.Call)
        function = place.value(node.func if isinstance(node, ast.Call) else node)
        name = getattr(function, "__name__", "")
        if name in BLOCKS and str(getattr(function, "__module__", "")).startswith("pyptx"):
            message = f"ptx.{name} cannot be used in `with`" if called else f"ptx.{name} is not called"
            return CallError(message, where=where, help=f"write `{BLOCKS[name]}`")
    return None


def _wants_number(text: str, place: ExpressionContext | None, where: str | None) -> DslError:
    """Return the error for a register passed to Python, `math` or NumPy, which require a number."""
    node = None if place is None else place.node
    if place is not None and isinstance(node, ast.Subscript):
        return _subscript(place, node, where)
    if place is not None and isinstance(node, ast.Call):
        if _is_uncalled(place.value(node.func)):
            return _uncalled(ast.unparse(node.func), where)
        name = ast.unparse(node.func)
        help = CALLS.get(name.rpartition(".")[2], CALLS[""])
        return OperandError(f"{name} needs a Python number, got a register", where=where, help=help)
    if "iterable" in text:
        return OperandError(text, where=where, help="write a loop over a register as `for i in ptx.range_(n):`")
    return OperandError(text, where=where, help=CALLS[""])


def _subscript(place: ExpressionContext, node: ast.Subscript, where: str | None) -> DslError:
    from pyptx_dsl.contract.tensors import TensorSpec

    name, value = ast.unparse(node.value), place.value(node.value)
    if isinstance(value, TensorSpec):
        message = f"{name} is an array in global memory and cannot be indexed here"
        return OperandError(message, where=where, help=pointer_hint(name))
    if isinstance(node.value, ast.List | ast.Tuple | ast.Dict) or type(value) in {list, tuple, range, str, dict}:
        return OperandError(
            f"a register cannot index the Python object {name}: {RUNS_EARLY}",
            where=where,
            help="put the data in shared memory (smem.alloc), or pass it as an array",
        )
    return OperandError(
        f"{ast.unparse(node)}: {name} cannot be indexed",
        where=where,
        help="use reg.array(f32, n) for an array of registers, smem.alloc for shared memory",
    )
