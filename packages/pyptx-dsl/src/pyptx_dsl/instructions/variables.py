"""Declarations and directives inside a kernel: variables, pragmas, source positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pyptx_dsl.errors import DuplicateNameError, OperandError, RegisterTypeError
from pyptx_dsl.naming import to_ptx
from pyptx_dsl.registers import operators
from pyptx_dsl.registers.operands import as_integer
from pyptx_dsl.trace_context import active
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_dsl.tracing.trace import Trace
    from pyptx_dsl.types import PtxType

__all__ = ["file_", "loc", "pragma", "var"]

_SPACES = ("shared", "shared::cta", "local", "global", "const", "param")
_LINKING = ("extern", "visible", "weak", "common")
_FILES = "ptx.variables.files"


def var(
    state_space: str,
    dtype: PtxType,
    name: str,
    *,
    size: int | None = None,
    align: int | None = None,
    linking: str | None = None,
    init: object | None = None,
) -> str:
    """Declare a variable and return its name: `ptx.addr(ptx.var("shared", b8, "tile", size=4096, align=128))`.

    `size` counts elements; None is a single one, 0 an array of unknown size (`extern`). `linking` is `extern`,
    `visible`, `weak` or `common`; variables with one, and those in `global` and `const`, are declared in front of the
    entry. `init` is a number or a list of them. Nothing is executed. Raise DuplicateNameError for a name that is
    taken. Manual: "Variables".
    """
    trace = active("ptx.var")
    space = to_ptx(state_space)
    if space not in _SPACES:
        raise OperandError(f"{state_space!r} is no state space of a variable", hint=f"one of {', '.join(_SPACES)}")
    if linking is not None and linking not in _LINKING:
        raise OperandError(f"linking={linking!r}", hint=f"one of {', '.join(_LINKING)}")
    if dtype.memory is None:
        raise RegisterTypeError(f"a variable cannot be .{dtype}", hint="use u8 or u32")
    node = nodes.Variable(
        space=space,
        type=dtype.memory,
        declarators=(nodes.Declarator(name, _dimensions(name, size), _initializer(dtype, init)),),
        linking=linking,
        alignment=align,
        lead="\n",
    )
    if linking is None and space not in {"global", "const"}:
        trace.append(node)
    else:
        trace.claim_symbol(name, space)
        trace.globals.append(node)
    return name


def _dimensions(name: str, size: object) -> tuple[tree.Operand | None, ...]:
    if size is None:
        return ()
    number = as_integer(size)
    if number is None or number < 0:
        raise OperandError(f"variable {name!r}: size={size!r} is no number of elements")
    return (tree.Immediate(str(number)),) if number else (None,)


def _initializer(dtype: PtxType, value: object) -> tree.Operand | None:
    if value is None:
        return None
    if isinstance(value, list | tuple):
        items = cast("Sequence[object]", value)
        return tree.Vector(tuple([operators.immediate(dtype, item) for item in items]))
    if isinstance(value, str):
        return tree.Symbol(value)
    return operators.immediate(dtype, value)


def pragma(value: str) -> None:
    """Put `.pragma "value";` here; it changes nothing that is computed. Manual: "Descriptions of .pragma Strings"."""
    active("ptx.pragma").append(nodes.Pragma(values=(value,)))


def loc(file_idx: int, line: int, col: int = 0) -> None:
    """Put `.loc file line column` here: what follows came from there. The file needs `ptx.file_`."""
    trace = active("ptx.loc")
    numbers = [as_integer(value) for value in (file_idx, line, col)]
    if None in numbers or any((number or 0) < 0 for number in numbers):
        raise OperandError(f"ptx.loc({file_idx!r}, {line!r}, {col!r}) takes three numbers")
    file, row, column = (number or 0 for number in numbers)
    trace.append(nodes.Loc(file=file, line=row, column=column))


def file_(file_idx: int, filename: str) -> None:
    """Declare `.file index "name"` in front of the entry; raise DuplicateNameError for two names of an index."""
    trace = active("ptx.file_")
    index = as_integer(file_idx)
    if index is None or index < 1:
        raise OperandError(f"ptx.file_: {file_idx!r} is no file index", hint="indices count from 1")
    if '"' in filename or "\n" in filename:
        raise OperandError(f"{filename!r} cannot be spelt in PTX", hint="PTX strings have no escapes")
    known = _files(trace)
    if known.setdefault(index, filename) != filename:
        raise DuplicateNameError(f"file {index} is {known[index]!r} already", hint=f"give {filename!r} another index")
    node = nodes.File(index=index, name=filename, lead="\n")
    if node not in trace.globals:
        trace.globals.append(node)


def _files(trace: Trace) -> dict[int, str]:
    return cast("dict[int, str]", trace.notes.setdefault(_FILES, dict[int, str]()))
