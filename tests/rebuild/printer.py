"""Print a module as Python that calls public names only, one statement per line, without sugar and raw text.

Whitespace and source text that the tree leaves unset follow the style; `ptx.formatted` is printed for all other
formatting.
"""

from __future__ import annotations

from collections import ChainMap
from functools import cache
from typing import TYPE_CHECKING, Any

from pyptx import ptx
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree

from .calls import Code, call, constant, dtype, expression, header, variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DEEPEST = 12  # maximum nesting of `with` blocks in the printed Python; CPython compiles at most 20
PART = 500  # lines of a function body after which the printed Python continues in a new Python function
HEAD = "from pyptx import module, ptx, reg\nfrom pyptx.types import *\n"

# By statement class, the function that prints a statement as a call of a method of `m` (module builder) or `ptx`.
CALLS: dict[type, Callable[[Any], Code]] = {
    nodes.Version: lambda node: call("version", node.major, node.minor),
    nodes.Target: lambda node: call("target", *node.names),
    nodes.AddressSize: lambda node: call("address_size", node.bits),
    nodes.File: lambda node: call("file", node.index, node.name, node.timestamp, node.size),
    nodes.Alias: lambda node: call("alias", node.name, node.aliasee),
    nodes.Pragma: lambda node: call("pragma", *node.values),
    nodes.Empty: lambda _: call("empty"),
    nodes.Label: lambda node: call("label", node.name),
    nodes.SectionData: lambda node: call("data", dtype(node.type), *map(constant, node.values)),
    nodes.Directive: lambda node: call(
        "directive", node.name, *map(constant, node.arguments), terminated=node.terminated
    ),
    nodes.CallTargets: lambda node: call("calltargets", *node.targets),
    nodes.BranchTargets: lambda node: call("branchtargets", *node.targets),
    nodes.CallPrototype: lambda node: header("callprototype", node=node),
    nodes.Loc: lambda node: call("loc", node.file, node.line, node.column, **inlined(node.inlined_at)),
    nodes.Variable: variable,
    nodes.Function: lambda node: header("declare", node.kind, node.name, node=node),
}


def printed(module: nodes.Module, *, unchecked: bool = False) -> Iterator[str]:
    """Yield a module's Python source, in parts that may be compiled separately."""
    yield f"{HEAD}m = {call('module', unchecked=unchecked, tail=module.tail)}\n"
    for node in module.body:
        match node:
            case nodes.Function(body=nodes.Block() as block):
                yield from definition(node, block)
            case nodes.Section():
                yield from section(node)
            case _:
                yield lines(*said("m", node.leading_trivia, node.raw), f"m.{CALLS[type(node)](node)}")


def lines(*given: str) -> str:
    """Return lines of Python joined by line breaks."""
    return "".join([f"{line}\n" for line in given])


def said(owner: str, leading_trivia: str | None, spelling: str | None = None) -> list[str]:
    """Return the line that sets the formatting of the next statement; none if its formatting is unset."""
    if leading_trivia is None and spelling is None:
        return []
    return [call(f"{owner}.formatted", leading=leading_trivia, text=spelling)]


def section(node: nodes.Section) -> Iterator[str]:
    """Yield the Python of a debugging section."""
    opening = said("m", node.leading_trivia, None if node.head is None else f".section{node.head}")
    body = [
        line
        for each in node.body
        for line in (*said("m", each.leading_trivia, each.raw), f"m.{CALLS[type(each)](each)}")
    ]
    body += said("m", node.closing_trivia)
    yield lines(*opening, f"with {call('m.section', node.name)}:", *[f"    {line}" for line in body or ["pass"]])


def definition(node: nodes.Function, block: nodes.Block) -> Iterator[str]:
    """Yield a function. A long body is split: all parts but the last become Python functions that precede it."""
    body = Body(block)
    for number, part in enumerate(body.parts):
        yield lines(f"def part_{number}():", *part)
    yield lines(
        *said("m", node.leading_trivia, node.raw),
        f"@{header(f'm.{node.kind}', node.name, node=node, brace=block.leading_trivia)}",
        "def body():",
        *[f"    part_{number}()" for number in range(len(body.parts))],
        *body.lines,
        "    pass",
    )


class Body:
    """The statements of a function as Python: `parts`, which become functions, and the remaining `lines`."""

    def __init__(self, block: nodes.Block) -> None:
        """Print the statements of a body."""
        self.names: ChainMap[str, Code] = ChainMap()
        self.parts: list[list[str]] = []
        self.lines: list[str] = []
        self.indent = 1
        self.variables = 0
        for node in block.body:
            self.statement(node)
            if len(self.lines) >= PART:
                self.parts.append(self.lines)
                self.lines = []
        self.add(*said("ptx", block.closing_trivia))

    def add(self, *given: str) -> None:
        """Add lines at the current indentation."""
        self.lines += ["    " * self.indent + line for line in given]

    def statement(self, node: nodes.Statement) -> None:
        """Print a statement as one line of Python, or as a `with` block."""
        self.add(*said("ptx", node.leading_trivia, node.raw))
        match node:
            case nodes.Block():
                self.block(node)
            case nodes.Instruction():
                self.instruction(node)
            case nodes.RegisterDeclaration():
                self.declaration(node)
            case _:
                self.add(f"ptx.{CALLS[type(node)](node)}")

    def block(self, node: nodes.Block) -> None:
        """Print a scope (`{ }`); deeply nested scopes are not indented."""
        nested = self.indent < DEEPEST
        self.add("with ptx.scope():" if nested else "ptx.open_scope()")
        self.names = self.names.new_child()
        self.indent += nested
        for inner in node.body:
            self.statement(inner)
        self.add(*said("ptx", node.closing_trivia), "pass" if nested else "ptx.close_scope()")
        self.indent -= nested
        self.names = self.names.parents

    def instruction(self, node: nodes.Instruction) -> None:
        """Print an instruction as a call of its `ptx.inst` function."""
        operands = [expression(each, self.names, node.opcode) for each in node.operands]
        predicate = None
        if node.guard is not None:
            register = tree.Register(node.guard.register)
            predicate = expression(tree.Negated(register) if node.guard.negated else register, self.names)
        self.add(call(function(node.opcode), *operands, pred=predicate))

    def declaration(self, node: nodes.RegisterDeclaration) -> None:
        """Print a `.reg`; its names become Python globals: several Python functions may emit one PTX function."""
        variables = [f"r{self.variables + number}" for number in range(len(node.names))]
        self.variables += len(variables)
        for each, held in zip(node.names, variables, strict=True):
            if each.count is None:
                self.names[each.name] = Code(held)
            self.names.update({f"{each.name}{n}": Code(f"{held}[{n}]") for n in range(each.count or 0)})
        given = [each.name if each.count is None else (each.name, each.count) for each in node.names]
        vector = None if node.vector is None else int(node.vector[1:])
        declared = call("reg.declare", dtype(node.type), *given, vector=vector, align=node.alignment)
        self.add(f"global {', '.join(variables)}", f"{', '.join(variables)}, = {declared}")


@cache
def function(opcode: tuple[str, ...]) -> str:
    """Return the function that emits an instruction: `ptx.inst.add.s32`."""
    return repr(ptx.inst[".".join(opcode)])


def inlined(at: nodes.InlinedAt | None) -> dict[str, object]:
    """Return the keywords for the `inlined_at` part of a `.loc`."""
    if at is None:
        return {}
    return {"function_name": (at.function_label, at.offset), "inlined_at": (at.file, at.line, at.column)}
