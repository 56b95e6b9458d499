"""Printer of a PTX function body as Python: a rewrite prints a slice of the body, any other statement is one call."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pyptx_dsl.naming import to_ptx, to_python
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree
from pyptx_transpile.planning.plan import DEEPEST, FaultyRewriteError
from pyptx_transpile.printing.declarations import compressed_text, constant, kind, parameters, texts, variable
from pyptx_transpile.printing.layout import call, keyword, text
from pyptx_transpile.printing.page import Page
from pyptx_transpile.printing.values import Values, quoted
from pyptx_transpile.reading.rows import spelling_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from pyptx_transpile.planning.plan import Key, Rewrite, RewritePlan, Slot
    from pyptx_transpile.printing.layout import Expression, Group
    from pyptx_transpile.reading.names import Naming, Registers
    from pyptx_transpile.reading.rows import Body

_AGAIN = re.compile(r"(.*?)(((?:\n[^\n]*){1,2}?)\3{2,})(.*)", re.ASCII | re.DOTALL)
_COUNTERS = ("i", "j", "m")  # variable names for counters of printed loops
_LONG = 80  # minimum characters of leading trivia printed as a repetition, `text * count`
_LONGEST = 4_000  # maximum characters of a source text that is printed as it is, not compressed

# Functions that print a statement as a Python call without `ptx.`, by node class (`Any` stands for that class).
_CALLS: dict[type[nodes.Statement], Callable[[Any], Group]] = {
    nodes.Label: lambda node: call("label", [quoted(node.name)]),
    nodes.Loc: lambda node: call("loc", _location(node)),
    nodes.Pragma: lambda node: call("pragma", texts(node.values)),
    nodes.File: lambda node: call("file_", [str(node.index), quoted(node.name)]),
    nodes.Empty: lambda _: call("empty", []),
    nodes.CallTargets: lambda node: call("calltargets", texts(node.targets)),
    nodes.BranchTargets: lambda node: call("branchtargets", texts(node.targets)),
    nodes.CallPrototype: lambda node: call("callprototype", parameters(node, "ptx.parameter")),
    nodes.Directive: lambda node: call("directive", directive(node)),
}


class BodyPrinter:
    """Printer of one function body onto a `Page` (lines of Python), according to the body's `RewritePlan`."""

    def __init__(self, body: Body, plan: RewritePlan, page: Page, registers: Registers, naming: Naming) -> None:
        """Store the body, its plan and the page; `registers` has the symbols and parameters visible in the function."""
        self.body, self.page = body, page
        self.registers, self._naming = registers, naming
        self.values = Values(registers, special=naming.special)
        self._plan = plan
        self._unnamed = plan.unnamed() if naming.numbered else frozenset[int]()
        rewrites = plan.rewrites() if self._unnamed else ()
        self._left = {rewrite.leave for rewrite in rewrites if rewrite.leave is not None}
        self._labels: dict[Rewrite, str] = {}
        self._counters: dict[Rewrite, str] = {}
        self._variables: dict[tuple[str, ...], list[str]] = {}

    def print(self) -> None:
        """Print all statements of the body."""
        self.registers.enter()
        for name in {name for rewrite in self._plan.rewrites() for name in rewrite.names}:
            self.registers.reserve(name)
        self.slot(self._plan.root)
        self.deviation(self.body.end)
        self.registers.leave()

    def slot(self, slot: Slot) -> None:
        """Print a slice of the body: its rewrites, and the statements outside rewrites one by one."""
        at = slot.start
        blocks: list[bool] = []  # for each open PTX scope, whether it is printed as a Python `with` block
        for placed in slot.rewrites:
            self._statements(at, placed.rewrite.start, blocks)
            with self.page.of(placed.rewrite):
                try:
                    placed.rewrite.write(self, placed.slots)
                except FaultyRewriteError:
                    raise  # the error of a nested rewrite already names that rewrite
                except Exception as error:
                    raise FaultyRewriteError(self.body, placed.rewrite, error) from error
            at = placed.rewrite.end
        self._statements(at, slot.end, blocks)

    @property
    def unrolled(self) -> frozenset[Key]:
        """Keys (rule, start, end) of the loop rewrites that are printed unrolled, iteration by iteration."""
        return self._plan.unrolled

    def apart(self, slot: Slot) -> Page:
        """Print a slice of the body onto a new page, without line breaks in statements; return that page."""
        page = self.page
        self.page = Page(page.indent, width=None, owner=page.owner)
        self.page.folded = page.folded
        self.slot(slot)
        page, self.page = self.page, page
        return page

    def _statements(self, start: int, end: int, blocks: list[bool]) -> None:
        items = self.body.items
        for at in range(start, end):
            match items[at].kind:
                case "{":
                    blocks.append(self._open(at))
                case "}":
                    self._close(at, block=blocks.pop())
                case _:
                    self.statement(at)

    def _open(self, at: int) -> bool:
        """Print the opening brace of a scope; return whether the scope is a Python `with` block."""
        self.deviation(at)
        block = self.page.indent <= DEEPEST
        self.page.line("with ptx.scope():" if block else "ptx.open_scope()")
        self.registers.enter()
        self.page.indent += block
        if self.body.row.ends[at] == at + 1 and not self.body.deviates(at + 1):
            self.page.line("pass")
        return block

    def _close(self, at: int, *, block: bool) -> None:
        self.deviation(at)
        self.page.indent -= block
        self.registers.leave()
        if not block:
            self.page.line("ptx.close_scope()")

    # --- labels -------------------------------------------------------------------------------------------

    def label(self, keyword: str, at: int) -> list[str]:
        """Return the argument that names the label at index `at`; an empty list if the label is unnamed."""
        return [] if at in self._unnamed else [f"{keyword}={quoted(self.body.label(at))}"]

    def block(self, header: Expression, label: int) -> AbstractContextManager[None]:
        """Open a block of the current rewrite; bind its end label to a variable if the block refers to that label."""
        rewrite = self.page.owner
        bound = self._bound(rewrite) if rewrite is not None and rewrite in self._left and label in self._unnamed else ""
        return self.page.block(header, behind=bound and f" as {bound}")

    def _bound(self, rewrite: Rewrite) -> str:
        self._labels[rewrite] = self._variable(rewrite, (rewrite.binds,), self._labels)
        return self._labels[rewrite]

    def counter(self) -> str:
        """Return a counter variable for the current loop; loops that are not nested in each other may share it."""
        rewrite = self.page.owner
        if rewrite is None:
            raise TypeError("a loop must come from a rewrite")
        self._counters[rewrite] = self._variable(rewrite, _COUNTERS, self._counters)
        return self._counters[rewrite]

    def _variable(self, rewrite: Rewrite, wanted: tuple[str, ...], held: Mapping[Rewrite, str]) -> str:
        """Return the first variable name of `wanted` that no enclosing rewrite uses."""
        used = {held[each] for each in self._plan.around(rewrite.start) if each in held}
        known = self._variables.setdefault(wanted, [])
        name = next((name for name in known if name not in used), None)
        if name is None:
            name = self.registers.variable(next(filter(self.registers.is_free, wanted), wanted[-1]))
            self.registers.reserve(name)
            known.append(name)
        return name

    def behind(self, rewrite: Rewrite, at: int) -> str:
        """Return the Python expression for the label at index `at`, which ends the block of a rewrite."""
        return self._labels[rewrite] if at in self._unnamed else quoted(self.body.label(at))

    # --- statements -----------------------------------------------------------------------------------

    def statement(self, at: int) -> None:
        """Print the statement at index `at` as one call, without a rewrite; `at` must not be a brace's index."""
        node = self.body.items[at].node
        self.deviation(at)
        if isinstance(node, nodes.Instruction):
            self.instruction(node)
        elif isinstance(node, nodes.RegisterDeclaration):
            self.declaration(node)
        elif isinstance(node, nodes.Variable):
            self.variable(node)
        elif node is not None:
            self.page.say(_CALLS[type(node)](node), before="ptx.")

    def deviation(self, at: int) -> None:
        """Print `ptx.formatted` before a statement with unusual formatting, or with the instruction check off."""
        if self.body.deviates(at):
            item = self.body.items[at]
            write_deviation(self.page, "ptx", item.leading_trivia, spelling_of(item), self.body.row.refused.get(at))

    def instruction(self, node: nodes.Instruction) -> None:
        """Print an instruction as a call of `ptx.inst`."""
        predicate = None if node.guard is None else self.guard(node.guard)
        self.page.call(self.form(node), self._operands(node, predicate))

    def form(self, node: nodes.Instruction) -> str:
        """Return the Python callable for an opcode: its short name, if it has one, or `ptx.inst` with its tokens."""
        return self._naming.forms.get(node.opcode) or opcode(node.opcode)

    def called(self, node: nodes.Instruction) -> Group:
        """Return the `ptx.inst` call that emits an instruction with its guard."""
        return self._call(node, None if node.guard is None else self.guard(node.guard))

    def unguarded(self, node: nodes.Instruction) -> Group:
        """Return the call that emits an instruction without its guard."""
        return self._call(node, None)

    def guarded(self, at: int, predicate: str) -> str:
        """Return the call that emits the instruction at index `at`, with `predicate` as its guard."""
        return str(self._call(self.body.branch(at), predicate))

    def _call(self, node: nodes.Instruction, predicate: str | None) -> Group:
        return call(self.form(node), self._operands(node, predicate))

    def _operands(self, node: nodes.Instruction, predicate: str | None) -> list[str]:
        known, expression = self.registers.texts[-1], self.values.expression
        operands = [
            expression(each, node.opcode) if (found := known.get(id(each))) is None else found[1]
            for each in node.operands
        ]
        return operands if predicate is None else [*operands, f"pred={predicate}"]

    def is_assigned(self, register: tree.Operand) -> bool:
        """Return whether a register is an element of a register group of the body, so that Python can assign to it."""
        return isinstance(register, tree.Register) and self.registers.is_element(register.name)

    def guard(self, guard: nodes.Guard, *, negated: bool = False) -> str:
        """Return the Python predicate of an instruction's guard; its negation if `negated`."""
        register = self.registers.find(guard.register)
        if register is None:
            return quoted("!" * (guard.negated != negated) + guard.register)
        return "~" * (guard.negated != negated) + register

    def variable(self, node: nodes.Variable) -> None:
        """Print a variable declaration of the body, bound to a Python variable unless it declares several names."""
        said, first = call("ptx.var", variable(node, of_module=False)), node.declarators[0]
        if first.count is not None:
            self.page.say(said)
            return
        held = self.registers.declare(first.name, None, wanted=self._naming.of(first.name))
        self.page.say(said, before=f"{held} = ")

    def declaration(self, node: nodes.RegisterDeclaration) -> None:
        """Print a `.reg` declaration; each declared name gets a Python variable."""
        variables = [self.registers.declare(each.name, each.count) for each in node.names]
        more: list[Expression] = []
        if node.vector is not None:
            more.append(f"vector={node.vector[1:]}")
        if node.alignment is not None:
            more.append(f"align={node.alignment}")
        match node.names:
            case (nodes.RegisterName(name, int(count)),):
                arguments: list[Expression] = [quoted(name), kind(node.type), str(count)]
                self.page.say(call("reg.bank", [*arguments, *more]), before=f"{variables[0]} = ")
            case names:
                arguments = [kind(node.type)]
                arguments += [
                    quoted(each.name) if each.count is None else f"({quoted(each.name)}, {each.count})"
                    for each in names
                ]
                bound = f"({variables[0]},)" if len(variables) == 1 else ", ".join(variables)
                self.page.say(call("reg.declare", [*arguments, *more]), before=f"{bound} = ")


def write_deviation(
    page: Page, owner: str, leading_trivia: str | None, spelling: str | None, refused: str | None = None
) -> None:
    """Print the `formatted` call for the next statement of a body or module; `refused`: reason for `unchecked`."""
    arguments: list[Expression] = []
    if leading_trivia is not None:
        arguments.append(keyword("leading", _repeated(leading_trivia) or text(leading_trivia, quoted)))
    if spelling is not None:
        long = len(spelling) > _LONGEST
        arguments.append(keyword("text", compressed_text(spelling) if long else text(spelling, quoted)))
    if refused is not None:
        page.line(f"# {refused}")
        arguments.append("unchecked=True")
    if arguments:
        page.say(call(f"{owner}.formatted", arguments))


def _repeated(leading_trivia: str) -> str | None:
    """Return long leading trivia that repeats one or two lines as `unit * count`; None without repetition.

    Empty inline assembly statements produce such trivia.
    """
    found = _AGAIN.fullmatch(leading_trivia) if len(leading_trivia) > _LONG else None
    if found is None:
        return None
    before, unit, behind = found[1], found[3], found[4]
    times = f"{quoted(unit)} * {len(found[2]) // len(unit)}"
    return " + ".join([quoted(before)] * bool(before) + [times] + [quoted(behind)] * bool(behind))


def directive(node: nodes.Directive) -> list[Expression]:
    """Return the arguments of the `directive` call for a directive without a function of its own."""
    more = [] if node.terminated else ["terminated=False"]
    return [quoted(node.name), *map(constant, node.arguments), *more]


def _location(node: nodes.Loc) -> list[Expression]:
    place: list[Expression] = [str(node.file), str(node.line), str(node.column)]
    at = node.inlined_at
    if at is None:
        return place
    label = quoted(at.function_label)
    name = f"function_name=({label}, {at.offset})" if at.offset else f"function_name={label}"
    return [*place, name, f"inlined_at=({at.file}, {at.line}, {at.column})"]


@lru_cache(maxsize=4096)
def opcode(words: tuple[str, ...]) -> str:
    """Return opcode and modifiers as attributes of `ptx.inst`, or as its string index if they are not identifiers."""
    attributes = [to_python(word) for word in words]
    plain = all(
        name.isidentifier() and to_ptx(name) == word and (name[0] != "_" or name[1:2].isdecimal())
        for name, word in zip(attributes, words, strict=True)
    )
    return f"ptx.inst.{'.'.join(attributes)}" if plain else f"ptx.inst[{quoted('.'.join(words))}]"
