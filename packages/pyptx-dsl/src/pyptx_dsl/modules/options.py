"""Keyword options of a module's variables and functions, and their conversion to tree nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, TypedDict

from pyptx_dsl.errors import DuplicateNameError, KeywordError, OperandError, close
from pyptx_dsl.instructions.calls import parameter, parameters
from pyptx_dsl.instructions.header_directives import HeaderDirectives, directive_nodes
from pyptx_dsl.instructions.variables import (
    Attributes,
    Size,
    attribute_nodes,
    declarator,
    variable,
    written_type,
)
from pyptx_dsl.registers.operands import as_items
from pyptx_dsl.registers.texts import identifier
from pyptx_dsl.types import PtxType
from pyptx_ir.syntax import nodes

if TYPE_CHECKING:
    from collections.abc import Mapping

Parameters: TypeAlias = Sequence[nodes.Parameter | PtxType]
"""Parameters of a PTX function; a type alone is a parameter with a compiler-style name: `scale_param_0`."""

_FUNCTION_LINKING = ("visible", "extern", "weak")


class VariableOptions(TypedDict, total=False):
    """Keywords of a variable declaration.

    `init` is a number, a constant expression (a string, such as `"generic(lut)+4"`), or a nested list of them; for an
    opaque type, a dictionary of its fields (`{"filter_mode": "nearest"}`). `linking` is `extern`, `visible`, `weak` or
    `common`. `vector` is 2, 4 or 8, `count` declares `name0 … name(n-1)`, `attributes` are `"managed"` and `("unified",
    a, b)`, `also` are further declarators of the declaration, from `m.declarator`.
    """

    init: object
    align: int | None
    linking: str | None
    vector: int | None
    count: int | None
    attributes: Attributes
    also: Sequence[nodes.Declarator]


class FunctionOptions(HeaderDirectives, total=False):
    """Keywords of a PTX function: performance directives, emitted in the order given, and the keywords below.

    `linking` is `visible`, `extern` or `weak`; `visible=True` means `linking="visible"`. `directives` are (name,
    values) pairs emitted before the keywords, for directives that occur twice: `("pragma", "nounroll")`. `brace` is the
    whitespace before the `{`.
    """

    linking: str | None
    visible: bool
    attributes: Attributes
    directives: Sequence[tuple[str, object]]
    brace: str


def variable_node(
    space: str, name: str, dtype: PtxType | str, size: Size | tuple[Size, ...], options: VariableOptions
) -> nodes.Variable:
    """Return the declaration of a module's variable; raise KeywordError for an unknown keyword."""
    known = VariableOptions.__annotations__
    for keyword in options:
        if keyword not in known:
            raise KeywordError(f"a variable has no keyword {keyword!r}", help=close(keyword, tuple(known)))
    first = declarator(name, size, init=options.get("init"), count=options.get("count"), dtype=dtype)
    return variable(
        space,
        written_type(dtype),
        (first, *options.get("also", ())),
        align=options.get("align"),
        linking=options.get("linking"),
        vector=options.get("vector"),
        attributes=options.get("attributes", ()),
    )


_OWN = FunctionOptions.__annotations__.keys() - HeaderDirectives.__annotations__.keys()
"""Keywords of `FunctionOptions` that are not performance directives."""


def header(
    kind: str,
    name: str,
    params: Parameters | None,
    returns: Parameters,
    options: FunctionOptions,
    body: nodes.Block | None = None,
) -> nodes.Function:
    """Return the syntax node of a function with this header, and with `body` if given.

    Raises KeywordError or OperandError for invalid options.
    """
    if callable(name):
        raise OperandError(
            f"m.{kind} needs a name, got {name!r}",
            help=f'pass the name first: @m.{kind}("{getattr(name, "__name__", "k")}")',
        )
    if kind == "entry" and (returns or "returns" in options):
        raise OperandError("an entry has no return values", help="pass a pointer and store there, or use m.func")
    given = None if params is None else _named("params", params, f"{name}_param_")
    returned = _named("returns", returns, "func_retval")
    _refuse_twice((*(given or ()), *returned))
    keywords = {keyword: value for keyword, value in options.items() if keyword not in _OWN}
    return nodes.Function(
        kind,
        identifier(name, f"a function (.{kind})"),
        given,
        returned,
        linking=_linking(options),
        attributes=attribute_nodes(options.get("attributes", ())),
        directives=directive_nodes(keywords, f"a function (.{kind})", options.get("directives", ())),
        body=body,
    )


def _named(what: str, given: object, stem: str) -> tuple[nodes.Parameter, ...]:
    """Return the parameter nodes of a function; unnamed parameters get compiler-style names with their index."""
    items = as_items(given)
    if items is not None:
        given = [parameter(..., each) if isinstance(each, PtxType) else each for each in items]
    return tuple(
        [
            each if each.name else replace(each, name=f"{stem}{number}")
            for number, each in enumerate(parameters(what, given))
        ]
    )


def _refuse_twice(given: Sequence[nodes.Parameter]) -> None:
    names = [each.name for each in given if each.name not in {"", "_"}]
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        raise DuplicateNameError(f"duplicate parameter name {twice!r}", help="rename one of the two parameters")


def _linking(options: Mapping[str, object]) -> str | None:
    linking = options.get("linking")
    if linking is not None and linking not in _FUNCTION_LINKING:
        raise OperandError(
            f"invalid linking={linking!r} of a function", help=f"use one of {', '.join(_FUNCTION_LINKING)}"
        )
    if options.get("visible") and linking not in {None, "visible"}:
        raise OperandError(f"visible=True contradicts linking {linking}", help="leave visible= out")
    return "visible" if options.get("visible") else str(linking) if linking is not None else None
