"""Text of suppressions for the problems of a report."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyptx_ir.debug_info import SOURCE_LINE
from pyptx_ir.suppressions.entries import CodeLine, Suppression, lines_of, normalized, places_of
from pyptx_ir.suppressions.reading import TABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_ir.reports import Position, Problem

# The path of a file in an installed package, which is the same in every environment.
_INSTALLED: Final = re.compile(r".*/((?:site|dist)-packages/.*)")
HEADING: Final = "# Accepted findings of pyptx. An entry without a reason is not valid.\n"


def suppression_of(problem: Problem, folder: str, reason: str) -> Suppression:
    """Return the entry for a problem; `folder` contains the suppressions file.

    For an error of `pyptx check` with a source line, that is the line of the source: compilers number registers anew.
    """
    places = places_of(problem)
    if len(places) == 2 and places[1].label == SOURCE_LINE:
        places = places[1:]
    at, *other = (_code_line(each, folder) for each in places) if places else (CodeLine(),)
    kernel = None if places else problem.input
    return Suppression(problem.rule, at, other[0] if other else None, kernel, reason)


def _code_line(position: Position, folder: str) -> CodeLine:
    lines = lines_of(position.file)
    name = _file_name(position.file, folder)
    code = normalized(lines[position.line - 1]) if position.line <= len(lines) else ""
    if code:
        return CodeLine(name, position.line, code)
    return CodeLine(name, position.line, function=position.function or None)


def _file_name(file: str, folder: str) -> str:
    """Return the name of a file in a suppressions file: below `folder`, in an installed package, or absolute."""
    installed = _INSTALLED.fullmatch(Path(file).absolute().as_posix())
    if installed is not None:
        return installed[1]
    full, base = Path(file).resolve(), Path(folder).resolve()
    return (full.relative_to(base) if full.is_relative_to(base) else full).as_posix()


def text_of(entry: Suppression) -> str:
    """Return an entry as TOML."""
    parts = [f"[[{TABLE}]]", f"rule = {_quoted(entry.rule)}", *_fields(entry.at)]
    if entry.other is not None:
        parts.append(f"other = {{ {', '.join(_fields(entry.other))} }}")
    if entry.kernel is not None:
        parts.append(f"kernel = {_quoted(entry.kernel)}")
    return "\n".join((*parts, f"reason = {_quoted(entry.reason)}")) + "\n"


def _fields(line: CodeLine) -> Iterator[str]:
    values = {"file": line.file, "function": line.function, "line": line.line, "code": line.code}
    for name, value in values.items():
        if value is not None:
            yield f"{name} = {value if isinstance(value, int) else _quoted(value)}"


def _quoted(text: str) -> str:
    """Return a basic string of TOML, whose escapes are those of JSON; TOML has no surrogates, and escapes U+007F."""
    valid = text.encode(errors="replace").decode()
    return json.dumps(valid, ensure_ascii=False).replace("\x7f", "\\u007f")
