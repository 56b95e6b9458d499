"""Reading of suppressions files: TOML with a table `[[suppression]]` per entry."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from pyptx_ir.plugins.manager import manager
from pyptx_ir.suggestions import close_names
from pyptx_ir.suppressions.entries import CodeLine, Suppression
from pyptx_ir.suppressions.errors import SuppressionError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

TABLE: Final = "suppression"
_HEADER: Final = re.compile(rf"^[ \t]*\[\[[ \t]*{TABLE}[ \t]*\]\]", re.MULTILINE)
_AT: Final = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_PLACE: Final[Mapping[str, type]] = {"file": str, "line": int, "code": str, "function": str}
_ENTRY: Final[Mapping[str, type]] = {"rule": str, **_PLACE, "other": dict, "kernel": str, "reason": str}
_TYPES: Final = {str: "a text", int: "a line number, 1 or more", dict: "a table"}


def read(text: str, path: str, *, unreviewed: bool = False) -> tuple[Suppression, ...]:
    """Return the entries of a suppressions file's text; with `unreviewed`, an entry may lack its reason.

    Raises:
        SuppressionError: invalid TOML, or an invalid entry. The text is `FILE:LINE: fault`.

    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _AT.search(str(error))
        line = int(found[1]) if found is not None and found[1] else text.count("\n") + 1
        raise SuppressionError(f"{path}:{line}: invalid TOML: {_AT.sub('', str(error))}") from error
    rows = [text.count("\n", 0, found.start()) + 1 for found in _HEADER.finditer(text)]
    tables = content.pop(TABLE, [])
    if content or not isinstance(tables, list):
        name = next(iter(content), TABLE)
        raise SuppressionError(f"{path}:1: unknown key {name!r}", help=f"write each entry as [[{TABLE}]]")
    entries = cast("list[object]", tables)
    places = zip(entries, [*rows, *([1] * len(entries))], strict=False)
    return tuple(_Entry(path, row, unreviewed).read(table, number) for number, (table, row) in enumerate(places))


@dataclass(frozen=True, slots=True)
class _Entry:
    """Reader of the entry at line `row` of the file `path`."""

    path: str
    row: int
    unreviewed: bool

    def read(self, table: object, number: int) -> Suppression:
        """Return the entry of a table of the file."""
        found = self._checked(table, _ENTRY)
        rule, reason, other = found.get("rule"), found.get("reason", ""), found.get("other")
        if not rule:
            raise self._fault("an entry needs a rule", 'write rule = "shared-race"')
        if rule not in (known := _known_rules()):
            close = close_names(rule, list(known), most=1)
            help = f"did you mean {close[0]}?" if close else "pyptx explain --list lists all rules"
            raise self._fault(f"unknown rule {rule!r}", help)
        if "file" not in found and ("kernel" not in found or not found.keys().isdisjoint(("line", "code", "other"))):
            raise self._fault("an entry needs the file or the kernel of its finding", 'write file = "kernel.py"')
        if not reason.strip() and not self.unreviewed:
            raise self._fault(
                f"the suppression of {rule} has no reason", "review the finding, and write why it is accepted"
            )
        second = None if other is None else _code_line(self._checked(other, _PLACE))
        return Suppression(rule, _code_line(found), second, found.get("kernel"), reason, number, self.row)

    def _checked(self, table: object, keys: Mapping[str, type]) -> dict[str, Any]:
        """Return a table whose keys and types of values are valid."""
        if not isinstance(table, dict):
            raise self._fault("expected a table", f"write each entry as [[{TABLE}]]")
        found = cast("dict[str, Any]", table)
        for name, value in found.items():
            if name not in keys:
                close = close_names(name, keys, most=1)
                raise self._fault(f"unknown key {name!r}", f"use one of: {', '.join(close or keys)}")
            if type(value) is not keys[name] or (isinstance(value, int) and value < 1):
                raise self._fault(f"{name} must be {_TYPES[keys[name]]}, got {value!r}")
        return found

    def _fault(self, message: str, help: str | None = None) -> SuppressionError:
        return SuppressionError(f"{self.path}:{self.row}: {message}", help=help)


def _known_rules() -> Collection[str]:
    """Return the names of all rules of the installed packages, and of all error codes of `pyptx check`."""
    plugins = manager()
    return {*(code.name for code in plugins.check_codes()), *(row.name for row in plugins.explanations())}


def _code_line(found: Mapping[str, Any]) -> CodeLine:
    return CodeLine(**{name: found[name] for name in _PLACE if name in found})
