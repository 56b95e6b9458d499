"""A parsed module as Python that calls public names only, a statement a line; no sugar, no raw text.

`written=True` also prints what no statement has by itself: its white space, and a spelling that is not canonical.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyptx_dsl.naming import to_ptx, to_python
from pyptx_ir.syntax import nodes, spell
from pyptx_ir.syntax import operands as tree
from pyptx_ir.syntax.spelling import header

from .arguments import Registers, arguments_of, constant, function, parameters, texts, variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DEEPEST = 12  # `with` blocks in one another; CPython compiles no more than 20
PART = 500  # statements of a body that are compiled together
HEAD = "from pyptx import module, ptx, reg\nfrom pyptx.types import *\n\ninst = ptx.inst\n"

# What is written for a statement, behind `m.` or `ptx.`.
SIMPLE: dict[type, Callable[[Any], str]] = {
    nodes.Version: lambda node: f"version({node.major}, {node.minor})",
    nodes.Target: lambda node: f"target({texts(node.names)})",
    nodes.AddressSize: lambda node: f"address_size({node.bits})",
    nodes.File: lambda node: f"file({node.index}, {node.name!r}, {node.timestamp}, {node.size})",
    nodes.Alias: lambda node: f"alias({node.name!r}, {node.aliasee!r})",
    nodes.Pragma: lambda node: f"pragma({texts(node.values)})",
    nodes.Empty: lambda _: "empty()",
    nodes.Label: lambda node: f"label({node.name!r})",
    nodes.SectionData: lambda node: f"data({node.type}, {', '.join(map(constant, node.values))})",
    nodes.Directive: lambda node: f"directive({arguments_of(node)}, terminated={node.terminated})",
    nodes.CallTargets: lambda node: f"calltargets({texts(node.targets)})",
    nodes.BranchTargets: lambda node: f"branchtargets({texts(node.targets)})",
    nodes.CallPrototype: lambda node: f"callprototype({parameters(node, 'ptx.parameter')})",
    nodes.Loc: lambda node: f"loc({node.file}, {node.line}, {node.column}{inlined(node.inlined_at)})",
    nodes.Function: lambda node: f"declare({node.kind!r}, {node.name!r}, {function(node)})",
}


def printed(module: nodes.Module, *, unchecked: bool = False, written: bool = False) -> list[str]:
    """Return the text of the Python, in parts that may be compiled one by one."""
    printer = Printer(written=written)
    tail = f", tail={module.tail!r}" if written else ""
    for node in module.body:
        printer.module_statement(node)
    printer.cut()
    return [f"{HEAD}m = module(unchecked={unchecked}{tail})\n", *printer.parts]


class Printer:
    """Lines of Python so far; `parts` are finished."""

    def __init__(self, *, written: bool) -> None:
        """Start at the beginning of a module."""
        self.registers = Registers()
        self.written = written
        self.lines: list[str] = []
        self.parts: list[str] = []
        self.indent = self.variables = self.functions = 0

    def add(self, line: str) -> None:
        """Print a line at the indentation of this place."""
        self.lines.append("    " * self.indent + line)

    def cut(self) -> None:
        """End a part."""
        self.parts.append("\n".join(self.lines) + "\n")
        self.lines = []

    def say(self, owner: str, lead: str, raw: str | None = None, canonical: str | None = None) -> None:
        """Print what is said of the next statement."""
        if self.written:
            spelling = "" if raw is None or raw == canonical else f", spelling={raw!r}"
            self.add(f"{owner}.written(lead={lead!r}{spelling})")

    # --- module level -----------------------------------------------------------------------------------

    def module_statement(self, node: nodes.Statement) -> None:
        """Print a statement of the module."""
        if isinstance(node, nodes.Section):
            self.section(node)
            return
        self.say("m", node.lead, node.raw, header(node) if isinstance(node, nodes.Function) else spell(node))
        if isinstance(node, nodes.Function) and node.body is not None:
            self.definition(node, node.body)
        elif isinstance(node, nodes.Variable):
            self.add(f"m.var({node.space!r}, {variable(node, 'm')})")
        else:
            self.add(f"m.{SIMPLE[type(node)](node)}")

    def section(self, node: nodes.Section) -> None:
        """Print a debugging section."""
        self.say("m", node.lead, f".section{node.head or f' {node.name}'}")
        self.add(f"with m.section({node.name!r}):")
        self.indent += 1
        for line in node.body:
            self.say("m", line.lead, line.raw, spell(line))
            self.add(f"m.{SIMPLE[type(line)](line)}")
        self.say("m", node.close_lead)
        self.lines += [] if node.body else ["    pass"]
        self.indent -= 1

    def definition(self, node: nodes.Function, body: nodes.Block) -> None:
        """Print a function: all but the end of a long body as functions of their own, in front of it."""
        said, self.lines = self.lines, []
        self.functions += 1
        self.indent += 1
        self.registers.enter()
        names = self.body(body.body)
        self.say("ptx", body.close_lead)
        self.registers.leave()
        self.indent -= 1
        last, self.lines = self.lines, said
        brace = f", brace={body.lead!r}" if self.written else ""
        self.add(f"@m.{node.kind}({node.name!r}, {function(node)}{brace})")
        self.lines += [f"def body_{self.functions}():", *[f"    {name}()" for name in names], *(shared(last) or last)]
        self.lines += ["    pass"] if not names and not last else []
        self.cut()

    def body(self, body: Sequence[nodes.Statement]) -> list[str]:
        """Print the statements of a body; return the names of the parts that are functions of their own."""
        names: list[str] = []
        for node in body:
            self.statement(node)
            if len(self.lines) >= PART:
                names.append(f"body_{self.functions}_{len(names)}")
                self.lines = [f"def {names[-1]}():", *(shared(self.lines) or self.lines)]
                self.cut()
        return names

    # --- bodies -----------------------------------------------------------------------------------------

    def statement(self, node: nodes.Statement) -> None:
        """Print a statement of a body."""
        if isinstance(node, nodes.Block):
            self.block(node)
            return
        self.say("ptx", node.lead, node.raw, spell(node) if self.written else None)
        match node:
            case nodes.Instruction():
                self.instruction(node)
            case nodes.RegisterDeclaration():
                self.declaration(node)
            case nodes.Variable():
                self.add(f"ptx.var({node.space!r}, {variable(node, 'ptx')})")
            case _:
                self.add(f"ptx.{SIMPLE[type(node)](node)}")

    def block(self, node: nodes.Block) -> None:
        """Print a scope; what nests deep has no indentation."""
        nested = self.indent < DEEPEST
        self.say("ptx", node.lead)
        self.add("with ptx.scope():" if nested else "ptx.open_scope()")
        self.registers.enter()
        self.indent += nested
        for inner in node.body:
            self.statement(inner)
        self.say("ptx", node.close_lead)
        if nested and not node.body:
            self.add("pass")
        self.indent -= nested
        self.registers.leave()
        if not nested:
            self.add("ptx.close_scope()")

    def instruction(self, node: nodes.Instruction) -> None:
        """Print an instruction."""
        operands = [self.registers.expression(each, node.opcode) for each in node.operands]
        if node.guard is not None:
            guard = tree.Register(node.guard.register)
            operands.append(f"pred={self.registers.expression(tree.Negated(guard) if node.guard.negated else guard)}")
        self.add(f"{opcode(node.opcode)}({', '.join(operands)})")

    def declaration(self, node: nodes.RegisterDeclaration) -> None:
        """Print a `.reg`, and give each of its names a variable."""
        variables = list[str]()
        for each in node.names:
            self.variables += 1
            variables.append(f"r{self.variables}")
            self.registers.declare(each.name, each.count, variables[-1])
        more = f", vector={node.vector and node.vector[1:]}, align={node.alignment})"
        match node.names:
            case (nodes.RegisterName(name, int(count)),):
                self.add(f"{variables[0]} = reg.bank({name!r}, {node.type}, {count}{more}")
            case names:
                listed = ", ".join(repr(each.name if each.count is None else (each.name, each.count)) for each in names)
                self.add(f"{', '.join(variables)}, = reg.declare({node.type}, {listed}{more}")


def shared(lines: list[str]) -> list[str]:
    """Return the lines of a part, if it assigns variables, that are then known to the parts behind it."""
    names = [line.strip().partition(" = reg.")[0].rstrip(",") for line in lines if " = reg." in line]
    return [f"    global {', '.join(names)}", *lines] if names else []


def opcode(words: tuple[str, ...]) -> str:
    """Return the words of an instruction as attributes or, where they are none, as text."""
    attributes = [to_python(word) for word in words]
    plain = all(
        name.isidentifier() and to_ptx(name) == word and (name[0] != "_" or name[1:2].isdecimal())
        for name, word in zip(attributes, words, strict=True)
    )
    return f"inst.{'.'.join(attributes)}" if plain else f"inst[{'.'.join(words)!r}]"


def inlined(at: nodes.InlinedAt | None) -> str:
    """Return the keywords of the tail of a `.loc`."""
    if at is None:
        return ""
    name = f"({at.function_label!r}, {at.offset})"
    return f", function_name={name}, inlined_at=({at.file}, {at.line}, {at.column})"
