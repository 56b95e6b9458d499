"""Parse statements that begin with a dot. Manual: "Directives"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyptx_ir.syntax.cursor import Cursor, SyntaxFault
from pyptx_ir.syntax.declarations import FUNCTIONS, LINKING, SPACES, Qualifiers, count, declaration
from pyptx_ir.syntax.functions import PERFORMANCE, argument, arguments, closest, function, prototype
from pyptx_ir.syntax.lexemes import DOTTED_NAME, KEYWORD, MODIFIER, NAME, TARGET_NAME, VERSION
from pyptx_ir.syntax.nodes import (
    AddressSize,
    Alias,
    BranchTargets,
    CallTargets,
    Directive,
    File,
    InlinedAt,
    Loc,
    Pragma,
    SectionData,
    Statement,
    Target,
    Version,
)
from pyptx_ir.syntax.operand_parser import OperandParser
from pyptx_ir.syntax.operands import Operand, Symbol

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = frozenset({"b8", "b16", "b32", "b64", "byte", "4byte", "quad"})  # the last three occur in @@DWARF lines only
_QUALIFIERS = SPACES | LINKING | {"reg", "align", "attribute"}
_DWARF_WORD = re.compile(rf"@progbits|{DOTTED_NAME.pattern}", re.ASCII)


def directive(cursor: Cursor) -> Statement:
    """Read a statement that begins with a dot and a keyword; stop before the body of a function."""
    word = cursor.find(KEYWORD) or cursor.refuse("a directive")
    read = _READERS.get(word[1])
    if read is not None:
        return read(cursor)
    if word[1] in PERFORMANCE:  # performance directives such as .maxnreg, which early PTX has in function bodies, too
        return _plain(cursor, word[1])
    if word[1] in FUNCTIONS:
        return function(cursor, word[1], Qualifiers())
    if word[1].partition("::")[0].partition("[")[0] in _QUALIFIERS:
        cursor.at = word.start()
        return _qualified(cursor)
    known = [*_READERS, *PERFORMANCE, *_QUALIFIERS, *FUNCTIONS, "section"]
    raise SyntaxFault(f"unknown directive '{word[0]}'", word.start(), word.end(), closest(word[1], known))


def data(cursor: Cursor) -> SectionData:
    """Read a data line of a debugging section: a type and values."""
    word = cursor.find(MODIFIER)
    if word is None or word[1] not in DATA:
        if word is not None:
            cursor.at = word.start()
        cursor.refuse("a line of a section", "write .b8, .b16, .b32 or .b64 data, or a label")
    return SectionData(type=word[1], values=OperandParser(cursor, lines=True).operands(), **cursor.spelling())


def dwarf(cursor: Cursor) -> Directive:
    """Read an old-style debugging line, `@@DWARF .byte 0x2b, 0`."""
    if not (cursor.eat("@@DWARF") or cursor.eat("@@dwarf")):
        cursor.refuse("'@@DWARF'")
    kind = cursor.find(MODIFIER) or cursor.refuse(
        "the kind of a debugging line", "write a kind such as .byte, .4byte or .section"
    )
    words = [_dwarf_word(cursor)]
    while cursor.eat(","):
        words.append(_dwarf_word(cursor))
    return Directive("@@DWARF", (Symbol(kind[0]), *words), terminated=False, **cursor.spelling())


def _dwarf_word(cursor: Cursor) -> Operand | str:
    if cursor.sees("@"):
        return Symbol(cursor.take(_DWARF_WORD) or cursor.refuse("a word of a debugging line"))
    return argument(cursor)


def _qualified(cursor: Cursor) -> Statement:
    """Read a declaration or a linked function: `.visible .entry …`, `.extern .shared …`, `.reg …`."""
    qualifiers = Qualifiers()
    qualifiers.read(cursor)
    kind = qualifiers.type
    if kind in FUNCTIONS:
        return function(cursor, kind, qualifiers)
    if qualifiers.space is None:
        cursor.refuse("a state space, .entry or .func")
    return declaration(cursor, qualifiers)


def _plain(cursor: Cursor, name: str) -> Directive:
    given = arguments(cursor)
    return Directive(name, given, terminated=cursor.eat(";"), **cursor.spelling())


def _version(cursor: Cursor) -> Version:
    found = cursor.find(VERSION) or cursor.refuse("a version", "write for example '.version 8.0'")
    return Version(int(found[1]), int(found[2]), **cursor.spelling())


def _target(cursor: Cursor) -> Target:
    names = [cursor.take(TARGET_NAME) or cursor.refuse("a target", "write a target such as sm_90a")]
    while cursor.eat(","):
        names.append(
            cursor.take(TARGET_NAME) or cursor.refuse("a target or an option", "write a name such as sm_90a or debug")
        )
    return Target(tuple(names), **cursor.spelling())


def _address_size(cursor: Cursor) -> AddressSize:
    return AddressSize(cursor.number("32 or 64"), **cursor.spelling())


def _file(cursor: Cursor) -> File:
    index, name = cursor.number("the file's index"), cursor.string()
    if not cursor.eat(","):
        return File(index, name, **cursor.spelling())
    timestamp = cursor.number("a timestamp")
    # ptxas accepts a .file with a timestamp and no size.
    size = cursor.number("the file's size") if cursor.eat(",") else None
    return File(index, name, timestamp, size, **cursor.spelling())


def _loc(cursor: Cursor) -> Loc:
    file, line, column = _place(cursor)
    inlined: InlinedAt | None = None
    if cursor.eat(","):
        _word(cursor, "function_name")
        label = cursor.take(DOTTED_NAME) or cursor.refuse("the label of the function's name")
        offset = cursor.number("an offset") if cursor.eat("+") else 0
        cursor.need(",")
        _word(cursor, "inlined_at")
        inlined = InlinedAt(label, offset, *_place(cursor))
    return Loc(file, line, column, inlined, **cursor.spelling())


def _word(cursor: Cursor, word: str) -> None:
    if not cursor.sees(word) or cursor.take(NAME) != word:
        cursor.refuse(f"'{word}'")


def _place(cursor: Cursor) -> tuple[int, int, int]:
    return cursor.number("a file's index"), cursor.number("a line"), cursor.number("a column")


def _alias(cursor: Cursor) -> Alias:
    name = cursor.name("a function's name")
    cursor.need(",")
    aliasee = cursor.name("a function's name")
    cursor.need(";")
    return Alias(name, aliasee, **cursor.spelling())


def _pragma(cursor: Cursor) -> Pragma:
    values = [cursor.string()]
    while cursor.eat(","):
        values.append(cursor.string())
    cursor.need(";")
    return Pragma(tuple(values), **cursor.spelling())


def _targets(cursor: Cursor, what: str) -> tuple[str, ...]:
    """Read a list of labels or functions, up to and including the `;`; a name with a count, `N<5>`, stays one entry."""
    names: list[str] = []
    while True:
        name, number = cursor.name(what), count(cursor)
        names.append(name if number is None else f"{name}<{number}>")
        if not cursor.eat(","):
            cursor.need(";")
            return tuple(names)


def _branch_targets(cursor: Cursor) -> BranchTargets:
    return BranchTargets(_targets(cursor, "a label"), **cursor.spelling())


def _call_targets(cursor: Cursor) -> CallTargets:
    return CallTargets(_targets(cursor, "a function's name"), **cursor.spelling())


_READERS: dict[str, Callable[[Cursor], Statement]] = {
    "version": _version,
    "target": _target,
    "address_size": _address_size,
    "file": _file,
    "loc": _loc,
    "alias": _alias,
    "pragma": _pragma,
    "branchtargets": _branch_targets,
    "calltargets": _call_targets,
    "callprototype": prototype,
}
