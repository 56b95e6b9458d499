"""`ptx.call` of device functions, call prototypes, and target lists of indirect calls and branches."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from pyptx_dsl.errors import ControlFlowError, OperandError
from pyptx_dsl.instructions.header_directives import HeaderDirectives, directive_nodes
from pyptx_dsl.instructions.variables import (
    Attributes,
    Size,
    attribute_nodes,
    dimensions,
    vector_word,
    written_type,
)
from pyptx_dsl.registers.operands import alignment, as_items
from pyptx_dsl.registers.texts import identifier
from pyptx_dsl.trace_context import active
from pyptx_ir.syntax import nodes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import EllipsisType
    from typing import Unpack

    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.tracing.trace import Trace
    from pyptx_dsl.types import PtxType

__all__ = ["branchtargets", "call", "callprototype", "calltargets", "parameter"]

_SPACES = ("param", "reg")
_POINTED = ("const", "global", "local", "shared", "generic")
_COUNT = re.compile(r"<\d+>\Z", re.ASCII)


def call(
    function: str | Reg,
    args: Sequence[object] | None = None,
    returns: Sequence[object] | None = None,
    *,
    prototype: str | None = None,
    uni: bool = False,
    pred: Reg | None = None,
) -> None:
    """Emit `call{.uni} (returns), function, (args);`.

    `function` is a name, or a register with its address; for a register, `prototype` is the label of a
    `ptx.callprototype` or a `ptx.calltargets`. `args` and `returns` are registers or `.param` variables; None omits the
    parentheses. Manual: "Control Flow Instructions: call".
    """
    operands: list[object] = [] if returns is None else [_listed("returns", returns)]
    operands.append(function)
    if args is not None:
        operands.append(_listed("args", args))
    if prototype is not None:
        operands.append(prototype)
    active("ptx.call").emit(("call", "uni") if uni else ("call",), operands, pred)


def callprototype(
    params: Sequence[nodes.Parameter] | None = (),
    returns: Sequence[nodes.Parameter] = (),
    *,
    directives: Sequence[tuple[str, object]] = (),
    **keywords: Unpack[HeaderDirectives],
) -> None:
    """Emit `.callprototype (returns) _ (params);`, after the `ptx.label` that names it.

    Parameters come from `ptx.parameter`; `params=None` omits the parentheses. Directives are keywords in the order of
    emission, such as `noreturn=True`; `directives` are pairs that precede them. Raise ControlFlowError without a label.
    Manual: "Control Flow Directives: .callprototype".
    """
    given = None if params is None else parameters("params", params)
    written = directive_nodes(keywords, "ptx.callprototype", directives)
    _labelled("ptx.callprototype").append(nodes.CallPrototype(given, parameters("returns", returns), written))


def calltargets(*functions: str) -> None:
    """Emit `.calltargets f, g;`, after the `ptx.label` that names the list.

    Raise ControlFlowError without a label, and OperandError for an invalid name. Manual: ".calltargets".
    """
    _labelled("ptx.calltargets").append(nodes.CallTargets(_named("ptx.calltargets", "a function", functions)))


def branchtargets(*labels: str) -> None:
    """Emit `.branchtargets a, b;`, after the `ptx.label` that names the list for `brx.idx`.

    `"N<5>"` stands for `N0 … N4`. Raise ControlFlowError without a label, and OperandError for an invalid name. Manual:
    ".branchtargets".
    """
    _labelled("ptx.branchtargets").append(nodes.BranchTargets(_named("ptx.branchtargets", "a label", labels)))


def parameters(what: str, given: object) -> tuple[nodes.Parameter, ...]:
    """Return a list of `ptx.parameter` results as a tuple; raise OperandError for anything else."""
    items = as_items(given)
    if items is not None and all(isinstance(each, nodes.Parameter) for each in items):
        return tuple(cast("list[nodes.Parameter]", items))
    raise OperandError(
        f"{what} must be a list of parameters, got {given!r}", help=f'write {what}=[ptx.parameter("name", u64), …]'
    )


def _listed(what: str, given: object) -> tuple[object, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise OperandError(f"{what} must be a list, got {given!r}", help=f"pass a list: {what}=[…]")
    return tuple(cast("Iterable[object]", given))


def _named(what: str, kind: str, names: tuple[object, ...]) -> tuple[str, ...]:
    """Return the symbols of a target list; a name may end in a count: `N<5>` is `N0 … N4`."""
    if not names:
        raise OperandError(f"{what} needs at least one name", help=f'write {what}("first", "second")')
    for name in names:
        identifier(_COUNT.sub("", name) if isinstance(name, str) else name, kind)
    return cast("tuple[str, ...]", names)


def _labelled(what: str) -> Trace:
    """Return the active trace if its last statement is a label; else raise ControlFlowError."""
    trace = active(what)
    before = trace.open_scope.nodes
    if not before or not isinstance(before[-1], nodes.Label):
        raise ControlFlowError(f"{what} must follow the label that names it", help="write ptx.label(name) before it")
    return trace


def parameter(
    name: str | EllipsisType,
    dtype: PtxType | str,
    size: Size | tuple[Size, ...] = None,
    *,
    align: int | None = None,
    ptr: bool | str = False,
    ptr_align: int | None = None,
    vector: int | None = None,
    space: str = "param",
    attributes: Attributes = (),
) -> nodes.Parameter:
    """Return a parameter of a function's header; nothing is emitted.

    `size` makes the parameter an array (0: of unknown size). `ptr` declares a pointer, into any space or into the named
    space (`ptr="global"`); `ptr_align` is the alignment of its target. `space="reg"` is a register, in device functions
    only.
    `name` is `"_"` or empty in prototypes. `...` is the name that compilers generate: `scale_param_0` for the first
    parameter of `scale`, `func_retval0` for its first return value. Manual: "Kernel Function Parameters".
    """
    if name is ...:
        name = ""
    if space not in _SPACES:
        raise OperandError(f"space must be {' or '.join(_SPACES)} for a parameter, got {space!r}", help='space="param"')
    if ptr_align is not None and not ptr:
        raise OperandError("ptr_align needs ptr: it is the alignment of the pointed-to memory", help="add ptr=True")
    if isinstance(ptr, str) and ptr not in _POINTED:
        raise OperandError(
            f"invalid state space ptr={ptr!r}", help=f"use one of {', '.join(_POINTED)}, or True for generic"
        )
    pointer = nodes.Pointer(ptr if isinstance(ptr, str) else None, alignment(ptr_align)) if ptr else None
    return nodes.Parameter(
        written_type(dtype),
        name if name in {"", "_"} else identifier(name, "a parameter"),
        space,
        alignment(align),
        vector_word(vector),
        pointer,
        dimensions(name, size),
        attribute_nodes(attributes),
    )
