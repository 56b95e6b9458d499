"""Offsets: 16- and 32-bit products, and sums that contain a product; both also have exact wider forms.

`px += row * N * 4` must not wrap at 2^32, and `s = base + row * 128` must stay a 32-bit shared address. The uses of a
product therefore decide its width, but not its position. The operator appends an `OffsetSlot` to the trace. At the end
of the trace the slot becomes `mul.lo.u32` if the 32-bit register was used (or no register was). It becomes
`mul.wide.u32` if the value was used with a 64-bit register, and both instructions if both registers were used. An
offset that one `mul.wide` cannot compute is computed in its widest form only. That form is exact, so each narrower form
is one `cvt` of its low bits. Each instruction is at the position of the user's operator. It reads the operand values at
that point and dominates the same uses as an instruction emitted immediately; loops and branches change nothing.

Offsets are `*` and `<<` of a register of 16 or 32 bits, and `+`, `-` and negation of an offset. A wider form is the
exact integer: it reads the form of equal width of every offset operand, and extends each plain register by its own
signedness. Uses propagate to operands through a worklist, because chains of offsets may be thousands long.

Several registers then contain one value, so a write to the narrow register must not leave the wider registers stale.
After a write, new wider uses convert the narrow register instead. Only a loop can execute an *earlier* use after the
write, and its label must be between the slot and that use. If a label is there, an in-place operator also recomputes
the wider register (one more `cvt`). A write by any other instruction raises RewrittenOffsetError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyptx_dsl.errors import RewrittenOffsetError
from pyptx_dsl.registers.operands import whole_number
from pyptx_dsl.types import s16, s32, s64
from pyptx_ir.syntax.drafts import instruction

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyptx_dsl.registers.handle import Handle
    from pyptx_ir.syntax.nodes import Instruction
    from pyptx_ir.syntax.operands import Operand

_TYPES = {16: s16, 32: s32, 64: s64}


class Term(NamedTuple):
    """One operand of an OffsetSlot: a number or a register, with its own OffsetSlot if it is an unchanged offset."""

    register: Handle | None
    number: int = 0
    slot: OffsetSlot | None = None

    @property
    def signed(self) -> bool:
        """Whether widening the operand copies its sign bit; numbers count as signed."""
        return self.register is None or self.register.dtype.kind == "signed"


class OperandRegister(NamedTuple):
    """Register with a widened operand of an OffsetSlot; with `extend`, the OffsetSlot emits the `cvt` that sets it."""

    register: Handle
    extend: bool = False


class OffsetForm:
    """One width of an OffsetSlot: its register, the trace's label count at its last read, its operands if read."""

    __slots__ = ("labels", "parts", "register", "widening")

    def __init__(self, register: Handle) -> None:
        """Store the register, not read yet; `widening`: one `mul.wide` of the unwidened operands computes it."""
        self.register = register
        self.labels = 0
        self.parts: tuple[OperandRegister | None, ...] | None = None
        self.widening = False


class OffsetSlot:
    """A product or sum at its position in a trace, emitted at the end in the widths (OffsetForm) that are used."""

    __slots__ = (
        "_forms",
        "_read",
        "bits",
        "labels",
        "leading_trivia",
        "narrow",
        "narrow_words",
        "operation",
        "stale",
        "terms",
    )

    def __init__(
        self,
        operation: str,
        narrow: Handle,
        narrow_words: tuple[str, ...],
        terms: tuple[Term, ...],
        leading_trivia: str,
        *,
        labels: int,
    ) -> None:
        """Store the computation of register `narrow`: `operation` of `terms`, after the trace's first `labels` labels.

        `narrow_words` is the opcode of the computation in the width of `narrow`.
        """
        self.operation = operation
        self.narrow = narrow
        self.narrow_words = narrow_words
        self.terms = terms
        self.bits = narrow.dtype.bits
        self.leading_trivia = leading_trivia
        self.labels = labels
        self.stale = False
        self._forms = {self.bits: OffsetForm(narrow)}
        # A tuple, since an empty set takes 216 bytes, and a kernel has about one OffsetSlot for each load.
        self._read: tuple[int, ...] = ()

    # --- requests -----------------------------------------------------------------------------------

    def read(self, bits: int) -> None:
        """Record that an instruction reads the OffsetSlot's register with `bits` bits."""
        if bits not in self._read:
            self._read += (bits,)

    def need_narrow(self) -> None:
        """Record a read or write of the OffsetSlot's narrow (16- or 32-bit) register."""
        self.read(self.bits)
        if self._forms[self.bits].parts is None:
            _ask(self, self.bits, self.labels)

    def need(self, bits: int) -> Handle:
        """Return the OffsetSlot's register with `bits` bits, and record that the next instruction reads it."""
        self.read(bits)
        _ask(self, bits, self.narrow.trace.label_count)
        return self._forms[bits].register

    def form(self, bits: int) -> OffsetForm:
        """Return this OffsetSlot's OffsetForm with `bits` bits; the first call declares the form's register."""
        found = self._forms.get(bits)
        if found is None:
            found = self._forms[bits] = OffsetForm(self.narrow.trace.fresh(_TYPES[bits]))
        return found

    def note(self, bits: int, labels: int) -> list[tuple[OffsetSlot, int, int]]:
        """Record a read of the register of `bits` bits after the trace's first `labels` labels.

        The first read returns the reads of other OffsetSlots that it requires: (OffsetSlot, bits, labels).
        """
        form = self.form(bits)
        form.labels = max(form.labels, labels)
        if form.parts is not None:
            return []
        asked: list[tuple[OffsetSlot, int, int]] = []
        form.widening = bits == 2 * self.bits and self._has_wide_product()
        parts: list[OperandRegister | None] = []
        for position, term in enumerate(self.terms):
            register = term.register
            if register is None:
                parts.append(None)
                continue
            is_amount = self.operation == "shl" and position == 1
            as_it_is = register.dtype.bits == bits or form.widening or is_amount
            if not as_it_is and self._holds(term) and term.slot is not None:
                asked.append((term.slot, bits, self.labels))
                parts.append(OperandRegister(term.slot.form(bits).register))
                continue
            if register.slot is not None:
                asked.append((register.slot, register.slot.bits, self.labels))
            parts.append(None if as_it_is else OperandRegister(self._staging(form, parts, bits), extend=True))
        form.parts = tuple(parts)
        return asked

    def _holds(self, term: Term) -> bool:
        """Return whether an operand is an offset whose 64-bit registers are up to date where this slot is emitted."""
        return term.slot is not None and not (term.slot.stale and term.slot.labels != self.labels)

    def _staging(self, form: OffsetForm, before: list[OperandRegister | None], bits: int) -> Handle:
        """Return the register for a widened operand: that of `form`, or a fresh one if another operand is in it."""
        taken = any(part is not None and part.register is form.register for part in before)
        return self.narrow.trace.fresh(_TYPES[bits]) if taken else form.register

    # --- writes -------------------------------------------------------------------------------------

    @property
    def looped(self) -> Mapping[int, OffsetForm]:
        """Wider registers read after a label that follows the OffsetSlot: a loop to the label may read stale values."""
        return {bits: form for bits, form in self._forms.items() if bits > self.bits and form.labels != self.labels}

    def detach(self, forms: Mapping[int, OffsetForm]) -> None:
        """Remove the wider registers `forms` before a write to the narrow register; the caller then recomputes them."""
        self._forms = {bits: form for bits, form in self._forms.items() if bits not in forms}

    def attach(self, forms: Mapping[int, OffsetForm]) -> None:
        """Add the wider registers `forms` again, after the caller has emitted instructions that recompute them."""
        self._forms |= forms

    def written(self) -> None:
        """Record a write of the narrow register; raise RewrittenOffsetError if a loop may read a stale wider copy."""
        if self.looped:
            name = self.narrow.raw_name
            raise RewrittenOffsetError(
                f"this writes {name}, whose widened copy (an offset added to a pointer) may be read again by a loop",
                help=f"copy {name} to another register before the loop: offset = reg.from_(offset, u32)",
            )
        self.stale = True

    # --- emission -----------------------------------------------------------------------------------

    def _has_wide_product(self) -> bool:
        """Return whether one `mul.wide` of the operands computes the exact product in twice the width."""
        if self.operation not in {"mul", "shl"} or any(self._holds(term) for term in self.terms):
            return False
        left, right = self.terms
        if left.register is None or left.register.dtype.bits != self.bits:
            return False
        if right.register is None:
            return _fits(1 << right.number if self.operation == "shl" else right.number, self.bits, signed=left.signed)
        same = right.register.dtype.bits == self.bits and left.signed == right.signed
        return self.operation == "mul" and same

    def settle(self) -> None:
        """Record which other OffsetSlots' registers this one's instructions read; call it for later ones first."""
        if not self._read:
            self.need_narrow()
        for bits in self._computed():
            for term, part in zip(self.terms, self._forms[bits].parts or (), strict=True):
                if part is not None and not part.extend and term.slot is not None:
                    term.slot.read(bits)
                elif term.register is not None and term.register.slot is not None:
                    term.register.slot.read(term.register.slot.bits)

    def _computed(self) -> list[int]:
        """Return the widths computed from the operands, not by `cvt`: the widest one read, or both widths of a product.

        Both widths of a plain product are one instruction each, as a `cvt` would be. ptxas generates better code for
        two products than for one product and its low half.
        """
        widest = max(self._read)
        both = self._forms[widest].widening and self.bits in self._read
        return [self.bits, widest] if both else [widest]

    def instructions(self) -> Iterator[Instruction]:
        """Yield the OffsetSlot's instructions: the computed widths, then a `cvt` from the widest to each other."""
        computed = self._computed()
        for bits in computed:
            form = self._forms[bits]
            yield from self._form_instructions(bits, form, form.parts or ())
        widest = computed[-1]
        for bits in sorted(set(self._read).difference(computed)):
            operands = (self._forms[bits].register.operand, self._forms[widest].register.operand)
            yield instruction(("cvt", f"u{bits}", f"u{widest}"), operands, None, self.leading_trivia)

    def _form_instructions(
        self, bits: int, form: OffsetForm, parts: tuple[OperandRegister | None, ...]
    ) -> Iterator[Instruction]:
        sources: list[Operand] = []
        for term, part in zip(self.terms, parts, strict=True):
            register = term.register if part is None else part.register
            sources.append(whole_number(term.number) if register is None else register.operand)
            if part is not None and part.extend and term.register is not None:
                operands = (part.register.operand, term.register.operand)
                yield instruction(extension(term.register, bits), operands, None, self.leading_trivia)
        words = self.narrow_words if bits == self.bits else self._wide_words(bits)
        if form.widening:
            words = ("mul", "wide", f"{'s' if self.terms[0].signed else 'u'}{self.bits}")
            if self.operation == "shl":
                sources[1] = whole_number(1 << self.terms[1].number)
        yield instruction(words, (form.register.operand, *sources), None, self.leading_trivia)

    def _wide_words(self, bits: int) -> tuple[str, ...]:
        if self.operation == "shl":
            return ("shl", f"b{bits}")
        return ("mul", "lo", f"s{bits}") if self.operation == "mul" else (self.operation, f"s{bits}")


def _ask(slot: OffsetSlot, bits: int, labels: int) -> None:
    """Record a read of an OffsetSlot's register of `bits` bits, and reads of the OffsetSlots that compute it."""
    pending = [(slot, bits, labels)]
    while pending:
        slot, bits, labels = pending.pop()
        pending += reversed(slot.note(bits, labels))


def _fits(number: int, bits: int, *, signed: bool) -> bool:
    return -(1 << (bits - 1)) <= number < 1 << (bits - 1) if signed else 0 <= number < 1 << bits


def extension(register: Handle, bits: int) -> tuple[str, ...]:
    """Return the opcode of the `cvt` that widens a register to `bits` bits by its own signedness."""
    letter = "s" if register.dtype.kind == "signed" else "u"
    return ("cvt", f"{letter}{bits}", f"{letter}{register.dtype.bits}")
