"""Directives: supported by version and target, on the right kind of function, without conflicts."""

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
_ATTRIBUTES = {"managed": 0, "unified": 2}  # with the number of arguments that each takes
# Pairs that exclude each other, and directives that require others: ptxas 13.5.
_CONFLICTS = (("maxntid", "reqntid"), ("reqnctapercluster", "maxclusterrank"))
_NEEDS = (("blocksareclusters", ("reqntid", "reqnctapercluster")),)


def directive(walk: Walk, node: Statement) -> None:
    """Check every directive that a statement is or contains against the table."""
    for name, word in _used(node):
        if name in walk.early:
            finding = walk.early[name]
            walk.report(Finding(finding.code, finding.message, finding.help, word=word))


def header(walk: Walk, node: Function) -> None:
    """Check the directives of a function header against each other and the function."""
    given = {found.name: found for found in node.directives}
    if not given:
        _returns(walk, node, given)
        return
    for found in node.directives:
        row = rows().get(found.name)
        if row is not None and row.on and row.on != node.kind:
            message = f".{found.name} goes with .{row.on}, and '{node.name}' is .{node.kind}"
            walk.report(Finding("misplaced-directive", message, "remove it", word=f".{found.name}"))
        _arguments(walk, found)
    _order(walk, node)
    _returns(walk, node, given)
    for first, second in _CONFLICTS:
        if first in given and second in given:
            message = f".{first} and .{second} exclude each other"
            walk.report(Finding("directive-conflict", message, "remove one of them", word=f".{second}"))
    for name, needed in _NEEDS:
        missing = [f".{other}" for other in needed if other not in given]
        if name in given and missing:
            message = f".{name} needs {' and '.join(missing)} beside it"
            walk.report(Finding("directive-conflict", message, f"add {' and '.join(missing)}", word=f".{name}"))
    if "minnctapersm" in given and not given.keys() & {"maxntid", "reqntid"} and node.kind == "entry":
        message = "ptxas ignores .minnctapersm where neither .maxntid nor .reqntid is given"
        help = "add .maxntid N, 1, 1, the most threads that a block will have"
        walk.report(Finding("ignored-directive", message, help, word=".minnctapersm"))


def of_prototype(walk: Walk, node: CallPrototype) -> None:
    """Check the directives of a prototype, which are those of a function."""
    for found in node.directives:
        row = rows().get(found.name)
        if row is not None and row.on == "entry":
            message = f".{found.name} goes with .entry, and this is a .callprototype"
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
            message = f".{name} is given twice"
            walk.report(Finding("directive-conflict", message, "remove one of the two", word=f".{name}"))
        elif name == "noreturn" and i > 0:
            walk.report(Finding("directive-conflict", ".noreturn stands first", "move it up", word=".noreturn"))


def _returns(walk: Walk, node: Function, given: dict[str, HeaderDirective]) -> None:
    """Reject values returned by an entry, or by a `.noreturn` function."""
    if node.kind == "entry" and node.returns:
        word = node.returns[0].name or f".{node.returns[0].type}"
        message, help = "an entry returns nothing", "pass a pointer, and store the value there"
        walk.report(Finding("misplaced-directive", message, help, word=word))
    elif node.returns and "noreturn" in given:
        message = f"'{node.name}' returns a value, and .noreturn says that it never returns"
        walk.report(Finding("directive-conflict", message, "remove one of the two", word=".noreturn"))


def attributes(walk: Walk, node: Function | Variable) -> None:
    """Check that the attributes exist and are allowed on the declaration."""
    is_global = isinstance(node, Variable) and node.space == "global"
    for attribute in node.attributes:
        if attribute.name not in _ATTRIBUTES:
            message, help = f"there is no attribute .{attribute.name}", "the attributes are .managed and .unified"
        elif attribute.name == "managed" and not is_global:
            message, help = ".managed goes with .global variables", "remove it"
        elif isinstance(node, Function) and node.kind == "entry":
            message, help = "an entry has no attributes", f"remove .{attribute.name}"
        elif [plain_number(value) is None for value in attribute.arguments] != [False] * _ATTRIBUTES[attribute.name]:
            count = _ATTRIBUTES[attribute.name]
            message = f".{attribute.name} takes {counted(count, 'number') if count else 'nothing'} in parentheses"
            help = "write .unified(1, 2), the two halves of a number of 128 bits" if count else "write .managed"
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
            message, help = f"no .loc above is at {place}", f"write .loc {place} above"
            walk.report(Finding("directive-argument", message, help, word="inlined_at"))
    place_here = (node.file, node.line, node.column)
    _of_32_bits(walk, *place_here)
    walk.places.add(place_here)


def _of_32_bits(walk: Walk, *numbers: int) -> None:
    for number in numbers:
        if number > _MOST_OF_PLACE:
            message = f"{number} is no number of a file, a line or a column: these have 32 bits"
            walk.report(Finding("directive-argument", message, "correct it", word=str(number)))


def _arguments(walk: Walk, found: HeaderDirective) -> None:
    row = rows().get(found.name)
    if row is None or row.numbers is None:
        return
    least, most = row.numbers
    smallest, largest = row.values
    values = [plain_number(value) for value in found.arguments]
    numbers = [value for value in values if value is not None]
    if not least <= len(values) <= most:
        wanted = f"{least}" if least == most else f"{least} to {most}"
        message = f".{found.name} takes {wanted} numbers, and has {len(values)}"
    elif len(numbers) < len(values):
        message = f".{found.name} takes numbers, without signs and operators"
    elif not all(smallest <= value <= largest for value in numbers):
        wanted = "positive, and of 32 bits" if row.values == POSITIVE else f"{smallest} to {largest}"
        message = f"the numbers of .{found.name} are {wanted}"
    else:
        return
    fitting = str(min(128, largest))
    example = f"write .{found.name} {', '.join([fitting, '1', '1'][:most])}" if most else "remove them"
    walk.report(Finding("directive-argument", message, example, word=f".{found.name}"))


@cache
def rows() -> dict[str, DirectiveRow]:
    """Return the rows of the table by name."""
    return {row.name: row for row in ROWS}


@until_plugins_change(maxsize=256)
def early(target: str | None, version: tuple[int, int]) -> dict[str, Finding]:
    """Return the finding for each directive that this target or version lacks."""
    found: dict[str, Finding] = {}
    for row in ROWS:
        name = f".{row.name}" if row.name[-1] != ")" else row.name
        have = f"{version[0]}.{version[1]}"
        if version < row.since:
            need = f"{row.since[0]}.{row.since[1]}"
            message = f"{name} needs PTX {need}; this module is version {have}"
            found[row.name] = Finding("version", message, f"write .version {need}, or leave it out")
        elif row.before is not None and version >= row.before:
            message = f"{name} is gone from PTX {row.before[0]}.{row.before[1]} on; this module is version {have}"
            found[row.name] = Finding("removed", message, "remove it")
        elif row.target and target is not None and not includes(target, row.target):
            message = f"{name} needs {row.target} or later; the target is {target}"
            found[row.name] = Finding("target", message, f"write .target {row.target}, or leave it out")
    return found


def _used(node: Statement) -> Iterator[tuple[str, str]]:
    """Yield the rows that a statement uses, each with the word for the caret."""
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
