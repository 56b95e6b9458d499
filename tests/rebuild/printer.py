"""A parsed module as Python that calls public names only, one statement a line; no sugar, no raw text.

`written=True` also prints what no statement has by itself: its white space, and a spelling that is not canonical.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.naming import to_ptx, to_python
from pyptx_dsl.types import BY_NAME
from pyptx_ir.syntax import nodes, spell
from pyptx_ir.syntax import operands as tree
from pyptx_ir.syntax.spelling import header

from .operands import Registers, constant

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

DEEPEST = 12  # `with` blocks in one another; CPython compiles no more than 20
PART = 500  # statements of a body that are compiled together
HEAD = "from pyptx import module, ptx, reg\nfrom pyptx.types import *\n\ninst = ptx.inst\n"


def printed(module: nodes.Module, *, unchecked: bool = False, written: bool = False) -> list[str]:
    """Return the text of the Python, in parts that may be compiled one by one."""
    printer = Printer(written=written)
    tail = f", tail={module.tail!r}" if written else ""
    opening = f"{HEAD}m = module(unchecked={unchecked}{tail})\n"
    for node in module.body:
        printer.module_statement(node)
    return [opening, *printer.chunks()]


class Printer:
    """Lines of Python so far; `parts` are whole functions, finished."""

    def __init__(self, *, written: bool) -> None:
        """Start at the beginning of a module."""
        self.registers = Registers()
        self.written = written
        self.lines: list[str] = []
        self.parts: list[str] = []
        self.indent = 0
        self.variables = 0
        self.functions = 0

    def chunks(self) -> list[str]:
        """Return all that was printed."""
        self._cut()
        return self.parts

    def add(self, line: str) -> None:
        """Print a line at the indentation of this place."""
        self.lines.append("    " * self.indent + line)

    def _cut(self) -> None:
        if self.lines:
            self.parts.append("\n".join(self.lines) + "\n")
            self.lines = []

    def _deviation(self, owner: str, lead: str, raw: str | None = None, canonical: str | None = None) -> None:
        """Print what is said of the next statement."""
        if not self.written:
            return
        spelling = "" if raw is None or raw == canonical else f", spelling={raw!r}"
        self.add(f"{owner}.written(lead={lead!r}{spelling})")

    # --- module level -----------------------------------------------------------------------------------

    def module_statement(self, node: nodes.Statement) -> None:
        """Print a statement of the module."""
        if isinstance(node, nodes.Section):
            self._section(node)
            return
        canonical = header(node) if isinstance(node, nodes.Function) else spell(node)
        self._deviation("m", node.lead, node.raw, canonical)
        match node:
            case nodes.Function(body=None):
                self.add(f"m.declare({node.kind!r}, {_header(node, returns=True)})")
            case nodes.Function():
                self._definition(node)
            case nodes.Version(major=major, minor=minor):
                self.add(f"m.version({major}, {minor})")
            case nodes.Target(names=names):
                self.add(f"m.target({_texts(names)})")
            case nodes.AddressSize(bits=bits):
                self.add(f"m.address_size({bits})")
            case nodes.File(index=index, name=name, timestamp=timestamp, size=size):
                self.add(f"m.file({index}, {name!r}, {timestamp}, {size})")
            case nodes.Alias(name=name, aliasee=aliasee):
                self.add(f"m.alias({name!r}, {aliasee!r})")
            case nodes.Variable():
                self.add(f"m.var({node.space!r}, {_variable(node, 'm')})")
            case nodes.Pragma(values=values):
                self.add(f"m.pragma({_texts(values)})")
            case nodes.Directive():
                self.add(f"m.directive({_directive(node)})")
            case nodes.Empty():
                self.add("m.empty()")
            case _:
                raise NotImplementedError(type(node).__name__)

    def _section(self, node: nodes.Section) -> None:
        head = f".section{node.head if node.head is not None else ' ' + node.name}"
        self._deviation("m", node.lead, head)
        self.add(f"with m.section({node.name!r}{f', close_lead={node.close_lead!r}' if self.written else ''}):")
        self.indent += 1
        for line in node.body:
            self._deviation("m", line.lead, line.raw, spell(line))
            if isinstance(line, nodes.Label):
                self.add(f"m.label({line.name!r})")
            else:
                self.add(f"m.data({line.type}, {', '.join(map(constant, line.values))})")
        if not node.body:
            self.add("pass")
        self.indent -= 1

    def _definition(self, node: nodes.Function) -> None:
        """Print a function: its body in parts, if it is long."""
        opening, self.lines = self.lines, []
        self.functions += 1
        name = f"body{self.functions}"
        self.indent += 1
        self.registers.enter()
        body = self._parts(node.body.body, node.body.close_lead)
        self.registers.leave()
        self.indent -= 1
        self.lines = []
        for number, part in enumerate(body[:-1]):
            self.parts.append(f"def {name}_{number}():\n{_global(part)}" + "\n".join(part) + "\n")
        self.lines = opening
        brace = f", brace={node.body.lead!r}" if self.written else ""
        self.add(f"@m.{node.kind}({_header(node, returns=node.kind == 'func')}{brace})")
        self.add(f"def {name}():")
        self.lines += [f"    {name}_{number}()" for number in range(len(body) - 1)]
        self.lines += [_global(body[-1]).rstrip("\n"), *body[-1]] if "\n".join(body[-1]).strip() else ["    pass"]
        self._cut()

    def _parts(self, body: Sequence[nodes.Statement], close: str) -> list[list[str]]:
        parts: list[list[str]] = []
        for node in body:
            self.statement(node)
            if len(self.lines) >= PART:
                parts.append(self.lines)
                self.lines = []
        self._deviation("ptx", close)
        return [*parts, self.lines]

    # --- bodies -----------------------------------------------------------------------------------------

    def statement(self, node: nodes.Statement) -> None:
        """Print a statement of a body."""
        if isinstance(node, nodes.Block):
            self._block(node)
            return
        if self.written:
            self._deviation("ptx", node.lead, node.raw, spell(node))
        match node:
            case nodes.Instruction():
                self._instruction(node)
            case nodes.Label(name=name):
                self.add(f"ptx.label({name!r})")
            case nodes.RegisterDeclaration():
                self._registers(node)
            case nodes.Variable():
                self.add(f"ptx.var({node.space!r}, {_variable(node, 'ptx')})")
            case nodes.Loc():
                self.add(f"ptx.loc({_loc(node)})")
            case nodes.Pragma(values=values):
                self.add(f"ptx.pragma({_texts(values)})")
            case nodes.CallPrototype(parameters=parameters, returns=returns, directives=directives):
                given = _parameters(parameters, "ptx.parameter"), _parameters(returns, "ptx.parameter")
                self.add(f"ptx.callprototype({', '.join(given)}{_directives(directives)})")
            case nodes.CallTargets(targets=targets):
                self.add(f"ptx.calltargets({_texts(targets)})")
            case nodes.BranchTargets(targets=targets):
                self.add(f"ptx.branchtargets({_texts(targets)})")
            case nodes.Directive():
                self.add(f"ptx.directive({_directive(node)})")
            case nodes.Empty():
                self.add("ptx.empty()")
            case _:
                raise NotImplementedError(type(node).__name__)

    def _block(self, node: nodes.Block) -> None:
        nested = self.indent < DEEPEST
        self._deviation("ptx", node.lead)
        self.add("with ptx.scope():" if nested else "ptx.open_scope()")
        self.registers.enter()
        self.indent += nested
        for inner in node.body:
            self.statement(inner)
        self._deviation("ptx", node.close_lead)
        if nested and not node.body:
            self.add("pass")
        self.indent -= nested
        self.registers.leave()
        if not nested:
            self.add("ptx.close_scope()")

    def _instruction(self, node: nodes.Instruction) -> None:
        operands = [self.registers.expression(each, node.opcode) for each in node.operands]
        if node.guard is not None:
            guard = tree.Register(node.guard.register)
            operands.append(f"pred={self.registers.expression(tree.Negated(guard) if node.guard.negated else guard)}")
        self.add(f"{_opcode(node.opcode)}({', '.join(operands)})")

    def _registers(self, node: nodes.RegisterDeclaration) -> None:
        variables = []
        for each in node.names:
            self.variables += 1
            variables.append(f"r{self.variables}")
            self.registers.declare(each.name, each.count, variables[-1])
        first = node.names[0]
        more = (f", vector={node.vector[1:]}" if node.vector else "") + _if("align", node.alignment)
        if len(node.names) == 1 and first.count is not None:
            self.add(f"{variables[0]} = reg.bank({first.name!r}, {node.type}, {first.count}{more})")
            return
        names = ", ".join(repr(each.name if each.count is None else (each.name, each.count)) for each in node.names)
        self.add(f"{', '.join(variables)}, = reg.declare({node.type}, {names}{more})")


def _global(part: list[str]) -> str:
    """Return the declaration of the variables that a part assigns, for the parts behind it."""
    names = [line.strip().partition(" = reg.")[0].rstrip(",") for line in part if " = reg." in line]
    return f"    global {', '.join(names)}\n" if names else ""


def _opcode(words: tuple[str, ...]) -> str:
    attributes = [to_python(word) for word in words]
    plain = all(
        name.isidentifier() and to_ptx(name) == word and (name[0] != "_" or name[1:2].isdecimal())
        for name, word in zip(attributes, words, strict=True)
    )
    return f"inst.{'.'.join(attributes)}" if plain else f"inst[{'.'.join(words)!r}]"


def _if(keyword: str, value: object) -> str:
    return "" if value is None else f", {keyword}={value!r}"


def _texts(values: Iterable[str]) -> str:
    return ", ".join(map(repr, values))


def _type(name: str) -> str:
    return name if name in BY_NAME else repr(name)


def _size(dimensions: tuple[tree.Operand | None, ...]) -> str:
    return f"({', '.join(map(constant, dimensions))},)" if dimensions else "None"


def _attributes(attributes: tuple[nodes.Attribute, ...]) -> str:
    rows = [repr(each.name) if not each.arguments else
            f"({each.name!r}, {', '.join(map(constant, each.arguments))})" for each in attributes]  # fmt: skip
    return f", attributes=[{', '.join(rows)}]" if rows else ""


def _variable(node: nodes.Variable, owner: str) -> str:
    first, *others = node.declarators
    size = _size(first.dimensions)
    named = (
        f"{first.name!r}, {_type(node.type)}, {size}"
        if owner == "m"
        else f"{_type(node.type)}, {first.name!r}, size={size}"
    )
    init = "" if first.initializer is None else f", init={constant(first.initializer)}"
    vector = f", vector={node.vector[1:]}" if node.vector else ""
    also = f", also=[{', '.join(_declarator(each, owner) for each in others)}]" if others else ""
    kept = _if("align", node.alignment) + _if("linking", node.linking) + _if("count", first.count)
    return f"{named}{init}{kept}{vector}{_attributes(node.attributes)}{also}"


def _declarator(node: nodes.Declarator, owner: str) -> str:
    init = "" if node.initializer is None else f", init={constant(node.initializer)}"
    return f"{owner}.declarator({node.name!r}, {_size(node.dimensions)}{init}{_if('count', node.count)})"


def _header(node: nodes.Function, *, returns: bool) -> str:
    given = [repr(node.name), _parameters(node.parameters, "m.param")]
    if returns:
        given.append(_parameters(node.returns, "m.param"))
    kept = _if("linking", node.linking) + _attributes(node.attributes)
    return ", ".join(given) + kept + _directives(node.directives)


def _parameters(parameters: tuple[nodes.Parameter, ...] | None, call: str) -> str:
    if parameters is None:
        return "None"
    return "[" + ", ".join(f"{call}({_parameter(each)})" for each in parameters) + "]"


def _parameter(node: nodes.Parameter) -> str:
    pointer = node.pointer
    ptr = "" if pointer is None else f", ptr={pointer.space or True!r}" + _if("ptr_align", pointer.alignment)
    vector = f", vector={node.vector[1:]}" if node.vector else ""
    space = "" if node.space == "param" else f", space={node.space!r}"
    size = f", {_size(node.dimensions)}" if node.dimensions else ""
    kept = _if("align", node.alignment) + ptr + vector + space + _attributes(node.attributes)
    return f"{node.name!r}, {_type(node.type)}{size}{kept}"


def _directives(directives: tuple[nodes.HeaderDirective, ...]) -> str:
    rows = [f"({each.name!r}, {_directive_value(each)})" for each in directives]
    return f", directives=[{', '.join(rows)}]" if rows else ""


def _directive_value(node: nodes.HeaderDirective) -> str:
    if not node.arguments:
        return "True"
    return f"({', '.join(repr(each) if isinstance(each, str) else constant(each) for each in node.arguments)},)"


def _directive(node: nodes.Directive) -> str:
    return ", ".join([repr(node.name), *map(constant, node.arguments), f"terminated={node.terminated}"])


def _loc(node: nodes.Loc) -> str:
    at = node.inlined_at
    place = f"{node.file}, {node.line}, {node.column}"
    if at is None:
        return place
    name = f"({at.function_label!r}, {at.offset})" if at.offset else repr(at.function_label)
    return f"{place}, function_name={name}, inlined_at=({at.file}, {at.line}, {at.column})"
