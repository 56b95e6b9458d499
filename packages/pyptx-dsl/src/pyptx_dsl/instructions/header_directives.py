"""Directives between a function's parameters and its body. Manual: "Performance-Tuning Directives"."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypedDict

from pyptx_dsl.errors import KeywordError, OperandError, close
from pyptx_dsl.instructions.variables import constant, quotable
from pyptx_dsl.registers.operands import as_items
from pyptx_dsl.registers.texts import text
from pyptx_ir.syntax.nodes import HeaderDirective

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Numbers: TypeAlias = "int | str | tuple[int | str, ...]"


class HeaderDirectives(TypedDict, total=False):
    """Directives of a PTX function header as keyword arguments, emitted in the order of the keywords."""

    maxntid: Numbers
    reqntid: Numbers
    maxnreg: int | str
    minnctapersm: int | str
    maxnctapersm: int | str
    reqnctapercluster: Numbers
    maxclusterrank: int | str
    minperctamemory: int | str
    abi_preserve: int | str
    abi_preserve_control: int | str
    explicitcluster: bool
    blocksareclusters: bool
    noreturn: bool
    language: int | str
    pragma: str | Sequence[str]


_KNOWN = tuple(HeaderDirectives.__annotations__)


def directive_nodes(
    keywords: Mapping[str, object], what: str, before: Sequence[tuple[str, object]] = ()
) -> tuple[HeaderDirective, ...]:
    """Return the directives of a function header: those in the (name, values) pairs `before`, then the keywords.

    Raise KeywordError for an unknown name, and OperandError for a value of `before` that is not a pair.
    """
    pairs = [*map(_pair, before), *keywords.items()]
    return tuple([one for name, value in pairs for one in _directives(name, value, what)])


def _pair(given: object) -> tuple[str, object]:
    items = as_items(given)
    if items is None or len(items) != 2:
        raise OperandError(
            f"directives must be (name, values) pairs, got {given!r}", help='write directives=[("pragma", "nounroll")]'
        )
    return text("the directive name", items[0]), items[1]


def _directives(name: str, value: object, what: str) -> Sequence[HeaderDirective]:
    if name not in _KNOWN:
        raise KeywordError(f"{what} has no keyword {name!r}", help=close(name, _KNOWN))
    if name == "pragma":
        texts = (value,) if isinstance(value, str) else value
        return [HeaderDirective(name, (quotable(each),)) for each in _items(texts)]
    if value is True or value is False:
        return [HeaderDirective(name)] if value else []
    return [HeaderDirective(name, tuple([constant(each) for each in _items(value)]))]


def _items(value: object) -> Sequence[object]:
    items = as_items(value)
    return (value,) if items is None else items
