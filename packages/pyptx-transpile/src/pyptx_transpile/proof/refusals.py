"""Statements that the DSL's checks reject, and unknown instructions: each is printed with `unchecked=True`.

Each source statement goes through the same checks as a statement of the printed Python.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from pyptx_dsl.errors import UnknownInstructionWarning
from pyptx_dsl.modules.statements import parameter_kinds
from pyptx_dsl.tracing.checker import Checker
from pyptx_dsl.tracing.names import Names, declared_names, register_kinds, variable_kind
from pyptx_dsl.tracing.statement_checks import StatementChecker
from pyptx_ir.errors import PyptxError
from pyptx_ir.isa.check import MOST_WORDS, forms_of, judge
from pyptx_ir.isa.form_diagnostics import UNKNOWN_INSTRUCTION
from pyptx_ir.isa.modules.sections import line_fault
from pyptx_ir.plugins.targets import find_target
from pyptx_ir.syntax import nodes
from pyptx_transpile.errors import ProofError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_transpile.reading.rows import Body, Row

T = TypeVar("T")

__all__ = ["has_unknown", "one_line", "refusals"]


def has_unknown(row: Row) -> bool:
    """Return whether a module has an instruction that is not in the instruction table; the checks only warn of it."""
    head = next((item.node for item in row.items if isinstance(item.node, nodes.Version)), nodes.Version(0, 0))
    opcodes = {item.node.opcode for item in row.items if isinstance(item.node, nodes.Instruction)}
    strange = [opcode for opcode in opcodes if len(opcode) > MOST_WORDS or not forms_of(opcode)]
    found = [judge(opcode, (), "", (head.major, head.minor)).diagnostic for opcode in strange]
    return any(each is not None and each.code == UNKNOWN_INSTRUCTION for each in found)


def refusals(row: Row) -> dict[int, str]:
    """Return the reasons for which the DSL's checks reject statements, by the statement's index in `Row.items`.

    Raise ProofError for a statement that cannot be emitted unchecked by itself: `.version`, `.target`, a duplicate
    name.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnknownInstructionWarning)
        try:
            return dict(_Module(row).refused())
        except PyptxError as error:
            raise ProofError("emitting a statement with unchecked=True still raises") from error


def one_line(text: str) -> str:
    """Return a message as one ASCII line for a Python comment, which text quoted from the module must not end."""
    return " ".join(text.split()).encode("unicode_escape").decode("ascii")


def _why(error: PyptxError | UnknownInstructionWarning) -> str:
    return one_line(error.message if isinstance(error, PyptxError) else str(error).partition("\n")[0])


class _Module:
    """The DSL's checks of one module's statements, with the names declared so far."""

    def __init__(self, row: Row) -> None:
        self._row, self._bodies = row, {body.start: body for body in row.bodies()}
        self._begin()

    def _begin(self) -> None:
        """Reset the checks at a `.version`, which starts another module of a listing."""
        self._checks = StatementChecker()
        self._version, self._target = (0, 0), ""
        self._declared: dict[str, str] = {}
        self._files: set[int] = set()
        self._labels: set[str] = set()

    def refused(self) -> Iterator[tuple[int, str]]:
        """Yield the index in `Row.items` of each statement that the DSL's checks reject, and the reason."""
        at, items = 0, self._row.items
        while at < len(items):
            node = items[at].node
            why = "" if node is None else self._refusal(node)
            if why:
                yield at, why
            if isinstance(node, nodes.Function):
                self._declared.setdefault(node.name, f".{node.kind}")
            elif isinstance(node, nodes.Variable):
                for names in declared_names(node.declarators):
                    self._declared |= dict.fromkeys(names, variable_kind(node))
            if isinstance(node, nodes.Function) and node.body is not None:
                yield from self._refused_in(self._bodies[at + 2], node)
                at = self._row.ends[at + 1]
            at += 1

    def _refusal(self, node: nodes.Statement) -> str:
        """Return the reason to reject a module-level statement; "" if the checks accept the statement."""
        match node:
            case nodes.Version(major=major, minor=minor):
                self._begin()
                self._version = major, minor
                self._checks = self._checks.below(node)
            case nodes.Target(names=names):
                self._target = find_target(names[0]).name
                self._checks = self._checks.below(node)
            case nodes.AddressSize():
                self._checks = self._checks.below(node)
            case nodes.Variable() | nodes.Alias() | nodes.Pragma() | nodes.Function():
                head = replace(node, body=nodes.Block(())) if isinstance(node, nodes.Function) and node.body else node
                return self._finding(head)
            case nodes.File(index=index):
                return _again(index, self._files, "a .file with this index")
            case nodes.Label(name=name):
                return _again(name, self._labels, "a label with this name")
            case nodes.SectionData():
                return one_line(line_fault(node))
            case _:
                pass
        return ""

    def _finding(self, node: nodes.Statement, *, in_body: bool = False) -> str:
        try:
            (self._checks.check_in_body if in_body else self._checks.check)(node)
        except PyptxError as error:
            return _why(error)
        return ""

    def _refused_in(self, body: Body, function: nodes.Function) -> Iterator[tuple[int, str]]:
        """Yield the index in `Row.items` of each statement of a body that the DSL's checks reject, and the reason."""
        checker = Checker(self._target, self._version)
        names = Names(function.name, checker.declared)
        names.surround(self._declared)
        for name, kind in parameter_kinds((*function.returns, *(function.parameters or ()))):
            names.claim_parameter(name, kind)
        for at in range(body.start, body.end):
            item = body.items[at]
            if item.kind == "{":
                names.enter()
            elif item.kind == "}":
                names.leave()
            elif item.node is not None:
                why = self._refusal_in_body(item.node, checker, names)
                if why:
                    yield at, why

    def _refusal_in_body(self, node: nodes.Statement, checker: Checker, names: Names) -> str:
        """Return the reason to reject a statement of a body, or ""; record the statement's declarations."""
        match node:
            case nodes.Instruction():
                try:
                    checker.check(node)
                except (PyptxError, UnknownInstructionWarning) as error:
                    return _why(error)
            case nodes.RegisterDeclaration():
                for declared, kind in register_kinds(node):
                    names.declare(declared, kind)
            case nodes.Variable(space=space, type=word):
                for declared in declared_names(node.declarators):
                    names.declare(declared, variable_kind(node))
                return "" if space == "param" and word != "pred" else self._finding(node, in_body=True)
            case nodes.File():
                return ".file is not allowed inside a function"
            case _:
                pass
        return ""


def _again(one: T, known: set[T], what: str) -> str:
    """Record a `.file` index or a label; return the error text if the module already has it."""
    if one in known:
        return f"the module already has {what}"
    known.add(one)
    return ""
