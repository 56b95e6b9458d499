"""Variables in all state spaces, and the pragmas and source locations of kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, cast

from pyptx_dsl.errors import DirectiveError, DuplicateNameError, OperandError, RegisterTypeError
from pyptx_dsl.naming import to_ptx
from pyptx_dsl.registers import operators
from pyptx_dsl.registers.operands import alignment, as_count, as_integer, as_items, parse_text, whole_number
from pyptx_dsl.registers.texts import identifier, text
from pyptx_dsl.trace_context import active
from pyptx_dsl.tracing.statement_checks import StatementChecker
from pyptx_dsl.types import PtxType, as_type
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_dsl.tracing.trace import Trace

__all__ = ["declarator", "file_", "loc", "pragma", "var"]

Size: TypeAlias = "int | str | None"
"""Number of elements of one array dimension, or a constant expression for it; 0: unknown size."""
Attributes: TypeAlias = "Sequence[str | tuple[int | str, ...]]"
"""Entries of a variable's `.attribute(…)`, such as `"managed"` and `("unified", 19, 95)`."""

_SPACES = ("shared", "shared::cta", "local", "global", "const", "param", "tex")
_OUTSIDE = frozenset({"global", "const"})
_LINKING = ("extern", "visible", "weak", "common")
_ATTRIBUTES = ("managed", "unified")
_OPAQUE = ("texref", "samplerref", "surfref")
_FILES = "ptx.variables.files"


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

    `size` counts elements; None is a scalar, 0 an array of unknown size (`extern`), a tuple several dimensions.
    `linking` is `extern`, `visible`, `weak` or `common`. A kernel's variables with `linking`, and those in `global` and
    `const`, are declared before the entry. `init` is a number, a constant expression (a string such as
    `"generic(other)+4"`), or nested lists of these; for an opaque type, a dictionary of its fields. `vector` is 2, 4 or
    8; `count` declares `name0 … name(n-1)`; `attributes` are `"managed"` and `("unified", a, b)`; `also` are further
    declarators, from `ptx.declarator`. No instruction is emitted. Raise DuplicateNameError for a name already in use.
    Manual: "Variables".
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
    _check(trace, node)
    if trace.exact or (linking is None and node.space not in _OUTSIDE):
        trace.append(node)
        return name
    for each in node.declarators:
        trace.claim_symbol(each.name, node.space)
    trace.globals.append(node)
    return name


def _check(trace: Trace, node: nodes.Variable) -> None:
    """Raise DirectiveError for a variable that ptxas rejects; `.param` variables of calls are exempt, to save time."""
    if trace.unchecked or (node.space == "param" and node.type != "pred"):
        return
    if trace.declarations is None:
        trace.declarations = StatementChecker(nodes.Version(*trace.version), nodes.Target((trace.target,)))
    if trace.exact or (node.linking is None and node.space not in _OUTSIDE):
        trace.declarations.check_in_body(node)
    else:
        trace.declarations.check(node)


def declarator(
    name: str,
    size: Size | tuple[Size, ...] = None,
    *,
    init: object | None = None,
    count: int | None = None,
    dtype: PtxType | str | None = None,
) -> nodes.Declarator:
    """Return a declarator `name<count>[size] = init` for `also=`; `dtype` is the type of the numbers in `init`."""
    identifier(name, "a variable")
    number = None if count is None else _positive("count", count)
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
    """Return the tree node that declares variables of type `word`; raise OperandError for an invalid option."""
    space = to_ptx(state_space)
    if space not in _SPACES and not (space.startswith("const[") and space.endswith("]")):
        raise OperandError(f"invalid state space {state_space!r}", help=f"use one of {', '.join(_SPACES)}")
    if linking is not None and linking not in _LINKING:
        raise OperandError(f"invalid linking={linking!r}", help=f"use one of {', '.join(_LINKING)}")
    for each in declarators:
        if not isinstance(cast("object", each), nodes.Declarator):
            raise OperandError(
                f"also must be a list of declarators, got {each!r}", help='write also=[ptx.declarator("name")]'
            )
    return nodes.Variable(
        space=space,
        type=word,
        declarators=declarators,
        linking=linking,
        alignment=alignment(align),
        vector=vector_word(vector),
        attributes=attribute_nodes(attributes),
        leading_trivia="\n",
    )


def memory_type(dtype: PtxType | str) -> str:
    """Return the PTX type that declares a variable of type `dtype`, as in its loads and stores: `b16` for f16."""
    if isinstance(dtype, str):
        return written_type(dtype)
    word = as_type(dtype).memory
    if word is None:
        raise RegisterTypeError(f"a variable cannot be .{dtype}", help="use u8 or u32")
    return word


def written_type(dtype: PtxType | str) -> str:
    """Return the PTX name of a type; opaque types (`"texref"`, …) are passed as strings."""
    return dtype if isinstance(dtype, str) and dtype in _OPAQUE else as_type(dtype).name


def vector_word(vector: int | None) -> str | None:
    """Return the modifier `v2`, `v4` or `v8` for a number of vector elements; None without a number."""
    if vector not in {None, 2, 4, 8}:
        raise OperandError(
            f"vector must be 2, 4 or 8 elements, got {vector!r}", help="pass the length of an array as size="
        )
    return None if vector is None else f"v{vector}"


def attribute_nodes(attributes: Attributes) -> tuple[nodes.Attribute, ...]:
    """Return the tree nodes in `.attribute(…)`. Manual: "Variable and Function Attribute Directive"."""
    if isinstance(attributes, str):
        raise OperandError(f"attributes must be a list, got {attributes!r}", help=f"write attributes=[{attributes!r}]")
    found = list[nodes.Attribute]()
    for each in attributes:
        word, *given = (each,) if isinstance(each, str) else each
        if word not in _ATTRIBUTES:
            raise OperandError(f"unknown attribute {word!r}", help=f"use one of {', '.join(_ATTRIBUTES)}")
        found.append(nodes.Attribute(str(word), tuple([constant(one) for one in given])))
    return tuple(found)


def constant(value: object) -> tree.Operand:
    """Return the operand for an integer, or for a constant expression given as a string."""
    if isinstance(value, str):
        return parse_text(value)
    number = as_integer(value)
    if number is None:
        raise OperandError(
            f"expected a constant, got {value!r}", help="pass a number, or a constant expression as a string"
        )
    return whole_number(number)


def dimensions(name: str, size: Size | tuple[Size, ...]) -> tuple[tree.Operand | None, ...]:
    """Return the array dimensions `[size]` after a variable's name; a size of 0 is an empty bracket `[]`."""
    if size is None:
        return ()
    return tuple([_dimension(name, each) for each in (size if isinstance(size, tuple) else (size,))])


def _dimension(name: str, size: Size) -> tree.Operand | None:
    if isinstance(size, str):
        return parse_text(size)
    number = as_count(size)
    if number is None or number < 0:
        help = (
            "pass several dimensions as a tuple"
            if as_items(size)
            else "pass a number, 0 for unknown, or a constant expression"
        )
        raise OperandError(f"variable {name!r}: size must be a number of elements, got {size!r}", help=help)
    return whole_number(number) if number else None


def _initializer(dtype: PtxType | str | None, value: object) -> tree.Operand | None:
    return None if value is None else _initial(dtype, value)


def _initial(dtype: PtxType | str | None, value: object) -> tree.Operand:
    if value is None:
        raise OperandError("expected an initial value, got None", help="write 0")
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return tree.Vector(tuple([tree.Binary("=", tree.Symbol(key), constant(one)) for key, one in fields.items()]))
    if isinstance(value, bytes):
        raise OperandError(
            "expected a list of numbers as initial value, got bytes", help="pass a list of numbers: list(data)"
        )
    items = as_items(value)
    if items is not None:
        return tree.Vector(tuple([_initial(dtype, each) for each in items]))
    if isinstance(value, str):
        return parse_text(value)
    return operators.immediate(dtype, value) if isinstance(dtype, PtxType) else constant(value)


def pragma(*values: str) -> None:
    """Emit `.pragma "value";`; it does not change results. Manual: "Descriptions of .pragma Strings"."""
    active("ptx.pragma").append(pragma_node(values))


def pragma_node(values: tuple[object, ...]) -> nodes.Pragma:
    """Return the tree node of a `.pragma`; raise OperandError for a `.pragma` without strings."""
    if not values:
        raise OperandError("a pragma needs a text", help='write ptx.pragma("nounroll")')
    return nodes.Pragma(tuple([quotable(value) for value in values]))


def loc(
    file_idx: int,
    line: int,
    col: int = 0,
    *,
    function_name: str | tuple[str, int] | None = None,
    inlined_at: tuple[int, int, int] | None = None,
) -> None:
    """Emit `.loc file line column`: the source location of the following code, after a `ptx.file_` of the file.

    For inlined code, `inlined_at` is the file, line and column of the call. `function_name` is the label in
    `.debug_str` of the function's name, or the label and an offset. Raise OperandError for a file that the kernel does
    not declare (a `module` may declare it anywhere). Manual: "Debugging Directives: .loc".
    """
    trace = active("ptx.loc")
    tail = None if function_name is None and inlined_at is None else _inlined(function_name, inlined_at)
    node = nodes.Loc(*_place("ptx.loc", (file_idx, line, col)), tail, leading_trivia=trace.leading_trivia)
    if not trace.exact and node.file not in _files(trace):
        raise OperandError(
            f"unknown file index {node.file}", help=f'declare the file first: ptx.file_({node.file}, "kernel.cu")'
        )
    trace.append(node)


def _inlined(function: str | tuple[str, int] | None, at: tuple[int, int, int] | None) -> nodes.InlinedAt:
    if function is None or at is None:
        raise OperandError(
            "ptx.loc: function_name and inlined_at must be passed together",
            help="pass the name of the callee and the location of the call",
        )
    label, offset = _name_of_function(function)
    return nodes.InlinedAt(label, offset, *_place("inlined_at", at))


def _name_of_function(function: object) -> tuple[str, int]:
    items = [function, 0] if isinstance(function, str) else as_items(function) or []
    number = as_integer(items[1]) if len(items) == 2 else None
    if number is None:
        raise OperandError(
            f"function_name must be a label, got {function!r}",
            help='pass a label of .debug_str, "$name", or a pair ("$name", 4)',
        )
    return identifier(items[0], "a label"), number


def _place(what: str, values: object) -> tuple[int, int, int]:
    numbers = [as_integer(value) for value in as_items(values) or ()]
    if len(numbers) == 3:
        file, row, column = numbers
        if file is not None and row is not None and column is not None and min(file, row, column) >= 0:
            return file, row, column
    raise OperandError(f"{what} needs three numbers, got {values!r}", help="pass a file, a line and a column")


def file_(file_idx: int, filename: str) -> None:
    """Declare `.file index "name"` before the entry; raise DuplicateNameError for two names of an index.

    Raise DirectiveError in a function of a `module`, unless the statement is unchecked: `.file` is not allowed in a
    function.
    """
    trace = active("ptx.file_")
    node = file_node(file_idx, filename)
    if trace.exact and not trace.unchecked:
        raise DirectiveError(
            ".file is not allowed inside a function", help=f"write m.file({file_idx!r}, …) before the function"
        )
    known = _files(trace)
    if known.setdefault(node.index, filename) != filename:
        raise DuplicateNameError(
            f"file index {node.index} is already used for {known[node.index]!r}",
            help=f"choose another .file index for {filename!r}",
        )
    if trace.exact:
        trace.append(node)
    elif node not in trace.globals:
        trace.globals.append(node)


def file_node(index: object, name: str, timestamp: int | None = None, size: int | None = None) -> nodes.File:
    """Return the tree node of a `.file`; raise OperandError for an invalid index, name, timestamp or size."""
    number = as_count(index)
    if number is None or number < 1:
        raise OperandError(f"invalid file index {index!r}", help="use indices from 1")
    if (timestamp is None and size is not None) or None in map(as_count, (timestamp or 0, size or 0)):
        raise OperandError(
            f".file needs a numeric timestamp before its size, got timestamp={timestamp!r}, size={size!r}",
            help="omit timestamp and size",
        )
    return nodes.File(number, quotable(name), timestamp, size, leading_trivia="\n")


def quotable(value: object) -> str:
    """Return `value` if it is a string without quotes and newlines; else raise OperandError."""
    quoted = text("a quoted string", value)
    if '"' in quoted or "\n" in quoted:
        raise OperandError(
            f"{quoted!r} cannot be written as a PTX string",
            help="remove quotes and newlines: PTX strings have no escapes",
        )
    return quoted


def _positive(what: str, value: object) -> int:
    number = as_integer(value)
    if number is None or number < 1:
        raise OperandError(f"{what} must be a positive int, got {value!r}", help="omit count= for a single variable")
    return number


def _files(trace: Trace) -> dict[int, str]:
    return cast("dict[int, str]", trace.notes.setdefault(_FILES, dict[int, str]()))
