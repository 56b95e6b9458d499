"""Functions of instruction table rows: `ptx.add(f32, d, a, b, rounding="rz")` emits `add.rz.f32 d, a, b;`.

A wrapper has a name. Its docstring, types, keywords, valid combinations and the order of modifiers come from the rows
of the instruction table. The table is read on first use.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack, cast

from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms, Types, types_of
from pyptx_dsl.naming import to_ptx
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import PtxType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx_dsl.instructions.forms.row_forms import RowForm
    from pyptx_dsl.registers.register import Reg
    from pyptx_ir.isa.rows import InstructionRow

__all__ = [
    "Binary",
    "BinaryOrTernary",
    "Flags",
    "Modifiers",
    "OfRows",
    "Quaternary",
    "Ternary",
    "Unary",
    "Wrapper",
    "keywords_of",
    "of_rows",
]


class Flags(TypedDict, total=False):
    """Keywords of `Wrapper` calls but `mode`, for type checkers; the instruction table has the valid combinations."""

    rounding: Literal["rn", "rz", "rm", "rp"] | None
    abs: bool
    approx: bool
    cc: bool
    ftz: bool
    full: bool
    nan: bool
    oob: bool
    relu: bool
    sat: bool
    satfinite: bool
    shiftamt: bool
    xorsign_abs: bool


class Modifiers(Flags, total=False):
    """Keywords of all `Wrapper` calls, for type checkers."""

    mode: str | None


class _Documentation:
    """Descriptor for `__doc__`: an instance's docstring lists its forms; the class has its own docstring."""

    def __init__(self, own: str) -> None:
        """Store the docstring of the Wrapper subclass."""
        self._own = own

    def __get__(self, wrapper: Wrapper | None, owner: type) -> str:
        """Return an instance's docstring: its summary, its forms, and the sections of the manual."""
        if wrapper is None:
            return self._own
        lines = [wrapper.summary, "", "Emits one instruction:", "", *map(_line, wrapper.forms), ""]
        sections = dict.fromkeys(form.row.manual for form in wrapper.forms)
        return "\n".join([*lines, f"Manual: {', '.join(sections)}."])


def _line(form: RowForm) -> str:
    slots = [f".{name}: {' '.join(values)}" for name, values in form.row.slots]
    return f"    {form.syntax}    {'; '.join(slots)}".rstrip()


class Wrapper(InstructionForms):
    """A PTX instruction as a function of `ptx`; base class of instructions with one to four sources.

    Keywords are the modifiers of the form for the type. `pred` guards the instruction. If an opcode has several types,
    as in `add.f32.f16`, they are a tuple: `ptx.add((f32, f16), d, a, c)`. An instruction of untyped bits (`.b32`)
    accepts any type of its width.

    Raise OperandError for an invalid value of a keyword and for an unsupported type, InstructionUseError for
    unsupported operands and combinations.
    """

    def __init_subclass__(cls) -> None:
        """Replace the subclass's docstring by a descriptor that returns a separate docstring for each instance."""
        cls.__doc__ = cast("str", _Documentation(cls.__doc__ or ""))

    def __init__(self, name: str) -> None:
        """Create the function `ptx.<name>`."""
        super().__init__(f"ptx.{name}", to_ptx(name))
        self.__name__ = name

    @property
    def summary(self) -> str:
        """The instruction's summary in the table, the first line of the docstring."""
        rows = [form.row for form in self.forms if form.row.summary]
        return min(rows, key=lambda row: row.instruction != self.head).summary if rows else ""

    def _emit(
        self, dtype: Types, operands: Sequence[object], modifiers: Mapping[str, object], pred: Reg | None
    ) -> None:
        what = f"ptx.{self.__name__}"
        checked = dtype if type(dtype) is PtxType else types_of(dtype, what)
        asked = cast("Mapping[str, str | bool | None]", modifiers)  # `Modifiers` values are str, bool or None
        active(what).emit(self.words(checked, **asked), operands, pred)


class Unary(Wrapper):
    """An instruction with one source: `ptx.name(type, dst, a, **modifiers)`."""

    def __call__(
        self, dtype: Types, dst: Reg, a: object, *, pred: Reg | None = None, **modifiers: Unpack[Modifiers]
    ) -> Reg:
        """Emit the instruction and return `dst`."""
        self._emit(dtype, (dst, a), modifiers, pred)
        return dst


class Binary(Wrapper):
    """An instruction with two sources: `ptx.name(type, dst, a, b, **modifiers)`."""

    def __call__(
        self, dtype: Types, dst: Reg, a: object, b: object, *, pred: Reg | None = None, **modifiers: Unpack[Modifiers]
    ) -> Reg:
        """Emit the instruction and return `dst`."""
        self._emit(dtype, (dst, a, b), modifiers, pred)
        return dst


class BinaryOrTernary(Wrapper):
    """An instruction with two sources, or for some types three: `ptx.name(type, dst, a, b, c=None, **modifiers)`."""

    def __call__(
        self,
        dtype: Types,
        dst: Reg,
        a: object,
        b: object,
        c: object | None = None,
        *,
        pred: Reg | None = None,
        **modifiers: Unpack[Modifiers],
    ) -> Reg:
        """Emit the instruction and return `dst`."""
        self._emit(dtype, (dst, a, b) if c is None else (dst, a, b, c), modifiers, pred)
        return dst


class Ternary(Wrapper):
    """An instruction with three sources: `ptx.name(type, dst, a, b, c, **modifiers)`."""

    def __call__(
        self,
        dtype: Types,
        dst: Reg,
        a: object,
        b: object,
        c: object,
        *,
        pred: Reg | None = None,
        **modifiers: Unpack[Modifiers],
    ) -> Reg:
        """Emit the instruction and return `dst`."""
        self._emit(dtype, (dst, a, b, c), modifiers, pred)
        return dst


class Quaternary(Wrapper):
    """An instruction with four sources: `ptx.name(type, dst, a, b, c, d, **modifiers)`."""

    def __call__(
        self,
        dtype: Types,
        dst: Reg,
        a: object,
        b: object,
        c: object,
        d: object,
        *,
        pred: Reg | None = None,
        **modifiers: Unpack[Modifiers],
    ) -> Reg:
        """Emit the instruction and return `dst`."""
        self._emit(dtype, (dst, a, b, c, d), modifiers, pred)
        return dst


class OfRows(Wrapper):
    """An instruction that only the instruction table has: `ptx.name(type, dst, *sources, **modifiers)`."""

    def __call__(
        self, dtype: Types, dst: Reg, *sources: object, pred: Reg | None = None, **modifiers: str | bool | None
    ) -> Reg:
        """Emit the instruction and return `dst`."""
        self._emit(dtype, (dst, *sources), modifiers, pred)
        return dst


def of_rows(name: str) -> OfRows | None:
    """Return the function `ptx.<name>` of an instruction that has rows, but no function of its own.

    None if a form does not write its first operand, a register, and read the others, without addresses and vectors.
    """
    found = OfRows(name)
    return found if found.forms and all(_is_plain(form.row) for form in found.forms) else None


def _is_plain(row: InstructionRow) -> bool:
    operands = row.syntax.partition(" ")[2]
    return re.fullmatch("wr+", row.access) is not None and re.search(r"[\[|]|\{(?!,)", operands) is None


def keywords_of(wrapper: Wrapper, words: tuple[str, ...]) -> dict[str, str | bool] | None:
    """Return modifiers and types as keywords: `("rz", "f32")` is `rounding="rz"`; None if no form has them."""
    from pyptx_dsl.instructions.forms.row_forms import keywords_in

    found = (keywords_in(form.row, words) for form in wrapper.forms)
    return next((keywords for keywords in found if keywords is not None), None)
