"""Debugging sections of a module: the context manager of `m.section`, and the data lines of a section."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING

from pyptx_dsl.errors import DirectiveError, OperandError
from pyptx_dsl.instructions.directives import word
from pyptx_dsl.instructions.variables import constant
from pyptx_dsl.registers.operands import as_items, whole_number
from pyptx_dsl.registers.texts import text
from pyptx_dsl.tracing.trivia import usual_trivia
from pyptx_dsl.types import PtxType, as_type
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax.lexemes import SECTION_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from pyptx_dsl.modules.statements import Opening, Statements
    from pyptx_dsl.modules.unfinished import Unfinished

_TYPES = ("b8", "b16", "b32", "b64")
_DWARF_TYPES = ("byte", "4byte", "quad")
_ANYWHERE = 1 << 7  # numbers below this limit (0 to 127) fit every data type of a debugging section


class SectionBlock:
    """Context manager of `m.section`, which collects the data lines of a debugging section."""

    __slots__ = ("_begun", "_name", "_opening", "_statements", "_unfinished")

    def __init__(self, name: str, statements: Statements, unfinished: Unfinished) -> None:
        """Record the section as unfinished; raise OperandError for an invalid section name."""
        if not SECTION_NAME.fullmatch(text("the section name", name)):
            raise OperandError(f"invalid section name {name!r}", help='write the name with its dot: ".debug_str"')
        self._name = name
        self._statements = statements
        self._unfinished = unfinished
        self._begun = unfinished.begin(
            f"section {name!r} is never opened: m.section(…) needs a `with` statement",
            f'write `with m.section("{name}"):` around the section\'s lines, and use the module after the block',
            statements.site(sys._getframe(1)),  # noqa: SLF001  documented way to get the caller
        )
        self._opening: Opening | None = None

    def __enter__(self) -> None:
        """Open the section for `m.data`, `m.lines` and `m.label`."""
        self._opening = self._statements.open_section()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Append the section to the module, unless an exception is propagating."""
        self._unfinished.end(self._begun)
        if self._opening is None:
            return
        lines = self._statements.close_section()
        if kind is None:
            node = nodes.Section(self._name, tuple(lines), closing_trivia=self._statements.closing())
            self._statements.append_section(node, self._opening)


def data_lines(dtype: PtxType, values: Iterable[object], *, unchecked: bool) -> list[nodes.SectionData]:
    """Return a data line for each value, each byte of a bytes object, or each list; a type applies to later values.

    Raises like `data_line`, and OperandError for a type without values after it.
    """
    lines: list[nodes.SectionData] = []
    kind, behind = dtype, 0
    for value in (*values, dtype):
        if isinstance(value, PtxType):
            if behind == len(lines):
                raise OperandError(f"no value follows type {kind} in m.lines", help="write m.lines(b8, 1, 2, b32, 3)")
            kind, behind = value, len(lines)
        elif isinstance(value, bytes):
            lines += [data_line(kind, (byte,), unchecked=unchecked) for byte in value]
        else:
            lines.append(data_line(kind, tuple(as_items(value) or (value,)), unchecked=unchecked))
    return lines


@cache
def _small(kind: str, value: int) -> nodes.SectionData:
    """Return a data line with one small number, cached because most data lines consist of such a number."""
    return nodes.SectionData(kind, (whole_number(value),), leading_trivia=usual_trivia(1))


def data_line(dtype: PtxType | str, values: tuple[object, ...], *, unchecked: bool) -> nodes.SectionData:
    """Return a data line; raise OperandError without values or for an invalid type, DirectiveError for a bad value."""
    kind = str(dtype) if dtype in _DWARF_TYPES else as_type(dtype).name
    if kind not in (*_TYPES, *_DWARF_TYPES):
        choices = ", ".join((*_TYPES, *map(repr, _DWARF_TYPES)))
        raise OperandError(f"a section cannot have data of type {kind}", help=f"use one of {choices}")
    if not values:
        raise OperandError("a data line of a section needs at least one value", help="write m.data(b8, 1, 2)")
    if len(values) == 1 and type(values[0]) is int and 0 <= values[0] < _ANYWHERE:
        return _small(kind, values[0])
    row = tuple([word(each) if isinstance(each, str) else constant(each) for each in values])
    line = nodes.SectionData(kind, row, leading_trivia=usual_trivia(1))
    if unchecked:
        return line
    from pyptx_ir.isa.modules.sections import DATA_FORM, line_fault

    fault = line_fault(line)
    if fault:
        raise DirectiveError(fault, help=DATA_FORM)
    return line
