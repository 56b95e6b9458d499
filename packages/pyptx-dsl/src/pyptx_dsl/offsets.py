"""Offsets: 32-bit products and sums whose 64-bit form can be asked for.

`px += row * (N * 4)` must not wrap at 2^32, and `s = base + row * 128` must stay a 32-bit shared address. The width
of a product is therefore decided by its uses, but its place is not: the operator reserves a slot where it is written,
and when the trace ends the slot holds `mul.lo.u32` if the 32-bit register was used (or nothing was), `mul.wide.u32`
if the value was added to a 64-bit register, and both if both. Every instruction stands where the user wrote the
operator, so it reads its factors as they are there and dominates what an eagerly emitted one would; loops and
branches change nothing.

Offsets are `*` and `<<` of a 32-bit register, and `+` and `-` with an offset on either side. Factors are 32-bit
values; the 64-bit form is the exact integer, each 32-bit register extended by its own sign.

Two registers then hold one value, so writing the 32-bit one must not leave the other stale. After a write, new 64-bit
uses convert the register instead. Only a loop could bring an *earlier* use behind the write, and it must enter
between the slot and that use: if a label stands there, an in-place operator refreshes the 64-bit register (one `cvt`
more), and a write by any other instruction is a RewrittenOffsetError.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_dsl.errors import RewrittenOffsetError
from pyptx_dsl.types import s64
from pyptx_ir.syntax.nodes import Instruction
from pyptx_ir.syntax.operands import Immediate, Operand

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_dsl.handle import Handle

_U32 = range(1 << 32)
_S32 = range(-(1 << 31), 1 << 31)


@dataclass(frozen=True, slots=True)
class Term:
    """One operand of an offset: a number, or a register with the slot of its own 64-bit form."""

    register: Handle | None
    number: int
    slot: OffsetSlot | None

    @property
    def operand(self) -> Operand:
        """The 32-bit form."""
        return Immediate(str(self.number)) if self.register is None else self.register.operand

    @property
    def signed(self) -> bool:
        """Whether extension copies the sign bit; numbers are signed."""
        return self.register is None or self.register.dtype.kind == "signed"

    def need_narrow(self) -> None:
        """Pass on that the 32-bit form is read."""
        if self.register is not None and self.register.slot is not None:
            self.register.slot.need_narrow()


@dataclass(frozen=True, slots=True)
class Part:
    """Where the 64-bit form reads an operand: a register (extended into first, if `extend`), or the term as it is."""

    register: Handle | None
    extend: bool


_NUMBER = Part(None, extend=False)


class OffsetSlot:
    """The place of one offset in the trace, and what has been asked of it."""

    __slots__ = (
        *("_parts", "_wide_labels", "labels", "lead", "left", "narrow", "narrow_words", "needs_narrow"),
        *("operation", "right", "stale", "wide"),
    )

    def __init__(self, operation: str, narrow: Handle, narrow_words: tuple[str, ...], left: Term, right: Term) -> None:
        """Describe `narrow = left operation right`; `narrow_words` is the 32-bit instruction."""
        self.operation = operation
        self.narrow = narrow
        self.narrow_words = narrow_words
        self.left = left
        self.right = right
        self.lead = "\n\t"
        self.labels = 0
        self.needs_narrow = False
        self.wide: Handle | None = None
        self.stale = False
        self._wide_labels = 0
        self._parts: tuple[Part, Part] = (_NUMBER, _NUMBER)

    # --- what is asked ------------------------------------------------------------------------------

    def need_narrow(self) -> None:
        """Note that the 32-bit register is read or written somewhere."""
        if self.needs_narrow:
            return
        self.needs_narrow = True
        self.left.need_narrow()
        self.right.need_narrow()

    def need_wide(self, labels: int | None = None) -> Handle:
        """Return the 64-bit register, read where `labels` labels are defined (default: here)."""
        trace = self.narrow.trace
        self._wide_labels = max(self._wide_labels, trace.label_count if labels is None else labels)
        if self.wide is None:
            self.wide = trace.fresh(s64, prefix="%rd")
            self._parts = self._plan()
        return self.wide

    def _plan(self) -> tuple[Part, Part]:
        """Choose where each operand of the 64-bit form comes from."""
        if self._is_wide_product():
            self.left.need_narrow()
            self.right.need_narrow()
            return _NUMBER, _NUMBER
        if self.operation == "shl":
            self.right.need_narrow()
            return self._extended(self.left, self.wide), _NUMBER
        if self.operation == "mul":
            return self._extended(self.left, self.wide), self._extended(self.right, None)
        left = self._widened(self.left, self.wide)
        return left, self._widened(self.right, self.wide if left.register is not self.wide else None)

    def _widened(self, term: Term, into: Handle | None) -> Part:
        """Read a term of a sum: its own 64-bit form while that holds the value at this place, else an extension."""
        slot = term.slot
        if slot is None or (slot.stale and slot.labels != self.labels):
            return self._extended(term, into)
        return Part(slot.need_wide(self.labels), extend=False)

    def _extended(self, term: Term, into: Handle | None) -> Part:
        """Extend a 32-bit register into `into`, or into a register of its own; numbers stay as they are."""
        if term.register is None:
            return _NUMBER
        term.need_narrow()
        register = self.narrow.trace.fresh(s64, prefix="%rd") if into is None else into
        return Part(register, extend=True)

    @property
    def is_looped(self) -> bool:
        """Whether a loop may read the 64-bit form again without passing this place."""
        return self.wide is not None and self._wide_labels != self.labels

    def written(self) -> None:
        """Note a write of the 32-bit register; raise RewrittenOffsetError if a loop would miss it."""
        if self.is_looped:
            name = self.narrow.raw_name
            raise RewrittenOffsetError(
                f"this writes {name}, an offset whose 64-bit form met a pointer and may be read again by a loop",
                hint=f"make {name} a register of its own before the loop: offset = reg.from_(offset, u32)",
            )
        self.stale = True

    # --- what is emitted ----------------------------------------------------------------------------

    def _is_wide_product(self) -> bool:
        """Tell whether one `mul.wide` gives the exact product."""
        if self.operation == "shl":
            return self.right.register is None and 1 << self.right.number in (_S32 if self.left.signed else _U32)
        if self.operation != "mul":
            return False
        if self.right.register is None:
            return self.right.number in (_S32 if self.left.signed else _U32)
        return self.left.signed == self.right.signed

    def instructions(self) -> Iterator[Instruction]:
        """Yield what the slot came to hold, in order."""
        if self.needs_narrow or self.wide is None:
            operands = (self.narrow.operand, self.left.operand, self.right.operand)
            yield Instruction(opcode=self.narrow_words, operands=operands, lead=self.lead)
        if self.wide is not None:
            yield from self._wide_instructions(self.wide.operand)

    def _wide_instructions(self, wide: Operand) -> Iterator[Instruction]:
        if self._is_wide_product():
            factor = Immediate(str(1 << self.right.number)) if self.operation == "shl" else self.right.operand
            word = "s32" if self.left.signed else "u32"
            yield Instruction(opcode=("mul", "wide", word), operands=(wide, self.left.operand, factor), lead=self.lead)
            return
        for term, part in zip((self.left, self.right), self._parts, strict=True):
            if part.extend and part.register is not None:
                yield self._extension(part.register.operand, term)
        words = {"mul": ("mul", "lo", "s64"), "shl": ("shl", "b64")}.get(self.operation, (self.operation, "s64"))
        operands = [
            term.operand if part.register is None else part.register.operand
            for term, part in zip((self.left, self.right), self._parts, strict=True)
        ]
        yield Instruction(opcode=words, operands=(wide, *operands), lead=self.lead)

    def _extension(self, into: Operand, term: Term) -> Instruction:
        words = ("cvt", "s64", "s32") if term.signed else ("cvt", "u64", "u32")
        return Instruction(opcode=words, operands=(into, term.operand), lead=self.lead)
