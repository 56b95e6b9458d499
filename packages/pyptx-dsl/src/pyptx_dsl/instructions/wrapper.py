"""The engine of the wrappers that are rows: `ptx.add(f32, d, a, b, rounding="rz")` emits `add.rz.f32 d, a, b;`.

A row lists the forms of an instruction in the manual's own spelling. `form("fma.rounding{.ftz}{.sat}.type", "f32",
rounding="rn rz rm rp")` says: for f32 there is a word for the rounding (`rn` unless another is asked for), and two
words that may be asked for. A keyword in braces is optional; `sat=True` puts it there. A keyword with values takes
one of them as a string.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

from pyptx_dsl.errors import OperandError, close
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import PtxType, from_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx_dsl.registers.register import Reg

__all__ = [
    "Binary",
    "Flags",
    "Modifiers",
    "Quaternary",
    "SyntaxForm",
    "Ternary",
    "Unary",
    "choice",
    "form",
    "keywords_of",
    "ptx_type",
]

_WORD = re.compile(r"\{\.(\w+)\}|\.(\w+)")

SPELLINGS = {"nan": ("NaN",), "xorsign_abs": ("xorsign", "abs")}
"""Flags whose PTX words are no good keywords."""


@dataclass(frozen=True, slots=True)
class Part:
    """One word of a form: a keyword, its values (empty for a flag), and whether it may be left out."""

    keyword: str
    values: tuple[str, ...]
    optional: bool


@dataclass(frozen=True, slots=True)
class SyntaxForm:
    """One line of an instruction's syntax, for some types. With `bits`, the type word is `b` and the width."""

    syntax: str
    types: tuple[str, ...]
    parts: tuple[Part, ...]
    bits: bool = False

    @property
    def opcode(self) -> str:
        """The first word."""
        return self.syntax.split(".", 1)[0].split("{", 1)[0]

    @property
    def keywords(self) -> tuple[str, ...]:
        """What can be asked for."""
        return tuple(part.keyword for part in self.parts if part.keyword != "type")

    def words(self, dtype: PtxType, given: dict[str, str | bool]) -> tuple[str, ...]:
        """Return the opcode with the modifiers asked for."""
        words = [self.opcode]
        for part in self.parts:
            words += self._words(part, dtype, given.get(part.keyword))
        return tuple(words)

    def _words(self, part: Part, dtype: PtxType, value: object) -> Sequence[str]:
        if part.keyword == "type":
            return (f"b{dtype.bits}" if self.bits and dtype.kind != "pred" else dtype.name,)
        if part.values:
            if value is None and part.optional:
                return ()
            return (part.values[0] if value is None else choice(part.keyword, value, part.values),)
        if value is None and part.optional:
            return ()
        return SPELLINGS.get(part.keyword, (part.keyword,))


def form(syntax: str, types: str, *, bits: bool = False, **values: str) -> SyntaxForm:
    """Make a form; `types` and the keywords are lists of words with blanks between them."""
    parts = tuple(
        Part(optional or fixed, tuple(values.get(optional or fixed, "").split()), bool(optional))
        for optional, fixed in _WORD.findall(syntax)
    )
    return SyntaxForm(syntax, tuple(types.split()), parts, bits)


def choice(keyword: str, value: object, values: Sequence[str]) -> str:
    """Return `value` if it is one of `values`; raise OperandError that lists them if not."""
    if isinstance(value, str) and value in values:
        return value
    raise OperandError(f"{keyword}={value!r} means nothing here", hint=f"one of {', '.join(values)}")


def ptx_type(value: object, what: str) -> PtxType:
    """Return the type that stands first in a call; raise OperandError if something else does."""
    if isinstance(value, PtxType):
        return value
    if isinstance(value, str):
        return from_name(value)
    raise OperandError(f"{what} takes a type first, not {value!r}", hint=f"write {what}(u32, …)")


class Flags(TypedDict, total=False):
    """The keywords of all wrappers that are rows but `mode`, for type checkers; which go together, the rows say."""

    rounding: Literal["rn", "rz", "rm", "rp"] | None
    approx: bool
    cc: bool
    ftz: bool
    full: bool
    nan: bool
    oob: bool
    relu: bool
    sat: bool
    shiftamt: bool
    xorsign_abs: bool


class Modifiers(Flags, total=False):
    """The keywords of all wrappers that are rows."""

    mode: str | None


class Wrapper:
    """An instruction as a function; the base of those that take one to four sources.

    Keywords are the modifiers of the form for the type, in the manual's spelling. `pred` guards the instruction. A
    value of a keyword that does not exist is an OperandError; operands and combinations that the instruction has not
    are an InstructionUseError, and a type that it has not is an OperandError.
    """

    def __init__(self, name: str, summary: str, operands: str, manual: str, *forms: SyntaxForm) -> None:
        """Describe `ptx.<name>`."""
        self.__name__ = name
        self.forms = forms
        self.__doc__ = _document(summary, operands, manual, forms)

    def __repr__(self) -> str:
        return f"ptx.{self.__name__}"

    def _emit(
        self, dtype: PtxType, operands: Sequence[object], modifiers: Mapping[str, object], pred: Reg | None
    ) -> None:
        given = tuple((name, value) for name, value in modifiers.items() if value is not None and value is not False)
        what = f"ptx.{self.__name__}"
        active(what).emit(_spelt(self, ptx_type(dtype, what), given), operands, pred)


class Unary(Wrapper):
    """An instruction with one source: `ptx.name(type, dst, a, **modifiers)`."""

    def __call__(
        self, dtype: PtxType, dst: Reg, a: object, *, pred: Reg | None = None, **modifiers: Unpack[Modifiers]
    ) -> Reg:
        """Emit the instruction and return `dst`."""
        self._emit(dtype, (dst, a), modifiers, pred)
        return dst


class Binary(Wrapper):
    """An instruction with two sources: `ptx.name(type, dst, a, b, **modifiers)`."""

    def __call__(
        self, dtype: PtxType, dst: Reg, a: object, b: object, *, pred: Reg | None = None, **modifiers: Unpack[Modifiers]
    ) -> Reg:
        """Emit the instruction and return `dst`."""
        self._emit(dtype, (dst, a, b), modifiers, pred)
        return dst


class Ternary(Wrapper):
    """An instruction with three sources: `ptx.name(type, dst, a, b, c, **modifiers)`."""

    def __call__(
        self,
        dtype: PtxType,
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
        dtype: PtxType,
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


@lru_cache(maxsize=4096)
def _spelt(wrapper: Wrapper, dtype: PtxType, given: tuple[tuple[str, str | bool], ...]) -> tuple[str, ...]:
    """Return the words of the first form that has the type and all the modifiers asked for."""
    what = repr(wrapper)
    fitting = [form for form in wrapper.forms if dtype.name in form.types]
    if not fitting:
        known = dict.fromkeys(name for form in wrapper.forms for name in form.types)
        raise OperandError(f"{what} has no form for {dtype}", hint=f"it takes {', '.join(known)}")
    asked = [name for name, _ in given]
    for candidate in fitting:
        if set(asked) <= set(candidate.keywords):
            return candidate.words(dtype, dict(given))
    known = dict.fromkeys(name for form in fitting for name in form.keywords)
    stray = next((name for name in asked if name not in known), None)
    if stray is None:
        raise OperandError(f"{what} of {dtype} has no form with {' and '.join(asked)} together")
    hint = close(stray, tuple(known)) if known else f"it has no modifiers for {dtype}"
    raise OperandError(f"{what} of {dtype} has no modifier {stray!r}", hint=hint)


def keywords_of(wrapper: Wrapper, dtype: str, words: Sequence[str]) -> dict[str, str | bool] | None:
    """Return PTX's modifiers as keywords of a wrapper, `("rz",)` as `rounding="rz"`; None where it has not all."""
    for row in wrapper.forms:
        parts = [part for part in row.parts if part.keyword != "type"]
        found = {part.keyword: word for part in parts for word in words if word in part.values}
        flags = [
            part.keyword
            for part in parts
            if not part.values and SPELLINGS.get(part.keyword, (part.keyword,))[0] in words
        ]
        if dtype in row.types and len(found) + len(flags) == len(words):
            return {**found, **dict.fromkeys(flags, True)}
    return None


def _document(summary: str, operands: str, manual: str, forms: tuple[SyntaxForm, ...]) -> str:
    """Compose a docstring: what happens, the one instruction that is emitted, the forms, the section."""
    lines = [summary, "", "Emits one instruction:", ""]
    for row in forms:
        values = [f".{part.keyword}: {' '.join(part.values)}" for part in row.parts if part.values]
        types = ".type: b and the width of " if row.bits else ".type: "
        lines.append(f"    {row.syntax} {operands}    {'; '.join([types + ' '.join(row.types), *values])}")
    return "\n".join([*lines, "", f"Manual: {manual}."])
