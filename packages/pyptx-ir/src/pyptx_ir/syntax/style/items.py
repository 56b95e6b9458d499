"""A tree as a sequence of items in text order: statements, braces, and the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyptx_ir.syntax.nodes import (
    USUAL_TRIVIA,
    Block,
    Directive,
    File,
    Function,
    Instruction,
    Label,
    Module,
    RegisterDeclaration,
    Section,
    SectionData,
    Statement,
    Variable,
)
from pyptx_ir.syntax.operands import Symbol
from pyptx_ir.syntax.spelling import header, spell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyptx_ir.syntax.style.shapes import Shape

START, END = "^", "$"
REGISTERS, INNER_REGISTERS = ".reg", "inner .reg"
_NESTING = frozenset({Section, Block, Function})
_OPENING, _CLOSING = frozenset({"{", "body{", "Section"}), frozenset({"}", "body}", "section}"})


class Item:
    """A statement without its nested statements, a brace, or the end of a module.

    `kind` is its class. `name` is more specific: the first word of an opcode (two for an instruction family) or the
    space of a variable. It is `.reg` for the registers of a function, but not of a nested block. `leading_trivia` and
    `raw` are from the tree, None if the style determines them. `depth` is the number of enclosing braces. `function` is
    the name of the enclosing function, or of the one that begins here. `Counts` sets `calls` and `block`. `remark` is
    LLVM's comment on a line of debug data (see `dwarf`). `Shapes` sets `shape`, the separators between the words of the
    source text.
    """

    __slots__ = (
        "block",
        "calls",
        "depth",
        "function",
        "kind",
        "leading_trivia",
        "name",
        "node",
        "raw",
        "remark",
        "shape",
    )

    def __init__(
        self, kind: str, name: str, node: Statement | None, leading_trivia: str | None, raw: str | None
    ) -> None:
        self.kind, self.name, self.node, self.leading_trivia, self.raw = kind, name, node, leading_trivia, raw
        self.depth = self.calls = self.block = 0
        self.function = self.remark = ""
        self.shape: Shape | None = None

    def canonical(self) -> str:
        """Return the canonical text of this statement or brace."""
        node = self.node
        if node is None:
            return self.raw or ""
        write = _HEADS.get(node.__class__)
        return spell(node) if write is None else write(node)

    def enter_asm(self) -> None:
        """Prefix `kind` and `name` with `asm`, because inline assembly has its author's style, not the compiler's."""
        self.kind, self.name = f"asm {self.kind}", f"asm {self.name}"


_USUAL_TRIVIA_AT = {"}": "\n", "body}": "\n", END: "\n"}
# Any: the function stored for a node class takes only that class, which a dictionary's type cannot express.
_HEADS: dict[type, Callable[[Any], str]] = {
    Function: header,
    Section: lambda node: f".section {node.name}\n\t{{",
}
# First words of opcodes; compilers format the instructions that share such a word in different ways.
_FAMILIES = frozenset({"cp", "mbarrier", "multimem", "tcgen05", "tensormap", "wgmma", "wmma"})
_LINE_LABEL = "$L__tmp"  # prefix of labels that mark source lines; nvcc formats branches to them differently
TO_LINE = f"bra {_LINE_LABEL}"
_CLOSER = _FAMILIES | {"bra"}
_PROTOTYPE = "prototype"  # prefix of prototype labels in NVVM and LLVM, which format them differently
_NAMES: dict[type, Callable[[Any], str]] = {
    Label: lambda node: _PROTOTYPE if node.name.startswith(f"{_PROTOTYPE}_") else "Label",
    Variable: lambda node: f".{node.space}",
    Function: lambda node: f".{node.kind}",
    SectionData: lambda node: f".{node.type}",
    Directive: lambda node: f".{node.name}",
}


def _closer(node: Instruction) -> str:
    """Return the `Item.name` of an instruction whose first opcode word is not specific enough."""
    if node.opcode[0] in _FAMILIES:
        return ".".join(node.opcode[:2])
    target = node.operands[-1] if node.operands else None
    return TO_LINE if isinstance(target, Symbol) and target.name.startswith(_LINE_LABEL) else node.opcode[0]


def items(tree: Module | Statement) -> Iterator[Item]:
    """Yield the `Item`s (statements, braces, end) of a tree, each with its brace depth and its function's name."""
    depth, function = 0, ""
    for item in _row(tree):
        kind, node = item.kind, item.node
        if node.__class__ is Instruction:  # fast path: most statements are instructions
            item.depth, item.function = depth, function
            yield item
            continue
        if kind in _CLOSING:
            depth -= 1
        elif isinstance(node, Function):
            function = node.name
        elif function and isinstance(node, RegisterDeclaration):
            item.name = REGISTERS if depth == 1 else INNER_REGISTERS
        item.depth, item.function = depth, function
        yield item
        if kind in _OPENING:
            depth += 1


def usual_trivia(name: str) -> str:
    """Return the canonical leading trivia of statements and braces with this `Item.name`."""
    return _USUAL_TRIVIA_AT.get(name, USUAL_TRIVIA)


def opcode_number(item: Item) -> int | None:
    """Return the index of the opcode among the words of an instruction: 0, or 1 after a guard."""
    node = item.node
    return None if not isinstance(node, Instruction) else int(node.guard is not None)


def file_names(row: Sequence[Item]) -> dict[int, str]:
    """Return the file names that a module declares, by index."""
    found = [item.node for item in row if item.kind == File.__name__]
    return {node.index: node.name for node in found if isinstance(node, File)}


def _row(tree: Module | Statement) -> Iterator[Item]:
    stack: list[tuple[Iterator[Statement], Item | None]]
    if isinstance(tree, Module):
        stack = [(iter(tree.body), Item(END, END, None, tree.tail, ""))]
    else:
        stack = [(iter((tree,)), None)]
    while stack:
        statements, closing = stack[-1]
        for node in statements:
            item = _item(node)
            yield item
            if node.__class__ not in _NESTING:
                continue
            if isinstance(node, Section):
                stack.append((iter(node.body), Item("section}", "section}", None, node.closing_trivia, "}")))
                break
            if isinstance(node, Block):
                stack.append((iter(node.body), Item("}", "}", None, node.closing_trivia, "}")))
                break
            if isinstance(node, Function) and node.body is not None:
                block = node.body
                yield Item("body{", "body{", None, block.leading_trivia, "{")
                stack.append((iter(block.body), Item("body}", "body}", None, block.closing_trivia, "}")))
                break
        else:
            stack.pop()
            if closing is not None:
                yield closing


def _item(node: Statement) -> Item:
    kind = node.__class__
    if isinstance(node, Instruction):
        first = node.opcode[0]
        return Item("Instruction", _closer(node) if first in _CLOSER else first, node, node.leading_trivia, node.raw)
    name = _NAMES.get(kind)
    if name is not None:
        declares = isinstance(node, Function) and node.body is None
        return Item("Declaration" if declares else kind.__name__, name(node), node, node.leading_trivia, node.raw)
    if kind is Block:
        return Item("{", "{", None, node.leading_trivia, "{")
    if isinstance(node, Section):
        head = None if node.head is None else f".section{node.head}{{"
        return Item("Section", "Section", node, node.leading_trivia, head)
    return Item(kind.__name__, kind.__name__, node, node.leading_trivia, node.raw)
