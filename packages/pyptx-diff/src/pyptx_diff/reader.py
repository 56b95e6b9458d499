"""Convert a module to its comparable form.

Omitted: whitespace, comments, stray `;`, braces (names are resolved in scope), unreferenced labels, and `.reg`
declarations (compared where a register is used). Also omitted, unless requested: `.loc`, `.file` and debugging
sections. Labels at the same position become one.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from pyptx_diff.items import Body, Content, DiffItem, Node, Tokens
from pyptx_diff.scopes import Declaration, Declarations, Family, NameScope
from pyptx_diff.shapes import Shape, is_single, named, shape_of
from pyptx_diff.statements import (
    directive_shape,
    function_shape,
    parameter_shape,
    statement_shape,
    variable_shape,
)
from pyptx_ir.syntax.nodes import (
    Block,
    BranchTargets,
    CallPrototype,
    CallTargets,
    Directive,
    Empty,
    File,
    Function,
    Instruction,
    Label,
    Loc,
    RegisterDeclaration,
    Section,
    Statement,
    Variable,
)
from pyptx_ir.syntax.spelling import spell

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LISTS = (BranchTargets, CallTargets, CallPrototype)
_DWARF = "@@DWARF"


class Reader:
    """Reader of one module. `at` is the index of the preceding statement in `pyptx_ir.syntax.positions`."""

    def __init__(self, tokens: Tokens, at: int, *, debug: bool) -> None:
        self._tokens = tokens
        self._at = at
        self._debug = debug
        self._declarations = Declarations()
        self._module_scope = self._scope = NameScope()
        self._module = self._body = Body("module", "", [], [])
        self._list_names: list[str] = []  # label of the .branchtargets or .calltargets that is read next
        self._sections: list[tuple[Section, int]] = []
        self._labels: dict[str, list[int]] = {}
        self._shapes: dict[bool, dict[int, tuple[Shape, list[str]]]] = {False: {}, True: {}}

    def read(self, body: Sequence[Statement]) -> Content:
        """Read the statements of a module; return one `Body` for each function, and one for the rest of the module."""
        self._declare_module(body)
        bodies = [self._module]
        for node in body:
            if isinstance(node, Function):
                bodies.append(self._function(node))
            else:
                self._statement(node, None)
        for section, at in self._sections:
            self._section(section, at)
        _settle(bodies)
        return Content(bodies, self._declarations)

    # --- declarations -------------------------------------------------------------------------------

    def _declare_module(self, body: Sequence[Statement]) -> None:
        """Declare the names at module level; the order of their declarations does not count."""
        functions: dict[str, list[Function]] = {}
        for node in body:
            if isinstance(node, Function):
                functions.setdefault(node.name, []).append(node)
            elif isinstance(node, Variable):
                self._declare_variables(node)
            elif isinstance(node, Section) and self._debug:
                self._declare_labels(node.body)
        for name, nodes in functions.items():
            here = any(node.body is not None for node in nodes)
            public = not here or any(node.linking or node.kind == "entry" for node in nodes)
            self._declare("function", name, public=public)

    def _declare(self, kind: str, name: str, detail: Shape = None, *, public: bool = False) -> int:
        declaration = Declaration(kind, name, detail, self._at, self._body.name, public)
        return self._declarations.declare(self._scope, declaration)

    def _declare_labels(self, body: Iterable[Statement]) -> None:
        for node in body:
            if isinstance(node, Label):
                self._labels.setdefault(node.name, []).append(self._declare("label", node.name))

    def _declare_registers(self, node: RegisterDeclaration) -> None:
        detail = spell(replace(node, names=())).removesuffix(" ;")
        for name, count in ((one.name, one.count) for one in node.names):
            if count is None:
                self._declare("register", name, detail)
            else:
                self._declare_family("register", name, count, detail)

    def _declare_variables(self, node: Variable) -> None:
        for one in node.declarators:
            name = one.name if one.count is None else f"{one.name}<{one.count}>"
            self._declare("variable", name, public=node.linking is not None)
            if one.count is not None:
                self._declare_family("variable", one.name, one.count, variable_shape(node, one, []))

    def _declare_family(self, kind: str, stem: str, count: int, detail: Shape) -> None:
        family = Family(kind, count, detail, self._at, self._body.name)
        self._declarations.declare_family(self._scope, stem, family)

    # --- statements ---------------------------------------------------------------------------------

    def _function(self, node: Function) -> Body:
        self._at += 1
        number = self._module_scope.names[node.name]
        body = self._body = Body(node.kind, node.name, [], [], number, node.body is not None)
        self._scope = NameScope(self._module_scope)
        self._header(node)
        if node.body is not None:
            self._at += 1
            self._statements(node.body.body)
        self._body, self._scope = self._module, self._module_scope
        return body

    def _header(self, node: Function) -> None:
        own = [node.name]
        self._add(function_shape(node, own), own, node)
        for role, parameters in (("return", node.returns), ("parameter", node.parameters or ())):
            for one in parameters:
                names: list[str] = []
                if node.body is not None and one.name not in ("", "_"):
                    self._declare("parameter", one.name)
                    names = [one.name]
                self._add((role, parameter_shape(one, names)), names, one)
        for directive in sorted(node.directives, key=lambda one: one.name):
            names = list[str]()
            self._add(directive_shape(directive, names), names, directive)

    def _statements(self, body: Sequence[Statement]) -> None:
        self._declare_labels(body)
        for node, following in zip_longest(body, body[1:]):
            if isinstance(node, Instruction):
                self._instruction(node)
            elif isinstance(node, Block):
                self._block(node)
            else:
                self._statement(node, following)

    def _block(self, node: Block) -> None:
        self._at += 1
        outer = self._scope
        self._scope = NameScope(outer)
        self._statements(node.body)
        self._scope = outer

    def _statement(self, node: Statement, following: Statement | None) -> None:
        self._at += 1
        match node:
            case RegisterDeclaration():
                self._declare_registers(node)
            case Variable():
                self._variables(node)
            case Section():
                if self._debug:
                    self._sections.append((node, self._at))
                self._at += len(node.body)
            case Label(name) if isinstance(following, _LISTS):
                self._list_names = [name]
            case _:
                self._other(node)

    def _other(self, node: Statement) -> None:
        if isinstance(node, Empty) or (not self._debug and _is_debugging(node)):
            return
        names, self._list_names = self._list_names, []
        self._add(statement_shape(node, names), names, node)

    def _instruction(self, node: Instruction) -> None:
        self._at += 1
        names: list[str] = []
        guard = node.guard
        condition = None if guard is None else (guard.negated, named(guard.register, names))
        shapes: list[Shape] = [node.opcode, condition]
        single = is_single(node.opcode)
        known = self._shapes[single]
        for operand in node.operands:
            found = known.get(id(operand))
            if found is None:
                inside: list[str] = []
                found = known[id(operand)] = shape_of(operand, inside, single=single), inside
            shapes.append(found[0])
            names += found[1]
        self._add(tuple(shapes), names, node)

    def _variables(self, node: Variable) -> None:
        if self._scope is not self._module_scope:
            self._declare_variables(node)
        for one in node.declarators:
            names = [one.name if one.count is None else f"{one.name}<{one.count}>"]
            shape = variable_shape(node, one, names)
            self._body.variables.append(self._item(shape, names, replace(node, declarators=(one,)), self._at))

    def _section(self, node: Section, at: int) -> None:
        """Add the lines of a section, which may refer to a label of a function if exactly one function has it."""
        alone = {name: numbers[0] for name, numbers in self._labels.items() if len(numbers) == 1}
        self._scope = NameScope(self._module_scope, alone)
        self._body.items.append(self._item(("section", node.name), [], node, at))
        for place, line in enumerate(node.body, at + 1):
            names: list[str] = []
            self._body.items.append(self._item(statement_shape(line, names), names, line, place))
        self._scope = self._module_scope

    def _add(self, shape: Shape, names: list[str], node: Node) -> None:
        self._body.items.append(self._item(shape, names, node, self._at))

    def _item(self, shape: Shape, names: list[str], node: Node, at: int) -> DiffItem:
        """Return a statement as a `DiffItem` with resolved names. An undeclared name becomes part of its shape."""
        scope, declarations = self._scope, self._declarations
        numbers: list[int] = []
        kinds: list[str | tuple[str]] = []
        for name in names:
            number = scope.names.get(name)
            if number is None:
                number = declarations.find(scope, name)
            if number is None:
                kinds.append((name,))
            else:
                kinds.append(declarations[number].kind)
                numbers.append(number)
        return DiffItem(self._tokens[shape, tuple(kinds)], tuple(numbers), node, at)


def _is_debugging(node: Statement) -> bool:
    return isinstance(node, Loc | File) or (isinstance(node, Directive) and node.name == _DWARF)


def _settle(bodies: list[Body]) -> None:
    """Remove unreferenced labels and merge labels at the same position."""
    referred = {number for body in bodies for item in body.items if not _is_label(item) for number in item.names}
    same: dict[int, int] = {}
    for body in bodies:
        kept: list[DiffItem] = []
        for item in body.items:
            if not _is_label(item):
                kept.append(item)
            elif item.names[0] in referred:
                if kept and _is_label(kept[-1]):
                    same[item.names[0]] = kept[-1].names[0]
                else:
                    kept.append(item)
        body.items[:] = kept
    if same:
        for body in bodies:
            body.items[:] = [
                item._replace(names=tuple([same.get(number, number) for number in item.names])) for item in body.items
            ]


def _is_label(item: DiffItem) -> bool:
    return item.node.__class__ is Label and bool(item.names)
