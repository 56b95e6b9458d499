"""The wrappers that are rows: `ptx.add(f32, d, a, b, rounding="rz")` emits `add.rz.f32 d, a, b;`.

A wrapper has a name and a docstring of its own. Its types, its keywords, which of them go together and in which order
their words stand it has from the rows of the instruction table, which it reads when it is first used.
"""

from __future__ import annotations

import functools
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict, Unpack, cast

from pyptx_dsl.errors import OperandError, close
from pyptx_dsl.naming import to_ptx
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import PtxType, from_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx_dsl.instructions.row_forms import RowForm
    from pyptx_dsl.registers.register import Reg

__all__ = [
    "Binary",
    "BinaryOrTernary",
    "Flags",
    "Modifiers",
    "Operation",
    "Quaternary",
    "Ternary",
    "Types",
    "Unary",
    "Wrapper",
    "choice",
    "keywords_of",
    "ptx_type",
    "rows_of",
]

Types: TypeAlias = "PtxType | tuple[PtxType, ...]"
"""The type of an instruction, or its types in the manual's order where it names several."""


def rows_of(opcode: str) -> tuple[RowForm, ...]:
    """Return the forms of an instruction's rows; the table is read here."""
    from pyptx_dsl.instructions.row_forms import row_form
    from pyptx_ir.isa.check import patterns_of

    return tuple(row_form(pattern.row) for pattern in patterns_of(opcode))


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
    """The keywords of all wrappers that are rows."""

    mode: str | None


class _Documentation:
    """The docstring of a wrapper, which names the forms of its rows; of the class, its own."""

    def __init__(self, own: str) -> None:
        """Keep the docstring of the class."""
        self._own = own

    def __get__(self, wrapper: Wrapper | None, owner: type) -> str:
        """Compose a docstring: what happens, the one instruction that is emitted, its forms, the manual's sections."""
        if wrapper is None:
            return self._own
        lines = [wrapper.summary, "", "Emits one instruction:", "", *map(_line, wrapper.forms), ""]
        sections = dict.fromkeys(form.row.manual for form in wrapper.forms)
        return "\n".join([*lines, f"Manual: {', '.join(sections)}."])


def _line(form: RowForm) -> str:
    slots = [f".{name}: {' '.join(values)}" for name, values in form.row.slots]
    return f"    {form.syntax}    {'; '.join(slots)}".rstrip()


class Wrapper:
    """An instruction as a function; the base of those that take one to four sources.

    Keywords are the modifiers of the form for the type. `pred` guards the instruction. Where the manual names several
    types, as in `add.f32.f16`, they are a tuple: `ptx.add((f32, f16), d, a, c)`. An instruction of untyped bits takes
    any type of their width.

    A value of a keyword that does not exist is an OperandError, so is a type that the instruction has not; operands and
    combinations that it has not are an InstructionUseError.
    """

    def __init_subclass__(cls) -> None:
        """Have instances document themselves."""
        cls.__doc__ = cast("str", _Documentation(cls.__doc__ or ""))

    def __init__(self, name: str, summary: str) -> None:
        """Describe `ptx.<name>`."""
        self.__name__ = name
        self.summary = summary
        self.opcode = to_ptx(name)

    def __repr__(self) -> str:
        return f"ptx.{self.__name__}"

    @functools.cached_property
    def forms(self) -> tuple[RowForm, ...]:
        """The forms of the instruction, those of plugins too."""
        return rows_of(self.opcode)

    def words(self, dtype: Types, **modifiers: str | bool | None) -> tuple[str, ...]:
        """Return the opcode and its modifiers for what a call gives; raise OperandError for what there is not."""
        return _spelt(self, _types(dtype, repr(self)), _given(modifiers))

    def _emit(
        self, dtype: Types, operands: Sequence[object], modifiers: Mapping[str, object], pred: Reg | None
    ) -> None:
        what = f"ptx.{self.__name__}"
        types = (dtype,) if type(dtype) is PtxType else _types(dtype, what)
        active(what).emit(_spelt(self, types, _given(modifiers) if modifiers else ()), operands, pred)


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


class Operation(Wrapper):
    """The forms of an instruction with one operation, whose word is part of the name: `atom.add`."""

    def __init__(self, path: str, operation: str) -> None:
        """Describe `ptx.<path>.<operation>`, of the instruction with which `path` begins."""
        super().__init__(f"{path}.{operation}", f"The forms of `{path}` with `{to_ptx(operation)}`.")
        self.opcode = path.partition(".")[0]
        self.operation = to_ptx(operation)

    @functools.cached_property
    def forms(self) -> tuple[RowForm, ...]:
        """The forms of the instruction that have this operation."""
        return tuple(form for form in rows_of(self.opcode) if self.operation in form.choices("op"))


def _types(dtype: object, what: str) -> tuple[PtxType, ...]:
    """Return the types that stand first in a call."""
    given: tuple[object, ...] = cast("tuple[object, ...]", dtype) if isinstance(dtype, tuple) else (dtype,)
    return tuple([ptx_type(each, what) for each in given])


def _given(modifiers: Mapping[str, object]) -> tuple[tuple[str, object], ...]:
    """Return the keywords that ask for something."""
    return tuple([(name, value) for name, value in modifiers.items() if value is not None and value is not False])


@lru_cache(maxsize=4096)
def _spelt(wrapper: Wrapper, types: tuple[PtxType, ...], given: tuple[tuple[str, str | bool], ...]) -> tuple[str, ...]:
    """Return the words of the form that has the types and all that is asked for, and least beside it."""
    names, asked = _names(wrapper, types), dict(given)
    fitting = [form for form in wrapper.forms if form.has_types(names)]
    said = ".".join(map(str, types))
    if not fitting:
        raise OperandError(f"{wrapper!r} has no form for {said}", hint=f"it takes {_known(wrapper, names)}")
    taking = _taking(f"{wrapper!r} of {said}", fitting, asked)
    form = min(taking, key=lambda form: form.surplus(asked))
    return (wrapper.opcode, *form.words(names, asked))


def _names(wrapper: Wrapper, types: tuple[PtxType, ...]) -> tuple[str, ...]:
    """Return the words of the types: that of an instruction of untyped bits is one of their width."""
    from pyptx_dsl.instructions.row_forms import untyped

    if untyped(wrapper.forms):
        return tuple(dtype.name if dtype.kind == "pred" else f"b{dtype.bits}" for dtype in types)
    return tuple(dtype.name for dtype in types)


def _known(wrapper: Wrapper, names: tuple[str, ...]) -> str:
    """List the types of an instruction: those of the forms with as many as a call gives, if there are such."""
    forms = [form for form in wrapper.forms if len(form.types) == len(names)] or wrapper.forms
    return ", ".join(dict.fromkeys(".".join(types) for form in forms for types in product(*form.types)))


def _taking(what: str, forms: list[RowForm], asked: Mapping[str, str | bool]) -> list[RowForm]:
    """Return the forms that take all keywords; raise OperandError where there is none."""
    having = [form for form in forms if asked.keys() <= set(form.keywords)]
    taking = [form for form in having if form.takes(asked)]
    enough = [form for form in taking if not form.lacks(asked)]
    if enough:
        return enough
    if taking:
        needed, keywords = taking[0].lacks(asked), ", ".join(taking[0].keywords)
        raise OperandError(f"{what} needs one of {', '.join(needed)}", hint=f"its keywords are {keywords}")
    known = dict.fromkeys(name for form in forms for name in form.keywords)
    for keyword, value in asked.items():
        if keyword not in known:
            hint = close(keyword, tuple(known)) if known else "it has no modifiers"
            raise OperandError(f"{what} has no modifier {keyword!r}", hint=hint)
        words = dict.fromkeys(word for form in having or forms for word in form.choices(keyword))
        if words or isinstance(value, str):
            choice(keyword, value, tuple(words) or ("True", "False"))
    together = " and ".join(asked)
    raise OperandError(f"{what} has no form with {together} together", hint="its docstring lists its forms")


def keywords_of(wrapper: Wrapper, words: tuple[str, ...]) -> dict[str, str | bool] | None:
    """Return PTX's modifiers, types among them, as keywords: `("rz", "f32")` as `rounding="rz"`; None if it has not."""
    from pyptx_dsl.instructions.row_forms import keywords_in

    found = (keywords_in(form.row, words) for form in wrapper.forms)
    return next((keywords for keywords in found if keywords is not None), None)
