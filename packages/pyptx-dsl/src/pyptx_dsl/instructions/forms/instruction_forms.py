"""Selection of an opcode among an instruction's rows in the instruction table, by the arguments of a call."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, TypeAlias, cast

from pyptx_dsl.errors import OperandError, close
from pyptx_dsl.naming import to_ptx
from pyptx_dsl.types import PtxType, from_name
from pyptx_ir.plugins.caches import until_plugins_change

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyptx_dsl.instructions.forms.row_forms import RowForm

__all__ = ["InstructionForms", "Types", "choice", "ptx_type", "types_of"]

_PARTNERS = {"sem": "scope", "scope": "sem"}
"""Keyword of a call -> the second keyword that the call then requires."""

_SHOWN = 6
"""Maximum number of types in the hint of an error for an unsupported type or modifier."""

Types: TypeAlias = "PtxType | tuple[PtxType, ...]"
"""The type modifier of an instruction, or a tuple in the manual's order if the instruction has several."""


def choice(keyword: str, value: object, values: Sequence[str]) -> str:
    """Return `value` if it is one of `values`; else raise OperandError, which lists `values`."""
    if isinstance(value, str) and value in values:
        return value
    raise OperandError(f"invalid {keyword}={value!r}", help=f"use {'one of ' * (len(values) > 1)}{', '.join(values)}")


def ptx_type(value: object, what: str) -> PtxType:
    """Return `value` if it is a PtxType, or the type that the string `value` names; else raise OperandError."""
    if isinstance(value, PtxType):
        return value
    if isinstance(value, str):
        return from_name(value)
    raise OperandError(f"{what} needs a type as first argument, got {value!r}", help=f"write {what}(u32, …)")


def types_of(dtype: object, what: str) -> tuple[PtxType, ...]:
    """Return the first argument of a call, a type or a tuple of types, as a tuple of PtxTypes."""
    listed: tuple[object, ...] = cast("tuple[object, ...]", dtype) if isinstance(dtype, tuple) else (dtype,)
    return tuple([ptx_type(each, what) for each in listed])


class InstructionForms:
    """An instruction; the types and keywords of a call select one of its rows in the instruction table.

    `head` is the opcode prefix of all its forms, such as `"cp.async.bulk"`. Raise OperandError for an invalid value of
    a keyword, for types that the instruction does not support, and for keywords that exclude each other.
    """

    def __init__(self, what: str, head: str) -> None:
        """Set the opcode prefix `head`; `what` names the emitting function in messages."""
        self._what = what
        self.head = head

    def __repr__(self) -> str:
        return self._what

    @property
    def opcode(self) -> str:
        """The opcode without modifiers, such as `cp`."""
        return self.head.partition(".")[0]

    @property
    def forms(self) -> tuple[RowForm, ...]:
        """The instruction's forms, one per row in the instruction table and in plugins; the first access reads both."""
        from pyptx_dsl.instructions.forms.row_forms import forms_of

        return forms_of(self.head)

    def choices(self, keyword: str) -> tuple[str, ...]:
        """Return the values that at least one form accepts for a keyword; empty for a flag."""
        return tuple(dict.fromkeys(word for form in self.forms for word in form.choices(keyword)))

    @until_plugins_change(maxsize=8192)  # the cache keeps one InstructionForms (`self`) alive per `ptx` function
    def words(self, dtype: Types | str | None = None, /, **modifiers: str | bool | None) -> tuple[str, ...]:
        """Return the opcode and modifiers for the arguments of a call; raise OperandError if no form matches.

        Without types, only forms with fixed types match. A state space may have its Python name (`global_`), and
        `generic` means no modifier.
        """
        return self.chosen(dtype, **modifiers)[0]

    @until_plugins_change(maxsize=8192)
    def chosen(
        self, dtype: Types | str | None = None, /, **modifiers: str | bool | None
    ) -> tuple[tuple[str, ...], RowForm]:
        """Return the opcode, and the form with all requested modifiers and the fewest other modifiers."""
        self._refuse_other_values(modifiers)
        types = None if dtype is None else types_of(dtype, self._what)
        names, asked = None if types is None else self._names(types), _asked(modifiers)
        fitting = [form for form in self.forms if form.has_types(names)]
        said = "" if types is None else f" of {'.'.join(map(str, types))}"
        if not fitting and types is not None:
            raise OperandError(
                f"{self!r} has no form for {said[4:]}", help=f"supported: {self._known(names or (), asked)}"
            )
        closest = _closest(self._taking(f"{self!r}{said}", fitting, asked), asked)
        _refuse_incomplete(f"{self!r}{said}", closest, names, asked)
        return closest[0].words(names, asked), closest[0]

    def _refuse_other_values(self, modifiers: Mapping[str, object]) -> None:
        """Raise OperandError for a keyword's value that is not a string, bool or None, such as a register."""
        for keyword, value in modifiers.items():
            if not isinstance(value, str | bool | None):
                choice(keyword, value, self.choices(keyword) or ("True", "False"))

    def _names(self, types: tuple[PtxType, ...]) -> tuple[str, ...]:
        """Return the type modifiers for PtxTypes; `b32` for a 32-bit type if the instruction has only untyped bits."""
        from pyptx_dsl.instructions.forms.row_forms import untyped

        if untyped(self.forms):
            return tuple(dtype.name if dtype.kind == "pred" else f"b{dtype.bits}" for dtype in types)
        return tuple(dtype.name for dtype in types)

    def _known(self, names: tuple[str, ...], asked: Mapping[str, str | bool]) -> str:
        """Return supported types as text, if possible of forms with the call's number of types and its keywords."""
        forms = [form for form in self.forms if len(form.types) == len(names)] or self.forms
        forms = [form for form in forms if form.takes(asked)] or forms
        return ", ".join(_types_in(forms))

    def _taking(self, what: str, forms: Sequence[RowForm], asked: Mapping[str, str | bool]) -> list[RowForm]:
        """Return the forms that accept all keywords of the call; raise OperandError if no form does."""
        having = [form for form in forms if asked.keys() <= set(form.keywords)]
        taking = [form for form in having if form.takes(asked)]
        if taking:
            return taking
        known = dict.fromkeys(name for form in forms for name in form.keywords)
        for keyword, value in asked.items():
            if keyword not in known:
                raise OperandError(f"{what} has no modifier {keyword!r}", help=self._having(keyword, tuple(known)))
            words = dict.fromkeys(word for form in having or forms for word in form.choices(keyword))
            generic = ("generic",) if keyword == "space" else ()
            if words or isinstance(value, str):
                choice(keyword, value, (*words, *generic) or ("True", "False"))
        for keyword, value in reversed(list(asked.items())):  # find a keyword whose value conflicts with other keywords
            others = {name: word for name, word in asked.items() if name != keyword}
            words = dict.fromkeys(word for form in having if form.takes(others) for word in form.choices(keyword))
            if words:
                choice(keyword, value, tuple(words))
        together = " and ".join(asked)
        raise OperandError(
            f"{what} does not support the combination {together}", help="see the forms in the function's docstring"
        )

    def _having(self, keyword: str, known: tuple[str, ...]) -> str:
        """Return a hint for an unsupported modifier: the types that support it, or else similar modifiers."""
        types = _types_in(form for form in self.forms if keyword in form.keywords)
        if types and all(types):
            return f"types with this modifier: {', '.join(types[:_SHOWN])}{', …' if len(types) > _SHOWN else ''}"
        return close(keyword, known) if known else "the instruction has no modifiers"


def _types_in(forms: Iterable[RowForm]) -> list[str]:
    return list(dict.fromkeys(".".join(types) for form in forms for types in product(*form.types)))


def _asked(modifiers: Mapping[str, str | bool | None]) -> dict[str, str | bool]:
    """Return the keywords of a call that request a modifier; None, False and `space="generic"` request none."""
    asked: dict[str, str | bool] = {
        name: value for name, value in modifiers.items() if value is not None and value is not False
    }
    space = asked.pop("space", None)
    if isinstance(space, str) and space != "generic":
        asked["space"] = to_ptx(space)
    return asked


def _closest(forms: Sequence[RowForm], asked: Mapping[str, str | bool]) -> list[RowForm]:
    """Return the forms with the fewest unrequested modifiers; if possible without modifiers that calls must request."""
    least = min(form.surplus(asked) for form in forms)
    closest = [form for form in forms if form.surplus(asked) == least]
    return [form for form in closest if not any(part.open for part in form.unasked(asked))] or closest


def _refuse_incomplete(
    what: str, forms: Sequence[RowForm], names: tuple[str, ...] | None, asked: Mapping[str, str | bool]
) -> None:
    """Raise OperandError if a call lacks a required modifier, or if the forms that accept it have different opcodes."""
    lacking = [{part.keyword: part.words for part in form.unasked(asked)} for form in forms]
    keyword = next((part.keyword for part in forms[0].unasked(asked) if part.open), None)
    if keyword is None:
        if len({form.words(names, asked) for form in forms}) == 1:
            return
        keyword = next(name for name in lacking[0] if len({words.get(name) for words in lacking}) > 1)
    words = ", ".join(dict.fromkeys(word for words in lacking for word in words.get(keyword, ())))
    partner = _PARTNERS.get(keyword, "")
    if partner not in asked:
        raise OperandError(f"{what} needs one of {words}", help=f"pass {keyword}=")
    raise OperandError(
        f"{what} with {partner}={asked[partner]!r} needs one of {words}",
        help=f"pass {partner}= and {keyword}= together",
    )
