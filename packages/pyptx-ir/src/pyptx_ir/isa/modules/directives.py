"""Check directives: supported by version and target, on the right kind of function, without conflicts."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.counting import counted
from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.isa.modules.sizes import plain_number
from pyptx_ir.isa.table.directives import POSITIVE, ROWS, DirectiveRow
from pyptx_ir.isa.targets import includes
from pyptx_ir.plugins.caches import until_plugins_change
from pyptx_ir.syntax.nodes import (
    AddressSize,
    Alias,
    BranchTargets,
    CallPrototype,
    CallTargets,
    Directive,
    File,
    Function,
    Loc,
    Pragma,
    RegisterDeclaration,
    Section,
    Statement,
    Variable,
)
from pyptx_ir.syntax.operands import Apply, Immediate, Symbol, Vector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import HeaderDirective, Parameter
    from pyptx_ir.syntax.operands import Operand

_KINDS: dict[type[Statement], str] = {
    AddressSize: "address_size",
    Alias: "alias",
    BranchTargets: "branchtargets",
    CallTargets: "calltargets",
    Section: "section",
}
_MOST_OF_PLACE = (1 << 32) - 1
_TYPES = frozenset({"texref", "samplerref", "surfref", "tex", "b128", "f16x2"})
_ATTRIBUTES = {"managed": 0, "unified": 2}  # number of arguments of each attribute in an .attribute directive
# Pairs of mutually exclusive performance directives, and the directives that a performance directive requires: measured
# on ptxas 13.5.
_CONFLICTS = (("maxntid", "reqntid"), ("reqnctapercluster", "maxclusterrank"))
_NEEDS = (("blocksareclusters", ("reqntid", "reqnctapercluster")),)


def directive(walk: Walk, node: Statement) -> None:
    """Check every directive of a statement for its PTX version and target."""
    for name, word in _used(node):
        if name in walk.early:
            finding = walk.early[name]
            walk.report(Finding(finding.code, finding.message, finding.help, word=word))


def header(walk: Walk, node: Function) -> None:
    """Check the directives of a function header for conflicts with each other and with the function."""
    given = {found.name: found for found in node.directives}
    if not given:
        _returns(walk, node, given)
        return
    for found in node.directives:
        row = rows().get(found.name)
        if row is not None and row.on and row.on != node.kind:
            message = f".{found.name} is allowed only on .{row.on}; '{node.name}' is .{node.kind}"
            walk.report(Finding("misplaced-directive", message, "remove it", word=f".{found.name}"))
        _arguments(walk, found)
    _order(walk, node)
    _returns(walk, node, given)
    for first, second in _CONFLICTS:
        if first in given and second in given:
            message = f".{first} and .{second} are mutually exclusive"
            walk.report(Finding("directive-conflict", message, "remove one of the two directives", word=f".{second}"))
    for name, needed in _NEEDS:
        missing = [f".{other}" for other in needed if other not in given]
        if name in given and missing:
            message = f".{name} requires {' and '.join(missing)}"
            walk.report(Finding("directive-conflict", message, f"add {' and '.join(missing)}", word=f".{name}"))
    if "minnctapersm" in given and not given.keys() & {"maxntid", "reqntid"} and node.kind == "entry":
        message = "ptxas ignores .minnctapersm without .maxntid or .reqntid"
        help = "add .maxntid N, 1, 1 (maximum number of threads per CTA)"
        walk.report(Finding("ignored-directive", message, help, word=".minnctapersm"))


def of_prototype(walk: Walk, node: CallPrototype) -> None:
    """Check the directives of a `.callprototype`, which are those of a `.func`."""
    for found in node.directives:
        row = rows().get(found.name)
        if row is not None and row.on == "entry":
            message = f".{found.name} is allowed only on .entry, not on a .callprototype"
            walk.report(Finding("misplaced-directive", message, "remove it", word=f".{found.name}"))
        _arguments(walk, found)
    _order(walk, node)


def _order(walk: Walk, node: Function | CallPrototype) -> None:
    """Reject repeated function directives, and `.noreturn` after another directive; entries may repeat directives."""
    names = [found.name for found in node.directives]
    for i, name in enumerate(names):
        row = rows().get(name)
        if row is None or row.on != "func":
            continue
        if name in names[:i]:
            message = f"duplicate .{name}"
            walk.report(Finding("directive-conflict", message, "remove one of the two directives", word=f".{name}"))
        elif name == "noreturn" and i > 0:
            walk.report(
                Finding(
                    "directive-conflict",
                    ".noreturn must precede the other directives",
                    "move .noreturn before the other directives",
                    word=".noreturn",
                )
            )


def _returns(walk: Walk, node: Function, given: dict[str, HeaderDirective]) -> None:
    """Reject values returned by an entry, or by a `.noreturn` function."""
    if node.kind == "entry" and node.returns:
        word = node.returns[0].name or f".{node.returns[0].type}"
        message, help = "entry with a return value", "pass a pointer and store the result through it"
        walk.report(Finding("misplaced-directive", message, help, word=word))
    elif node.returns and "noreturn" in given:
        message = f"'{node.name}' is .noreturn but has a return value"
        walk.report(Finding("directive-conflict", message, "remove .noreturn or the return value", word=".noreturn"))


def attributes(walk: Walk, node: Function | Variable) -> None:
    """Check that the attributes of a declaration exist and are allowed on it."""
    is_global = isinstance(node, Variable) and node.space == "global"
    for attribute in node.attributes:
        if attribute.name not in _ATTRIBUTES:
            message, help = f"unknown attribute .{attribute.name}", "use .managed or .unified"
        elif not is_global and (attribute.name == "managed" or isinstance(node, Variable)):
            others = "" if attribute.name == "managed" else " and on functions"
            message, help = f".{attribute.name} is allowed only on .global variables{others}", "remove it"
        elif isinstance(node, Function) and node.kind == "entry":
            message, help = f".{attribute.name} is not allowed on an entry", f"remove .{attribute.name}"
        elif [plain_number(value) is None for value in attribute.arguments] != [False] * _ATTRIBUTES[attribute.name]:
            count = _ATTRIBUTES[attribute.name]
            message = (
                f".{attribute.name} takes {counted(count, 'number') + ' in parentheses' if count else 'no arguments'}"
            )
            help = "write .unified(1, 2), the two halves of a 128-bit number" if count else "write .managed"
        else:
            continue
        walk.report(Finding("directive-argument", message, help, word=f".{attribute.name}"))


def positions(walk: Walk, node: Loc | File) -> None:
    """Check that source positions have 32-bit numbers, and that an inlining location refers to an earlier `.loc`."""
    if isinstance(node, File):
        _of_32_bits(walk, node.index)
        return
    inlined = node.inlined_at
    if inlined is not None:
        around = (inlined.file, inlined.line, inlined.column)
        _of_32_bits(walk, *around)
        if around not in walk.places:
            place = " ".join(map(str, around))
            message, help = (
                f"inlined_at refers to {place}, but no earlier .loc has this position",
                f"put .loc {place} before it",
            )
            walk.report(Finding("directive-argument", message, help, word="inlined_at"))
    place_here = (node.file, node.line, node.column)
    _of_32_bits(walk, *place_here)
    walk.places.add(place_here)


def _of_32_bits(walk: Walk, *numbers: int) -> None:
    for number in numbers:
        if number > _MOST_OF_PLACE:
            message = f"file, line or column number {number} exceeds 32 bits"
            walk.report(Finding("directive-argument", message, "use a 32-bit number", word=str(number)))


def _arguments(walk: Walk, found: HeaderDirective) -> None:
    row = rows().get(found.name)
    if row is None or row.numbers is None:
        return
    least, most = row.numbers
    smallest, largest = row.values
    values = [plain_number(value) for value in found.arguments]
    numbers = [value for value in values if value is not None]
    if not least <= len(values) <= most:
        wanted = counted(least, "number") if least == most else f"{least} to {most} numbers"
        message = f".{found.name} takes {wanted}, got {len(values)}"
    elif len(numbers) < len(values):
        message = f"arguments of .{found.name} must be plain numbers"
    elif not all(smallest <= value <= largest for value in numbers):
        wanted = "positive 32-bit numbers" if row.values == POSITIVE else f"{smallest} to {largest}"
        message = f"arguments of .{found.name} must be {wanted}"
    else:
        return
    fitting = str(min(128, largest))
    example = f"write .{found.name} {', '.join([fitting, '1', '1'][:most])}" if most else "remove the arguments"
    walk.report(Finding("directive-argument", message, example, word=f".{found.name}"))


@cache
def rows() -> dict[str, DirectiveRow]:
    """Return the rows of the directive table by name."""
    return {row.name: row for row in ROWS}


@until_plugins_change(maxsize=256)
def early(target: str | None, version: tuple[int, int]) -> dict[str, Finding]:
    """Return, by directive, the finding for each directive that this target or version lacks."""
    found: dict[str, Finding] = {}
    for row in ROWS:
        name = f".{row.name}" if row.name[-1] != ")" else row.name
        have = f"{version[0]}.{version[1]}"
        if version < row.since:
            need = f"{row.since[0]}.{row.since[1]}"
            message = f"{name} needs PTX {need}; this module is version {have}"
            found[row.name] = Finding("version", message, f"write .version {need}, or remove {name}")
        elif row.before is not None and version >= row.before:
            message = f"{name} was removed in PTX {row.before[0]}.{row.before[1]}; this module is version {have}"
            found[row.name] = Finding("removed", message, "remove it")
        elif row.target and target is not None and not includes(target, row.target):
            message = f"{name} needs {row.target} or later; the target is {target}"
            found[row.name] = Finding("target", message, f"write .target {row.target}, or remove {name}")
    return found


def _used(node: Statement) -> Iterator[tuple[str, str]]:
    """Yield the names of the directive rows that a statement uses, each with the word to underline."""
    match node:
        case Function():
            yield from _of_function(node)
        case Variable():
            yield from _of_variable(node)
        case RegisterDeclaration(type=kind):
            if kind in _TYPES:
                yield kind, f".{kind}"
        case CallPrototype(directives=given):
            yield "callprototype", ".callprototype"
            for found in given:
                yield found.name, f".{found.name}"
        case Pragma(values=values):
            yield "pragma", ".pragma"
            for value in values:
                yield f"pragma {value.partition(' ')[0]}", ".pragma"
        case File(timestamp=int()):
            yield "file timestamp", ".file"
        case Loc(inlined_at=inlined):
            if inlined is not None:
                yield "loc inlined_at", "inlined_at"
        case Directive(name=name):
            yield name, f".{name}"
        case _:
            name = _KINDS.get(type(node), "")
            yield name, f".{name}"


def _of_function(node: Function) -> Iterator[tuple[str, str]]:
    if node.linking:
        yield node.linking, f".{node.linking}"
    if node.kind == "entry" and node.body is None:
        yield "entry declaration", ".entry"
    for attribute in node.attributes:
        yield attribute.name, f".{attribute.name}"
    for found in node.directives:
        yield found.name, f".{found.name}"
    for parameter in (*node.returns, *(node.parameters or ())):
        yield from _of_parameter(parameter, node.kind)


def _of_parameter(parameter: Parameter, kind: str) -> Iterator[tuple[str, str]]:
    word = parameter.name or f".{parameter.type}"
    if parameter.pointer is not None:
        yield "ptr", ".ptr"
    if kind == "func" and parameter.space == "param":
        yield "param of func", word
    if None in parameter.dimensions:
        yield "param array of unknown size", word
    if parameter.type in _TYPES:
        yield parameter.type, f".{parameter.type}"


def _of_variable(node: Variable) -> Iterator[tuple[str, str]]:
    if node.linking:
        yield node.linking, f".{node.linking}"
    if node.space == "tex":
        yield "tex", ".tex"
    if node.type in _TYPES:
        yield node.type, f".{node.type}"
    for attribute in node.attributes:
        yield attribute.name, f".{attribute.name}"
    for declarator in node.declarators:
        if declarator.initializer is not None:
            yield from _of_initializer(declarator.initializer)


def _of_initializer(value: Operand) -> Iterator[tuple[str, str]]:
    match value:
        case Vector(elements):
            for element in elements:
                if not isinstance(element, Immediate):
                    yield from _of_initializer(element)
        case Apply(Symbol("generic"), _):
            yield "generic()", "generic"
        case Apply(Immediate(text), _):
            yield "mask()", text
        case _:
            return
