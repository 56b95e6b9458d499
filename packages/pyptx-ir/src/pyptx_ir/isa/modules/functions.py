"""Check that functions are declared before calls, defined once, and declared consistently. Measured on ptxas 13.5.

Manual: "Kernel and Function Directives", "Linking Directives".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.counting import counted
from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.isa.modules.sizes import storage_of, type_bytes, value_of
from pyptx_ir.isa.modules.special import reserved

if TYPE_CHECKING:
    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import Alias, Function, Parameter

# First PTX version of each limit on the total bytes of a kernel's parameters. Manual: "Kernel Function Parameter
# Attributes"; ptxas 13.5.
_PARAMETER_LIMITS = (((8, 1), 32764), ((1, 5), 4352), ((1, 0), 256))


def function(walk: Walk, node: Function) -> None:
    """Declare a function, compare it with earlier declarations, and open its scope."""
    reserved(walk, "redefined-function", node.name)
    earlier = walk.functions.get(node.name)
    before = walk.module_scope.at.get(node.name)
    if earlier is not None:
        _compare(walk, node, *earlier)
    elif before is not None:
        message = f"'{node.name}' is already declared at line {{line}}"
        help = "rename the function"
        walk.report(Finding("redefined-function", message, help, word=node.name, other=before))
    if node.linking == "extern" and node.body is not None:
        message = f"'{node.name}' is .extern but has a body"
        walk.report(
            Finding(
                "redefined-function", message, "write .visible instead of .extern, or remove the body", word=".extern"
            )
        )
    walk.module_scope.declare(node.name, f".{node.kind}", walk.at)
    walk.functions[node.name] = (node, walk.at)
    if node.kind == "entry":
        _parameter_space(walk, node)
    if node.body is not None:
        walk.enter(node)
        _parameters(walk, node)


def _compare(walk: Walk, node: Function, earlier: Function, before: int) -> None:
    name = node.name
    linking = (earlier.linking, node.linking)
    if earlier.body is not None:
        message = f"'{name}' is already defined at line {{line}}"
        help = "remove one of the two definitions; put a declaration before the definition"
    elif earlier.kind != node.kind:
        message = f"'{name}' is .{node.kind} here, but .{earlier.kind} at line {{line}}"
        help = "rename one of the two functions"
    elif linking[0] == "extern" != linking[1]:
        message = f"'{name}' is .extern at line {{line}}, but not here"
        help = f"write .visible instead of .extern at line {{line}} if this module defines '{name}'"
    elif linking[1] is not None and linking[1] != linking[0]:
        message = f"'{name}' is .{linking[1]} here, but {'.' + linking[0] if linking[0] else 'not'} at line {{line}}"
        help = "use the same linking directive in each declaration of the function"
    elif (differing := _difference(node, earlier)) is not None:
        message = f"'{name}' is declared differently at line {{line}}: {differing}"
        help = "give the declaration the parameters of the definition"
    else:
        return
    walk.report(Finding("redefined-function", message, help, word=name, other=before))


def _difference(node: Function, earlier: Function) -> str | None:
    for what, ours, theirs in (
        ("parameter", node.parameters or (), earlier.parameters or ()),
        ("return value", node.returns, earlier.returns),
    ):
        if len(ours) != len(theirs):
            return f"{counted(len(ours), what)} here, {len(theirs)} there"
        for i, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            if _layout(mine) != _layout(other):
                return f"{what} {i + 1} is {_spelt(mine)} here, {_spelt(other)} there"
    return None


def _layout(parameter: Parameter) -> tuple[object, ...]:
    alignment = parameter.alignment or type_bytes(parameter.type, parameter.vector)
    sizes = tuple(value_of(dimension) for dimension in parameter.dimensions)
    return (parameter.space, parameter.type, parameter.vector, alignment, sizes)


def _spelt(parameter: Parameter) -> str:
    alignment = f".align {parameter.alignment} " if parameter.alignment else ""
    sizes = "".join(f"[{'' if (n := value_of(size)) is None else n}]" for size in parameter.dimensions)
    return f"{alignment}.{parameter.type}{sizes}"


def _parameters(walk: Walk, node: Function) -> None:
    scope = walk.scope
    inputs = node.parameters or ()
    for i, parameter in enumerate((*inputs, *node.returns)):
        name = parameter.name
        if name in ("", "_"):
            continue
        kind = f".{parameter.type}" if parameter.type.endswith("ref") else f".{parameter.space}"
        if parameter.space == "reg":
            kind = f"{parameter.vector}.{parameter.type}" if parameter.vector else parameter.type
        else:
            scope.storage[name] = storage_of(
                "param", parameter, parameter.dimensions, header=True, is_input=i < len(inputs)
            )
        before = scope.declare(name, kind, walk.at)
        if before is not None:
            message, help = f"duplicate parameter '{name}'", "rename one of the two parameters"
            walk.report(Finding("redefined-variable", message, help, word=name))


def _parameter_space(walk: Walk, node: Function) -> None:
    """Reject an entry whose parameters, each with its alignment, exceed the launch limit in bytes."""
    end = 0
    limit = next(limit for since, limit in _PARAMETER_LIMITS if walk.judged_version >= since)
    for parameter in node.parameters or ():
        storage = storage_of("param", parameter, parameter.dimensions)
        end = -(-end // storage.alignment) * storage.alignment + (storage.size or 0)
    if end <= limit:
        return
    help = "pass a pointer to a buffer instead"
    if limit < _PARAMETER_LIMITS[0][1] and end <= _PARAMETER_LIMITS[0][1]:
        help = f"write .version 8.1 or later, which allows {_PARAMETER_LIMITS[0][1]} bytes"
    message = f"parameters of '{node.name}' take {end} bytes; the limit is {limit}"
    walk.report(Finding("parameter-space", message, help, word=node.name))


def undefined(walk: Walk) -> None:
    """Reject functions declared without `.extern` that are not defined."""
    for name, (node, at) in walk.functions.items():
        if node.body is None and node.linking != "extern" and name not in walk.aliased and not walk.unreadable:
            message = f"'{name}' is declared but neither defined in this module nor .extern"
            help = (
                f"write .extern .{node.kind} if another module defines the function"
                if node.kind == "func"
                else "define it"
            )
            walk.report(Finding("undefined-function", message, help, word=name, at=at))


def alias(walk: Walk, node: Alias) -> None:
    """Look up the two functions of an `.alias`, and compare their declarations."""
    walk.aliased.add(node.name)
    for name in (node.name, node.aliasee):
        if name not in walk.functions:
            message, help = f"'{name}' is not a function declared above", "declare both functions above the .alias"
            walk.report(Finding("undefined-function", message, help, word=name))
            return
    (alias, at), (aliasee, _) = walk.functions[node.name], walk.functions[node.aliasee]
    differing = _difference(alias, aliasee)
    if "entry" in (alias.kind, aliasee.kind):
        message, help = "alias of an entry: only a .func can have one", "make both functions .func"
    elif aliasee.linking == "extern":
        message, help = f"alias of '{node.aliasee}', which is .extern", "define the aliasee in this module"
    elif alias.body is not None:
        message, help = (
            f"alias '{node.name}' is already defined as a function at line {{line}}",
            "remove the definition or the .alias",
        )
    elif aliasee.linking == "weak":
        message, help = f"alias of '{node.aliasee}', which is .weak", "make the aliasee .visible"
    elif differing is not None:
        message = f"'{node.name}' and '{node.aliasee}' differ: {differing}".replace("there", f"in '{node.aliasee}'")
        help = "declare both functions with the same parameters"
    else:
        return
    walk.report(Finding("redefined-function", message, help, word=node.name, other=at))
