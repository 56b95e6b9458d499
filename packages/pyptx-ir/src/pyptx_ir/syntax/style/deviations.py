"""What a style does not give: the rest of a text's white space, statement by statement."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from pyptx_ir.syntax.drafts import instruction, rewritten
from pyptx_ir.syntax.nodes import Block, Function, Instruction, Invalid, Section, Statement
from pyptx_ir.syntax.style.items import Item, items
from pyptx_ir.syntax.style.shapes import Shapes
from pyptx_ir.syntax.style.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyptx_ir.syntax.nodes import Label, Module, SectionData
    from pyptx_ir.syntax.style.shapes import Shape
    from pyptx_ir.syntax.style.style import Style


@dataclass(frozen=True, slots=True)
class Deviation:
    """A lead, a spelling, or both, that a style does not give."""

    item: Item
    lead: str | None
    raw: str | None


def deviations(module: Module, style: Style) -> Iterator[Deviation]:
    """Yield what of a module's own leads and spellings is not what the style says."""
    for item, lead, raw in _differences(module, style):
        if lead is not None or raw is not None:
            yield Deviation(item, lead, raw)


def stripped(module: Module, style: Style) -> Module:
    """Take away every lead and spelling that the style gives back: `emit(stripped(m, style), style) == emit(m)`."""
    rest = _differences(module, style)
    body = tuple([_stripped(node, rest) for node in module.body])
    return replace(module, body=body, tail=next(rest)[1])


def _stripped(node: Statement, rest: Iterator[tuple[Item, str | None, str | None]]) -> Statement:
    _, lead, raw = next(rest)
    match node:
        case Instruction():
            return instruction(node.opcode, node.operands, node.guard, lead, raw)
        case Block():
            return _block(node, lead, rest)
        case Function(body=Block() as block):
            return replace(node, lead=lead, raw=raw, body=_block(block, next(rest)[1], rest))
        case Section():
            # Nothing else was in it.
            lines = cast(
                "tuple[SectionData | Label | Invalid, ...]", tuple([_stripped(one, rest) for one in node.body])
            )
            head = None if raw is None else node.head
            return replace(node, lead=lead, head=head, body=lines, close_lead=next(rest)[1])
        case _:
            return rewritten(node, lead, raw)


def _block(block: Block, lead: str | None, rest: Iterator[tuple[Item, str | None, str | None]]) -> Block:
    body = tuple([_stripped(node, rest) for node in block.body])
    return replace(block, lead=lead, body=body, close_lead=next(rest)[1])


def _differences(module: Module, style: Style) -> Iterator[tuple[Item, str | None, str | None]]:
    row = list(items(module))
    return differences(row, Shapes().of_row(row), style)


def differences(
    row: Sequence[Item], shapes: Sequence[Shape | None], style: Style
) -> Iterator[tuple[Item, str | None, str | None]]:
    """Yield each item with its own lead and its own spelling, which has a shape, where they are not the style's."""
    writer = Writer(style)
    for (item, lead, form), shape in zip(writer.laid(row), shapes, strict=True):
        given = item.node is None or (writer.gives(item, form, shape) and not isinstance(item.node, Invalid))
        yield item, None if item.lead == lead else item.lead, None if given else item.raw
