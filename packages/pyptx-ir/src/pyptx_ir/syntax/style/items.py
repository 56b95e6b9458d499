"""A tree as a row of items in the order of the text: statements, braces, and the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyptx_ir.syntax.nodes import (
    USUAL_LEAD,
    Block,
    Directive,
    Function,
    Instruction,
    Module,
    Section,
    SectionData,
    Statement,
    Variable,
)
from pyptx_ir.syntax.spelling import header, spell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

START, END = "^", "$"


class Item:
    """A statement without what is inside its braces, a brace, or the end of a module.

    `kind` is what it is, `name` what it is more closely: the first word of an opcode, the space of a variable. `lead`
    and `raw` are what the tree says, None where it leaves that to the style. `function` is the name of the function
    around it, or that it begins.
    """

    __slots__ = ("depth", "function", "kind", "lead", "name", "node", "raw")

    def __init__(
        self,
        kind: str,
        name: str,
        node: Statement | None,
        lead: str | None,
        raw: str | None,
        depth: int,
        function: str,
    ) -> None:
        self.kind, self.name, self.node, self.lead, self.raw = kind, name, node, lead, raw
        self.depth, self.function = depth, function

    def canonical(self) -> str:
        """Return the canonical text."""
        node = self.node
        if self.raw is not None and node is None:
            return self.raw
        if isinstance(node, Function):
            return header(node)
        if isinstance(node, Section):
            return f".section {node.name}\n\t{{"
        return spell(node) if node is not None else ""

    def usual_lead(self) -> str:
        """Return the lead where no style says anything."""
        return _USUAL_LEADS.get(self.name, USUAL_LEAD)


_USUAL_LEADS = {"}": "\n", "body}": "\n", END: "\n"}
# Any: each entry takes the one class that it stands under, which a dictionary's type cannot say.
_NAMES: dict[type, Callable[[Any], str]] = {
    Instruction: lambda node: node.opcode[0],
    Variable: lambda node: f".{node.space}",
    Function: lambda node: f".{node.kind}",
    SectionData: lambda node: f".{node.type}",
    Directive: lambda node: f".{node.name}",
}


def items(tree: Module | Statement) -> Iterator[Item]:
    """Yield the items of a module, or of one statement."""
    if not isinstance(tree, Module):
        yield from _row((tree,))
        return
    yield from _row(tree.body)
    yield Item(END, END, None, tree.tail, "", 0, "")


def _row(body: Sequence[Statement]) -> Iterator[Item]:
    function = ""
    stack: list[tuple[Iterator[Statement], Item | None]] = [(iter(body), None)]
    while stack:
        statements, closing = stack[-1]
        depth = len(stack) - 1
        for node in statements:
            kind = node.__class__
            name = _NAMES.get(kind)
            if name is not None and kind is not Function:
                yield Item(kind.__name__, name(node), node, node.lead, node.raw, depth, function)
                continue
            if isinstance(node, Function):
                function = node.name
                block = node.body
                word = "Declaration" if block is None else "Function"
                yield Item(word, f".{node.kind}", node, node.lead, node.raw, depth, function)
                if block is None:
                    continue
                yield Item("{", "body{", None, block.lead, "{", depth, function)
                stack.append((iter(block.body), Item("}", "body}", None, block.close_lead, "}", depth, function)))
                break
            if isinstance(node, Block):
                yield Item("{", "{", None, node.lead, "{", depth, function)
                stack.append((iter(node.body), Item("}", "}", None, node.close_lead, "}", depth, function)))
                break
            if isinstance(node, Section):
                head = None if node.head is None else f".section{node.head}{{"
                yield Item("Section", "Section", node, node.lead, head, depth, function)
                stack.append((iter(node.body), Item("}", "section}", None, node.close_lead, "}", depth, function)))
                break
            yield Item(kind.__name__, kind.__name__, node, node.lead, node.raw, depth, function)
        else:
            stack.pop()
            if closing is not None:
                yield closing
