"""Fast path for the first directives of a module, `.file` and `.pragma`, in the form that compilers emit.

No comments may occur between the tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.syntax.lexemes import DIGITS_TEXT, END_OF_LINE_TEXT, WORD, integer
from pyptx_ir.syntax.nodes import AddressSize, File, Pragma, Target, Version

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.syntax.nodes import Statement

_BEHIND = r"[ \t]++"
_STRING = r'"[^"\n\0]++"'
DIRECTIVE_TEXT = (
    rf"\.(?:version{_BEHIND}{DIGITS_TEXT}\.{DIGITS_TEXT}{END_OF_LINE_TEXT}"
    rf"|target{_BEHIND}[{WORD}]++(?:,[ \t]*+[{WORD}]++)*+{END_OF_LINE_TEXT}"
    rf"|address_size{_BEHIND}{DIGITS_TEXT}{END_OF_LINE_TEXT}"
    rf"|file{_BEHIND}{DIGITS_TEXT}{_BEHIND}{_STRING}{END_OF_LINE_TEXT}"
    rf"|pragma{_BEHIND}{_STRING};)"
)


def directive(leading_trivia: str, raw: str) -> Statement:
    """Read a `.file` or `.pragma` directive that `DIRECTIVE_TEXT` matches."""
    word, rest = raw.split(None, 1)
    return _READERS[word](rest, leading_trivia, raw)


def _version(rest: str, leading_trivia: str, raw: str) -> Version:
    major, minor = rest.split(".")
    return Version(int(major), int(minor), leading_trivia=leading_trivia, raw=raw)


def _target(rest: str, leading_trivia: str, raw: str) -> Target:
    return Target(tuple([name.lstrip() for name in rest.split(",")]), leading_trivia=leading_trivia, raw=raw)


def _address_size(rest: str, leading_trivia: str, raw: str) -> AddressSize:
    return AddressSize(integer(rest), leading_trivia=leading_trivia, raw=raw)


def _file(rest: str, leading_trivia: str, raw: str) -> File:
    index, name = rest.split(None, 1)
    return File(integer(index), name[1:-1], leading_trivia=leading_trivia, raw=raw)


def _pragma(rest: str, leading_trivia: str, raw: str) -> Pragma:
    return Pragma((rest[1:-2],), leading_trivia=leading_trivia, raw=raw)


_READERS: dict[str, Callable[[str, str, str], Statement]] = {
    ".version": _version,
    ".target": _target,
    ".address_size": _address_size,
    ".file": _file,
    ".pragma": _pragma,
}
