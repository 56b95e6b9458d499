"""Deviations from a style: the whitespace of each statement that the style does not reproduce."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from pyptx_ir.syntax.drafts import instruction, rewritten
from pyptx_ir.syntax.nodes import Block, Function, Instruction, Invalid, Section, Statement
from pyptx_ir.syntax.style.inline_asm import BEFORE
from pyptx_ir.syntax.style.items import Item, file_names, items
from pyptx_ir.syntax.style.placeholders import Context, filled
from pyptx_ir.syntax.style.shapes import Shapes
from pyptx_ir.syntax.style.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from pyptx_ir.syntax.nodes import Label, Module, SectionData
    from pyptx_ir.syntax.style.inline_asm import ItemInContext
    from pyptx_ir.syntax.style.shapes import Shape
    from pyptx_ir.syntax.style.style import Style


@dataclass(frozen=True, slots=True)
class Deviation:
    """Leading trivia and source text of a statement where they differ from the style; None where they do not."""

    item: Item
    leading_trivia: str | None
    raw: str | None


def deviations(module: Module, style: Style) -> Iterator[Deviation]:
    """Yield the leading trivia and source texts of a module that a style does not reproduce."""
    for item, leading_trivia, raw in _differences(module, style):
        if leading_trivia is not None or raw is not None:
            yield Deviation(item, leading_trivia, raw)


def stripped(module: Module, style: Style) -> Module:
    """Remove all trivia and source text that the style reproduces: `emit(stripped(m, style), style) == emit(m)`."""
    rest = _differences(module, style)
    body = tuple([_stripped(node, rest) for node in module.body])
    return replace(module, body=body, tail=next(rest)[1])


def _stripped(node: Statement, rest: Iterator[tuple[Item, str | None, str | None]]) -> Statement:
    _, leading_trivia, raw = next(rest)
    match node:
        case Instruction():
            return instruction(node.opcode, node.operands, node.guard, leading_trivia, raw)
        case Block():
            return _block(node, leading_trivia, rest)
        case Function(body=Block() as block):
            return replace(node, leading_trivia=leading_trivia, raw=raw, body=_block(block, next(rest)[1], rest))
        case Section():
            # A section contains only statements of these three classes.
            lines = cast(
                "tuple[SectionData | Label | Invalid, ...]", tuple([_stripped(one, rest) for one in node.body])
            )
            head = None if raw is None else node.head
            return replace(node, leading_trivia=leading_trivia, head=head, body=lines, closing_trivia=next(rest)[1])
        case _:
            return rewritten(node, leading_trivia, raw)


def _block(block: Block, leading_trivia: str | None, rest: Iterator[tuple[Item, str | None, str | None]]) -> Block:
    body = tuple([_stripped(node, rest) for node in block.body])
    return replace(block, leading_trivia=leading_trivia, body=body, closing_trivia=next(rest)[1])


def _differences(module: Module, style: Style) -> Iterator[tuple[Item, str | None, str | None]]:
    row = list(items(module))
    return differences(row, Shapes().of_row(row), style)


def differences_where_inferred(
    row: Sequence[Item],
    shapes: Sequence[Shape | None],
    style: Style,
    parts: Mapping[int, ItemInContext],
    in_asm: Collection[int],
) -> Iterator[tuple[Item, str | None, str | None]]:
    """Yield the result of `differences` for the statements and braces from which the style was inferred.

    `parts` and `in_asm` are those in inline assembly, by index. Most statements have the shape, the leading trivia and
    the preceding statement's name of an earlier statement, and are not compared again.
    """
    writer, files = Writer(style), file_names(row)
    known: dict[tuple[str, str, int, str | None, Shape | None], tuple[bool, bool]] = {}
    before = BEFORE
    for at, (item, shape) in enumerate(zip(row, shapes, strict=True)):
        part = parts.get(at)
        key = before.name, item.name, item.depth, item.leading_trivia, shape
        usual = part is None and at not in in_asm
        fits = known.get(key) if usual else None
        if fits is None:
            leading_trivia = writer.leading_trivia(before, item, part)
            places = "{" in leading_trivia
            if places:
                leading_trivia = filled(
                    leading_trivia, Context(item, before, (before.leading_trivia or "") + (before.raw or ""), files)
                )
            if at in in_asm:
                item.enter_asm()
            form = None if part is None else part.form
            fits = item.leading_trivia == leading_trivia, _is_given(writer, item, form, shape)
            if shape is not None and usual and not places:
                known[key] = fits
        yield item, None if fits[0] else item.leading_trivia, None if fits[1] else item.raw
        before = item


def _is_given(writer: Writer, item: Item, form: str | None, shape: Shape | None) -> bool:
    return item.node is None or (writer.gives(item, form, shape) and not isinstance(item.node, Invalid))


def differences(
    row: Sequence[Item], shapes: Sequence[Shape | None], style: Style
) -> Iterator[tuple[Item, str | None, str | None]]:
    """Yield each statement or brace, its leading trivia and source text; None replaces a text that the style gives."""
    writer = Writer(style)
    for (item, leading_trivia, form), shape in zip(writer.laid(row), shapes, strict=True):
        given = _is_given(writer, item, form, shape)
        yield item, None if item.leading_trivia == leading_trivia else item.leading_trivia, None if given else item.raw
