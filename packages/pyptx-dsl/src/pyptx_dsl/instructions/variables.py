"""Variables, wherever they are declared, and what else kernels say of themselves: pragmas, source positions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias, cast

from pyptx_dsl.errors import DuplicateNameError, OperandError, RegisterTypeError
from pyptx_dsl.naming import to_ptx
from pyptx_dsl.registers import operators
from pyptx_dsl.registers.operands import alignment, as_integer, parse_text, whole_number
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import PtxType, as_type
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyptx_dsl.tracing.trace import Trace

__all__ = ["declarator", "file_", "loc", "pragma", "var"]

Size: TypeAlias = "int | str | None"
"""The number of elements, or a constant expression; 0 is a dimension that is left open."""
Attributes: TypeAlias = "Sequence[str | tuple[int | str, ...]]"
"""`"managed"`, `("unified", 19, 95)`."""

_SPACES = ("shared", "shared::cta", "local", "global", "const", "param", "tex")
_LINKING = ("extern", "visible", "weak", "common")
_ATTRIBUTES = ("managed", "unified")
_OPAQUE = ("texref", "samplerref", "surfref")
_FILES = "ptx.variables.files"
_NAME = re.compile(r"([A-Za-z][\w$]*|[_$%][\w$]+)\Z", re.ASCII)


def var(
    state_space: str,
    dtype: PtxType | str,
    name: str,
    *,
    size: Size | tuple[Size, ...] = None,
    align: int | None = None,
    linking: str | None = None,
    init: object | None = None,
    vector: int | None = None,
    count: int | None = None,
    attributes: Attributes = (),
    also: Sequence[nodes.Declarator] = (),
) -> str:
    """Declare a variable and return its name: `ptx.addr(ptx.var("shared", b8, "tile", size=4096, align=128))`.

    `size` counts elements; None is a single one, 0 an array of unknown size (`extern`), a tuple several dimensions.
    `linking` is `extern`, `visible`, `weak` or `common`; a kernel's variables with one, and those in `global` and
    `const`, are declared in front of the entry. `init` is a number, a constant expression (a string, as
    `"generic(other)+4"`), or a list of them, that nests; of an opaque type, a dictionary of its fields. `vector` is 2,
    4 or 8; `count` declares `name0 … name(n-1)`; `attributes` are `"managed"` and `("unified", a, b)`; `also` are
    further names of the declaration, of `ptx.declarator`. Nothing is executed. Raise DuplicateNameError for a name that
    is taken. Manual: "Variables".
    """
    trace = active("ptx.var")
    node = variable(
        state_space,
        written_type(dtype) if trace.exact else memory_type(dtype),
        (declarator(name, size, init=init, count=count, dtype=dtype), *also),
        align=align,
        linking=linking,
        vector=vector,
        attributes=attributes,
    )
    if trace.exact or (linking is None and node.space not in {"global", "const"}):
        trace.append(node)
        return name
    for each in node.declarators:
        trace.claim_symbol(each.name, node.space)
    trace.globals.append(node)
    return name


def declarator(
    name: str,
    size: Size | tuple[Size, ...] = None,
    *,
    init: object | None = None,
    count: int | None = None,
    dtype: PtxType | str | None = None,
) -> nodes.Declarator:
    """Return one more name for a declaration, `name<count>[size] = init`; `dtype` spells the numbers of `init`."""
    identifier(name, "a variable")
    number = None if count is None else _positive(f"count={count!r}", count)
    return nodes.Declarator(name, dimensions(name, size), _initializer(dtype, init), number)


def variable(
    state_space: str,
    word: str,
    declarators: tuple[nodes.Declarator, ...],
    *,
    align: int | None = None,
    linking: str | None = None,
    vector: int | None = None,
    attributes: Attributes = (),
) -> nodes.Variable:
    """Return a declaration of the type `word`; raise OperandError for what PTX cannot declare."""
    space = to_ptx(state_space)
    if space not in _SPACES and not (space.startswith("const[") and space.endswith("]")):
        raise OperandError(f"{state_space!r} is no state space of a variable", hint=f"one of {', '.join(_SPACES)}")
    if linking is not None and linking not in _LINKING:
        raise OperandError(f"linking={linking!r}", hint=f"one of {', '.join(_LINKING)}")
    return nodes.Variable(
        space=space,
        type=word,
        declarators=declarators,
        linking=linking,
        alignment=alignment(align),
        vector=vector_word(vector),
        attributes=attribute_nodes(attributes),
        lead="\n",
    )


def memory_type(dtype: PtxType | str) -> str:
    """Return the word by which a kernel's variable of a type is declared: that of loads and stores, `b16` of f16."""
    if isinstance(dtype, str):
        return written_type(dtype)
    word = as_type(dtype).memory
    if word is None:
        raise RegisterTypeError(f"a variable cannot be .{dtype}", hint="use u8 or u32")
    return word


def written_type(dtype: PtxType | str) -> str:
    """Return a type's own word; `"texref"` and its kin have no other name than a string."""
    return dtype if isinstance(dtype, str) and dtype in _OPAQUE else as_type(dtype).name


def vector_word(vector: int | None) -> str | None:
    """Return `v2`, `v4` or `v8`, or None."""
    if vector not in {None, 2, 4, 8}:
        raise OperandError(f"vector={vector!r}: vectors have 2, 4 or 8 elements")
    return None if vector is None else f"v{vector}"


def identifier(name: object, what: str) -> str:
    """Return a name; raise OperandError for what is none in PTX. Manual: "Identifiers"."""
    if not isinstance(name, str):
        raise OperandError(f"{what} has a name, not {name!r}", hint="its name comes first, as a string")
    if not _NAME.match(name):
        raise OperandError(f"{name!r} is no name of {what}", hint="letters, digits, _ and $; no digit first")
    return name


def attribute_nodes(attributes: Attributes) -> tuple[nodes.Attribute, ...]:
    """Return the entries of `.attribute(…)`. Manual: "Variable and Function Attribute Directive"."""
    found = list[nodes.Attribute]()
    for each in attributes:
        word, *given = (each,) if isinstance(each, str) else each
        if word not in _ATTRIBUTES:
            raise OperandError(f"{word!r} is no attribute", hint=f"one of {', '.join(_ATTRIBUTES)}")
        found.append(nodes.Attribute(str(word), tuple([constant(one) for one in given])))
    return tuple(found)


def constant(value: object) -> tree.Operand:
    """Return a constant expression: a number, or its text."""
    if isinstance(value, str):
        return parse_text(value)
    number = as_integer(value)
    if number is None:
        raise OperandError(f"{value!r} is no constant", hint="pass a number, or a constant expression as a string")
    return whole_number(number)


def dimensions(name: str, size: Size | tuple[Size, ...]) -> tuple[tree.Operand | None, ...]:
    """Return the brackets behind a name; of a size of 0, an empty one."""
    if size is None:
        return ()
    return tuple([_dimension(name, each) for each in (size if isinstance(size, tuple) else (size,))])


def _dimension(name: str, size: Size) -> tree.Operand | None:
    if isinstance(size, str):
        return parse_text(size)
    number = as_integer(size)
    if number is None or number < 0:
        raise OperandError(f"variable {name!r}: size={size!r} is no number of elements")
    return whole_number(number) if number else None


def _initializer(dtype: PtxType | str | None, value: object) -> tree.Operand | None:
    if value is None:
        return None
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return tree.Vector(tuple([tree.Binary("=", tree.Symbol(key), constant(one)) for key, one in fields.items()]))
    if isinstance(value, list | tuple):
        items = cast("Iterable[object]", value)
        return tree.Vector(tuple([item for each in items if (item := _initializer(dtype, each)) is not None]))
    if isinstance(value, str):
        return parse_text(value)
    return operators.immediate(dtype, value) if isinstance(dtype, PtxType) else constant(value)


def pragma(*values: str) -> None:
    """Put `.pragma "value";` here; it changes nothing that is computed. Manual: "Descriptions of .pragma Strings"."""
    active("ptx.pragma").append(nodes.Pragma(values=tuple([quotable(value) for value in values])))


def loc(
    file_idx: int,
    line: int,
    col: int = 0,
    *,
    function_name: str | tuple[str, int] | None = None,
    inlined_at: tuple[int, int, int] | None = None,
) -> None:
    """Put `.loc file line column` here: what follows came from there. The file needs `ptx.file_`.

    For code that was inlined, `inlined_at` is the file, line and column of the call, and `function_name` the label in
    `.debug_str` of the function's name, or the label and an offset. Manual: "Debugging Directives: .loc".
    """
    trace = active("ptx.loc")
    tail = _inlined(function_name, inlined_at)
    trace.append(nodes.Loc(*_place("ptx.loc", (file_idx, line, col)), tail))


def _inlined(function: str | tuple[str, int] | None, at: tuple[int, int, int] | None) -> nodes.InlinedAt | None:
    if function is None and at is None:
        return None
    if function is None or at is None:
        raise OperandError("ptx.loc: function_name and inlined_at go together")
    label, offset = (function, 0) if isinstance(function, str) else function
    return nodes.InlinedAt(label, offset, *_place("inlined_at", at))


def _place(what: str, values: tuple[object, ...]) -> tuple[int, int, int]:
    match [as_integer(value) for value in values]:
        case [int(file), int(row), int(column)] if min(file, row, column) >= 0:
            return file, row, column
        case _:
            raise OperandError(f"{what}({', '.join(map(repr, values))}) takes three numbers")


def file_(file_idx: int, filename: str) -> None:
    """Declare `.file index "name"` in front of the entry; raise DuplicateNameError for two names of an index."""
    trace = active("ptx.file_")
    node = file_node(file_idx, filename)
    known = _files(trace)
    if known.setdefault(node.index, filename) != filename:
        raise DuplicateNameError(
            f"file {node.index} is {known[node.index]!r} already", hint=f"give {filename!r} another index"
        )
    if trace.exact:
        trace.append(node)
    elif node not in trace.globals:
        trace.globals.append(node)


def file_node(index: object, name: str, timestamp: int | None = None, size: int | None = None) -> nodes.File:
    """Return a `.file`; raise OperandError for an index or a name that it cannot have."""
    number = as_integer(index)
    if number is None or number < 1:
        raise OperandError(f"{index!r} is no file index", hint="indices count from 1")
    return nodes.File(number, quotable(name), timestamp, size, lead="\n")


def quotable(text: str) -> str:
    """Return a text that can stand between quotes; raise OperandError for any other."""
    if '"' in text or "\n" in text:
        raise OperandError(f"{text!r} cannot be spelt in PTX", hint="PTX strings have no escapes")
    return text


def _positive(what: str, value: object) -> int:
    number = as_integer(value)
    if number is None or number < 1:
        raise OperandError(f"{what} is no positive number")
    return number


def _files(trace: Trace) -> dict[int, str]:
    return cast("dict[int, str]", trace.notes.setdefault(_FILES, dict[int, str]()))
