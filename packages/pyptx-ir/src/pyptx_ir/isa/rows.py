"""Rows of the instruction table, spelt as the manual's own syntax lines.

`row("mad{.mode}.type d, a, b, c", mode=("lo", "hi"), type=("u32", "s32"), since=ptx(1, 0))` reads like the manual: a
dotted word that names a keyword argument is a slot with those values, any other is literal; braces mean optional.
Behind the opcode stand the operands: `d`, `p{|q}` (a pair), `[a]` (an address), `{, c}` (may be absent).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@value
class InstructionRow(Value):
    """One form of an instruction.

    `slots` holds the values of each modifier slot; `operands` says what an operand must be where its name does not
    (see `pyptx_ir.isa.patterns`). `lengths` holds, for a slot, the number that goes with each of its values: that of a
    vector's elements. `access` has one letter per operand: `w` written, `r` read, `x` both. `since` is the PTX
    version; `targets` are alternatives, each covering what the lattice says (empty: any). A form that was removed has
    `before`: the first target that lacks it, and the PTX version from which on it does. ptxas takes modifiers in any
    order, types apart; but the `leading` first ones stay in front, as parts of the instruction's name (True is one).
    `manual` names the manual's section.

    `instruction` is the name by which people call what the row is a form of, `cp.async.bulk`; `summary` says in one
    sentence what that does, and `chapter` where to list it. An instruction has many rows, in several packages perhaps:
    it is enough if one of them has a summary.
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
        """The row's identity: its syntax line and the values of its slots."""
        slots = "; ".join(f".{name} = {' '.join(values)}" for name, values in self.slots)
        return f"{self.syntax} ({slots})" if slots else self.syntax

    @property
    def opcode(self) -> str:
        """The instruction's first word: `mad`, `cp`, `acme`."""
        return _opcode(self.syntax.split(None, 1)[0])


def ptx(major: int, minor: int) -> tuple[int, int]:
    """Spell a PTX version."""
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
    """Make a row; the remaining keywords (and `slots`) are the slots that `syntax` names.

    Without `access`, the first operand is written if it is no address, and the others are read. Without `instruction`,
    its name is that of the manual's section, less what stands there in parentheses, or else the opcode.
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
    """Return rows with the summaries of their instructions, which stand by chapter, then by name."""
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
