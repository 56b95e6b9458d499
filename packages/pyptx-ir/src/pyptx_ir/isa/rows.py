"""Rows of the instruction table, written as the syntax lines of the manual.

`row("mad{.mode}.type d, a, b, c", mode=("lo", "hi"), type=("u32", "s32"), since=ptx(1, 0))` reads like the manual. A
dotted word with the name of a keyword argument is a slot for that argument's modifiers, any other is a literal
modifier. Braces mean optional. The operands follow the opcode: `d`, `p{|q}` (a pair), `[a]` (an address), `{, c}`
(optional).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@value
class InstructionRow(Value):
    """One form of an instruction.

    `slots` contains the values of each modifier slot. `operands` describes operands whose kind does not follow from
    their name (see `pyptx_ir.isa.patterns`). `lengths` contains, for a slot, a number per value, such as the number of
    a vector's elements. `access` has one letter per operand: `w` written, `r` read, `x` both. `since` is the PTX
    version. `targets` are alternatives, each including the targets that carry it forward (empty: any). A removed form
    has `before`: the first target that lacks it, and the first PTX version without it on that target. ptxas accepts
    modifiers in any order, except types. The first `leading` modifiers keep their position, as parts of the
    instruction's name (True counts as 1). `manual` is the section of the manual.

    `instruction` is the usual name of the instruction, `cp.async.bulk`. `summary` describes its operation in one
    sentence, and `chapter` is its heading in lists. An instruction has many rows, possibly in several packages: only
    one of them needs a summary.
    """

    syntax: str
    slots: tuple[tuple[str, tuple[str, ...]], ...] = ()
    operands: tuple[tuple[str, str], ...] = ()
    access: str = ""
    since: tuple[int, int] = (1, 0)
    targets: tuple[str, ...] = ()
    before: tuple[str, tuple[int, int]] | None = None
    leading: int = 0
    manual: str = ""
    lengths: tuple[tuple[str, tuple[int, ...]], ...] = ()
    instruction: str = ""
    summary: str = ""
    chapter: str = ""

    @property
    def name(self) -> str:
        """Unique text of the instruction row: its syntax line, then the valid modifiers of each slot."""
        slots = "; ".join(f".{name} = {' '.join(values)}" for name, values in self.slots)
        return f"{self.syntax} ({slots})" if slots else self.syntax

    @property
    def opcode(self) -> str:
        """Opcode of the instruction row up to its first dot: `mad`, `cp`, `acme`."""
        return _opcode(self.syntax.split(None, 1)[0])


def ptx(major: int, minor: int) -> tuple[int, int]:
    """Return a PTX version as a (major, minor) pair."""
    return (major, minor)


def row(
    syntax: str,
    *,
    access: str = "",
    since: tuple[int, int] = (1, 0),
    targets: Sequence[str] = (),
    before: tuple[str, tuple[int, int]] | None = None,
    leading: int = 0,
    manual: str = "",
    instruction: str = "",
    summary: str = "",
    chapter: str = "",
    operands: Mapping[str, str] | None = None,
    lengths: Mapping[str, Sequence[int]] | None = None,
    slots: Mapping[str, Sequence[str]] | None = None,
    **more: Sequence[str],
) -> InstructionRow:
    """Return an instruction row; the other keywords (and `slots`) give the valid modifiers of each slot in `syntax`.

    Without `access`, the first operand is written unless it is an address, and the others are read. Without
    `instruction`, the instruction's name is `manual` up to ` (`, or else the opcode.
    """
    head, _, tail = syntax.partition(" ")
    return InstructionRow(
        syntax,
        tuple((name, tuple(values)) for name, values in {**(slots or {}), **more}.items()),
        tuple((operands or {}).items()),
        access or _access(tail),
        since,
        tuple(targets),
        before,
        leading,
        manual,
        tuple((name, tuple(numbers)) for name, numbers in (lengths or {}).items()),
        instruction or manual.partition(" (")[0] or _opcode(head),
        summary,
        chapter,
    )


def summarised(summaries: Mapping[str, Mapping[str, str]], *rows: InstructionRow) -> tuple[InstructionRow, ...]:
    """Return instruction rows with the summaries of their instructions, given by chapter, then by instruction name."""
    known = {name: (said, chapter) for chapter, names in summaries.items() for name, said in names.items()}
    return tuple([_with_summary(each, *known.get(each.instruction, ("", ""))) for each in rows])


def _with_summary(of: InstructionRow, summary: str, chapter: str) -> InstructionRow:
    return InstructionRow(
        of.syntax,
        of.slots,
        of.operands,
        of.access,
        of.since,
        of.targets,
        of.before,
        of.leading,
        of.manual,
        of.lengths,
        of.instruction,
        summary,
        chapter,
    )


def _opcode(head: str) -> str:
    return head.split(".", 1)[0].split("{", 1)[0]


def _access(operands: str) -> str:
    count = operands.count(",") + 1 if operands else 0
    first = "r" if operands.startswith("[") else "w"
    return (first + "r" * count)[:count]
