"""Names of Python for names of PTX: one word each, none twice, none that means something else."""

from __future__ import annotations

import builtins
import keyword
import re
from typing import TYPE_CHECKING

from pyptx_dsl.types import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyptx_ir.syntax.operands import Operand

# What printed files import or bind by themselves.
RESERVED = frozenset({"SPELLING", "STYLE", "Style", "k", "module", "ptx", "pyptx", "reg"})
_TAKEN = RESERVED | BY_NAME.keys() | set(dir(builtins)) | set(keyword.kwlist) | set(keyword.softkwlist)
_NOT_WORDS = re.compile(r"[^A-Za-z0-9_]+")


def identifier(name: str, taken: Iterable[str] = ()) -> str:
    """Return an ASCII identifier that reads as a PTX name does and is not taken: `rd` for `%rd`."""
    stem = _NOT_WORDS.sub("_", name.lstrip("%$_.")).rstrip("_") or "x"
    if stem[0].isdecimal():
        stem = f"x{stem}"
    others = set(taken)
    found, number = stem, 1
    while found in _TAKEN or found in others:
        number += 1
        found = f"{stem}_{number}"
    return found


class Registers:
    """Which Python expression is which register, scope by scope.

    A scope's variables have names that no scope around it uses; scopes beside each other may use the same ones.
    """

    def __init__(self) -> None:
        """Start outside of all functions."""
        self._banks: list[dict[str, tuple[str, int | None]]] = [{}]
        self._known: list[dict[str, str | None]] = [{}]
        self._variables: list[set[str]] = [set()]
        self.texts: list[dict[int, tuple[Operand, str]]] = [{}]
        """What was printed for operands in this scope, by their identity; valid until something is declared."""

    def enter(self) -> None:
        """Open a scope."""
        self._banks.append({})
        self._known.append({})
        self._variables.append(set())
        self.texts.append({})

    def leave(self) -> None:
        """Close a scope."""
        for stack in (self._banks, self._known, self._variables, self.texts):
            stack.pop()

    def declare(self, name: str, count: int | None) -> str:
        """Take a register, or a bank of `count`, into the scope; return the name of its variable."""
        variable = identifier(name, (each for scope in self._variables for each in scope))
        self._variables[-1].add(variable)
        self._banks[-1][name] = variable, count
        self._known[-1].clear()
        self.texts[-1].clear()
        return variable

    def reserve(self, variable: str) -> None:
        """Let no register take the name of a variable that the function uses otherwise."""
        self._variables[0].add(variable)

    def element(self, name: str) -> tuple[str, int] | None:
        """Return the variable of a bank that has a register, and its number there; None for one without a bank."""
        for scope in reversed(self._banks):
            held = scope.get(name)
            if held is not None and held[1] is None:
                return None
            for stem, number in numbered(name):
                held = scope.get(stem)
                if held is not None and held[1] is not None and number < held[1]:
                    return held[0], number
        return None

    def is_element(self, name: str) -> bool:
        """Tell whether a register is an element of a bank that is declared here."""
        return self.element(name) is not None

    def find(self, name: str) -> str | None:
        """Return the expression of a register; None if nothing declares it here."""
        known = self._known[-1]
        if name not in known:
            known[name] = self._find(name)
        return known[name]

    def _find(self, name: str) -> str | None:
        for scope in reversed(self._banks):
            held = scope.get(name)
            if held is not None and held[1] is None:
                return held[0]
            for stem, number in numbered(name):
                held = scope.get(stem)
                if held is not None and held[1] is not None and number < held[1]:
                    return f"{held[0]}[{number}]"
        return None


def numbered(name: str) -> Iterator[tuple[str, int]]:
    """Yield the banks that a name may belong to: of `%r12`, the 12th of `%r` and the second of `%r1`."""
    digits = len(name) - len(name.rstrip("0123456789"))
    for length in range(digits, 0, -1):
        number = name[-length:]
        if number == "0" or number[0] != "0":
            yield name[:-length], int(number)
