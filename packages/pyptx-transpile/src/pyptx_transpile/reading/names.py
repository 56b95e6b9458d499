"""Python identifiers for PTX names: unique, and different from names with a meaning in the printed file."""

from __future__ import annotations

import builtins
import keyword
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from pyptx_dsl.types import BY_NAME
from pyptx_transpile.reading.mangled import plain

if TYPE_CHECKING:
    from collections.abc import Container, Generator, Iterable, Mapping

    from pyptx_ir.syntax.operands import Operand

# Names that every printed Python file imports or binds.
RESERVED = frozenset(
    {
        *("SPELLING", "STYLE", "Style", "k", "module", "partial", "ptx", "pyptx", "reg", "wait", "wait_2", "wait_3"),
        *("full", "full_2", "full_3", "empty", "empty_2", "empty_3", "barriers", "barriers_2", "barriers_3"),
        *("counted", "counted_2", "counted_3"),
        *("descriptor", "descriptor_2", "descriptor_3"),
        *("matrix_descriptor", "matrix_descriptor_2", "matrix_descriptor_3"),
        *("instruction_descriptor", "instruction_descriptor_2", "instruction_descriptor_3"),
        *("barrier_ring", "barrier_ring_2", "barrier_ring_3", "next_stage", "next_stage_2", "next_stage_3"),
    }
)
_TAKEN = RESERVED | BY_NAME.keys() | set(dir(builtins)) | set(keyword.kwlist) | set(keyword.softkwlist)
_NOT_WORDS = re.compile(r"[^A-Za-z0-9_]+")


def identifier(name: str, *taken: Container[str]) -> str:
    """Return a free ASCII identifier similar to a PTX name: `rd` for `%rd`."""
    stem = _NOT_WORDS.sub("_", name.lstrip("%$_.")).rstrip("_") or "x"
    if stem[0].isdecimal():
        stem = f"x{stem}"
    found, number = stem, 1
    while found in _TAKEN or any(found in names for names in taken):
        number += 1
        found = f"{stem}_{number}"
    return found


@dataclass(frozen=True, slots=True)
class Naming:
    """Options for printed names: `demangled` C++ names, `special` registers as calls of functions.

    `forms` maps long opcodes to short names. With `numbered`, labels whose names follow from their
    positions are unnamed.
    """

    demangled: bool = False
    special: bool = False
    numbered: bool = False
    forms: Mapping[tuple[str, ...], str] = field(default_factory=dict["tuple[str, ...]", str])

    def of(self, name: str) -> str:
        """Return the preferred Python name of a symbol."""
        return plain(name) if self.demangled else name


class Symbols:
    """Python variables for the names of the module: functions, and the variables that bodies use."""

    def __init__(self, reserved: Iterable[str]) -> None:
        """Create an empty symbol table; `reserved` are names that functions use for their registers."""
        self.variables: set[str] = set()
        self._reserved = frozenset(reserved)
        self.used: set[str] = set()
        self._known: dict[str, tuple[int, str]] = {}

    def declare(self, name: str, at: int, wanted: str, *, only: bool = False) -> str:
        """Add a symbol declared by the statement at index `at`; return its Python variable, named `wanted` if possible.

        The `only` kernel of a file may be called `k`, the file's alias for its only kernel.
        """
        known = self._known.get(name)
        if known is not None:
            return known[1]
        is_free = only and wanted == "k" and wanted not in self._reserved
        variable = wanted if is_free else identifier(wanted, self.variables, self._reserved)
        self.variables.add(variable)
        self._known[name] = at, variable
        return variable

    def find(self, name: str, at: int) -> str | None:
        """Return the Python variable of a symbol declared before index `at`, and mark it as used; else None."""
        known = self._known.get(name)
        if known is None or known[0] >= at:
            return None
        self.used.add(name)
        return known[1]


class Registers:
    """Python expressions for registers, parameters and variables, scope by scope.

    Variables of a scope are not named like those of enclosing scopes; sibling scopes may reuse names.
    """

    def __init__(self, symbols: Symbols, at: int) -> None:
        """Create the names of the function at index `at`; the symbols declared before it are visible."""
        self._symbols, self._at = symbols, at
        self._banks: list[dict[str, tuple[str, int | None]]] = [{}]
        self._known: list[dict[str, str | None]] = [{}]
        self._variables: list[set[str]] = [set()]
        self._named: dict[str | tuple[Operand, ...], str] = {}
        self._numbered = False
        self.texts: list[dict[int, tuple[Operand, str]]] = [{}]
        """Printed operands of the innermost scope, by `id` of the operand; valid until the next declaration."""

    def enter(self) -> None:
        """Enter a `{ }` scope."""
        self._banks.append({})
        self._known.append({})
        self._variables.append(set())
        self.texts.append({})

    def leave(self) -> None:
        """Leave a `{ }` scope."""
        for stack in (self._banks, self._known, self._variables, self.texts):
            stack.pop()

    def declare(self, name: str, count: int | None, *, wanted: str | None = None) -> str:
        """Add a register, or a register group of `count`; return its variable, named `wanted` if possible."""
        variable = self.variable(wanted or name)
        self._banks[-1][name] = variable, count
        self._known[-1].clear()
        self.texts[-1].clear()
        return variable

    def variable(self, wanted: str) -> str:
        """Return a Python name, similar to `wanted`, that is free in the innermost scope, and reserve it."""
        variable = identifier(wanted, self._symbols.variables, *self._variables)
        self._variables[-1].add(variable)
        return variable

    def is_free(self, variable: str) -> bool:
        """Return whether a Python variable name is free in the innermost scope."""
        return identifier(variable, self._symbols.variables, *self._variables) == variable

    def hold(self, name: str, expression: str) -> None:
        """Print a PTX name of the function as a Python expression."""
        self._banks[-1][name] = expression, None

    def name(self, held: str | tuple[Operand, ...], wanted: str) -> str:
        """Bind a register, or the registers of a vector, to a new variable until the end of the function; return it."""
        variable = self.variable(wanted)
        self.reserve(variable)  # no later scope may use the variable's name
        self._named[held] = variable
        self._forget()
        return variable

    @contextmanager
    def called(self, register: str, variable: str) -> Generator[None]:
        """Print a register as a variable in the body of the `with` statement."""
        before = dict(self._named)
        self._named[register] = variable
        self._forget()
        yield
        self._named = before
        self._forget()

    def vector(self, elements: tuple[Operand, ...]) -> str | None:
        """Return the Python variable that holds all registers of a vector; None without such a variable."""
        return None if self._numbered or not self._named else self._named.get(elements)

    @contextmanager
    def numbered(self) -> Generator[bool]:
        """Print registers as group elements in the `with` body; yield whether some register had its own variable."""
        before, self._numbered = self._numbered, True
        self._forget()
        yield bool(self._named) and not before
        self._numbered = before
        self._forget()

    def _forget(self) -> None:
        for known, texts in zip(self._known, self.texts, strict=True):
            known.clear()
            texts.clear()

    def reserve(self, variable: str) -> None:
        """Reserve the name of a Python variable, so that no later variable of the scope gets this name."""
        self._variables[0].add(variable)

    def element(self, name: str) -> tuple[str, int] | None:
        """Return the variable of the group that contains a register, and the register's index; None without a group."""
        held = self._held(name)
        return None if held is None or held[1] is None else (held[0], held[1])

    def is_element(self, name: str) -> bool:
        """Return whether a register is an element of a register group that the function declares."""
        return self.element(name) is not None

    def find(self, name: str) -> str | None:
        """Return the Python expression of a register; None if the function does not declare it."""
        known = self._known[-1]
        if name not in known:
            named = None if self._numbered else self._named.get(name)
            known[name] = named or self._element(name)
        return known[name]

    def _element(self, name: str) -> str | None:
        held = self._held(name)
        return None if held is None else held[0] if held[1] is None else f"{held[0]}[{held[1]}]"

    def _held(self, name: str) -> tuple[str, int | None] | None:
        """Return the Python variable that holds a register, and the register's index if it is in a register group."""
        for scope in reversed(self._banks):
            if not scope:
                continue
            held = scope.get(name)
            if held is not None and held[1] is None:
                return held
            for stem, number in numbered(name):
                held = scope.get(stem)
                if held is not None and held[1] is not None and number < held[1]:
                    return held[0], number
        symbol = self._symbols.find(name, self._at)
        return None if symbol is None else (symbol, None)


@lru_cache(maxsize=1 << 14)
def numbered(name: str) -> tuple[tuple[str, int], ...]:
    """Return the register groups that a name may belong to: for `%r12`, index 12 of `%r` and index 2 of `%r1`."""
    digits = len(name) - len(name.rstrip("0123456789"))
    splits = [(name[:-length], name[-length:]) for length in range(digits, 0, -1)]
    return tuple([(stem, int(number)) for stem, number in splits if number == "0" or number[0] != "0"])
