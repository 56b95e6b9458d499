"""Names for unnamed labels that contain the number of a basic block or label, as compilers generate: `$L__BB0_7`.

LLVM numbers the basic blocks of a function in the order of the text. A block begins at a label, and after a branch or a
`ret`; of two consecutive branches, the first of which may fall through, both end one block. Statements between braces
belong to the enclosing block. An explicit label name of the same pattern sets the number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_dsl.errors import DuplicateNameError, OperandError
from pyptx_dsl.registers.texts import identifier, text
from pyptx_dsl.tracing.scope import Scope
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree
from pyptx_ir.syntax.drafts import instruction, symbol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyptx_dsl.origin import Site
    from pyptx_dsl.tracing.trace import Trace

__all__ = ["LabelNames", "LabelNumbers", "label_names", "name_labels"]

_ENDS = frozenset({"bra", "brx", "ret"})
"""Instructions that end a basic block. In LLVM, `exit` and `trap` do not."""


@dataclass(frozen=True, slots=True)
class LabelNames:
    """Pattern of a function's label names: a prefix, the number of a basic block or label, and a suffix."""

    before: str
    behind: str
    of_blocks: bool

    def name(self, number: int) -> str:
        """Return the pattern's label name with the number `number`."""
        return f"{self.before}{number}{self.behind}"

    def number(self, name: str) -> int | None:
        """Return the number in a label name; None for a name that does not match the pattern."""
        digits = name[len(self.before) : len(name) - len(self.behind)]
        if not digits.isdecimal() or self.name(int(digits)) != name:
            return None
        return int(digits)


def label_names(scheme: object, function: int) -> LabelNames | None:
    """Return the LabelNames of a function for a pattern such as `$L__BB{function}_{block}`; None without a pattern.

    Raises OperandError for a pattern that has neither `{block}` nor `{label}`, or both.
    """
    if scheme is None:
        return None
    given = text("labels", scheme)
    parts = given.replace("{function}", str(function)).replace("{label}", "{block}").split("{block}")
    if len(parts) != 2:
        raise OperandError(
            f"labels must contain {{block}} or {{label}} once, got {given!r}",
            help='write "$L__BB{function}_{block}" for the names of LLVM',
        )
    found = LabelNames(parts[0], parts[1], "{block}" in given)
    identifier(found.name(0), "a label")
    return found


class LabelNumbers:
    """Counter of the basic blocks and labels of one function, which receives its statements in order."""

    __slots__ = ("_falls", "_fresh", "_names", "_number")

    def __init__(self, names: LabelNames) -> None:
        """Start before the function's first statement."""
        self._names = names
        self._number = 0
        self._fresh = True
        self._falls = False

    def instruction(self, node: nodes.Instruction) -> None:
        """Count an instruction outside inner `{ }` scopes; a branch ends the basic block."""
        if node.opcode[0] not in _ENDS:
            self._fresh = self._falls = False
            return
        together = self._falls and node.guard is None and node.opcode[0] == "bra"
        if self._names.of_blocks and not together:
            self._number += 1
        self._fresh, self._falls = True, node.guard is not None

    def scope(self) -> None:
        """Count an inner `{ }` scope, which is part of the current basic block."""
        self._fresh = self._falls = False

    def expected(self) -> str:
        """Return the name that an unnamed label after the counted statements gets."""
        begins = not self._names.of_blocks or not self._fresh
        return self._names.name(self._number + begins)

    def label(self, name: str) -> None:
        """Count a label; a label whose name does not match the pattern does not start a basic block."""
        number = self._names.number(name)
        if number is not None:
            self._number, self._fresh, self._falls = number, False, False


def name_labels(trace: Trace, names: LabelNames) -> None:
    """Name the unnamed labels of a trace by position.

    Consecutive unnamed labels are merged. Raises DuplicateNameError for a name that another label has.
    """
    scope, unnamed = trace.root_scope, trace.names.unnamed_labels
    found, merged = dict[str, str](), list[int]()
    numbers = LabelNumbers(names)
    for at, node in enumerate(scope.nodes):
        if isinstance(node, nodes.Instruction):
            numbers.instruction(node)
        elif isinstance(node, nodes.Label):
            if node.name in unnamed:
                found[node.name] = numbers.expected()
                following = scope.nodes[at + 1] if at + 1 < len(scope.nodes) else None
                if isinstance(following, nodes.Label) and following.name in unnamed:
                    merged.append(at)
                    continue
                _take(trace, found[node.name], scope.sites[at])
            numbers.label(found.get(node.name, node.name))
        elif isinstance(node, Scope):
            numbers.scope()
    for at in reversed(merged):
        del scope.nodes[at], scope.sites[at]
    if found:
        _rename(scope, found)


def _take(trace: Trace, name: str, site: Site) -> None:
    """Reserve the name generated for a label; raise DuplicateNameError if another label has it."""
    if name in trace.names.labels:
        raise DuplicateNameError(
            f"an unnamed label gets the name {name!r}, which is already used",
            where=trace.recorder.where(site),
            help="name the unnamed label, or rename the label of that name",
        )
    trace.names.labels.add(name)


def _rename(scope: Scope, names: Mapping[str, str]) -> None:
    for at, node in enumerate(scope.nodes):
        match node:
            case nodes.Instruction(opcode=("bra", *_), operands=(*others, tree.Symbol(name))) if name in names:
                operands = (*others, symbol(names[name]))
                scope.nodes[at] = instruction(node.opcode, operands, node.guard, node.leading_trivia)
            case nodes.Label(name) if name in names:
                scope.nodes[at] = nodes.Label(names[name], leading_trivia=node.leading_trivia)
            case nodes.BranchTargets(targets) if not names.keys().isdisjoint(targets):
                scope.nodes[at] = nodes.BranchTargets(
                    tuple([names.get(each, each) for each in targets]), leading_trivia=node.leading_trivia
                )
            case Scope():
                _rename(node, names)
            case _:
                pass
